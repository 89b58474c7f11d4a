//! Tags, labels, filled gaps and vectors.

use attentive::error::Result;
use attentive::pipeline::{Classified, Filled, Guess, LabelScore, Tagged};
use attentive::text::Joint;
use pyo3::prelude::*;

use crate::model::Model;
use crate::tensor::Tensor;
use crate::translation::problems;

/// The tokens of a text, their tags, the number of unknown ones, and the problems with the text.
type TaggedText = (Vec<String>, Vec<String>, usize, Vec<String>);

/// Labels with their probabilities, and the problems with the text.
type LabeledText = (Vec<(String, f64)>, Vec<String>);

/// A filled text; for each gap its guesses: text, whether it continues a word, and probability; the problems
/// with the text.
type FilledText = (String, Vec<Vec<(String, bool, f64)>>, Vec<String>);

/// The tags of `texts`, the first of which has the number `first`.
#[pyfunction]
pub(crate) fn tag(
    py: Python<'_>,
    model: &Model,
    first: usize,
    texts: Vec<String>,
) -> PyResult<Vec<TaggedText>> {
    model.run_whole(py, |pipeline| {
        let row = |tagged: Tagged| {
            let Tagged { tokens, tags, unknown, warnings } = tagged;
            (tokens, tags, unknown, problems(warnings))
        };
        Ok(pipeline.tag(first, &texts)?.into_iter().map(row).collect())
    })
}

/// The `top` likeliest labels of `texts`, the first of which has the number `first`.
#[pyfunction]
pub(crate) fn classify(
    py: Python<'_>,
    model: &Model,
    first: usize,
    texts: Vec<String>,
    top: usize,
) -> PyResult<Vec<LabeledText>> {
    model.run_whole(py, |pipeline| {
        let pair = |LabelScore { label, probability }| (label, probability);
        let row = |one: Classified| {
            let labels = one.labels.into_iter().map(pair).collect();
            (labels, problems(one.warnings))
        };
        let classified = pipeline.classify(first, &texts, top)?;
        Ok(classified.into_iter().map(row).collect())
    })
}

/// The `top` likeliest tokens for each gap of `texts`. A blank text has no gaps.
#[pyfunction]
pub(crate) fn fill(
    py: Python<'_>,
    model: &Model,
    texts: Vec<String>,
    top: usize,
) -> PyResult<Vec<FilledText>> {
    let guess = |Guess { text, joint, probability, .. }| (text, joint == Joint::None, probability);
    let row = |filled: Filled| {
        let gaps = filled.gaps.into_iter();
        let gaps = gaps.map(|gap| gap.into_iter().map(guess).collect());
        (filled.text, gaps.collect(), problems(filled.warnings))
    };
    model.run_whole(py, |pipeline| {
        let fill = |text: &String| match text.trim() {
            "" => Ok(Filled::default()),
            _ => pipeline.fill(text, top),
        };
        let filled = texts.iter().map(fill).collect::<Result<Vec<_>>>()?;
        Ok(filled.into_iter().map(row).collect())
    })
}

/// The vectors of `texts`, the first of which has the number `first`, as the rows of a matrix, and the
/// problems with each text. The row of a blank text is NaN.
#[pyfunction]
pub(crate) fn embed(
    py: Python<'_>,
    model: &Model,
    first: usize,
    texts: Vec<String>,
) -> PyResult<(Tensor, Vec<Vec<String>>)> {
    model.run_whole(py, |pipeline| {
        let embedded = pipeline.embed(first, &texts)?;
        let encoder = pipeline.architecture().encoder();
        let width = encoder.map_or(0, |encoder| encoder.d_out());
        let mut values = Vec::with_capacity(embedded.len() * width);
        let mut warnings = Vec::with_capacity(embedded.len());
        for one in embedded {
            match one.vector {
                Some(vector) => values.extend(vector),
                None => values.resize(values.len() + width, f32::NAN),
            }
            warnings.push(problems(one.warnings));
        }
        Ok((Tensor::new(vec![texts.len(), width], values), warnings))
    })
}
