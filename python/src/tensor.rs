//! Arrays for NumPy.

use std::sync::Arc;

use attentive::checkpoint::MappedWeights;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

/// An array of `float32` that `numpy.asarray` reads without a copy, and that nobody can change.
#[pyclass(frozen, module = "attentive._attentive")]
pub(crate) struct Tensor {
    shape: Vec<usize>,
    values: Values,
}

/// Where the numbers of a tensor are.
enum Values {
    InRam(Vec<f32>),
    /// A parameter of a mapped file.
    Mapped(Arc<MappedWeights>, usize),
}

impl Tensor {
    /// The array `values` of `shape`.
    pub(crate) fn new(shape: Vec<usize>, values: Vec<f32>) -> Self {
        Self { shape, values: Values::InRam(values) }
    }

    /// The parameter of `weights` at `index`. It stays in the file if it can be used there.
    pub(crate) fn mapped(weights: &Arc<MappedWeights>, index: usize) -> Self {
        let (_, shape) = weights.parameter(index);
        Self {
            shape: shape.to_vec(),
            values: match weights.values(index) {
                std::borrow::Cow::Borrowed(_) => Values::Mapped(Arc::clone(weights), index),
                std::borrow::Cow::Owned(values) => Values::InRam(values),
            },
        }
    }

    /// The address of the first number.
    fn address(&self) -> usize {
        match &self.values {
            Values::InRam(values) => values.as_ptr().addr(),
            Values::Mapped(weights, index) => weights.values(*index).as_ptr().addr(),
        }
    }
}

#[pymethods]
impl Tensor {
    /// See <https://numpy.org/doc/stable/reference/arrays.interface.html>.
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let order = if cfg!(target_endian = "little") { '<' } else { '>' };
        let read_only = true;
        let interface = PyDict::new(py);
        interface.set_item("version", 3)?;
        interface.set_item("typestr", format!("{order}f4"))?;
        interface.set_item("shape", PyTuple::new(py, &self.shape)?)?;
        interface.set_item("data", (self.address(), read_only))?;
        Ok(interface)
    }
}
