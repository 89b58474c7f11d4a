//! Additive attention with one query per sentence.

use attentive_device::{
    AdditiveAttentionGradients, AdditiveAttentionInputs, AdditiveAttentionShape, current,
};

use crate::op::{Context, Mode, OpOutput, OperandInfo, TapeOp, apply};
use crate::{Buffer, Lengths, Value};

/// What additive attention reads.
#[derive(Clone, Debug)]
pub struct AdditiveMemory {
    /// `[batch · src_len, d_key]`
    pub keys: Value,
    /// `[batch · src_len, d_value]`
    pub values: Value,
    /// `[1, d_key]`: v of the score vᵀ tanh(q + key).
    pub score: Value,
    /// Keys per sequence.
    pub src_lengths: Lengths,
}

/// Returns the context Σ softmax(e)_j value_j of one query q per sequence, where e_j = vᵀ tanh(q + key_j);
/// zero for a sequence without keys.
///
/// # Shapes
/// - `queries`: `[batch, d_key]`
/// - result: `[batch, d_value]`
pub fn additive_attention(queries: Value, memory: AdditiveMemory) -> Value {
    let AdditiveMemory { keys, values, score, src_lengths } = memory;
    let ([rows, d_key], [_, d_value]) = (queries.shape(), values.shape());
    let shape = AdditiveAttentionShape { rows, src_len: src_lengths.width(), d_key, d_value };
    let op = AdditiveAttention { shape, src_lengths };
    apply(op, AdditiveOperands { queries, keys, values, score }, [rows, d_value])
}

operands! {
    struct AdditiveOperands {
        queries: One,
        keys: One,
        values: One,
        score: One,
    }
}

struct AdditiveAttention {
    shape: AdditiveAttentionShape,
    src_lengths: Lengths,
}

impl AdditiveAttention {
    fn inputs<'a>(
        &'a self,
        inputs: &AdditiveOperands<&'a Buffer>,
    ) -> AdditiveAttentionInputs<'a, &'a Buffer> {
        AdditiveAttentionInputs {
            queries: inputs.queries,
            keys: inputs.keys,
            values: inputs.values,
            lengths: Some(&self.src_lengths),
            v: inputs.score,
        }
    }
}

impl TapeOp for AdditiveAttention {
    const NAME: &'static str = "additive attention";
    type Operands = AdditiveOperands<()>;
    /// The attention weights.
    type Saved = Buffer;
    type Side = ();

    fn keeps(&self, operands: AdditiveOperands<OperandInfo>) -> AdditiveOperands<bool> {
        operands.map(|_| true)
    }

    fn forward(&self, inputs: AdditiveOperands<&Buffer>, _: Mode<Self>) -> OpOutput<Self> {
        let AdditiveAttentionShape { rows, src_len, d_value, .. } = self.shape;
        let (mut out, mut weights) = (Buffer::take(rows * d_value), Buffer::take(rows * src_len));
        current().additive_attention(self.shape, self.inputs(&inputs), &mut out, &mut weights);
        OpOutput::new(out, weights)
    }

    fn backward(&self, context: Context<'_, Self>) -> AdditiveOperands<Option<Buffer>> {
        let AdditiveOperands { queries, keys, values, score } = context.operands;
        let [mut queries, mut keys, mut values, mut score] =
            [queries, keys, values, score].map(OperandInfo::buffer);
        let gradients = AdditiveAttentionGradients {
            queries: &mut queries,
            keys: &mut keys,
            values: &mut values,
            v: &mut score,
        };
        let inputs = self.inputs(&context.inputs);
        let (weights, grad) = (&context.saved, &context.grad);
        current().additive_attention_backward(self.shape, inputs, weights, grad, gradients);
        AdditiveOperands {
            queries: Some(queries),
            keys: Some(keys),
            values: Some(values),
            score: Some(score),
        }
    }
}
