//! A model on a test set: one file for each thing that families do.

mod classification;
mod forced;
mod language_model;
mod masked;
mod tagging;
mod translation;

pub use classification::{ClassificationEvaluation, classification};
pub use language_model::{TextEvaluation, language_model};
pub use masked::{MaskedEvaluation, Unigram, masked};
pub use tagging::{TaggingEvaluation, tagging};
pub use translation::{EvaluateOptions, Evaluation, evaluate};
