//! Attention of a recurrent decoder to the memory.

use attentive_architecture::{self as architecture, AttentionKind};
use attentive_tape::{
    self as tape, Attended, AttentionShape, AttentionWeights, AttentiveRecurrence, Causality,
    Lengths, Param, Scores, Value,
};

use super::{AttentionPlace, AttentionSite, Linear, Pass, RecurrentLayer, Scope, Sequence};

/// Attention of a recurrent decoder to the memory.
// Each model has only one, so its size does not matter.
#[allow(clippy::large_enum_variant)]
#[derive(Clone, Debug)]
pub enum RecurrentAttention {
    /// Bahdanau's.
    Additive(AdditiveAttention),
    /// Luong's.
    Multiplicative(MultiplicativeAttention),
}

/// Attention of the bottom layer (Bahdanau et al. 2015, appendix A.1.2): e_j = vᵀ tanh(W s + U h_j) with the previous state s;
/// the context Σ softmax(e)_j h_j enters the gates.
#[derive(Clone, Debug)]
pub struct AdditiveAttention {
    /// `[d_hidden, d_hidden]`: W.
    pub query: Linear,
    /// `[d_hidden, d_memory]`: U.
    pub key: Linear,
    /// `[d_hidden]`: v.
    pub score: Param,
    /// `[gates · d_hidden, d_memory]`: maps the context to the gates.
    pub context: Linear,
}

/// Attention of the top layer (Luong et al. 2015, section 3.1): e_j = sᵀ W h_j with the current state s; without W for "dot".
#[derive(Clone, Debug)]
pub struct MultiplicativeAttention {
    /// `[d_memory, d_hidden]`: Wᵀ of "general".
    pub query: Option<Linear>,
}

/// The memory as attention reads it.
#[derive(Clone, Debug)]
pub(super) struct Memory {
    /// U h for additive attention, `[batch · src_len, d_hidden]`; h twice, side by side, for multiplicative.
    pub(super) keys: Value,
    /// h for additive attention, `[batch · src_len, d_memory]`.
    pub(super) values: Option<Value>,
    pub(super) lengths: Lengths,
}

impl RecurrentAttention {
    pub(super) fn new(stack: &architecture::RecurrentDecoder, scope: Scope<'_>) -> Option<Self> {
        let linear = |name| Linear::new(false, scope.at(name));
        let multiplicative = |query| Self::Multiplicative(MultiplicativeAttention { query });
        match stack.attention {
            AttentionKind::None => None,
            AttentionKind::Dot => Some(multiplicative(None)),
            AttentionKind::General => Some(multiplicative(Some(linear("query")))),
            AttentionKind::Additive => Some(Self::Additive(AdditiveAttention {
                query: linear("query"),
                key: linear("key"),
                score: scope.parameter("score"),
                context: linear("context"),
            })),
        }
    }

    /// Keys and values of the encoder's output.
    pub(super) fn memory(&self, memory: &Sequence, pass: &Pass<'_>) -> Memory {
        let h = memory.x.clone();
        let (keys, values) = match self {
            Self::Additive(attention) => (attention.key.forward(h.clone(), pass), Some(h)),
            Self::Multiplicative(_) => (tape::join(vec![h.clone(), h]), None),
        };
        Memory {
            keys,
            values,
            lengths: memory.lengths.clone(),
        }
    }
}

impl AdditiveAttention {
    /// The states of the layer and the contexts of all positions.
    pub(super) fn run(
        &self,
        layer: &RecurrentLayer,
        x: Value,
        lengths: &Lengths,
        initial: Value,
        memory: &Memory,
        pass: &Pass<'_>,
    ) -> (Value, Value) {
        let projected = layer.project(x, pass);
        let values = memory
            .values
            .clone()
            .expect("additive attention reads values");
        let [_, d_value] = values.shape();
        let recurrence = || AttentiveRecurrence {
            state: layer.recurrence(Some(initial.clone()), pass),
            query: pass.read(&self.query.weight),
            score: pass.read(&self.score),
            context: pass.read(&self.context.weight),
            keys: memory.keys.clone(),
            values: values.clone(),
            src_lengths: memory.lengths.clone(),
        };
        let cell = layer.cell();
        let both =
            tape::attentive_recurrent(cell, lengths, projected, recurrence(), pass.precision());
        let [_, width] = both.shape();
        let states = tape::columns(both.clone(), 0..width - d_value);
        record(pass, || {
            let h = |states| layer.hidden_part(states);
            let before = before(&h(initial.clone()), &h(states.clone()));
            tape::attentive_recurrent_weights(&recurrence(), &before)
        });
        (states, tape::columns(both, width - d_value..width))
    }
}

impl MultiplicativeAttention {
    /// The context of every state in `h`.
    pub(super) fn attend(
        &self,
        h: Value,
        lengths: &Lengths,
        memory: &Memory,
        pass: &Pass<'_>,
    ) -> Value {
        let [_, width] = memory.keys.shape();
        let d = width / 2;
        let shape = AttentionShape {
            batch: lengths.rows(),
            n_heads: 1,
            n_kv_heads: 1,
            tgt_len: lengths.width(),
            src_len: memory.lengths.width(),
            d_head: d,
        };
        let queries = match &self.query {
            Some(query) => query.forward(h, pass),
            None => h,
        };
        // This factor and the scale of the scores cancel; runs of earlier versions need both to resume to the bit.
        let attended = Attended::Other {
            queries: tape::scale(queries, (d as f64).sqrt() as f32),
            keys_values: memory.keys.clone(),
        };
        let scores = Scores::scaled(d, Causality::Full);
        let keys = Some(&memory.lengths);
        record(pass, || {
            tape::attention_weights(shape, &attended, keys, &scores)
        });
        tape::attention(shape, attended, keys, &scores, None)
    }
}

/// Records the weights `[batch, 1, len, src_len]` of the only head of a recurrent decoder.
fn record(pass: &Pass<'_>, weights: impl FnOnce() -> AttentionWeights) {
    let place = AttentionPlace {
        name: "decoder.attention".into(),
        site: AttentionSite::Cross,
        layer: 0,
    };
    pass.record_attention(&place, weights);
}

/// The previous state of each position, `[batch · len, d]`: `initial` `[batch, d]`, then the states `[batch · len, d]` without
/// the last of each sequence.
fn before(initial: &Value, states: &Value) -> Value {
    let ([batch, d], [rows, _]) = (initial.shape(), states.shape());
    let len = rows / batch;
    let mut values = Vec::with_capacity(rows * d);
    for (first, states) in initial
        .values()
        .chunks_exact(d)
        .zip(states.values().chunks_exact(len * d))
    {
        values.extend_from_slice(first);
        values.extend_from_slice(&states[..(len - 1) * d]);
    }
    Value::new(values, [rows, d])
}
