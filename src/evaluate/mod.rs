//! A model on a test set: one file for each thing that families do.

mod translation;

pub use translation::{EvaluateOptions, Evaluation, evaluate};
