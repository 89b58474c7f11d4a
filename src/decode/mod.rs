//! Search and sampling: the likeliest outputs of a model, or random ones, found one token at a time.
//!
//! Written once against [`crate::model::Stepper`]; neither knows which model it drives. Each sentence has a `Beam` of its
//! own, and the rows of a step are the growing hypotheses of all beams. Sentences come and go at any step, and none
//! influences another.

mod beam;
mod hypothesis;
mod options;
mod sample;
mod search;

#[cfg(test)]
mod tests;

pub use crate::model::{NextToken, likeliest};
pub use hypothesis::Hypothesis;
pub use options::SearchOptions;
pub use sample::{Drawn, Ending, SampleOptions, sample};
pub use search::{Capacity, Search, search};
