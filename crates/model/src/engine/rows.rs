//! Layers on rows that are computed together.

use std::ops::Range;

use attentive_architecture::ActivationKind;
use attentive_base::batch::TokenId;
use attentive_kernels::cached_attention::Accumulation;
use attentive_kernels::elementwise;
use attentive_kernels::gemm::Activation;
use attentive_kernels::nonlinearity::{exact_gelu, gated, nonlinear, tanh_in_place};
use attentive_kernels::norm::{NormCall, norm};
use attentive_kernels::rotary::{RotaryCall, RowPositions, Turn, rotary};

use super::Precision;
use super::buffers::{ScratchBuffer, ScratchPool};
use super::linear::PackedLinear;
use super::matrix::Matrix;
use super::packed::{Packed, Relative};
use crate::nn::{self, Backend, Dropout, Input, PositionEncoding};

/// Positions that are computed together. `across` says what they see of other positions.
pub(super) struct Rows<'a, A> {
    /// The position of each row.
    pub(super) positions: &'a [usize],
    /// The rows of each sequence, in order.
    pub(super) spans: &'a [Span],
    pub(super) buffers: &'a ScratchPool,
    pub(super) precision: Precision,
    pub(super) across: A,
}

/// Rows of consecutive positions of one sequence.
#[derive(Clone, Debug)]
pub(super) struct Span {
    pub(super) rows: Range<usize>,
    /// Position of the first row.
    pub(super) first: usize,
}

type Norm = nn::Norm<Packed>;

impl<'a, A> Rows<'a, A> {
    /// How attention multiplies. With integers, all results are the same for every instruction set.
    pub(super) fn products(&self) -> Accumulation {
        match self.precision {
            Precision::F32 | Precision::Bf16 => Accumulation::AsInMatrixProducts,
            Precision::Int8 => Accumulation::Fused,
        }
    }

    /// Rotates the queries and keys in `plain`, which are followed by the values, by their positions if those
    /// are rotary.
    pub(super) fn rotated(
        &self,
        plain: ScratchBuffer<'a>,
        attention: &nn::Attention<Packed>,
        relative: &Relative,
    ) -> ScratchBuffer<'a> {
        let Some(table) = &relative.rotary else {
            return plain;
        };
        let heads = attention.heads;
        let call = RotaryCall {
            table,
            positions: RowPositions::Each(self.positions),
            width: heads.query_width() + 2 * heads.kv_width(),
            heads: heads.n_heads + heads.n_kv_heads,
        };
        let mut turned = self.buffers.take(plain.len());
        rotary(call, Turn::Forward, &plain, &mut turned);
        turned
    }

    /// The results of several maps of the rows of `x` side by side.
    pub(super) fn side_by_side(&self, x: &[f32], maps: &[&PackedLinear]) -> ScratchBuffer<'a> {
        self.mapped(x, maps, Activation::Identity)
    }

    fn mapped(&self, x: &[f32], maps: &[&PackedLinear], activation: Activation) -> ScratchBuffer<'a> {
        let rows = x.len() / maps[0].d_in();
        let width: usize = maps.iter().map(|map| map.d_out()).sum();
        let mut out = self.buffers.take(rows * width);
        PackedLinear::side_by_side(maps, rows, x, activation, &mut out);
        out
    }

    fn norm_call(&self, x: &[f32], norm: &Norm) -> NormCall {
        let rows = self.positions.len();
        NormCall { kind: norm.kind, rows, d: x.len() / rows.max(1), epsilon: norm.epsilon as f32 }
    }
}

impl<'a, A> Backend for Rows<'a, A> {
    type Storage = Packed;
    type Value = ScratchBuffer<'a>;

