//! Encodes the lines of corpora as token ids.

pub(crate) mod example;
pub(crate) mod examples;
pub(crate) mod label_origin;
pub(crate) mod line_encoder;
pub(crate) mod token_counts;
