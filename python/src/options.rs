//! Options of the library, which Python gives as JSON objects.

use attentive::decode::{SamplingChanges, SearchChanges};
use attentive::error::Error;
use attentive_base::plain::plain;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde::de::DeserializeOwned;

use crate::errors::exception;
use crate::json::json;

/// Options as JSON.
pub(crate) struct JsonOptions<T>(pub(crate) T);

impl<T: DeserializeOwned> FromPyObject<'_, '_> for JsonOptions<T> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        let text: String = object.extract()?;
        let mut reader = serde_json::Deserializer::from_str(&text);
        serde_path_to_error::deserialize(&mut reader).map(Self).map_err(|error| {
            let name = error.path().to_string();
            let problem = plain(&error.into_inner().to_string(), "options");
            let problem = problem.split(" at line ").next().unwrap_or(&problem);
            let problem = format!("`{name}`: {problem}");
            if problem.contains("invalid type") {
                return PyTypeError::new_err(problem);
            }
            exception(object.py(), &Error::Usage { problem, hint: None })
        })
    }
}

/// The schemas of options, as JSON, from which `options.py` writes their types for Python.
#[pyfunction]
pub(crate) fn schemas() -> String {
    fn schema<T: JsonSchema>() -> Schema {
        let mut settings = SchemaSettings::draft2020_12();
        settings.inline_subschemas = true;
        settings.into_generator().into_root_schema_for::<T>()
    }
    json(&[("SearchOptions", schema::<SearchChanges>()), ("Sampling", schema::<SamplingChanges>())])
}
