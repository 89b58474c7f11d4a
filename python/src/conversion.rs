//! Models in other formats.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use attentive::error::{Error, Result};
use attentive::interop::{self, ExportFormat, ExportOptions, ForeignModel};
use attentive::metrics::Bootstrap;
use attentive::quantize::{QuantizeOptions, Test, quantize as quantize_model};
use attentive::text::Languages;
use pyo3::prelude::*;

use crate::choice::{self, choice, choice_or_none};
use crate::errors::exception;
use crate::json::json;
use crate::threads::ThreadCount;
use crate::work;

/// Sentences, and streams of their references or translations.
type Parallel = (Vec<String>, Vec<Vec<String>>);

/// Quantizes the model directory `model` into the new directory `out`. Returns the report, or the sizes, as
/// JSON.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the options of Python")]
pub(crate) fn quantize(
    py: Python<'_>,
    model: PathBuf,
    out: PathBuf,
    precision: &str,
    cache_precision: Option<&str>,
    test: Option<Parallel>,
    max_drop: Option<f64>,
    shortlist: Option<(Vec<String>, Vec<String>)>,
    resamples: usize,
    threads: Option<usize>,
) -> PyResult<String> {
    run(py, threads, || {
        let default = Bootstrap::default();
        let options = QuantizeOptions {
            precision: choice::precision(precision)?,
            cache_precision: choice_or_none("cache_precision", cache_precision)?,
            bootstrap: Bootstrap {
                resamples: NonZeroUsize::new(resamples).unwrap_or(default.resamples),
                ..default
            },
            max_drop,
            shortlist: shortlist.as_ref().map(|(src, tgt)| [&src[..], &tgt[..]]),
            search: None,
        };
        let test = test.as_ref().map(|(src, references)| Test { src, references });
        let quantized = quantize_model(&model, &out, test, &options)?;
        Ok(match &quantized.report {
            Some(report) => json(report),
            None => json(&quantized),
        })
    })
}

/// Converts the model `path` of another tool into the new model directory `out`. Returns its kind, its number
/// of weights, and notes on differences.
#[pyfunction]
pub(crate) fn import_model(
    py: Python<'_>,
    path: PathBuf,
    out: PathBuf,
    format: Option<&str>,
    source_lang: Option<String>,
    target_lang: Option<String>,
) -> PyResult<(String, usize, Vec<String>)> {
    run(py, None, || {
        let languages = Languages { source: source_lang, target: target_lang };
        let foreign = ForeignModel::open(&path, choice_or_none("format", format)?, &languages)?;
        let (kind, weights) = (foreign.kind.clone(), foreign.n_weights());
        let notes = foreign.notes.clone();
        if !foreign.partners.is_empty() {
            return Err(Error::usage(
                format!("`{}` is an ensemble of {} models", path.display(), 1 + foreign.partners.len()),
                "import it with the program, or the file of each model by itself",
            ));
        }
        foreign.write(&out)?;
        Ok((kind, weights, notes))
    })
}

/// Writes the model directory `model` for another tool to the new directory `out`. Returns the kind of model
/// there, and notes on differences.
#[pyfunction]
pub(crate) fn export(
    py: Python<'_>,
    model: PathBuf,
    out: PathBuf,
    format: &str,
) -> PyResult<(&'static str, Vec<String>)> {
    run(py, None, || {
        let format: ExportFormat = choice("format", format)?;
        if format == ExportFormat::Firefox {
            return Err(Error::usage(
                "a model for Firefox needs sentences for the scales of its products, and a shortlist",
                "export it with the program: `attentive export`",
            ));
        }
        let exported = interop::export(&model, format, ExportOptions::default(), &out)?;
        Ok((exported.kind, exported.notes))
    })
}

fn run<T: Send>(
    py: Python<'_>,
    threads: Option<usize>,
    work: impl FnOnce() -> Result<T, Error> + Send,
) -> PyResult<T> {
    let threads = ThreadCount::new(threads).map_err(|error| exception(py, &error))?;
    work::run(py, threads, work)
}
