//! Glossaries.

use std::path::PathBuf;

use attentive::error::Error;
use attentive::pipeline;
use pyo3::prelude::*;

use crate::errors::exception;

/// Terms and their translations.
#[pyclass(frozen, name = "Glossary", module = "attentive._attentive")]
pub(crate) struct PyGlossary(pub(crate) pipeline::Glossary);

#[pymethods]
impl PyGlossary {
    /// Reads a file.
    #[staticmethod]
    fn read(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        pipeline::Glossary::read(&path).map(Self).map_err(|error| exception(py, &error))
    }

    /// The glossary of these terms and their translations.
    #[staticmethod]
    fn of(py: Python<'_>, terms: Vec<(String, String)>) -> PyResult<Self> {
        let mut glossary = pipeline::Glossary::default();
        for (source, target) in &terms {
            let added = pipeline::GlossaryEntry::new(source, target).and_then(|entry| glossary.insert(entry));
            added.map_err(|problem| {
                let hint = "give each term as a string with its translation";
                exception(py, &Error::data(format!("the term `{source}` {problem}"), hint))
            })?;
        }
        Ok(Self(glossary))
    }
}
