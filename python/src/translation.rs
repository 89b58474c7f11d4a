//! Translation and its scores.

use std::num::NonZeroUsize;
use std::sync::Arc;

use attentive::decode::{SamplingChanges, SearchChanges};
use attentive::error::Result;
use attentive::pipeline::{
    Alignment, Pipeline, Prefix, Request, RescoredAnswer, SentencePosition, TranslateOptions, Translation,
    TranslationAnswer, TranslationConstraints, Warning,
};
use pyo3::prelude::*;

use crate::glossary::PyGlossary;
use crate::json::json;
use crate::model::PyModel;
use crate::options::JsonOptions;

/// The prefix of a translation and the phrases that it must contain.
type Demanded = (String, Vec<String>);

/// The problems in words.
pub(crate) fn problems(warnings: Vec<Warning>) -> Vec<String> {
    warnings.into_iter().map(|warning| warning.problem).collect()
}

/// The translations of `texts`, the first of which has the number `first`, as JSON.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the options of Python")]
pub(crate) fn translate(
    py: Python<'_>,
    model: &PyModel,
    first: usize,
    texts: Vec<String>,
    demands: Option<Vec<Demanded>>,
    glossary: Option<&PyGlossary>,
    search: JsonOptions<SearchChanges>,
    batch_size: Option<usize>,
    sampling: Option<JsonOptions<SamplingChanges>>,
    n_best: usize,
    scored: bool,
    aligned: bool,
) -> PyResult<String> {
    model.run(py, |pipeline| {
        let sampling = sampling.map(|JsonOptions(sampling)| sampling);
        let mut options = options(pipeline, search.0, batch_size, sampling, n_best)?;
        if !scored {
            options.search = options.search.unscored();
        }
        options.search.guided = demands.is_some();
        let requests = requests(texts, demands);
        let mut found = pipeline.translate_requests(first, &requests, &options)?;
        if let Some(PyGlossary(glossary)) = glossary {
            let places = (first..).map(|line| SentencePosition { line, sentence: 0 });
            let sentences = requests.iter().map(|request| &*request.src).zip(places);
            pipeline.apply_glossary(glossary, sentences, &mut found, &options)?;
        }
        let alignments = if aligned { align(pipeline, &requests, &found)? } else { Vec::new() };
        let mut alignments = alignments.into_iter();
        let answer = |mut found: Translation| {
            found.add_warnings(&options);
            TranslationAnswer::new(pipeline, found, &mut alignments)
        };
        Ok(json(&found.into_iter().map(answer).collect::<Vec<_>>()))
    })
}

/// The probabilities of `translations` of `sources`, the first of which has the number `first`, as JSON.
#[pyfunction]
pub(crate) fn rescore(
    py: Python<'_>,
    model: &PyModel,
    first: usize,
    sources: Vec<String>,
    translations: Vec<String>,
) -> PyResult<String> {
    model.run_whole(py, |pipeline| {
        let rescored = pipeline.rescore(first, &sources, &translations)?;
        let answer = |one| RescoredAnswer::new(pipeline, one);
        Ok(json(&rescored.into_iter().map(answer).collect::<Vec<_>>()))
    })
}

/// The model's search with these changes, or sampling.
pub(crate) fn options(
    pipeline: &Pipeline,
    search: SearchChanges,
    batch_size: Option<usize>,
    sampling: Option<SamplingChanges>,
    n_best: usize,
) -> Result<TranslateOptions> {
    let decode = &pipeline.config().decode;
    let search = search.apply(decode, n_best, sampling)?;
    let batch_size = NonZeroUsize::new(batch_size.unwrap_or(decode.batch_size));
    Ok(TranslateOptions { search, batch_size, mbr: None })
}

/// The requests for `texts`.
fn requests(texts: Vec<String>, demands: Option<Vec<Demanded>>) -> Vec<Request> {
    let Some(demands) = demands else {
        return texts.into_iter().map(Request::from).collect();
    };
    let request = |(src, (prefix, phrases)): (String, Demanded)| Request {
        src,
        constraints: Arc::new(TranslationConstraints { prefix: Prefix::Text(prefix), phrases }),
        position: None,
    };
    texts.into_iter().zip(demands).map(request).collect()
}

/// The alignments of all translations of each request, one after the other.
fn align(pipeline: &Pipeline, requests: &[Request], found: &[Translation]) -> Result<Vec<Alignment>> {
    let pairs = requests.iter().zip(found).flat_map(|(request, found)| {
        let tokens = found.hypotheses.iter().map(|found| &found.tokens[..]);
        tokens.map(|tokens| (request.src.as_str(), tokens))
    });
    pipeline.align(&pairs.collect::<Vec<_>>())
}
