//! What a trace computes from earlier positions and the memory.

use super::attention::AttentionOperands;
use super::matrix::TraceMatrix;
use super::tracer::Tracer;
use crate::nn::{
    AdditiveAttention, AdditiveScores, Attention, Decode, MultiplicativeAttention, RecurrentLayer,
    RecurrentStates, RelativeEncoding, Trained,
};

/// The place of the only attention of a recurrent decoder.
const ATTENTION: &str = "decoder.attention";

impl Decode for Tracer {
    fn attend_earlier(
        &mut self,
        x: &TraceMatrix,
        attention: &Attention<Trained>,
        relative: &RelativeEncoding,
    ) -> TraceMatrix {
        self.self_attention(x, attention, relative, true)
    }

    fn attend_memory(&mut self, x: &TraceMatrix, attention: &Attention<Trained>) -> TraceMatrix {
        let memory = self.memory();
        let [queries, keys, values] = self.queries_keys_values(attention, x, &memory);
        let operands = AttentionOperands {
            queries: &queries,
            keys: &keys,
            values: &values,
            heads: attention.heads,
            bias: None,
            is_causal: false,
        };
        self.attend(&attention.place.name, &operands)
    }

    fn advance(&mut self, x: &TraceMatrix, layer: &RecurrentLayer<Trained>, number: usize) -> TraceMatrix {
        let projected = self.projected(x, layer);
        let before = self.state(layer, number);
        let RecurrentStates { hidden, last } = self.cell(layer, &projected, &before);
        self.keep(number, last.named(hidden.name()));
        hidden
    }

    fn advance_attentive(
        &mut self,
        x: &TraceMatrix,
        layer: &RecurrentLayer<Trained>,
        attention: &AdditiveAttention<Trained>,
    ) -> [TraceMatrix; 2] {
        let before = self.state(layer, 0);
        let h = before.columns(0..layer.d);
        // Later states have the name of their part h.
        let is_final = layer.cell.states() > 1 && before.name().ends_with(".final");
        let h = if is_final { h.named(&format!("{before}[:, 0:{}]", layer.d)) } else { h };
        let context = self.additive_context(&h, &attention.scores);
        let of_context = self.map(&context, &attention.context, &format!("{ATTENTION}.context_input"));
        let of_input = self.projected(x, layer);
        let sum = of_input.zip(&of_context, |x, c| x + c);
        let place = layer.place().to_owned();
        let formula = format!("{of_input} + {of_context}");
        let projected = self.record(&format!("{place}.input_and_context"), &formula, sum);
        let RecurrentStates { hidden, last } = self.cell(layer, &projected, &before);
        self.keep(0, last.named(hidden.name()));
        [hidden, context]
    }

    fn attend_states(
        &mut self,
        h: &TraceMatrix,
        attention: &MultiplicativeAttention<Trained>,
    ) -> TraceMatrix {
        let memory = self.memory();
        let queries = match &attention.query {
            Some(query) => self.named_map(h, query),
            None => h.clone(),
        };
        let scores = queries.times(memory.values(), None);
        let formula = format!("q·Hᵀ, q {queries}, H {memory}");
        let scores = self.record(&format!("{ATTENTION}.scores"), &formula, scores);
        self.average(ATTENTION, &scores)
    }

    fn attend_states_additively(&mut self, h: &TraceMatrix, scores: &AdditiveScores<Trained>) -> TraceMatrix {
        self.additive_context(h, scores)
    }

    fn fed(&mut self, number: usize) -> TraceMatrix {
        self.states[number].clone()
    }

    fn feed(&mut self, value: &TraceMatrix, number: usize) {
        self.keep(number, value.clone());
    }
}

impl Tracer {
    /// The keys of additive attention, which are the same for all positions.
    fn keys(&mut self, scores: &AdditiveScores<Trained>) -> TraceMatrix {
        if let Some(keys) = &self.keys {
            return keys.clone();
        }
        let (memory, position) = (self.memory(), self.position.take());
        let keys = self.named_map(&memory, &scores.key);
        self.position = position;
        self.keys.insert(keys).clone()
    }

    fn additive_context(&mut self, state: &TraceMatrix, scores: &AdditiveScores<Trained>) -> TraceMatrix {
        let keys = self.keys(scores);
        let queries = self.named_map(state, &scores.query);
        let v = scores.score.to_vec();
        let name = format!("{} [{}]", scores.score.name(), v.len());
        self.attend_additively(ATTENTION, &queries, &keys, (&name, &v))
    }

    /// The state of layer `number`; zeros if there is none.
    fn state(&self, layer: &RecurrentLayer<Trained>, number: usize) -> TraceMatrix {
        let state = self.states.get(number).cloned();
        state.unwrap_or_else(|| TraceMatrix::zeros("zeros", [1, layer.state_width()]))
    }

    fn keep(&mut self, number: usize, state: TraceMatrix) {
        if let Some(kept) = self.states.get_mut(number) {
            *kept = state;
        }
    }
}
