//! The operations of a device.

use std::ops::Range;

use crate::cached::*;
use crate::operands::*;
use crate::{Buffer, Device};

/// Declares operations: each is a method of every device, and with its operands and results a variant of
/// [`Op`], which devices compute.
macro_rules! operations {
    ($($(#[$about:meta])* $method:ident: $Variant:ident { $($operand:ident: $kind:ty),* $(,)? },)*) => {
        /// An operation, with its operands and results. Where they are not explained here, they are the
        /// arguments of the kernel of the same name in `attentive_kernels`, with buffers instead of slices.
        /// Results are written completely, so buffers for them may hold anything.
        #[derive(Debug)]
        pub enum Op<'a> {
            $($(#[$about])* $Variant { $($operand: $kind),* },)*
        }

        impl dyn Device + '_ {
            $(
                #[doc = concat!("Computes [`Op::", stringify!($Variant), "`].")]
                pub fn $method<'a>(&self, $($operand: $kind),*) {
                    self.run(Op::$Variant { $($operand),* });
                }
            )*
        }
    };
}

operations! {
    /// Every element of `x` = `value`.
    fill: Fill { x: &'a mut Buffer, value: f32 },

    /// `out` = `x`
    copy: Copy { x: &'a Buffer, out: &'a mut Buffer },

    /// `total` += `x`
    add: Add { total: &'a mut Buffer, x: &'a Buffer },

    /// `x` = `factor` · `x`
    scale: Scale { x: &'a mut Buffer, factor: f32 },

    /// Like [`Op::Scale`], with the only element of a buffer.
    scale_by: ScaleBy { x: &'a mut Buffer, factor: &'a Buffer },

    /// Copies `count` columns of each row of a matrix to columns of another one with as many rows.
    copy_columns: CopyColumns { count: usize, from: MatrixColumns<&'a Buffer>, to: MatrixColumns<&'a mut Buffer> },

    /// `out[i]` = `x[rows[i]]`, rows of width `d`.
    select_rows: SelectRows { d: usize, x: &'a Buffer, rows: &'a [usize], out: &'a mut Buffer },

    /// `total[rows[i]]` += `x[i]` for one i after the other, rows of width `d`.
    add_rows: AddRows { d: usize, x: &'a Buffer, rows: &'a [usize], total: &'a mut Buffer },

    /// Column i of `out` `[d, rows.len()]` = row `rows[i]` of `x` `[_, d]`.
    select_transposed: SelectTransposed { d: usize, x: &'a Buffer, rows: &'a [usize], out: &'a mut Buffer },

    /// Row `rows[i]` of `total` `[_, d]` += column i of `x` `[d, rows.len()]`, for one i after the other.
    add_transposed: AddTransposed { d: usize, x: &'a Buffer, rows: &'a [usize], total: &'a mut Buffer },

    /// Adds the elements `part` of `table` to each sequence; sequences are as long as `part`.
    add_to_each: AddToEach { table: &'a Buffer, part: Range<usize>, sequences: &'a mut Buffer },

    /// `table` = 0, but in its elements `part` the sum of all sequences, added one after the other.
    sum_of_each: SumOfEach { sequences: &'a Buffer, part: Range<usize>, table: &'a mut Buffer },

    /// `x` = dropout(`x`); its own backward pass.
    dropout: Dropout { dropout: DropoutCall, x: &'a mut Buffer },

    /// `out` = `residual` + dropout(`x`)
    dropout_add: DropoutAdd {
        x: &'a Buffer,
        residual: Option<&'a Buffer>,
        dropout: Option<DropoutCall>,
        out: &'a mut Buffer,
    },

    /// `out[i]` = `scale` · `table[ids[i]]` + the position embedding of token i, rows of width `d`.
    embedding: Embedding {
        ids: &'a [u32],
        table: &'a Buffer,
        d: usize,
        scale: f32,
        positions: Option<PositionRows<'a>>,
        out: &'a mut Buffer,
    },

    /// The gradient of the table of [`Op::Embedding`].
    embedding_backward: EmbeddingBackward {
        ids: &'a [u32],
        grad: &'a Buffer,
        d: usize,
        scale: f32,
        dtable: &'a mut Buffer,
    },

    /// Several fully connected layers with the same input.
    linear: Linear { call: LinearCall, x: &'a Buffer, maps: &'a [Affine<&'a Buffer>], out: &'a mut Buffer },

    /// The gradients of [`Op::Linear`], whose activation is undone in `grad`.
    linear_backward: LinearBackward {
        call: LinearCall,
        kept: LinearKept<'a, &'a Buffer>,
        grad: &'a mut Buffer,
        dx: Option<&'a mut Buffer>,
        gradients: Vec<AffineGradients<&'a mut Buffer>>,
    },

    /// The norm of each row.
    norm: Norm {
        call: NormCall,
        x: &'a Buffer,
        gain: &'a Buffer,
        bias: Option<&'a Buffer>,
        out: &'a mut Buffer,
    },

    /// The gradients of [`Op::Norm`].
    norm_backward: NormBackward {
        call: NormCall,
        x: &'a Buffer,
        gain: &'a Buffer,
        grad: &'a Buffer,
        gradients: NormGradients<&'a mut Buffer>,
    },

    /// `sum` = `x` + dropout(`y`), and `out` = its norm.
    residual_norm: ResidualNorm {
        call: ResidualNormCall,
        inputs: [&'a Buffer; 2],
        gain: &'a Buffer,
        bias: Option<&'a Buffer>,
        sum_and_out: [&'a mut Buffer; 2],
    },

    /// The gradients of [`Op::ResidualNorm`]; those of `x` are in `gradients`.
    residual_norm_backward: ResidualNormBackward {
        call: ResidualNormCall,
        sum: &'a Buffer,
        gain: &'a Buffer,
        grad: &'a Buffer,
        gradients: NormGradients<&'a mut Buffer>,
        dy: &'a mut Buffer,
    },

    /// `out` = f(`x`)
    nonlinear: Nonlinear { f: ActivationKind, x: &'a Buffer, out: &'a mut Buffer },

    /// The gradient of [`Op::Nonlinear`].
    nonlinear_backward: NonlinearBackward {
        f: ActivationKind,
        x: &'a Buffer,
        grad: &'a Buffer,
        dx: &'a mut Buffer,
    },

    /// `out` = f(a) ⊙ b, rows of width `d`, for the halves a and b of each row of `x`.
    gated: Gated { f: ActivationKind, d: usize, x: &'a Buffer, out: &'a mut Buffer },

    /// The gradient of [`Op::Gated`].
    gated_backward: GatedBackward {
        f: ActivationKind,
        d: usize,
        x: &'a Buffer,
        grad: &'a Buffer,
        dx: &'a mut Buffer,
    },

    /// `out` = tanh(`x`)
    tanh: Tanh { x: &'a Buffer, out: &'a mut Buffer },

    /// Turns the gradient of the result `y` of [`Op::Tanh`] into that of its operand.
    tanh_backward: TanhBackward { y: &'a Buffer, grad: &'a mut Buffer },

    /// Multi-head attention.
    attention: Attention {
        shape: AttentionShape,
        inputs: AttentionInputs<'a, &'a Buffer>,
        out: &'a mut Buffer,
    },

    /// The gradients of [`Op::Attention`]: of the operands, and of the bias if wanted.
    attention_backward: AttentionBackward {
        shape: AttentionShape,
        inputs: AttentionInputs<'a, &'a Buffer>,
        grad: &'a Buffer,
        gradients: QkvOperands<&'a mut Buffer>,
        dbias: Option<&'a mut Buffer>,
    },

    /// Rotates the heads of each row; turning back is the backward pass.
    rotary: Rotary { call: RotaryCall<'a>, turn: Turn, x: &'a Buffer, out: &'a mut Buffer },

    /// The states of the directions of a recurrent layer side by side; `saved` of each receives what the
    /// backward pass of this device reads, in a form of its own.
    recurrent: Recurrent {
        directions: Vec<RecurrentForward<'a, &'a Buffer, &'a mut Buffer>>,
        states: &'a mut Buffer,
    },

    /// The gradients of [`Op::Recurrent`], whose result was `states`.
    recurrent_backward: RecurrentBackward {
        directions: Vec<RecurrentBackward<'a, &'a Buffer, &'a mut Buffer>>,
        states: &'a Buffer,
        grad: &'a Buffer,
    },

    /// The states and contexts of a recurrent layer that attends; `kept` receives the attention weights and,
    /// in a form of its own, what else the backward pass of this device reads.
    attentive_recurrent: AttentiveRecurrent {
        call: AttentiveRecurrentCall<'a>,
        inputs: AttentiveRecurrentInputs<'a, &'a Buffer>,
        projected: &'a Buffer,
        out: &'a mut Buffer,
        kept: Option<[&'a mut Buffer; 2]>,
    },

    /// The gradients of [`Op::AttentiveRecurrent`]; `room` has [`AttentiveRecurrentCall::room`] elements
    /// of any value.
    attentive_recurrent_backward: AttentiveRecurrentBackward {
        call: AttentiveRecurrentCall<'a>,
        inputs: AttentiveRecurrentInputs<'a, &'a Buffer>,
        result: AttentiveRecurrentResult<&'a Buffer>,
        grad: &'a Buffer,
        gradients: AttentiveRecurrentGradients<&'a mut Buffer>,
        room: &'a mut Buffer,
    },

    /// Additive attention with one query per sentence.
    additive_attention: AdditiveAttention {
        shape: AdditiveAttentionShape,
        inputs: AdditiveAttentionInputs<'a, &'a Buffer>,
        out: &'a mut Buffer,
        weights: &'a mut Buffer,
    },

    /// The gradients of [`Op::AdditiveAttention`], whose weights were `weights`.
    additive_attention_backward: AdditiveAttentionBackward {
        shape: AdditiveAttentionShape,
        inputs: AdditiveAttentionInputs<'a, &'a Buffer>,
        weights: &'a Buffer,
        grad: &'a Buffer,
        gradients: AdditiveAttentionGradients<&'a mut Buffer>,
    },

    /// The mean over the real positions of each sequence, rows of width `d`.
    mean_rows: MeanRows { lengths: &'a Lengths, d: usize, x: &'a Buffer, out: &'a mut Buffer },

    /// The gradient of [`Op::MeanRows`].
    mean_rows_backward: MeanRowsBackward {
        lengths: &'a Lengths,
        d: usize,
        grad: &'a Buffer,
        dx: &'a mut Buffer,
    },

    /// [`OptimizerStep::apply`] for a part of a parameter; its state and the gradient have the elements of
    /// the part. The `verdict`, if there is one, scales the gradient or leaves everything as it is.
    optimize: Optimize {
        step: OptimizerStep,
        part: BufferSliceMut<'a>,
        state: Vec<&'a mut Buffer>,
        grad: &'a Buffer,
        verdict: Option<&'a Buffer>,
    },

    /// Columns of rows of `from` become rows of `out`, which are `count` wide.
    put_rows: PutRows { count: usize, from: MatrixColumns<&'a Buffer>, pairs: RowPairs<'a>, out: &'a mut Buffer },

    /// Attention to cached positions. The queries are columns of a matrix; `out` receives the contexts, and
    /// `weights` the attention weights of the positions that are seen, and anything behind them.
    cached_attention: CachedAttention {
        call: CachedAttentionCall<'a>,
        scores: CachedScores<&'a Buffer>,
        queries: MatrixColumns<&'a Buffer>,
        cache: &'a Buffer,
        out: &'a mut Buffer,
        weights: &'a mut Buffer,
    },
}
