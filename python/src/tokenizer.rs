//! Tokenizers.

use attentive::error::{Error, Result};
use attentive::text::{self, MASK};
use pyo3::prelude::*;

use crate::errors::exception;

/// A tokenizer.
#[pyclass(frozen, name = "Tokenizer", module = "attentive._attentive")]
pub(crate) struct PyTokenizer(text::Tokenizer);

impl PyTokenizer {
    pub(crate) fn new(tokenizer: &text::Tokenizer) -> Self {
        Self(tokenizer.clone())
    }

    /// The first and the last character of `text`, plus one, from which each token comes.
    fn places(&self, text: &str) -> Result<Vec<(usize, usize)>> {
        let offsets = self.0.offsets(text)?;
        // The number of characters that begin before each byte.
        let mut before = vec![0; text.len() + 1];
        for at in 0..text.len() {
            before[at + 1] = before[at] + usize::from(text.is_char_boundary(at));
        }
        let whole = |at: usize| before[text.floor_char_boundary(at)];
        Ok(offsets.into_iter().map(|range| (whole(range.start), before[range.end.min(text.len())])).collect())
    }
}

#[pymethods]
impl PyTokenizer {
    fn encode(&self, py: Python<'_>, text: &str) -> PyResult<Vec<u32>> {
        self.0.encode(text).map_err(|error| exception(py, &error))
    }

    fn decode(&self, py: Python<'_>, ids: Vec<u32>) -> PyResult<String> {
        self.0.decode(&ids).map_err(|error| exception(py, &error))
    }

    fn offsets(&self, py: Python<'_>, text: &str) -> PyResult<Vec<(usize, usize)>> {
        self.places(text).map_err(|error| exception(py, &error))
    }

    fn tokens(&self, py: Python<'_>, ids: Vec<u32>) -> PyResult<Vec<String>> {
        let token = |&id: &u32| {
            let size = self.0.vocab_size();
            let unknown = || Error::usage(format!("there is no token {id}"), format!("ids are below {size}"));
            self.0.token(id).ok_or_else(unknown)
        };
        let tokens = ids.iter().map(token).collect::<Result<_>>();
        tokens.map_err(|error| exception(py, &error))
    }

    fn ids(&self, py: Python<'_>, tokens: Vec<String>) -> PyResult<Vec<u32>> {
        self.0.ids(&tokens).map_err(|error| exception(py, &error))
    }

    #[getter]
    fn vocab_size(&self) -> usize {
        self.0.vocab_size()
    }

    /// The token for a gap, as the model spells it; `None` if it has none.
    #[getter]
    fn mask(&self) -> Option<String> {
        let mask = self.0.special().mask?;
        Some(self.0.token(mask).unwrap_or_else(|| MASK.to_owned()))
    }
}
