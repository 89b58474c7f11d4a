//! Search and sampling: the most likely outputs of a model, or random ones, one token at a time.
//!
//! Both work with any [`crate::model::Stepper`]. Each sentence has its own `Beam`, and the rows of a decoding step are the
//! partial hypotheses of all beams. Sentences are admitted and dropped at any decoding step, and none influences another.

mod beam;
mod hypothesis;
mod options;
mod sample;
mod search;

#[cfg(test)]
mod tests;

pub use hypothesis::Hypothesis;
pub use options::SearchOptions;
pub use sample::{Drawn, Ending, SampleOptions, sample};
pub use search::{Capacity, Search, search};
