//! Every operation of a model for a text.

use attentive::page;
use attentive::pipeline::{LossPosition, TraceRequest};
use attentive::trace::{GradientNorms, PositionNorms, TraceOptions, TracedOperation};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::model::PyModel;
use crate::tensor::Tensor;
use crate::translation::problems;

/// An operation: its name, its position, its formula and its result.
type Operation = (String, Option<usize>, String, Tensor);

/// The loss, and for the output of each layer its name and the lengths of its gradients at each position.
type Gradients = (f64, Vec<(String, Vec<f64>)>);

/// The tokens that the encoder and the decoder read, the operations, the gradients, a page that shows them,
/// and the problems with the text.
type Traced = (Vec<String>, Vec<String>, Vec<Operation>, Option<Gradients>, Option<String>, Vec<String>);

/// The trace of `text`. `backward` is `"all"`, `"last"` or a position.
#[pyfunction]
#[pyo3(name = "trace")]
pub(crate) fn traced(
    py: Python<'_>,
    model: &PyModel,
    text: &str,
    translation: Option<&str>,
    unweighted: bool,
    backward: Option<&str>,
) -> PyResult<Traced> {
    let backward = backward.map(|position| match position {
        "all" => Ok(LossPosition::All),
        "last" => Ok(LossPosition::Last),
        position => position.parse().map(LossPosition::At).map_err(|_| {
            PyValueError::new_err(format!("`backward` is \"all\", \"last\" or a position, not {position:?}"))
        }),
    });
    let request = TraceRequest {
        target: translation,
        options: TraceOptions { unweighted, ..TraceOptions::default() },
        backward: backward.transpose()?,
    };
    model.run_whole(py, |pipeline| {
        let trace = pipeline.trace(text, &request)?;
        // A page of a long text would be too large; its numbers are not.
        let page = page::trace(&model.name(), &trace).ok();
        Ok((
            trace.src,
            trace.tgt,
            trace.operations.into_iter().map(operation).collect(),
            trace.gradients.map(gradients),
            page,
            problems(trace.warnings),
        ))
    })
}

fn operation(TracedOperation { name, position, formula, result }: TracedOperation) -> Operation {
    (name, position, formula, Tensor::new(result.shape, result.values))
}

fn gradients(GradientNorms { loss, outputs, .. }: GradientNorms) -> Gradients {
    (loss, outputs.into_iter().map(|PositionNorms { name, norms }| (name, norms)).collect())
}
