//! A model on a test set: one file for each thing that families do.

mod forced;
mod language_model;
mod translation;

pub use language_model::{TextEvaluation, language_model};
pub use translation::{EvaluateOptions, Evaluation, evaluate};
