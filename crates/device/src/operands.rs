//! What operations are called with: dimensions, operands and results, each with a `T` for a buffer or its
//! elements.

use std::ops::Range;

pub use attentive_kernels::Lengths;
pub use attentive_kernels::additive_attention::{
    AdditiveAttentionGradients, AdditiveAttentionInputs, AdditiveAttentionShape,
};
pub use attentive_kernels::attention::{AttentionInputs, AttentionShape, QkvOperands};
pub use attentive_kernels::attentive_recurrent::{
    AttentiveRecurrentCall, AttentiveRecurrentGradients, AttentiveRecurrentInputs, AttentiveRecurrentResult,
};
pub use attentive_kernels::cross_entropy::{
    LossSums, ProjectionGradients, ProjectionInputs, ProjectionShape, Twin,
};
pub use attentive_kernels::dropout::DropoutCall;
pub use attentive_kernels::embedding::PositionRows;
pub use attentive_kernels::linear::{Affine, AffineGradients, LinearCall, LinearKept};
pub use attentive_kernels::nonlinearity::ActivationKind;
pub use attentive_kernels::norm::{NormCall, NormGradients};
pub use attentive_kernels::optimizer::{AdamStep, OptimizerStep, SgdStep};
pub use attentive_kernels::recurrent::{
    Recurrence, RecurrentBackward, RecurrentCall, RecurrentForward, RecurrentGradients,
};
pub use attentive_kernels::rotary::{RotaryCall, RowPositions, Turn};

use crate::Buffer;

/// Neighboring columns of a matrix.
#[derive(Clone, Copy, Debug)]
pub struct MatrixColumns<T> {
    /// `[rows, width]`
    pub matrix: T,
    /// All columns of the matrix.
    pub width: usize,
    /// The first of the columns.
    pub first: usize,
}

/// Neighboring elements of a buffer.
#[derive(Debug)]
pub struct BufferSliceMut<'a> {
    /// The whole buffer.
    pub buffer: &'a mut Buffer,
    /// The elements.
    pub range: Range<usize>,
}

/// A norm of a sum `x + dropout(y)`.
#[derive(Clone, Copy, Debug)]
pub struct ResidualNormCall {
    pub norm: NormCall,
    /// Dropout of `y`.
    pub dropout: Option<DropoutCall>,
}
