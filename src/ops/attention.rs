//! Scaled dot-product attention of all heads (*Attention Is All You Need*, equation 1).

use std::sync::Arc;

use attentive_kernels::attention::{
    AttentionInputs, Operands, OperandsMut, attention as kernel, attention_backward,
};
pub use attentive_kernels::attention::{AttentionShape, Causality};
use burn::tensor::activation::softmax;
use burn::tensor::{Bool, Tensor, TensorData};

use super::fused::{self, Context, Kernel, Pass};
use super::{Dropout, buffers};

/// Which positions of a batch are padding: true (non-zero) = ignored.
#[derive(Clone, Debug)]
pub struct PadMask {
    ignored: Arc<[u8]>,
    width: usize,
}

impl PadMask {
    /// The mask of rows whose first `lens[i]` of `width` positions are real.
    pub fn from_lens(lens: &[usize], width: usize) -> Self {
        let ignored = lens
            .iter()
            .flat_map(|&len| (0..width).map(move |position| u8::from(position >= len)))
            .collect();
        Self { ignored, width }
    }

    /// Non-zero = ignored, row after row.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.ignored
    }

    /// 1 where a position is real, else 0.
    pub(super) fn seen(&self) -> impl Iterator<Item = u8> {
        self.ignored.iter().map(|&ignored| u8::from(ignored == 0))
    }

    /// The mask of the rows numbered `rows`, in that order.
    pub fn select(&self, rows: &[usize]) -> Self {
        let ignored = rows
            .iter()
            .flat_map(|&row| &self.ignored[row * self.width..(row + 1) * self.width])
            .copied()
            .collect();
        Self {
            ignored,
            width: self.width,
        }
    }
}

/// What attends to what; rows are `[d_model]` = all heads, one behind the other.
// A value lives for one call: its size does not matter.
#[allow(clippy::large_enum_variant)]
#[derive(Clone, Debug)]
pub enum Attended {
    /// A sequence to itself: queries, keys and values side by side, `[batch · len, 3 · d_model]`.
    Itself(Tensor<2>),
    /// A sequence to another.
    Other {
        /// `[batch · tgt_len, d_model]`
        queries: Tensor<2>,
        /// Keys and values side by side, `[batch · src_len, 2 · d_model]`.
        keys_values: Tensor<2>,
    },
}

/// softmax(q·kᵀ / √d_head)·v for every head; heads are column blocks of width `d_head`.
///
/// The scores are never stored: the backward pass computes them, and the dropout mask, anew. A query that may see no key
/// gives zeros.
///
/// # Shapes
/// - `pad`: `batch` rows of width `src_len`
/// - result: `[batch · tgt_len, n_heads · d_head]`
pub fn attention(
    shape: AttentionShape,
    attended: Attended,
    pad: Option<&PadMask>,
    causality: Causality,
    dropout: Option<Dropout>,
) -> Tensor<2> {
    let (Attended::Itself(first) | Attended::Other { queries: first, .. }) = &attended;
    if !fused::applies(first) {
        return portable(shape, attended, pad, causality, dropout);
    }
    let kernel = Attention {
        shape,
        pad: pad.cloned(),
        causality,
        dropout,
    };
    let operands = match attended {
        Attended::Itself(joined) => vec![joined.into()],
        Attended::Other {
            queries,
            keys_values,
        } => vec![queries.into(), keys_values.into()],
    };
    let (rows, width) = (shape.batch * shape.tgt_len, shape.n_heads * shape.d_head);
    fused::apply(kernel, operands, [rows, width])
}

pub(super) fn portable(
    shape: AttentionShape,
    attended: Attended,
    pad: Option<&PadMask>,
    causality: Causality,
    dropout: Option<Dropout>,
) -> Tensor<2> {
    let AttentionShape {
        batch,
        n_heads,
        tgt_len,
        src_len,
        d_head,
    } = shape;
    let mut weights = attention_weights(shape, &attended, pad, causality);
    let [_, _, values] = attended.parts(&shape);
    if let Some(dropout) = dropout {
        weights = super::dropout::portable(weights, dropout);
    }
    weights
        .matmul(heads(&shape, values, src_len))
        .swap_dims(1, 2)
        .reshape([batch * tgt_len, n_heads * d_head])
}

