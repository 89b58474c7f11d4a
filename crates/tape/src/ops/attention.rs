//! Multi-head scaled dot-product attention (*Attention Is All You Need*, equation 1).

use attentive_device::{AttentionInputs, QkvOperands, current};
use attentive_kernels::attention::Scores;
pub use attentive_kernels::attention::{AttentionShape, Causality};

use crate::op::{Context, Mode, OpOutput, OperandInfo, TapeOp, apply};
use crate::{Buffer, DropoutCall, Lengths, Value};

/// Queries, keys and values. Each row holds the features of all heads, head after head.
#[derive(Clone, Debug)]
pub enum QkvSource {
    /// Self-attention: concatenated queries, keys and values,
    /// `[batch · len, (n_heads + 2 · n_kv_heads) · d_head]`.
    Itself(Value),
    /// Cross-attention.
    Other {
        /// `[batch · tgt_len, n_heads · d_head]`
        queries: Value,
        /// Concatenated keys and values, `[batch · src_len, 2 · n_kv_heads · d_head]`.
        keys_values: Value,
    },
}

/// The scores of attention, with a bias `[n_heads, tgt_len · src_len]`.
pub type TapeScores = Scores<Value>;

/// softmax(scale · q·kᵀ + bias)·v for every head; heads are column blocks of width `d_head`.
///
/// The scores are never stored: the backward pass recomputes them and the dropout mask. The result is zero
/// for a query without visible keys.
///
/// # Shapes
/// - `lengths`: lengths of the keys, `batch` rows of width `src_len`
/// - result: `[batch · tgt_len, n_heads · d_head]`
pub fn attention(
    shape: AttentionShape,
    attended: QkvSource,
    lengths: Option<&Lengths>,
    scores: &TapeScores,
    dropout: Option<DropoutCall>,
) -> Value {
    let op = Attention {
        shape,
        lengths: lengths.cloned(),
        scale: scores.scale,
        causality: scores.causality,
        dropout,
    };
    let (first, keys_values) = match attended {
        QkvSource::Itself(joined) => (joined, None),
        QkvSource::Other { queries, keys_values } => (queries, Some(keys_values)),
    };
    let operands = AttentionOperands { first, keys_values, bias: scores.bias.clone() };
    let rows = shape.batch * shape.tgt_len;
    apply(op, operands, [rows, shape.query_width()])
}

operands! {
    /// `first` holds the queries, or the joined queries, keys and values if there are no other operands.
    struct AttentionOperands {
        first: One,
        keys_values: Maybe,
        bias: Maybe,
    }
}

struct Attention {
    shape: AttentionShape,
    lengths: Option<Lengths>,
    scale: f32,
    causality: Causality,
    dropout: Option<DropoutCall>,
}

impl Attention {
    fn inputs<'a>(&'a self, inputs: AttentionOperands<&'a Buffer>) -> AttentionInputs<'a, &'a Buffer> {
        AttentionInputs {
            operands: match inputs.keys_values {
                None => QkvOperands::Joined(inputs.first),
                Some(keys_values) => QkvOperands::Apart { queries: inputs.first, keys_values },
            },
            lengths: self.lengths.as_ref(),
            scores: Scores { scale: self.scale, causality: self.causality, bias: inputs.bias },
            dropout: self.dropout,
        }
    }
}

impl TapeOp for Attention {
    const NAME: &'static str = "attention";
    type Operands = AttentionOperands<()>;
    type Saved = ();
    type Side = ();

    fn keeps(&self, operands: AttentionOperands<OperandInfo>) -> AttentionOperands<bool> {
        operands.map(|_| true)
    }

    /// Forward: scores and weighted sums. Backward: the scores again, and the gradients of both operands of
    /// both products.
    fn flops(&self) -> [f64; 2] {
        let AttentionShape { batch, n_heads, tgt_len, src_len, d_head, .. } = self.shape;
        let product = 2.0 * (batch * n_heads * tgt_len * src_len * d_head) as f64;
        [2.0 * product, 5.0 * product]
    }

    fn forward(&self, inputs: AttentionOperands<&Buffer>, _: Mode<Self>) -> OpOutput<Self> {
        let AttentionShape { batch, tgt_len, .. } = self.shape;
        let mut out = Buffer::take(batch * tgt_len * self.shape.query_width());
        current().attention(self.shape, self.inputs(inputs), &mut out);
        OpOutput::new(out, ())
    }

    fn backward(&self, context: Context<'_, Self>) -> AttentionOperands<Option<Buffer>> {
        let AttentionOperands { first, keys_values, bias } = context.operands;
        let (mut first, mut keys_values) = (first.buffer(), keys_values.map(OperandInfo::buffer));
        let mut bias = bias.map(OperandInfo::room);
        let targets = match &mut keys_values {
            None => QkvOperands::Joined(&mut first),
            Some(keys_values) => QkvOperands::Apart { queries: &mut first, keys_values },
        };
        let inputs = self.inputs(context.inputs);
        let to_bias = bias.as_mut().and_then(Option::as_mut);
        current().attention_backward(self.shape, inputs, &context.grad, targets, to_bias);
        AttentionOperands { first: Some(first), keys_values: keys_values.map(Some), bias }
    }
}
