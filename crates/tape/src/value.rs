//! Values: matrices of numbers that know how they were computed.

use std::borrow::Cow;
use std::rc::Rc;
use std::sync::Arc;

use attentive_device::current;

use crate::backward::{Gradients, Node};
use crate::param::{Param, ParamId};
use crate::{Buffer, backward};

/// A matrix, row after row. A vector is a single row.
///
/// Clones are cheap. A value that depends on a trained parameter keeps what the backward pass needs until it
/// is dropped.
#[derive(Clone, Debug)]
pub struct Value {
    pub(crate) data: Arc<Buffer>,
    shape: [usize; 2],
    pub(crate) target: Option<GradientTarget>,
}

/// What a gradient belongs to.
#[derive(Clone, Debug)]
pub(crate) enum GradientTarget {
    /// A trained parameter.
    Param(Param),
    /// The result of an operation.
    Node(Rc<Node>),
}

impl Value {
    /// A constant.
    ///
    /// # Panics
    /// If the number of elements does not fit the shape.
    pub fn new(values: impl Into<Buffer>, shape: [usize; 2]) -> Self {
        Self::with_target(Arc::new(values.into()), shape, None)
    }

    /// Zeros.
    pub fn zeros(shape: [usize; 2]) -> Self {
        Self::new(Buffer::zeros(shape[0] * shape[1]), shape)
    }

    pub(crate) fn with_target(data: Arc<Buffer>, shape: [usize; 2], target: Option<GradientTarget>) -> Self {
        let [rows, columns] = shape;
        assert_eq!(data.len(), rows * columns, "{} numbers for a shape of [{rows}, {columns}]", data.len());
        Self { data, shape, target }
    }

    /// The same elements in another shape.
    pub(crate) fn reshaped(self, shape: [usize; 2]) -> Self {
        Self::with_target(self.data, shape, self.target)
    }

    /// Returns the numbers of rows and columns.
    pub fn shape(&self) -> [usize; 2] {
        self.shape
    }

    /// Returns the buffer with the elements, row after row.
    pub fn buffer(&self) -> &Buffer {
        &self.data
    }

    /// Returns the elements, row after row; see [`Buffer::values`].
    pub fn values(&self) -> Cow<'_, [f32]> {
        self.data.values()
    }

    /// Returns the elements, row after row; they are copied if something else refers to them.
    pub fn into_vec(self) -> Vec<f32> {
        drop(self.target);
        Arc::try_unwrap(self.data).map_or_else(|shared| shared.values().into_owned(), Buffer::into_vec)
    }

    /// Computes the gradients of the sum of all elements. They are zeros if the value depends on no trained
    /// parameter, or was computed without recording.
    ///
    /// # Panics
    /// If a backward pass has already gone through an operation that this value depends on.
    pub fn backward(self) -> Gradients {
        self.backward_watched(&mut |_, _| ())
    }

    /// Like [`Value::backward`], and calls `complete` with each gradient as soon as no contribution to it
    /// follows.
    ///
    /// # Panics
    /// See [`Value::backward`].
    pub fn backward_watched(self, complete: &mut dyn FnMut(ParamId, &Buffer)) -> Gradients {
        let mut seed = Buffer::take(self.data.len());
        current().fill(&mut seed, 1.0);
        match self.target {
            Some(GradientTarget::Node(node)) => backward::run(node, seed, complete),
            Some(GradientTarget::Param(param)) => {
                param.mask(&mut seed);
                complete(param.id(), &seed);
                Gradients::of(param.id(), seed)
            }
            None => Gradients::default(),
        }
    }
}
