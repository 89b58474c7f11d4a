//! Attention of sequences to themselves and to the memory.

use attentive_tape::{
    self as tape, AttentionShape, Causality, DropoutCall, Lengths, QkvSource, TapeScores, Value,
};

use super::{RelativeEncoding, Sequences, Trained};
use crate::nn::{Attention, AttentionPlace};

/// Queries, keys and values, and who sees what.
pub(super) struct AttentionCall<'a> {
    pub(super) qkv: QkvSource,
    /// The number of keys of each sequence that are not padding, if padding would be seen.
    pub(super) keys: Option<&'a Lengths>,
    pub(super) scores: TapeScores,
    /// `[n_heads, n_kv_heads, d_head]`
    pub(super) heads: [usize; 3],
    pub(super) dropout: Option<DropoutCall>,
}

impl Sequences<'_> {
    /// Self-attention; with [`Causality::Full`], every position sees all keys but padding.
    pub(super) fn attend_itself(
        &self,
        x: &Value,
        attention: &Attention<Trained>,
        relative: &RelativeEncoding,
        causality: Causality,
    ) -> Value {
        let heads = attention.heads;
        let maps = [&attention.query, &attention.key, &attention.value];
        let mut all = self.side_by_side(x, &maps);
        if let Some(rotary) = &relative.rotary {
            let turned = heads.n_heads + heads.n_kv_heads;
            all = rotary.turn(all, turned, self.lengths.width());
        }
        let call = AttentionCall {
            qkv: QkvSource::Itself(all),
            keys: (causality == Causality::Full).then_some(self.lengths),
            scores: TapeScores { scale: heads.scale, causality, bias: self.bias.clone() },
            heads: [heads.n_heads, heads.n_kv_heads, heads.d_head],
            dropout: self.pass.dropout(attention.dropout),
        };
        self.contexts(call, &attention.place)
    }

    /// The contexts of all positions, `[batch · tgt_len, n_heads · d_head]`.
    pub(super) fn contexts(&self, call: AttentionCall<'_>, place: &AttentionPlace) -> Value {
        let AttentionCall { qkv, keys, scores, heads: [n_heads, n_kv_heads, d_head], dropout } = call;
        let len = |x: &Value| x.shape()[0] / self.batch().max(1);
        let (tgt_len, src_len) = match &qkv {
            QkvSource::Itself(all) => (len(all), len(all)),
            QkvSource::Other { queries, keys_values } => (len(queries), len(keys_values)),
        };
        let shape = AttentionShape { batch: self.batch(), n_heads, n_kv_heads, tgt_len, src_len, d_head };
        self.pass.record_attention(place, || tape::attention_weights(shape, &qkv, keys, &scores));
        self.pass.guide_attention(place, |guide| match &qkv {
            QkvSource::Itself(_) => None,
            QkvSource::Other { queries, keys_values } => {
                let operands = [queries.clone(), keys_values.clone()];
                Some(tape::guided_attention(shape, operands, keys, scores.scale, guide))
            }
        });
        tape::attention(shape, qkv, keys, &scores, dropout)
    }
}