/// The weights by which [`attention`] gathers values, softmax(q·kᵀ / √d_head): zeros where a query does not see a key. To
/// look at; attention itself never holds them.
///
/// # Shapes
/// - `pad`: `batch` rows of width `src_len`
/// - result: `[batch, n_heads, tgt_len, src_len]`
pub fn attention_weights(
    shape: AttentionShape,
    attended: &Attended,
    pad: Option<&PadMask>,
    causality: Causality,
) -> Tensor<4> {
    let [queries, keys, _] = attended.parts(&shape);
    let ignored = ignored(&shape, pad, causality, &queries);
    let (queries, keys) = (
        heads(&shape, queries, shape.tgt_len),
        heads(&shape, keys, shape.src_len),
    );
    let scores = queries.matmul(keys.transpose()) / (shape.d_head as f64).sqrt();
    // The second fill turns the uniform weights of a row that sees nothing into zeros.
    softmax(scores.mask_fill(ignored.clone(), -1e30), 3).mask_fill(ignored, 0.0)
}

impl Attended {
    /// Queries, keys and values, `[batch · len, d_model]` each.
    fn parts(&self, shape: &AttentionShape) -> [Tensor<2>; 3] {
        let width = shape.n_heads * shape.d_head;
        let part = |x: &Tensor<2>, number: usize| x.clone().narrow(1, number * width, width);
        match self {
            Self::Itself(all) => [0, 1, 2].map(|number| part(all, number)),
            Self::Other {
                queries,
                keys_values,
            } => [queries.clone(), part(keys_values, 0), part(keys_values, 1)],
        }
    }
}

/// Rows of all heads to `[batch, n_heads, len, d_head]`.
fn heads(shape: &AttentionShape, x: Tensor<2>, len: usize) -> Tensor<4> {
    x.reshape([shape.batch, len, shape.n_heads, shape.d_head])
        .swap_dims(1, 2)
}

/// `[batch, n_heads, tgt_len, src_len]`: true = this query does not see this key.
fn ignored(
    shape: &AttentionShape,
    pad: Option<&PadMask>,
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
                let padded = pad.is_some_and(|pad| pad.ignored[row * src_len + key] != 0);
                let future = causality == Causality::Causal && key + tgt_len > query + src_len;
                ignored.push(padded || future);
            }
        }
    }
    let data = TensorData::new(ignored, [batch, 1, tgt_len, src_len]);
    Tensor::<4, Bool>::from_data(data, &like.device()).expand([batch, n_heads, tgt_len, src_len])
}

/// Inputs: those of an [`Attended`].
#[derive(Clone, Debug)]
struct Attention {
    shape: AttentionShape,
    pad: Option<PadMask>,
    causality: Causality,
    dropout: Option<Dropout>,
}

impl Attention {
    fn inputs<'a>(&'a self, inputs: &[&'a [f32]]) -> AttentionInputs<'a> {
        AttentionInputs {
            operands: match *inputs {
                [joined] => Operands::Joined(joined),
                [queries, keys_values] => Operands::Apart {
                    queries,
                    keys_values,
                },
                _ => unreachable!("one input or two"),
            },
            pad: self.pad.as_ref().map(|pad| &*pad.ignored),
            causality: self.causality,
            dropout: self.dropout,
        }
    }
}

impl Kernel for Attention {
    const NAME: &'static str = "attention";
    type Saved = ();

    /// Scores and sums; backward the scores again and the gradients of both products' operands.
    fn flops(&self) -> [f64; 2] {
        let AttentionShape {
            batch,
            n_heads,
            tgt_len,
            src_len,
            d_head,
        } = self.shape;
        let product = 2.0 * (batch * n_heads * tgt_len * src_len * d_head) as f64;
        [2.0 * product, 5.0 * product]
    }

    fn forward(&self, inputs: &[&[f32]], _pass: Pass) -> (Vec<f32>, ()) {
        let AttentionShape {
            batch,
            n_heads,
            tgt_len,
            d_head,
            ..
        } = self.shape;
        let mut out = buffers::take(batch * tgt_len * n_heads * d_head);
        kernel(self.shape, self.inputs(inputs), &mut out);
        (out, ())
    }

    fn backward(&self, context: Context<'_, ()>) -> Vec<Option<Vec<f32>>> {
        let inputs = context.inputs.iter();
        let mut gradients: Vec<_> = inputs.map(|input| buffers::take(input.len())).collect();
        let targets = match &mut gradients[..] {
            [joined] => OperandsMut::Joined(joined),
            [queries, keys_values] => OperandsMut::Apart {
                queries,
                keys_values,
            },
            _ => unreachable!("one input or two"),
        };
        let inputs = self.inputs(context.inputs);
        attention_backward(self.shape, inputs, context.grad, targets);
        gradients.into_iter().map(Some).collect()
    }
}
