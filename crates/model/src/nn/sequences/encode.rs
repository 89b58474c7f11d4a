//! Whole sequences that see all of themselves.

use attentive_tape::{self as tape, Causality, Direction, RecurrentDirection, TapeRecurrence, Value};

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
        let direction = self.reading(x, layer, initial);
        let precision = self.pass.precision();
        tape::recurrent(layer.cell, self.lengths, vec![direction], precision)
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

/// The part h of states, `[rows, d]`.
pub(crate) fn hidden_part(states: Value, layer: &RecurrentLayer<Trained>) -> Value {
    match layer.cell.states() {
        1 => states,
        _ => tape::columns(states, 0..layer.d),
    }
}
