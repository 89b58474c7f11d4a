//! Whole sequences, each position of which sees earlier ones and the memory.

use attentive_tape::{
    self as tape, AdditiveMemory, AttentiveRecurrence, Causality, Lengths, QkvSource, TapeScores, Value,
};

use super::attend::AttentionCall;
use super::encode::hidden_part;
use super::{AttentionPlace, AttentionSite, RelativeEncoding, Sequence, Sequences, Trained};
use crate::nn::{
    AdditiveAttention, AdditiveScores, Attention, Decode, MultiplicativeAttention, RecurrentDecoder,
    RecurrentLayer,
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
        let initial = self.states.get(number).cloned();
        let states = self.states(x, layer, initial);
        self.keep(number, &states);
        hidden_part(states, layer)
    }

    fn advance_attentive(
        &mut self,
        x: &Value,
        layer: &RecurrentLayer<Trained>,
        attention: &AdditiveAttention<Trained>,
    ) -> [Value; 2] {
        let AdditiveMemory { keys, values, score, src_lengths } = self.additive_memory(&attention.scores);
        let projected = layer.project(x, self);
        let [_, d_value] = values.shape();
        let initial = self.states[0].clone();
        let recurrence = || AttentiveRecurrence {
            state: self.recurrence(layer, Some(initial.clone())),
            query: self.pass.read(&attention.scores.query.weight),
            score: score.clone(),
            context: self.pass.read(&attention.context.weight),
            keys: keys.clone(),
            values: values.clone(),
            src_lengths: src_lengths.clone(),
        };
        let precision = self.pass.precision();
        let both = tape::attentive_recurrent(layer.cell, self.lengths, projected, recurrence(), precision);
        let [_, width] = both.shape();
        let mut hidden = tape::columns(both.clone(), 0..layer.d);
        self.pass.record_attention(&only_place(), || {
            let before = before(&hidden_part(initial.clone(), layer), &hidden);
            tape::attentive_recurrent_weights(&recurrence(), &before)
        });
        let context = tape::columns(both.clone(), width - d_value..width);
        if self.lengths.width() == 1 {
            let states = tape::columns(both, 0..layer.state_width());
            let states = self.pass.observe_states(layer.place(), self.position as usize, states);
            self.keep(0, &states);
            hidden = hidden_part(states, layer);
        }
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

    fn attend_states_additively(&mut self, h: &Value, scores: &AdditiveScores<Trained>) -> Value {
        let memory = self.additive_memory(scores);
        let queries = self.side_by_side(h, &[&scores.query]);
        self.pass.record_attention(&only_place(), || tape::additive_attention_weights(&queries, &memory));
        let positions = tape::positions_apart(queries, self.lengths.width()).into_iter();
        tape::positions_together(
            positions.map(|queries| tape::additive_attention(queries, memory.clone())).collect(),
        )
    }

    fn fed(&mut self, number: usize) -> Value {
        self.states[number].clone()
    }

    fn feed(&mut self, value: &Value, number: usize) {
        self.keep(number, value);
    }
}

impl RecurrentDecoder<Trained> {
    /// The state from which each layer starts in `batch` sequences, given the final states of the encoder's
    /// layers, and what is fed to the first position.
    pub(crate) fn initial(&self, batch: usize, finals: &[Value]) -> Vec<Value> {
        let starts = self.starts(finals).into_iter().chain([None]).zip(self.state_widths());
        starts
            .map(|(start, width)| match start {
                Some(start) => start.clone(),
                None => Value::zeros([batch, width]),
            })
            .collect()
    }

    /// The output of every position of the embedded tokens `x`, of sequences that start from the
    /// [initial](Self::initial) states.
    pub(crate) fn decode(&self, x: Value, mut sequences: Sequences<'_>) -> Value {
        if !self.feeds_input() && !sequences.pass.watches_gradients() {
            return self.forward(x, &mut sequences);
        }
        let (width, lengths) = (sequences.lengths.width(), Lengths::full(sequences.batch(), 1));
        let mut step = Sequences { lengths: &lengths, ..sequences };
        let mut outputs = Vec::with_capacity(width);
        for x in tape::positions_apart(x, width) {
            outputs.push(self.forward(x, &mut step));
            step = step.into_next();
        }
        tape::positions_together(outputs)
    }
}

impl<'a> Sequences<'a> {
    fn memory(&self) -> &'a Sequence {
        self.memory.expect("attention is given a memory")
    }

    /// The memory with the keys of `scores`.
    fn additive_memory(&mut self, scores: &AdditiveScores<Trained>) -> AdditiveMemory {
        let memory = self.memory();
        if self.keys.is_none() {
            self.keys = Some(self.side_by_side(&memory.x, &[&scores.key]));
        }
        AdditiveMemory {
            keys: self.keys.clone().expect("just computed"),
            values: memory.x.clone(),
            score: self.pass.read(&scores.score),
            src_lengths: memory.lengths.clone(),
        }
    }

    /// Keeps the `state` of layer `number` for the next position, if there may be one.
    fn keep(&mut self, number: usize, state: &Value) {
        if self.lengths.width() == 1
            && let Some(kept) = self.states.get_mut(number)
        {
            *kept = state.clone();
        }
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
