//! A place where dropout acts.

/// A dropout rate and the number of its place in the network, which gives every place a mask of its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dropout {
    /// The probability of dropping an element, in `[0, 1)`.
    pub rate: f64,
    /// The place's number, unique in the model.
    pub site: u32,
}
