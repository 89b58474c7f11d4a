//! Recurrent cells, gate by gate.

use std::ops::Range;

use attentive_kernels::recurrent::{CellKind, Direction};

use super::matrix::TraceMatrix;
use super::tracer::Tracer;
use crate::nn::{RecurrentLayer, RecurrentStates, Trained};

/// The gates of a cell in the order of their rows, with the names of their functions.
fn gates(cell: CellKind) -> &'static [(&'static str, &'static str)] {
    match cell {
        CellKind::Rnn => &[("candidate", "tanh")],
        CellKind::Lstm => {
            &[("input_gate", "σ"), ("forget_gate", "σ"), ("candidate", "tanh"), ("output_gate", "σ")]
        }
        CellKind::CoupledLstm => &[("forget_gate", "σ"), ("candidate", "tanh"), ("output_gate", "σ")],
        CellKind::Gru => &[("reset_gate", "σ"), ("update_gate", "σ"), ("candidate", "tanh")],
        CellKind::Ssru => &[("forget_gate", "σ"), ("candidate", "identity")],
    }
}

/// What gate `number` reads: its columns of x, the projected input, and of u, the projected state.
fn reads(cell: CellKind, number: usize, d: usize) -> String {
    let columns = format!("[:, {}:{}]", number * d, (number + 1) * d);
    match (cell, number) {
        (CellKind::Rnn, _) => "x + u".into(),
        (CellKind::Ssru, _) => format!("x{columns}"),
        (CellKind::Gru, 2) => format!("x{columns} + reset_gate ∘ u{columns}"),
        _ => format!("(x + u){columns}"),
    }
}

/// How h follows from the gates, and c if the cell has one.
fn updates(cell: CellKind) -> (&'static str, Option<&'static str>) {
    match cell {
        CellKind::Rnn => ("tanh(x + u)", None),
        CellKind::Gru => ("(1 − update_gate) ∘ candidate + update_gate ∘ h before", None),
        CellKind::Lstm => ("output_gate ∘ tanh(c)", Some("forget_gate ∘ c before + input_gate ∘ candidate")),
        CellKind::CoupledLstm => {
            ("output_gate ∘ tanh(c)", Some("forget_gate ∘ c before + (1 − forget_gate) ∘ candidate"))
        }
        CellKind::Ssru => ("max(0, c)", Some("forget_gate ∘ c before + (1 − forget_gate) ∘ candidate")),
    }
}

fn sigmoid(x: f32) -> f32 {
    (1.0 / (1.0 + (-f64::from(x)).exp())) as f32
}

/// The values of a cell at each position, in rows.
#[derive(Default)]
struct Positions {
    /// U h + b
    hidden: Vec<Vec<f32>>,
    gates: Vec<Vec<Vec<f32>>>,
    states: Vec<Vec<f32>>,
}

impl Tracer {
    /// Runs `layer`, whose input was projected to `projected`, from the state `before`, `[1, states · d]`.
    /// Returns h of every position, and the state behind the last.
    pub(super) fn cell(
        &mut self,
        layer: &RecurrentLayer<Trained>,
        projected: &TraceMatrix,
        before: &TraceMatrix,
    ) -> RecurrentStates<TraceMatrix> {
        let (cell, d) = (layer.cell, layer.d);
        let names = gates(cell);
        let hidden_map = layer.hidden.as_ref();
        let (weight, bias) = hidden_map
            .map(|map| (map.weight.to_vec(), map.bias.as_ref().map(|bias| bias.to_vec())))
            .unwrap_or_default();
        let len = projected.rows();
        let order: Vec<usize> = match layer.direction {
            Direction::Forward => (0..len).collect(),
            Direction::Backward => (0..len).rev().collect(),
        };
        let mut found = Positions { gates: vec![vec![Vec::new(); len]; names.len()], ..Positions::default() };
        found.hidden.resize(len, Vec::new());
        found.states.resize(len, Vec::new());
        let mut state = before.values().to_vec();
        for row in order {
            let h = TraceMatrix::new("h", [1, d], state[..d].to_vec());
            let u = hidden_map.map(|_| h.times(&weight, bias.as_deref()).values().to_vec());
            let x = projected.row(row);
            let at = |gate: usize, j: usize| x[gate * d + j] + u.as_ref().map_or(0.0, |u| u[gate * d + j]);
            let mut values: Vec<Vec<f32>> = Vec::new();
            for (gate, (name, function)) in names.iter().enumerate() {
                let one = |j: usize| {
                    let read = match (cell, *name) {
                        (CellKind::Gru, "candidate") => {
                            let u = u.as_ref().map_or(0.0, |u| u[gate * d + j]);
                            x[gate * d + j] + values[0][j] * u
                        }
                        _ => at(gate, j),
                    };
                    match *function {
                        "σ" => sigmoid(read),
                        "tanh" => read.tanh(),
                        _ => read,
                    }
                };
                values.push((0..d).map(one).collect());
            }
            state = next(cell, &values, &state, d);
            found.hidden[row] = u.unwrap_or_default();
            for (all, values) in found.gates.iter_mut().zip(values) {
                all[row] = values;
            }
            found.states[row].clone_from(&state);
        }
        let last = TraceMatrix::new(&format!("{projected} final"), [1, state.len()], state);
        let hidden = self.record_cell(layer, projected, before, &found);
        RecurrentStates { hidden, last }
    }

