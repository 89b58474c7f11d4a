//! Detects a test set whose source and target are swapped.

use attentive_base::error::Result;
use attentive_pipeline::Pipeline;

use super::translation::teacher_forcing;

/// Perplexities of sentence pairs in both orders.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Orders {
    /// Perplexity of the references, given the sources.
    pub given: f64,
    /// Perplexity of the sources, given the references.
    pub other: f64,
}

/// Measures the perplexities of the first pairs of a test set in both orders, under teacher forcing; `None`
/// if no pair fits into the model.
///
/// # Errors
/// [`Error::Data`](attentive_base::Error::Data) if the model's outputs are NaN or infinite.
pub fn orders(pipeline: &Pipeline, src: &[String], references: &[String]) -> Result<Option<Orders>> {
    /// This many pairs are enough to tell languages apart.
    const MAX_PAIRS: usize = 100;
    let (src, references) = (&src[..src.len().min(MAX_PAIRS)], &references[..src.len().min(MAX_PAIRS)]);
    let given = teacher_forcing(pipeline, src, references)?;
    let other = teacher_forcing(pipeline, references, src)?;
    Ok(given.zip(other).map(|(given, other)| Orders { given: given.perplexity(), other: other.perplexity() }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::untrained;

    #[test]
    fn both_orders_are_measured() {
        let lines = |text: &[&str]| -> Vec<String> { text.iter().map(|&line| line.into()).collect() };
        let (src, tgt) = (lines(&["a dog", ""]), lines(&["two cats", "a"]));
        let found = orders(untrained(), &src, &tgt).unwrap().unwrap();
        let back = orders(untrained(), &tgt, &src).unwrap().unwrap();
        assert_eq!((found.given, found.other), (back.other, back.given));
        assert!(found.given != found.other);
        assert_eq!(orders(untrained(), &lines(&[""]), &lines(&["a"])).unwrap(), None);
    }
}
