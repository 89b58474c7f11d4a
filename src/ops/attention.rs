//! Scaled dot-product attention of all heads (*Attention Is All You Need*, equation 1).

use std::sync::Arc;

use attentive_kernels::attention::{AttentionInputs, attention as kernel, attention_backward};
pub use attentive_kernels::attention::{AttentionShape, Causality};
use burn::tensor::activation::softmax;
use burn::tensor::{Bool, Tensor, TensorData};

use super::Dropout;
use super::fused::{self, Context, Kernel, Pass};

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

/// softmax(q·kᵀ / √d_head)·v for every head; heads are column blocks of width `d_head`.
///
/// The scores are never stored: the backward pass computes them, and the dropout mask, anew. A query that may see no key
/// gives zeros.
///
/// # Shapes
/// - `q`, result: `[batch · tgt_len, n_heads · d_head]`
/// - `k`, `v`: `[batch · src_len, n_heads · d_head]`
/// - `pad`: `batch` rows of width `src_len`
pub fn attention(
    shape: AttentionShape,
    q: Tensor<2>,
    k: Tensor<2>,
    v: Tensor<2>,
    pad: Option<&PadMask>,
    causality: Causality,
    dropout: Option<Dropout>,
) -> Tensor<2> {
    if !fused::applies(&q) {
        return portable(shape, q, k, v, pad, causality, dropout);
    }
    let kernel = Attention {
        shape,
        pad: pad.cloned(),
        causality,
        dropout,
    };
    let out = q.dims();
    fused::apply(kernel, [q.into(), k.into(), v.into()], out)
}

pub(super) fn portable(
    shape: AttentionShape,
    q: Tensor<2>,
    k: Tensor<2>,
    v: Tensor<2>,
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
    let heads = |x: Tensor<2>, len| x.reshape([batch, len, n_heads, d_head]).swap_dims(1, 2);
    let ignored = ignored(&shape, pad, causality, &q);
    let scores = heads(q, tgt_len).matmul(heads(k, src_len).transpose()) / (d_head as f64).sqrt();
    // The second fill turns the uniform weights of a row that sees nothing into zeros.
    let mut weights = softmax(scores.mask_fill(ignored.clone(), -1e30), 3).mask_fill(ignored, 0.0);
    if let Some(dropout) = dropout {
        weights = super::dropout::portable(weights, dropout);
    }
    weights
        .matmul(heads(v, src_len))
        .swap_dims(1, 2)
        .reshape([batch * tgt_len, n_heads * d_head])
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

/// Inputs: q, k, v.
#[derive(Clone, Debug)]
struct Attention {
    shape: AttentionShape,
    pad: Option<PadMask>,
    causality: Causality,
    dropout: Option<Dropout>,
}

impl Attention {
    fn inputs<'a>(&'a self, [q, k, v]: [&'a [f32]; 3]) -> AttentionInputs<'a> {
        AttentionInputs {
            q,
            k,
            v,
            pad: self.pad.as_ref().map(|pad| &*pad.ignored),
            causality: self.causality,
            dropout: self.dropout,
        }
    }
}

impl Kernel<3> for Attention {
    type Saved = ();

    fn forward(&self, inputs: [&[f32]; 3], _pass: Pass) -> (Vec<f32>, ()) {
        let mut out = vec![0.0; inputs[0].len()];
        kernel(self.shape, self.inputs(inputs), &mut out);
        (out, ())
    }

    fn backward(&self, context: Context<'_, 3, ()>) -> [Option<Vec<f32>>; 3] {
        let [mut q, mut k, mut v] = context.inputs.map(|input| vec![0.0; input.len()]);
        attention_backward(
            self.shape,
            self.inputs(context.inputs),
            context.grad,
            &mut q,
            &mut k,
            &mut v,
        );
        [Some(q), Some(k), Some(v)]
    }
}
