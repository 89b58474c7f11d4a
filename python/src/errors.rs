//! Errors of the library as Python's exceptions.

use attentive::Error;
use pyo3::prelude::*;

/// Names of options in the library's errors, and what they are called in Python.
const NAMES: [(&str, &str); 12] = [
    ("`RunOptions::out`", "`out`"),
    ("`Existing::Resume`", "`existing=\"resume\"`"),
    ("`Existing::Force`", "`existing=\"overwrite\"`"),
    ("`Strategy::Beam::n_best`", "`n_best`"),
    ("`Strategy::Beam::width`", "`beam_width`"),
    ("`Strategy::Sample::count`", "`n_best`"),
    ("`Languages::source`", "`source_lang`"),
    ("`Languages::target`", "`target_lang`"),
    ("(an override)", "(a value of the configuration)"),
    ("repeat the overrides with which", "repeat the values with which"),
    ("use it with `attentive ", "use its method `"),
    ("`attentive import`", "`attentive.import_model`"),
];

/// The exception for `error`, with the same text and hint.
pub(crate) fn exception(py: Python<'_>, error: &Error) -> PyErr {
    let hint = error.hint().map(in_python);
    let made = class(py, error).and_then(|class| class.call1((in_python(error.to_string()), hint)));
    let exception = made.and_then(|exception| {
        if let Error::Io { path, source, .. } = error {
            exception.setattr("filename", path)?;
            exception.setattr("errno", source.raw_os_error())?;
        }
        Ok(exception)
    });
    match exception {
        Ok(exception) => PyErr::from_value(exception),
        Err(failed) => failed,
    }
}

/// The class of the exception for `error`.
fn class<'py>(py: Python<'py>, error: &Error) -> PyResult<Bound<'py, PyAny>> {
    let name = match error {
        Error::Config { .. } | Error::UnknownKey { .. } | Error::Toml { .. } => "ConfigError",
        Error::Data { .. } | Error::Line { .. } | Error::Unaligned { .. } => "DataError",
        Error::Model { .. } => "ModelError",
        Error::Usage { .. } => "UsageError",
        Error::Io { .. } => "FileError",
        Error::RunExists { .. } => "RunExistsError",
        Error::NotFinite(_) => "NotFiniteError",
        _ => "Error",
    };
    py.import("attentive._errors")?.getattr(name)
}

/// Replaces the library's names of options in `text` by those of Python.
pub(crate) fn in_python(text: String) -> String {
    NAMES.iter().fold(text, |text, (library, python)| text.replace(library, python))
}
