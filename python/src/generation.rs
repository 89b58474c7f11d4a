//! Texts of language models.

use attentive::decode::{SampleOptions, SamplingChanges};
use attentive::interrupt::Interrupt;
use attentive::pipeline::{GenerateOptions, GenerationAnswer};
use pyo3::prelude::*;

use crate::errors::exception;
use crate::json::json;
use crate::model::PyModel;
use crate::options::JsonOptions;
use crate::work::{SIGINT, stoppable};

/// The continuation of `prompt` as JSON. `on_text` gets the text piece by piece; its exception ends the text.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the options of Python")]
pub(crate) fn generate(
    py: Python<'_>,
    model: &PyModel,
    prompt: &str,
    sampling: JsonOptions<SamplingChanges>,
    number: u64,
    max_new_tokens: usize,
    stop: Vec<String>,
    on_text: Option<Py<PyAny>>,
) -> PyResult<String> {
    let sampling = sampling.0.apply(SampleOptions::default().sampling);
    let options =
        GenerateOptions { sample: SampleOptions { sampling, number, max_new_tokens }, stop: stop.into() };
    let interrupt = Interrupt::none();
    let mut failed = None;
    let mut give = |piece: &str| {
        if let Some(on_text) = &on_text
            && let Err(error) = Python::attach(|py| on_text.call1(py, (piece,)))
        {
            failed = Some(error);
            interrupt.request(SIGINT);
        }
        Interrupt::check()
    };
    let write = || {
        let prompt = model.pipeline.prompt(prompt)?;
        let found = model.pipeline.generate(&prompt, &options, &mut give)?;
        Ok((prompt, found))
    };
    let (outcome, raised) = stoppable(py, model.threads, &interrupt, || interrupt.during(write));
    if let Some(raised) = failed.or(raised) {
        return Err(raised);
    }
    let (prompt, found) = outcome.map_err(|error| exception(py, &error))?;
    Ok(json(&GenerationAnswer::new(&model.pipeline, &prompt, found)))
}
