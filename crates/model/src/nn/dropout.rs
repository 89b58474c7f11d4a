//! Dropout sites.

/// A dropout rate and the number of its site in the model, from which masks are drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dropout {
    /// The probability of dropping an element, in `[0, 1)`.
    pub rate: f64,
    /// The site's number, unique in the model.
    pub site: u32,
}
