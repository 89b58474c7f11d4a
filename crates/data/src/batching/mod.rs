//! Batches of encoded lines, in an order that can be resumed at any point.

mod augmentation;
pub(crate) mod batch_order;
pub(crate) mod batcher;
pub(crate) mod budget;
pub(crate) mod corpus_parts;
pub(crate) mod feed;
pub(crate) mod guide;
pub(crate) mod masking;
pub(crate) mod stream;
pub(crate) mod variation;
