//! The command line.

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs a command line, which begins with the name of the program, and returns the exit code.
#[pyfunction]
pub(crate) fn main(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| attentive_cli::run(arguments))
}