    fn embed(
        &mut self,
        ids: &[TokenId],
        table: &std::sync::Arc<Matrix>,
        input: &Input<Packed>,
        _dropout: Option<Dropout>,
    ) -> ScratchBuffer<'a> {
        let d = table.d_in();
        let fixed;
        let (vectors, offset): (&[f32], usize) = match &input.positions {
            PositionEncoding::None => (&[], 0),
            PositionEncoding::Fixed(table) => {
                fixed = table.up_to(self.positions);
                (&fixed, 0)
            }
            PositionEncoding::Learned { table, offset } => (table, *offset),
        };
        let scale = input.scale as f32;
        let mut out = self.buffers.take(ids.len() * d);
        let rows = ids.iter().zip(self.positions).zip(out.chunks_exact_mut(d));
        for ((&id, &position), out) in rows {
            table.row(id as usize, out);
            out.iter_mut().for_each(|x| *x *= scale);
            if !vectors.is_empty() {
                let vector = &vectors[(offset + position) * d..][..d];
                out.iter_mut().zip(vector).for_each(|(x, p)| *x += p);
            }
        }
        out
    }

    fn linear(&mut self, x: &ScratchBuffer<'a>, maps: &[&PackedLinear]) -> ScratchBuffer<'a> {
        self.side_by_side(x, maps)
    }

    fn activated(
        &mut self,
        x: &ScratchBuffer<'a>,
        map: &PackedLinear,
        activation: ActivationKind,
        _dropout: Option<Dropout>,
    ) -> ScratchBuffer<'a> {
        let function = match activation {
            ActivationKind::Relu => return self.mapped(x, &[map], Activation::Relu),
            kind => kind,
        };
        let linear = self.side_by_side(x, &[map]);
        let mut out = self.buffers.take(linear.len());
        match (function, self.precision) {
            // The bits of training, which uses a slower error function.
            (ActivationKind::Gelu, Precision::F32) => exact_gelu(&linear, &mut out),
            _ => nonlinear(function, &linear, &mut out),
        }
        out
    }

    fn gated(
        &mut self,
        both: ScratchBuffer<'a>,
        activation: ActivationKind,
        _dropout: Dropout,
    ) -> ScratchBuffer<'a> {
        let mut out = self.buffers.take(both.len() / 2);
        let d = out.len() / self.positions.len().max(1);
        gated(activation, d, &both, &mut out);
        out
    }

    fn norm(&mut self, x: &ScratchBuffer<'a>, layer: &Norm) -> ScratchBuffer<'a> {
        let call = self.norm_call(x, layer);
        let mut out = self.buffers.take(x.len());
        norm(call, x, &layer.gain, bias(layer), &mut out);
        out
    }

    fn residual_norm(
        &mut self,
        mut x: ScratchBuffer<'a>,
        mut y: ScratchBuffer<'a>,
        _dropout: Option<Dropout>,
        layer: &Norm,
    ) -> ScratchBuffer<'a> {
        elementwise::add(&mut x, &y);
        norm(self.norm_call(&x, layer), &x, &layer.gain, bias(layer), &mut y);
        y
    }

    fn add(
        &mut self,
        mut x: ScratchBuffer<'a>,
        y: ScratchBuffer<'a>,
        _dropout: Option<Dropout>,
    ) -> ScratchBuffer<'a> {
        elementwise::add(&mut x, &y);
        x
    }

    fn dropout(&mut self, x: ScratchBuffer<'a>, _dropout: Dropout) -> ScratchBuffer<'a> {
        x
    }

    fn tanh(&mut self, mut x: ScratchBuffer<'a>) -> ScratchBuffer<'a> {
        tanh_in_place(&mut x);
        x
    }

    fn join(&mut self, parts: Vec<ScratchBuffer<'a>>) -> ScratchBuffer<'a> {
        let rows = self.positions.len();
        let widths: Vec<usize> = parts.iter().map(|part| part.len() / rows.max(1)).collect();
        let width: usize = widths.iter().sum();
        let mut out = self.buffers.take(rows * width);
        for (row, out) in out.chunks_exact_mut(width.max(1)).enumerate() {
            let mut rest = out;
            for (part, &width) in parts.iter().zip(&widths) {
                let (to, behind) = rest.split_at_mut(width);
                to.copy_from_slice(&part[row * width..][..width]);
                rest = behind;
            }
        }
        out
    }
}

fn bias(norm: &Norm) -> Option<&[f32]> {
    norm.bias.as_ref().map(|bias| bias.as_slice())
}
