//! Whole sequences that see all of themselves.

use attentive_tape::{self as tape, Causality, Direction, Recurrence, Value};

use super::{Relative, Sequences, Trained};
use crate::nn::{Attention, Encode, RecurrentLayer, States};

impl Encode for Sequences<'_> {
    fn attend_whole(
        &mut self,
        x: &Value,
        attention: &Attention<Trained>,
        relative: &Relative,
    ) -> Value {
        self.attend_itself(x, attention, relative, Causality::Full)
    }

    fn read(&mut self, x: &Value, layer: &RecurrentLayer<Trained>) -> States<Value> {
        let states = self.states(x, layer, None);
        let rows = match layer.direction {
            Direction::Forward => self.lengths.last_rows(),
            Direction::Backward => self.lengths.first_rows(),
        };
        let last = tape::select_rows(states.clone(), &rows);
        States {
            hidden: hidden_part(states, layer),
            last,
        }
    }

    fn join_directions(&mut self, both: [States<Value>; 2], d: usize) -> States<Value> {
        let [forward, backward] = both;
        let [_, width] = forward.last.shape();
        let part = |x: &Value, n| tape::columns(x.clone(), n * d..(n + 1) * d);
        let states = (0..width / d).flat_map(|n| [part(&forward.last, n), part(&backward.last, n)]);
        States {
            last: tape::join(states.collect()),
            hidden: tape::join(vec![forward.hidden, backward.hidden]),
        }
    }
}

impl Sequences<'_> {
    /// The states of all positions: h, followed by c for cells that have one; zeros at padding. `[batch · len, states · d]`
    pub(crate) fn states(
        &mut self,
        x: &Value,
        layer: &RecurrentLayer<Trained>,
        initial: Option<Value>,
    ) -> Value {
        let projected = layer.project(x, self);
        tape::recurrent(
            layer.cell,
            layer.direction,
            self.lengths,
            projected,
            self.recurrence(layer, initial),
            self.pass.precision(),
        )
    }

    /// The recurrence of the states of `layer`.
    pub(crate) fn recurrence(
        &self,
        layer: &RecurrentLayer<Trained>,
        initial: Option<Value>,
    ) -> Recurrence {
        Recurrence {
            hidden: layer.hidden.as_ref().map(|map| map.as_map(self.pass)),
            initial,
        }
    }
}

/// The part h of states, `[rows, d]`.
pub(crate) fn hidden_part(states: Value, layer: &RecurrentLayer<Trained>) -> Value {
    match layer.cell.states() {
        1 => states,
        _ => tape::columns(states, 0..layer.d),
    }
}