    /// Records the gates and states, and returns h.
    fn record_cell(
        &mut self,
        layer: &RecurrentLayer<Trained>,
        projected: &TraceMatrix,
        before: &TraceMatrix,
        found: &Positions,
    ) -> TraceMatrix {
        let (cell, d) = (layer.cell, layer.d);
        let place = layer.place().to_owned();
        let matrix = |rows: &[Vec<f32>], range: Range<usize>| {
            let values = rows.iter().flat_map(|row| row[range.clone()].to_vec()).collect();
            TraceMatrix::new("", [rows.len(), range.len()], values)
        };
        let first = match layer.direction {
            Direction::Forward => "first",
            Direction::Backward => "last",
        };
        if let Some(hidden) = &layer.hidden {
            let state = match self.position {
                Some(_) => format!("h before: {before}"),
                None => format!("state before the {first} position: {before}"),
            };
            let formula = format!(
                "u = (h before)·Uᵀ + b, U {} {:?}; {state}",
                hidden.weight.name(),
                hidden.weight.shape()
            );
            self.record(
                &format!("{place}.hidden"),
                &formula,
                matrix(&found.hidden, 0..cell.hidden_gates() * d),
            );
        }
        let gates = if cell == CellKind::Rnn { &[] } else { gates(cell) };
        for (number, ((name, function), values)) in gates.iter().zip(&found.gates).enumerate() {
            let read = reads(cell, number, d);
            let formula = match *function {
                "identity" => format!("{read}, x {projected}"),
                function => format!("{function}({read}), x {projected}"),
            };
            self.record(&format!("{place}.{name}"), &formula, matrix(values, 0..d));
        }
        let (h, c) = updates(cell);
        let h = match cell {
            CellKind::Rnn => format!("tanh({}), x {projected}", reads(cell, 0, d)),
            _ => h.to_owned(),
        };
        if let Some(c) = c {
            self.record(&format!("{place}.c"), c, matrix(&found.states, d..2 * d));
        }
        self.record(&format!("{place}.h"), &h, matrix(&found.states, 0..d))
    }
}

/// The state behind a position.
fn next(cell: CellKind, gates: &[Vec<f32>], before: &[f32], d: usize) -> Vec<f32> {
    let mut state = before.to_vec();
    for j in 0..d {
        let gate = |number: usize| gates[number][j];
        match cell {
            CellKind::Rnn => state[j] = gate(0),
            CellKind::Gru => state[j] = (1.0 - gate(1)) * gate(2) + gate(1) * before[j],
            CellKind::Lstm => {
                state[d + j] = gate(1) * before[d + j] + gate(0) * gate(2);
                state[j] = gate(3) * state[d + j].tanh();
            }
            CellKind::CoupledLstm => {
                state[d + j] = gate(0) * before[d + j] + (1.0 - gate(0)) * gate(1);
                state[j] = gate(2) * state[d + j].tanh();
            }
            CellKind::Ssru => {
                state[d + j] = gate(0) * before[d + j] + (1.0 - gate(0)) * gate(1);
                state[j] = state[d + j].max(0.0);
            }
        }
    }
    state
}
