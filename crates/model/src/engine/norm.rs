//! Norms and residual connections.

use attentive_architecture::{self as architecture, NormKind, NormPosition, TransformerStack};
use attentive_kernels::elementwise::add;
use attentive_kernels::norm::{Norm as Kind, NormCall, norm, residual_norm};

use super::buffers::Buffers;
use super::weights::Scope;

/// See [`crate::nn::Norm`].
#[derive(Debug)]
pub(super) struct Norm {
    kind: Kind,
    epsilon: f32,
    gain: Vec<f32>,
    bias: Option<Vec<f32>>,
}

impl Norm {
    pub(super) fn new(norm: &architecture::Norm, scope: &mut Scope<'_>) -> Self {
        Self {
            kind: match norm.kind {
                NormKind::Layer => Kind::Layer,
                NormKind::Rms => Kind::Rms,
                NormKind::Scalar => Kind::Scalar,
            },
            epsilon: norm.epsilon as f32,
            gain: scope.vector("gain"),
            bias: norm.has_bias().then(|| scope.vector("bias")),
        }
    }

    fn call(&self, rows: usize, len: usize) -> NormCall {
        NormCall {
            kind: self.kind,
            rows,
            d: len / rows.max(1),
            epsilon: self.epsilon,
        }
    }

    /// The norm of each of the `rows` rows of `x`.
    pub(super) fn apply(&self, rows: usize, x: &[f32], out: &mut [f32]) {
        norm(
            self.call(rows, x.len()),
            x,
            &self.gain,
            self.bias.as_deref(),
            out,
        );
    }

    /// The norm in place.
    pub(super) fn replace(&self, rows: usize, x: &mut [f32], buffers: &Buffers) {
        let mut before = buffers.take(x.len());
        before.copy_from_slice(x);
        self.apply(rows, &before, x);
    }
}

/// See [`crate::nn::Residual`].
#[derive(Debug)]
pub(super) struct Residual {
    norm: Norm,
    position: NormPosition,
}

impl Residual {
    pub(super) fn new(stack: &TransformerStack, mut scope: Scope<'_>) -> Self {
        Self {
            norm: Norm::new(&stack.norm, &mut scope.at("norm")),
            position: stack.norm_position,
        }
    }

    /// Replaces the `rows` rows of `x` by the result of the connection around `sublayer(input, output)`.
    pub(super) fn apply(
        &self,
        rows: usize,
        x: &mut [f32],
        buffers: &Buffers,
        sublayer: impl FnOnce(&[f32], &mut [f32]),
    ) {
        let mut y = buffers.take(x.len());
        let mut other = buffers.take(x.len());
        match self.position {
            NormPosition::Post => {
                sublayer(x, &mut y);
                let Norm { gain, bias, .. } = &self.norm;
                let call = self.norm.call(rows, x.len());
                let mut sum = buffers.take(x.len());
                other.copy_from_slice(x);
                residual_norm(call, None, [&other, &y], gain, bias.as_deref(), &mut sum, x);
            }
            NormPosition::Pre => {
                self.norm.apply(rows, x, &mut other);
                sublayer(&other, &mut y);
                add(x, &y);
            }
        }
    }
}
