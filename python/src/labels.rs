//! Tags, labels, filled gaps and vectors.

use attentive::pipeline::TextTask;
use pyo3::prelude::*;

use crate::choice::unknown;
use crate::json::json;
use crate::model::PyModel;
use crate::tensor::Tensor;
use crate::translation::problems;

/// The answers of the model about `texts`, the first of which has the number `first`, as JSON; `top` is the
/// number of guesses or labels.
#[pyfunction]
pub(crate) fn answers(
    py: Python<'_>,
    model: &PyModel,
    task: &str,
    first: usize,
    texts: Vec<String>,
    top: usize,
) -> PyResult<String> {
    model.run(py, |pipeline| {
        let task = match task {
            "fill" => TextTask::Fill(top),
            "tag" => TextTask::Tag,
            "classify" => TextTask::Classify(top),
            other => return Err(unknown("task", other, &["fill", "tag", "classify"])),
        };
        Ok(json(&task.answers(pipeline, first, &texts)?))
    })
}

/// The vectors of `texts`, the first of which has the number `first`, as the rows of a matrix, and the
/// problems with each text. The row of a blank text is NaN.
#[pyfunction]
pub(crate) fn embed(
    py: Python<'_>,
    model: &PyModel,
    first: usize,
    texts: Vec<String>,
) -> PyResult<(Tensor, Vec<Vec<String>>)> {
    model.run(py, |pipeline| {
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
