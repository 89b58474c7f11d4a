//! Search for the most likely outputs of a model, and random sampling of outputs, one token at a time.
//!
//! Both work with any [`crate::Stepper`]. Each sentence has its own `SentenceOutputs`, a beam or random
//! samples, and the rows of a decoding step are the partial hypotheses of all sentences. Sentences are
//! admitted and dropped at any decoding step, and none influences another.
//!
//! A plain search asks the model for the likeliest tokens only. A search that needs the probability of a
//! given token, or bars tokens of single hypotheses, asks a [`Question`] about each row. Only draws from all
//! tokens read all logits.

mod beam;
mod changes;
mod constraints;
mod continuation;
mod decoding;
mod ensemble;
mod hypothesis;
mod logits;
mod next_token;
mod options;
mod outputs;
mod partial;
mod question;
mod rules;
mod sampling;
mod search;
mod sentence;
mod stepper;
mod strategy;
mod token_query;

#[cfg(test)]
mod tests;

pub use changes::{SearchBounds, SearchChanges};
pub use constraints::Phrase;
pub use continuation::{Ending, SampleOptions, SampledText, TextDecoding, TextRules, continue_text};
pub use decoding::{Capacity, Decoding, SearchContext};
pub use ensemble::Ensemble;
pub use hypothesis::Hypothesis;
pub use logits::{Logits, argmax};
pub use next_token::{NextToken, largest, likeliest, likeliest_of, scored, total};
pub use options::SearchOptions;
pub use question::{Answer, Question};
pub use sampling::{Sampling, SamplingChanges};
pub use search::{Search, search};
pub use sentence::SourceSentence;
pub use stepper::Stepper;
pub use strategy::Strategy;
