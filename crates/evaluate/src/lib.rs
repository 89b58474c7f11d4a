//! Evaluation of models on test sets: one file per task.

mod classification;
pub mod compare;
pub mod examples;
mod language_model;
mod masked;
mod orders;
pub mod quantize;
pub mod static_int8;
mod tagging;
mod teacher_forced_scores;
#[cfg(test)]
mod tests;
mod translation;
pub mod tune;

pub use classification::{ClassificationEvaluation, classification};
pub use language_model::{TextEvaluation, language_model};
pub use masked::{MaskedEvaluation, UnigramBaseline, masked};
pub use orders::{Orders, orders};
pub use tagging::{TaggingEvaluation, tagging};
pub(crate) use translation::check;
pub use translation::{EvaluateOptions, Evaluation, evaluate};
