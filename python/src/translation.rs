//! Translation and its scores.

use std::sync::Arc;

use attentive::decode::{SamplingChanges, SearchChanges};
use attentive::error::Result;
use attentive::pipeline::{
    Alignment, Candidate, Demands, Pipeline, Prefix, Request, Rescored, TranslateOptions, Translation,
    Warning,
};
use pyo3::prelude::*;

use crate::model::Model;
use crate::options::Options;

/// A candidate: text, score, log-probability, tokens, their log-probabilities, whether it is finished, the
/// phrases that it lacks, and its word alignment.
type Hypothesis = (String, f64, f64, Vec<String>, Vec<f32>, bool, Vec<String>, Option<Vec<(usize, usize)>>);

/// The candidates of a text, and the problems with it.
type Found = (Vec<Hypothesis>, Vec<String>);

/// The prefix of a translation and the phrases that it must contain.
type Demanded = (String, Vec<String>);

/// The problems in words.
pub(crate) fn problems(warnings: Vec<Warning>) -> Vec<String> {
    warnings.into_iter().map(|warning| warning.problem).collect()
}

/// Translates `texts`, the first of which has the number `first`.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the options of Python")]
pub(crate) fn translate(
    py: Python<'_>,
    model: &Model,
    first: usize,
    texts: Vec<String>,
    demands: Option<Vec<Demanded>>,
    search: Options<SearchChanges>,
    batch_size: Option<usize>,
    sampling: Option<Options<SamplingChanges>>,
    n_best: usize,
    scored: bool,
    aligned: bool,
) -> PyResult<Vec<Found>> {
    model.run(py, |pipeline| {
        let sampling = sampling.map(|Options(sampling)| sampling);
        let mut options = options(pipeline, search.0, batch_size, sampling, n_best)?;
        if !scored {
            options.search = options.search.unscored();
        }
        options.search.guided = demands.is_some();
        let requests = requests(texts, demands);
        let found = pipeline.translate_sentences(first, &requests, &options)?;
        let alignments = if aligned { align(pipeline, &requests, &found)? } else { Vec::new() };
        Ok(written(pipeline, found, alignments))
    })
}

/// The log-probability, tokens and log-probabilities of tokens of each translation, and the problems with it.
#[pyfunction]
#[expect(clippy::type_complexity, reason = "a tuple for Python")]
pub(crate) fn rescore(
    py: Python<'_>,
    model: &Model,
    first: usize,
    sources: Vec<String>,
    translations: Vec<String>,
) -> PyResult<Vec<(f64, Vec<String>, Vec<f64>, Vec<String>)>> {
    model.run_whole(py, |pipeline| {
        let rescored = pipeline.rescore(first, &sources, &translations)?;
        let tokenizer = pipeline.tokenizers().tgt();
        let row = |one: Rescored| {
            (one.log_prob, tokenizer.spelled(&one.tokens), one.token_log_probs, problems(one.warnings))
        };
        Ok(rescored.into_iter().map(row).collect())
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
    Ok(TranslateOptions { search, batch_size: batch_size.unwrap_or(decode.batch_size) })
}

/// The requests for `texts`.
fn requests(texts: Vec<String>, demands: Option<Vec<Demanded>>) -> Vec<Request> {
    let Some(demands) = demands else {
        return texts.into_iter().map(Request::from).collect();
    };
    let request = |(src, (prefix, phrases)): (String, Demanded)| Request {
        src,
        demands: Arc::new(Demands { prefix: Prefix::Text(prefix), phrases, ..Demands::default() }),
        place: None,
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

fn written(pipeline: &Pipeline, found: Vec<Translation>, alignments: Vec<Alignment>) -> Vec<Found> {
    let tokenizer = pipeline.tokenizers().tgt();
    let mut alignments = alignments.into_iter();
    let mut hypothesis = |found: Candidate| {
        let finished = !found.is_cut_off();
        (
            found.text,
            found.score,
            found.log_prob,
            tokenizer.spelled(&found.tokens),
            found.token_log_probs,
            finished,
            found.unmet.iter().map(|phrase| phrase.to_string()).collect(),
            alignments.next().map(|Alignment(pairs)| pairs),
        )
    };
    let mut row = |found: Translation| {
        let hypotheses = found.hypotheses.into_iter().map(&mut hypothesis).collect();
        (hypotheses, problems(found.warnings))
    };
    found.into_iter().map(&mut row).collect()
}
