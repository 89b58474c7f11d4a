//! Texts of language models.

use attentive::decode::{Ending, SampleOptions, SamplingChanges};
use attentive::interrupt::Interrupt;
use attentive::pipeline::{GenerateOptions, Generation};
use pyo3::prelude::*;

use crate::errors::exception;
use crate::model::Model;
use crate::options::Options;
use crate::translation::problems;
use crate::work::{SIGINT, stoppable};

/// A continuation: the prompt, the text, its tokens, the reason why it ended, and the problems with the
/// prompt.
type Continued = (String, String, Vec<String>, &'static str, Vec<String>);

/// Continues `prompt`. `on_text` gets the text piece by piece; its exception ends the text.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the options of Python")]
pub(crate) fn generate(
    py: Python<'_>,
    model: &Model,
    prompt: &str,
    sampling: Options<SamplingChanges>,
    number: u64,
    max_new_tokens: usize,
    stop: Vec<String>,
    on_text: Option<Py<PyAny>>,
) -> PyResult<Continued> {
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
    let Generation { text, tokens, ending } = found;
    let tokens = model.pipeline.tokenizers().tgt().spelled(&tokens);
    let warnings = problems(prompt.warnings().to_vec());
    Ok((prompt.text().to_owned(), text, tokens, name(ending), warnings))
}

/// The name of an ending, as the command line writes it.
fn name(ending: Ending) -> &'static str {
    match ending {
        Ending::EndOfText => "end_of_text",
        Ending::Stopped => "stopped",
        Ending::MaxNewTokens => "max_new_tokens",
        Ending::ContextFull => "context_full",
    }
}
