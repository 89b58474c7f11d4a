//! Whole sequences that see all of themselves.

use attentive_tape::{
    self as tape, Causality, Direction, Lengths, RecurrentDirection, TapeRecurrence, Value,
};

use super::{RelativeEncoding, Sequences, Trained};
use crate::nn::{Attention, Encode, RecurrentLayer, RecurrentStates};

impl Encode for Sequences<'_> {
    fn attend_whole(
        &mut self,
        x: &Value,
        attention: &Attention<Trained>,
        relative: &RelativeEncoding,
    ) -> Value {
        self.attend_itself(x, attention, relative, Causality::Full)
    }

    fn read(&mut self, x: &Value, layer: &RecurrentLayer<Trained>) -> RecurrentStates<Value> {
        let states = self.states(x, layer, None);
        let last = tape::select_rows(states.clone(), &self.final_rows(layer));
        RecurrentStates { hidden: hidden_part(states, layer), last }
    }

    fn read_both(&mut self, x: &Value, layers: [&RecurrentLayer<Trained>; 2]) -> RecurrentStates<Value> {
        if self.pass.watches_gradients() {
            return self.read_one_by_one(x, layers);
        }
        let directions = layers.map(|layer| self.reading(x, layer, None));
        let RecurrentLayer { cell, d, .. } = *layers[0];
        let precision = self.pass.precision();
        let states = tape::recurrent(cell, self.lengths, directions.into(), precision);
        // The columns of h and c of each direction.
        let part = |direction: usize, n: usize| {
            let first = (direction * cell.states() + n) * d;
            first..first + d
        };
        let [forward, backward] =
            layers.map(|layer| tape::select_rows(states.clone(), &self.final_rows(layer)));
        let last = (0..cell.states()).flat_map(|n| {
            [tape::columns(forward.clone(), part(0, n)), tape::columns(backward.clone(), part(1, n))]
        });
        RecurrentStates {
            last: tape::join(last.collect()),
            hidden: match cell.states() {
                1 => states,
                _ => tape::column_ranges(states, vec![part(0, 0), part(1, 0)]),
            },
        }
    }
}

impl Sequences<'_> {
    /// The states of all positions: h, followed by c for cells that have one; zeros at padding.
    /// `[batch · len, states · d]`
    pub(crate) fn states(
        &mut self,
        x: &Value,
        layer: &RecurrentLayer<Trained>,
        initial: Option<Value>,
    ) -> Value {
        if self.pass.watches_gradients() {
            return self.watched_states(x, layer, initial);
        }
        let direction = self.reading(x, layer, initial);
        let precision = self.pass.precision();
        tape::recurrent(layer.cell, self.lengths, vec![direction], precision)
    }

    /// Like [`Sequences::states`] of a single sequence, one position after the other, whose gradients are
    /// watched.
    fn watched_states(
        &mut self,
        x: &Value,
        layer: &RecurrentLayer<Trained>,
        initial: Option<Value>,
    ) -> Value {
        let RecurrentDirection { direction, projected, mut recurrence } = self.reading(x, layer, initial);
        let (precision, len) = (self.pass.precision(), self.lengths.width());
        let one = Lengths::full(self.batch(), 1);
        let mut inputs: Vec<(usize, Value)> =
            tape::positions_apart(projected, len).into_iter().enumerate().collect();
        if direction == Direction::Backward {
            inputs.reverse();
        }
        let mut states = vec![None; len];
        for (position, projected) in inputs {
            let step = RecurrentDirection {
                direction: Direction::Forward,
                projected,
                recurrence: recurrence.clone(),
            };
            let state = tape::recurrent(layer.cell, &one, vec![step], precision);
            let state = self.pass.observe_states(layer.place(), self.position as usize + position, state);
            recurrence.initial = Some(state.clone());
            states[position] = Some(state);
        }
        tape::positions_together(states.into_iter().flatten().collect())
    }

    /// Like [`Encode::read_both`], one direction after the other.
    fn read_one_by_one(
        &mut self,
        x: &Value,
        layers: [&RecurrentLayer<Trained>; 2],
    ) -> RecurrentStates<Value> {
        let RecurrentLayer { cell, d, .. } = *layers[0];
        let both = layers.map(|layer| self.read(x, layer));
        let parts = (0..cell.states()).flat_map(|n| {
            both.each_ref().map(|states| tape::columns(states.last.clone(), n * d..(n + 1) * d))
        });
        let last = tape::join(parts.collect());
        RecurrentStates { hidden: tape::join(both.map(|states| states.hidden).into()), last }
    }

    /// What one direction of a layer reads.
    fn reading(
        &mut self,
        x: &Value,
        layer: &RecurrentLayer<Trained>,
        initial: Option<Value>,
    ) -> RecurrentDirection {
        RecurrentDirection {
            direction: layer.direction,
            projected: layer.project(x, self),
            recurrence: self.recurrence(layer, initial),
        }
    }

    /// The rows of the positions that `layer` reads last.
    fn final_rows(&self, layer: &RecurrentLayer<Trained>) -> Vec<usize> {
        match layer.direction {
            Direction::Forward => self.lengths.last_rows(),
            Direction::Backward => self.lengths.first_rows(),
        }
    }

    /// The recurrence of the states of `layer`.
    pub(crate) fn recurrence(
        &self,
        layer: &RecurrentLayer<Trained>,
        initial: Option<Value>,
    ) -> TapeRecurrence {
        TapeRecurrence { hidden: layer.hidden.as_ref().map(|map| map.as_map(self.pass)), initial }
    }
}

impl RecurrentLayer<Trained> {
    /// The field path of the layer, for example `encoder.layers.0.forward`.
    pub(crate) fn place(&self) -> &str {
        self.input.weight.name().trim_end_matches(".input.weight")
    }
}

/// The part h of states, `[rows, d]`.
pub(crate) fn hidden_part(states: Value, layer: &RecurrentLayer<Trained>) -> Value {
    match layer.cell.states() {
        1 => states,
        _ => tape::columns(states, 0..layer.d),
    }
}
