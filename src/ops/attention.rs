//! Multi-head scaled dot-product attention (*Attention Is All You Need*, equation 1).

use attentive_kernels::Lengths;
use attentive_kernels::attention::{
    AttentionInputs, Operands, OperandsMut, Scores as KernelScores, attention as kernel,
    attention_backward, scale_of,
};
pub use attentive_kernels::attention::{AttentionShape, Causality};
use burn::tensor::activation::softmax;
use burn::tensor::{Bool, Tensor, TensorData};

use super::fused::{self, Context, Kernel, Mode, Operand, Output};
use super::{Dropout, buffers};

/// Queries, keys and values. Each row holds the features of all heads, head after head.
// A value lives only for one call, so its size does not matter.
#[allow(clippy::large_enum_variant)]
#[derive(Clone, Debug)]
pub enum Attended {
    /// Self-attention: concatenated queries, keys and values, `[batch · len, (n_heads + 2 · n_kv_heads) · d_head]`.
    Itself(Tensor<2>),
    /// Cross-attention.
    Other {
        /// `[batch · tgt_len, n_heads · d_head]`
        queries: Tensor<2>,
        /// Concatenated keys and values, `[batch · src_len, 2 · n_kv_heads · d_head]`.
        keys_values: Tensor<2>,
    },
}

/// The scores of attention: `scale` · q·k + `bias`.
#[derive(Clone, Debug)]
pub struct Scores {
    /// Factor applied to the dot products.
    pub scale: f32,
    /// Which keys a query may attend to.
    pub causality: Causality,
    /// `[n_heads, tgt_len, src_len]`, added to the scaled dot products of every sequence, for example a relative position
    /// bias (Raffel et al. 2020).
    pub bias: Option<Tensor<3>>,
}

impl Scores {
    /// Scores q·k / √`d_head` without bias (*Attention Is All You Need*, equation 1).
    pub fn scaled(d_head: usize, causality: Causality) -> Self {
        Self {
            scale: scale_of(d_head),
            causality,
            bias: None,
        }
    }
}

/// softmax(scale · q·kᵀ + bias)·v for every head; heads are column blocks of width `d_head`.
///
/// The scores are never stored: the backward pass recomputes them and the dropout mask. The result is zero for a
/// query without visible keys.
///
/// # Shapes
/// - `lengths`: lengths of the keys, `batch` rows of width `src_len`
/// - result: `[batch · tgt_len, n_heads · d_head]`
pub fn attention(
    shape: AttentionShape,
    attended: Attended,
    lengths: Option<&Lengths>,
    scores: &Scores,
    dropout: Option<Dropout>,
) -> Tensor<2> {
    let (Attended::Itself(first) | Attended::Other { queries: first, .. }) = &attended;
    if !fused::applies(first) {
        return portable(shape, attended, lengths, scores, dropout);
    }
    let kernel = Attention {
        shape,
        lengths: lengths.cloned(),
        scale: scores.scale,
        causality: scores.causality,
        dropout,
    };
    let (first, keys_values) = match attended {
        Attended::Itself(joined) => (joined, None),
        Attended::Other {
            queries,
            keys_values,
        } => (queries, Some(keys_values)),
    };
    let operands = AttentionOperands {
        first: first.into(),
        keys_values: keys_values.map(Operand::from),
        bias: scores.bias.clone().map(Operand::from),
    };
    let rows = shape.batch * shape.tgt_len;
    fused::apply(kernel, operands, [rows, shape.query_width()])
}

pub(super) fn portable(
    shape: AttentionShape,
    attended: Attended,
    lengths: Option<&Lengths>,
    scores: &Scores,
    dropout: Option<Dropout>,
) -> Tensor<2> {
    let mut weights = attention_weights(shape, &attended, lengths, scores);
    let [_, _, values] = attended.parts(&shape);
    if let Some(dropout) = dropout {
        weights = super::dropout::portable(weights, dropout);
    }
    weights
        .matmul(keys_of_heads(&shape, values))
        .swap_dims(1, 2)
        .reshape([shape.batch * shape.tgt_len, shape.query_width()])
}

/// The attention weights of [`attention`], zero where a query does not see a key. For inspection only; attention
/// itself never materializes them.
///
/// # Shapes
/// - `lengths`: lengths of the keys, `batch` rows of width `src_len`
/// - result: `[batch, n_heads, tgt_len, src_len]`
pub fn attention_weights(
    shape: AttentionShape,
    attended: &Attended,
    lengths: Option<&Lengths>,
    scores: &Scores,
) -> Tensor<4> {
    let [queries, keys, _] = attended.parts(&shape);
    let ignored = ignored(&shape, lengths, scores.causality, &queries);
    let queries = heads(&shape, queries, shape.tgt_len, shape.n_heads);
    let products =
        queries.matmul(keys_of_heads(&shape, keys).transpose()) * f64::from(scores.scale);
    let scores = match &scores.bias {
        None => products,
        Some(bias) => products + bias.clone().unsqueeze(),
    };
    // The second fill zeroes the uniform weights of rows without visible keys.
    softmax(scores.mask_fill(ignored.clone(), -1e30), 3).mask_fill(ignored, 0.0)
}

