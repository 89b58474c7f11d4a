//! Evaluation of models on test sets.

use attentive::config::Task;
use attentive::data::{self, Corpus, DataKind};
use attentive::decode::SearchChanges;
use attentive::error::{Error, Result};
use attentive::evaluate as of;
use attentive::evaluate::EvaluateOptions;
use attentive::metrics::Bleu;
use attentive::pipeline::Pipeline;
use attentive::processes::Processes;
use pyo3::prelude::*;

use crate::choice::choice;
use crate::corpus::CorpusLines;
use crate::json::json;
use crate::model::PyModel;
use crate::options::JsonOptions;
use crate::translation::options;

/// Evaluates `model` on `lines`; translations have further streams of `references`. Returns the results as
/// JSON, and the translations.
#[pyfunction]
pub(crate) fn evaluate(
    py: Python<'_>,
    model: &PyModel,
    lines: CorpusLines,
    references: Vec<Vec<String>>,
    search: JsonOptions<SearchChanges>,
    batch_size: Option<usize>,
    tokenize: &str,
) -> PyResult<(String, Vec<String>)> {
    model.run_whole(py, |pipeline| {
        let corpus = |lines: CorpusLines| corpus(pipeline, lines);
        let none = Vec::new;
        match pipeline.architecture().task() {
            Task::Translate => {
                let options = EvaluateOptions {
                    translate: options(pipeline, search.0, batch_size, None, 1)?,
                    bleu: Bleu { tokenizer: choice("tokenize", tokenize)?, ..Bleu::default() },
                };
                translations(pipeline, lines, references, &options)
            }
            Task::Generate => {
                let texts = corpus(lines)?;
                let lines = texts.tgt_texts().into_iter().flat_map(str::lines);
                let lines: Vec<String> = lines.map(str::to_owned).collect();
                Ok((json(&of::language_model(pipeline, &lines)?), none()))
            }
            Task::Fill => Ok((json(&of::masked(pipeline, &corpus(lines)?)?), none())),
            Task::Tag => Ok((json(&of::tagging(pipeline, &corpus(lines)?)?), none())),
            Task::Classify => {
                let found = of::classification(pipeline, &corpus(lines)?)?;
                Ok((json(&found), none()))
            }
            Task::Embed => Err(Error::usage(
                "this model predicts nothing that could be evaluated",
                "use its method `embed`",
            )),
        }
    })
}

fn translations(
    pipeline: &Pipeline,
    lines: CorpusLines,
    references: Vec<Vec<String>>,
    options: &EvaluateOptions,
) -> Result<(String, Vec<String>)> {
    let CorpusLines::Pairs(pairs) = lines else {
        return Err(Error::data("the test set has no translations", "give sentences and their translations"));
    };
    let (src, first): (Vec<String>, Vec<String>) = pairs.into_iter().unzip();
    let references: Vec<Vec<String>> = [first].into_iter().chain(references).collect();
    let alone = Processes::alone();
    let found = of::evaluate(pipeline, &src, &references, options, &alone)?;
    Ok((json(&found), found.translations))
}

/// The test set of a model that does not translate.
fn corpus(pipeline: &Pipeline, lines: CorpusLines) -> Result<Corpus> {
    let kind = DataKind::of(pipeline.config());
    let items = lines.items(kind)?;
    data::read_in_memory(kind, items, data::Filters::default(), &mut data::unwatched)
}
