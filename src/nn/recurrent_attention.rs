//! Attention of a recurrent decoder to the memory.

use burn::module::{Module, Param};
use burn::tensor::Tensor;

use super::{AttentionPlace, AttentionSite, Linear, Pass, RecurrentLayer, Scope, Sequence};
use crate::architecture::{self, AttentionKind};
use crate::ops::{self, Attended, AttentionShape, AttentiveRecurrence, Causality, Lengths, Scores};

/// Attention of a recurrent decoder to the memory.
// Each model has only one, so its size does not matter.
#[allow(clippy::large_enum_variant)]
#[derive(Module, Debug)]
pub enum RecurrentAttention {
    /// Bahdanau's.
    Additive(AdditiveAttention),
    /// Luong's.
    Multiplicative(MultiplicativeAttention),
}

/// Attention of the bottom layer (Bahdanau et al. 2015, appendix A.1.2): e_j = vᵀ tanh(W s + U h_j) with the previous state s;
/// the context Σ softmax(e)_j h_j enters the gates.
#[derive(Module, Debug)]
pub struct AdditiveAttention {
    /// `[d_hidden, d_hidden]`: W.
    pub query: Linear,
    /// `[d_hidden, d_memory]`: U.
    pub key: Linear,
    /// `[d_hidden]`: v.
    pub score: Param<Tensor<1>>,
    /// `[gates · d_hidden, d_memory]`: maps the context to the gates.
    pub context: Linear,
}

/// Attention of the top layer (Luong et al. 2015, section 3.1): e_j = sᵀ W h_j with the current state s; without W for "dot".
#[derive(Module, Debug)]
pub struct MultiplicativeAttention {
    /// `[d_memory, d_hidden]`: Wᵀ of "general".
    pub query: Option<Linear>,
}

/// The memory as attention reads it.
#[derive(Clone, Debug)]
pub(super) struct Memory {
    /// U h for additive attention, `[batch · src_len, d_hidden]`; h twice, side by side, for multiplicative.
    pub(super) keys: Tensor<2>,
    /// h for additive attention, `[batch · src_len, d_memory]`.
    pub(super) values: Option<Tensor<2>>,
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
            Self::Multiplicative(_) => (Tensor::cat(vec![h.clone(), h], 1), None),
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
        x: Tensor<2>,
        lengths: &Lengths,
        initial: Tensor<2>,
        memory: &Memory,
        pass: &Pass<'_>,
    ) -> (Tensor<2>, Tensor<2>) {
        let projected = layer.project(x, pass);
        let values = memory
            .values
            .clone()
            .expect("additive attention reads values");
        let [_, d_value] = values.dims();
        let recurrence = || AttentiveRecurrence {
            state: layer.recurrence(Some(initial.clone())),
            query: self.query.weight.val(),
            score: self.score.val(),
            context: self.context.weight.val(),
            keys: memory.keys.clone(),
            values: values.clone(),
            src_lengths: memory.lengths.clone(),
        };
        let cell = layer.cell();
        let both =
            ops::attentive_recurrent(cell, lengths, projected, recurrence(), pass.precision());
        let [_, width] = both.dims();
        let states = both.clone().narrow(1, 0, width - d_value);
        record(pass, || {
            let h = |states| layer.hidden_part(states);
            let before = before(h(initial.clone()), h(states.clone()));
            ops::attentive_recurrent_weights(&recurrence(), before)
        });
        (states, both.narrow(1, width - d_value, d_value))
    }
}

impl MultiplicativeAttention {
    /// The context of every state in `h`.
    pub(super) fn attend(
        &self,
        h: Tensor<2>,
        lengths: &Lengths,
        memory: &Memory,
        pass: &Pass<'_>,
    ) -> Tensor<2> {
        let [_, width] = memory.keys.dims();
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
            queries: queries * (d as f64).sqrt(),
            keys_values: memory.keys.clone(),
        };
        let scores = Scores::scaled(d, Causality::Full);
        let keys = Some(&memory.lengths);
        record(pass, || {
            ops::attention_weights(shape, &attended, keys, &scores).squeeze_dim(1)
        });
        ops::attention(shape, attended, keys, &scores, None)
    }
}

/// Records the weights `[batch, len, src_len]` of the only head of a recurrent decoder.
fn record(pass: &Pass<'_>, weights: impl FnOnce() -> Tensor<3>) {
    let place = AttentionPlace {
        name: "decoder.attention".into(),
        site: AttentionSite::Cross,
        layer: 0,
    };
    pass.record_attention(&place, || weights().unsqueeze_dim(1));
}

/// The previous state of each position, `[batch, len, d]`: `initial` `[batch, d]`, then the states `[batch · len, d]` without
/// the last of each sequence.
fn before(initial: Tensor<2>, states: Tensor<2>) -> Tensor<3> {
    let ([batch, d], [rows, _]) = (initial.dims(), states.dims());
    let len = rows / batch;
    if len == 1 {
        return initial.unsqueeze_dim(1);
    }
    let states = states.reshape([batch, len, d]).narrow(1, 0, len - 1);
    Tensor::cat(vec![initial.unsqueeze_dim(1), states], 1)
}