impl Attended {
    /// Queries, `[batch · tgt_len, n_heads · d_head]`, keys and values, `[batch · src_len, n_kv_heads · d_head]`.
    fn parts(&self, shape: &AttentionShape) -> [Tensor<2>; 3] {
        let (width, kv_width) = (shape.query_width(), shape.kv_width());
        let part = |x: &Tensor<2>, first: usize| x.clone().narrow(1, first, kv_width);
        match self {
            Self::Itself(all) => [
                all.clone().narrow(1, 0, width),
                part(all, width),
                part(all, width + kv_width),
            ],
            Self::Other {
                queries,
                keys_values,
            } => [
                queries.clone(),
                part(keys_values, 0),
                part(keys_values, kv_width),
            ],
        }
    }
}

/// Reshapes rows of `n_heads` heads to `[batch, n_heads, len, d_head]`.
fn heads(shape: &AttentionShape, x: Tensor<2>, len: usize, n_heads: usize) -> Tensor<4> {
    x.reshape([shape.batch, len, n_heads, shape.d_head])
        .swap_dims(1, 2)
}

/// Keys or values, with each head repeated for the query heads that share it: `[batch, n_heads, src_len, d_head]`.
fn keys_of_heads(shape: &AttentionShape, x: Tensor<2>) -> Tensor<4> {
    let x = heads(shape, x, shape.src_len, shape.n_kv_heads);
    if shape.n_kv_heads == shape.n_heads {
        return x;
    }
    let AttentionShape {
        batch,
        n_heads,
        n_kv_heads,
        src_len,
        d_head,
        ..
    } = *shape;
    let x: Tensor<5> = x.unsqueeze_dim(2);
    x.repeat_dim(2, n_heads / n_kv_heads)
        .reshape([batch, n_heads, src_len, d_head])
}

/// The mask `[batch, n_heads, tgt_len, src_len]`: true if the query does not see the key.
fn ignored(
    shape: &AttentionShape,
    lengths: Option<&Lengths>,
    causality: Causality,
    like: &Tensor<2>,
) -> Tensor<4, Bool> {
    let AttentionShape {
        batch,
        n_heads,
        tgt_len,
        src_len,
        ..
    } = *shape;
    let mut ignored = Vec::with_capacity(batch * tgt_len * src_len);
    for row in 0..batch {
        for query in 0..tgt_len {
            for key in 0..src_len {
                let padded = lengths.is_some_and(|lengths| key >= lengths.lens()[row]);
                let future = causality == Causality::Causal && key + tgt_len > query + src_len;
                ignored.push(padded || future);
            }
        }
    }
    let data = TensorData::new(ignored, [batch, 1, tgt_len, src_len]);
    Tensor::<4, Bool>::from_data(data, &like.device()).expand([batch, n_heads, tgt_len, src_len])
}

operands! {
    /// `first` holds the queries, or the joined queries, keys and values if there are no other operands.
    struct AttentionOperands {
        first: One,
        keys_values: Maybe,
        bias: Maybe,
    }
}

#[derive(Clone, Debug)]
struct Attention {
    shape: AttentionShape,
    lengths: Option<Lengths>,
    scale: f32,
    causality: Causality,
    dropout: Option<Dropout>,
}

impl Attention {
    fn inputs<'a>(&'a self, inputs: AttentionOperands<&'a [f32]>) -> AttentionInputs<'a> {
        AttentionInputs {
            operands: match inputs.keys_values {
                None => Operands::Joined(inputs.first),
                Some(keys_values) => Operands::Apart {
                    queries: inputs.first,
                    keys_values,
                },
            },
            lengths: self.lengths.as_ref(),
            scores: KernelScores {
                scale: self.scale,
                causality: self.causality,
                bias: inputs.bias,
            },
            dropout: self.dropout,
        }
    }
}

impl Kernel for Attention {
    const NAME: &'static str = "attention";
    type Operands = AttentionOperands<()>;
    type Saved = ();
    type Side = ();

    /// Forward: scores and weighted sums. Backward: the scores again, and the gradients of both operands of both
    /// products.
    fn flops(&self) -> [f64; 2] {
        let AttentionShape {
            batch,
            n_heads,
            tgt_len,
            src_len,
            d_head,
            ..
        } = self.shape;
        let product = 2.0 * (batch * n_heads * tgt_len * src_len * d_head) as f64;
        [2.0 * product, 5.0 * product]
    }

    fn forward(&self, inputs: AttentionOperands<&[f32]>, _mode: Mode) -> Output<Self> {
        let AttentionShape { batch, tgt_len, .. } = self.shape;
        let mut out = buffers::take(batch * tgt_len * self.shape.query_width());
        kernel(self.shape, self.inputs(inputs), &mut out);
        Output::new(out, ())
    }

    fn backward(&self, context: Context<'_, Self>) -> AttentionOperands<Option<Vec<f32>>> {
        let room = |input: &[f32]| buffers::take(input.len());
        let inputs = &context.inputs;
        let mut first = room(inputs.first);
        let mut keys_values = inputs.keys_values.map(room);
        let mut bias = inputs.bias.map(room);
        let targets = match &mut keys_values {
            None => OperandsMut::Joined(&mut first),
            Some(keys_values) => OperandsMut::Apart {
                queries: &mut first,
                keys_values,
            },
        };
        let inputs = self.inputs(context.inputs);
        attention_backward(
            self.shape,
            inputs,
            context.grad,
            targets,
            bias.as_deref_mut(),
        );
        AttentionOperands {
            first: Some(first),
            keys_values: keys_values.map(Some),
            bias: bias.map(Some),
        }
    }
}
