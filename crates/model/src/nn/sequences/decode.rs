//! Whole sequences, each position of which sees earlier ones and the memory.

use attentive_tape::{self as tape, AttentiveRecurrence, Causality, QkvSource, TapeScores, Value};

use super::attend::AttentionCall;
use super::encode::hidden_part;
use super::{AttentionPlace, AttentionSite, RelativeEncoding, Sequence, Sequences, Trained};
use crate::nn::{
    AdditiveAttention, Attention, Decode, MultiplicativeAttention, RecurrentDecoder, RecurrentLayer,
};

impl Decode for Sequences<'_> {
    fn attend_earlier(
        &mut self,
        x: &Value,
        attention: &Attention<Trained>,
        relative: &RelativeEncoding,
    ) -> Value {
        self.attend_itself(x, attention, relative, Causality::Causal)
    }

    fn attend_memory(&mut self, x: &Value, attention: &Attention<Trained>) -> Value {
        let Sequence { x: memory, lengths } = self.memory();
        let keys_values = self.side_by_side(memory, &[&attention.key, &attention.value]);
        let queries = self.side_by_side(x, &[&attention.query]);
        let heads = attention.heads;
        let call = AttentionCall {
            qkv: QkvSource::Other { queries, keys_values },
            keys: Some(lengths),
            scores: TapeScores { scale: heads.scale, causality: Causality::Full, bias: None },
            heads: [heads.n_heads, heads.n_kv_heads, heads.d_head],
            dropout: self.pass.dropout(attention.dropout),
        };
        self.contexts(call, &attention.place)
    }

    fn advance(&mut self, x: &Value, layer: &RecurrentLayer<Trained>, number: usize) -> Value {
        let initial = self.starts.get(number).cloned();
        hidden_part(self.states(x, layer, initial), layer)
    }

    fn advance_attentive(
        &mut self,
        x: &Value,
        layer: &RecurrentLayer<Trained>,
        attention: &AdditiveAttention<Trained>,
    ) -> [Value; 2] {
        let memory = self.memory();
        let keys = self.side_by_side(&memory.x, &[&attention.key]);
        let projected = layer.project(x, self);
        let [_, d_value] = memory.x.shape();
        let initial = self.starts[0].clone();
        let recurrence = || AttentiveRecurrence {
            state: self.recurrence(layer, Some(initial.clone())),
            query: self.pass.read(&attention.query.weight),
            score: self.pass.read(&attention.score),
            context: self.pass.read(&attention.context.weight),
            keys: keys.clone(),
            values: memory.x.clone(),
            src_lengths: memory.lengths.clone(),
        };
        let precision = self.pass.precision();
        let both = tape::attentive_recurrent(layer.cell, self.lengths, projected, recurrence(), precision);
        let [_, width] = both.shape();
        let hidden = tape::columns(both.clone(), 0..layer.d);
        self.pass.record_attention(&only_place(), || {
            let before = before(&hidden_part(initial.clone(), layer), &hidden);
            tape::attentive_recurrent_weights(&recurrence(), &before)
        });
        let context = tape::columns(both, width - d_value..width);
        [hidden, context]
    }

    fn attend_states(&mut self, h: &Value, attention: &MultiplicativeAttention<Trained>) -> Value {
        let Sequence { x: memory, lengths } = self.memory();
        let keys_values = tape::join(vec![memory.clone(), memory.clone()]);
        let queries = match &attention.query {
            Some(query) => self.side_by_side(h, &[query]),
            None => h.clone(),
        };
        let d = attention.d_memory;
        let call = AttentionCall {
            qkv: QkvSource::Other { queries: tape::scale(queries, attention.factor()), keys_values },
            keys: Some(lengths),
            scores: TapeScores::scaled(d, Causality::Full),
            heads: [1, 1, d],
            dropout: None,
        };
        self.contexts(call, &only_place())
    }
}

impl RecurrentDecoder<Trained> {
    /// The state from which each layer starts in `batch` sequences, given the final states of the encoder's
    /// layers.
    pub(crate) fn initial(&self, batch: usize, finals: &[Value]) -> Vec<Value> {
        let starts = self.starts(finals).into_iter().zip(&self.layers);
        starts
            .map(|(start, layer)| match start {
                Some(start) => start.clone(),
                None => Value::zeros([batch, layer.state_width()]),
            })
            .collect()
    }
}

impl<'a> Sequences<'a> {
    fn memory(&self) -> &'a Sequence {
        self.memory.expect("attention is given a memory")
    }
}

/// The place of the only attention of a recurrent decoder.
fn only_place() -> AttentionPlace {
    AttentionPlace { name: "decoder.attention".into(), site: AttentionSite::Cross, layer: 0 }
}

/// The previous state of each position, `[batch · len, d]`: `initial` `[batch, d]`, then the states
/// `[batch · len, d]` without the last of each sequence.
fn before(initial: &Value, states: &Value) -> Value {
    let ([batch, d], [rows, _]) = (initial.shape(), states.shape());
    let len = rows / batch;
    let mut values = Vec::with_capacity(rows * d);
    for (first, states) in initial.values().chunks_exact(d).zip(states.values().chunks_exact(len * d)) {
        values.extend_from_slice(first);
        values.extend_from_slice(&states[..(len - 1) * d]);
    }
    Value::new(values, [rows, d])
}
