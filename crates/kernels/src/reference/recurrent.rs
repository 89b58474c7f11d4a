//! Reference implementation of [`crate::recurrent`].

use crate::recurrent::{CellKind, Direction, RecurrentCall};

/// Operands of one direction of a recurrent layer, as in [`crate::recurrent::RecurrentForward`].
#[derive(Clone, Copy, Debug)]
pub struct Recurrent<'a> {
    /// Dimensions.
    pub call: RecurrentCall<'a>,
    /// The projected inputs.
    pub projected: &'a [f64],
    /// The hidden weight, if the cell has one.
    pub weight: Option<&'a [f64]>,
    /// The hidden bias.
    pub bias: Option<&'a [f64]>,
    /// The states before the first position.
    pub initial: Option<&'a [f64]>,
}

/// One sequence at one position.
pub(super) struct ReferenceTimestep {
    /// Row index in matrices `[batch * len, …]`.
    pub(super) row: usize,
    /// The previous state.
    pub(super) before: Vec<f64>,
    /// U h + b
    hidden: Vec<f64>,
    /// The gates after σ or tanh.
    gates: Vec<f64>,
    /// The new state.
    pub(super) state: Vec<f64>,
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

impl Recurrent<'_> {
    /// Columns of h, of the states and of the gates.
    pub(super) fn widths(&self) -> (usize, usize, usize) {
        let RecurrentCall { cell, d, .. } = self.call;
        (d, cell.states() * d, cell.gates() * d)
    }

    /// One update of the state `before` with the projected input `x`, at `row`.
    pub(super) fn timestep(&self, row: usize, x: &[f64], before: Vec<f64>) -> ReferenceTimestep {
        let (d, _, n_gates) = self.widths();
        let product = |j: usize| -> f64 {
            let weights = self.weight.map_or(&[][..], |weight| &weight[j * d..][..d]);
            weights.iter().zip(&before).map(|(w, h)| w * h).sum()
        };
        let hidden: Vec<f64> = (0..self.call.cell.hidden_gates() * d)
            .map(|j| product(j) + self.bias.map_or(0.0, |bias| bias[j]))
            .collect();
        let at = |gate: usize, j: usize| x[gate * d + j] + hidden[gate * d + j];
        let (mut gates, mut state) = (vec![0.0; n_gates], before.clone());
        for j in 0..d {
            let h = before[j];
            match self.call.cell {
                CellKind::Rnn => {
                    gates[j] = at(0, j).tanh();
                    state[j] = gates[j];
                }
                CellKind::Gru => {
                    let (r, z) = (sigmoid(at(0, j)), sigmoid(at(1, j)));
                    let n = (x[2 * d + j] + r * hidden[2 * d + j]).tanh();
                    (gates[j], gates[d + j], gates[2 * d + j]) = (r, z, n);
                    state[j] = (1.0 - z) * n + z * h;
                }
                CellKind::Lstm => {
                    let (i, f) = (sigmoid(at(0, j)), sigmoid(at(1, j)));
                    let (g, o) = (at(2, j).tanh(), sigmoid(at(3, j)));
                    (gates[j], gates[d + j]) = (i, f);
                    (gates[2 * d + j], gates[3 * d + j]) = (g, o);
                    state[d + j] = f * before[d + j] + i * g;
                    state[j] = o * state[d + j].tanh();
                }
                CellKind::Ssru => {
                    let (f, g) = (sigmoid(x[j]), x[d + j]);
                    (gates[j], gates[d + j]) = (f, g);
                    state[d + j] = f * before[d + j] + (1.0 - f) * g;
                    state[j] = state[d + j].max(0.0);
                }
                CellKind::CoupledLstm => {
                    let (f, g, o) = (sigmoid(at(0, j)), at(1, j).tanh(), sigmoid(at(2, j)));
                    (gates[j], gates[d + j], gates[2 * d + j]) = (f, g, o);
                    state[d + j] = f * before[d + j] + (1.0 - f) * g;
                    state[j] = o * state[d + j].tanh();
                }
            }
        }
        ReferenceTimestep { row, before, hidden, gates, state }
    }

    /// The state of a sequence before its first position.
    pub(super) fn initial_state(&self, number: usize) -> Vec<f64> {
        let (_, n_states, _) = self.widths();
        match self.initial {
            Some(initial) => initial[number * n_states..][..n_states].to_vec(),
            None => vec![0.0; n_states],
        }
    }

    /// The rows of a sequence in time order.
    pub(super) fn rows_in_time(&self, number: usize) -> impl Iterator<Item = usize> {
        let (len, first) = (self.call.lengths.lens()[number], number * self.call.lengths.width());
        let direction = self.call.direction;
        (0..len).map(move |step| match direction {
            Direction::Forward => first + step,
            Direction::Backward => first + len - 1 - step,
        })
    }

    /// One sequence in time order.
    fn sequence(&self, number: usize) -> Vec<ReferenceTimestep> {
        let (_, _, n_gates) = self.widths();
        let mut state = self.initial_state(number);
        let mut timesteps = Vec::new();
        for row in self.rows_in_time(number) {
            let timestep = self.timestep(row, &self.projected[row * n_gates..][..n_gates], state);
            state = timestep.state.clone();
            timesteps.push(timestep);
        }
        timesteps
    }

    /// [`crate::recurrent::recurrent`].
    pub fn forward(&self) -> Vec<f64> {
        let (_, n_states, _) = self.widths();
        let mut states = vec![0.0; self.call.lengths.positions() * n_states];
        for number in 0..self.call.lengths.rows() {
            for timestep in self.sequence(number) {
                states[timestep.row * n_states..][..n_states].copy_from_slice(&timestep.state);
            }
        }
        states
    }

    /// [`crate::recurrent::recurrent_backward`]: the gradients of projections, weight, bias and initial states.
    pub fn backward(&self, grad_states: &[f64]) -> [Vec<f64>; 4] {
        let (d, n_states, n_gates) = self.widths();
        let mut dprojected = vec![0.0; self.projected.len()];
        let hidden = self.call.cell.hidden_gates() * d;
        let (mut dweight, mut dbias) = (vec![0.0; hidden * d], vec![0.0; hidden]);
        let mut dinitial = vec![0.0; self.call.lengths.rows() * n_states];
        for number in 0..self.call.lengths.rows() {
            let mut dstate = vec![0.0; n_states];
            for timestep in self.sequence(number).iter().rev() {
                for (dstate, grad) in dstate.iter_mut().zip(&grad_states[timestep.row * n_states..]) {
                    *dstate += grad;
                }
                let [dx, dhidden, mut dbefore] = self.timestep_backward(timestep, &dstate);
                dprojected[timestep.row * n_gates..][..n_gates].copy_from_slice(&dx);
                for (j, dhidden) in dhidden.iter().enumerate().take(hidden) {
                    dbias[j] += dhidden;
                    for c in 0..d {
                        dweight[j * d + c] += dhidden * timestep.before[c];
                        dbefore[c] += dhidden * self.weight.map_or(0.0, |weight| weight[j * d + c]);
                    }
                }
                dstate = dbefore;
            }
            dinitial[number * n_states..][..n_states].copy_from_slice(&dstate);
        }
        [dprojected, dweight, dbias, dinitial]
    }

    /// The gradients of a timestep's projected input, of U h + b, and of the previous state by any other
    /// path.
    pub(super) fn timestep_backward(&self, timestep: &ReferenceTimestep, dstate: &[f64]) -> [Vec<f64>; 3] {
        let (d, n_states, n_gates) = self.widths();
        let [mut dx, mut dhidden] = [0; 2].map(|_| vec![0.0; n_gates]);
        let mut dbefore = vec![0.0; n_states];
        let (dsigmoid, dtanh) = (|y: f64| y * (1.0 - y), |y: f64| 1.0 - y * y);
        for j in 0..d {
            let gate = |number: usize| timestep.gates[number * d + j];
            let dh = dstate[j];
            // The LSTMs: the gradient of c' through h' = o tanh(c'), given o.
            let through_h = |o: f64| {
                let bounded = timestep.state[d + j].tanh();
                (dstate[d + j] + dh * o * dtanh(bounded), dh * bounded)
            };
            match self.call.cell {
                CellKind::Rnn => dx[j] = dh * dtanh(gate(0)),
                CellKind::Gru => {
                    let (r, z, n) = (gate(0), gate(1), gate(2));
                    let dn = dh * (1.0 - z) * dtanh(n);
                    dx[j] = dn * timestep.hidden[2 * d + j] * dsigmoid(r);
                    dx[d + j] = dh * (timestep.before[j] - n) * dsigmoid(z);
                    dx[2 * d + j] = dn;
                    dbefore[j] = dh * z;
                }
                CellKind::Lstm => {
                    let (i, f, g, o) = (gate(0), gate(1), gate(2), gate(3));
                    let (dc, d_o) = through_h(o);
                    dx[j] = dc * g * dsigmoid(i);
                    dx[d + j] = dc * timestep.before[d + j] * dsigmoid(f);
                    dx[2 * d + j] = dc * i * dtanh(g);
                    dx[3 * d + j] = d_o * dsigmoid(o);
                    dbefore[d + j] = dc * f;
                }
                CellKind::Ssru => {
                    let (f, g) = (gate(0), gate(1));
                    let through = if timestep.state[d + j] > 0.0 { dh } else { 0.0 };
                    let dc = dstate[d + j] + through;
                    dx[j] = dc * (timestep.before[d + j] - g) * dsigmoid(f);
                    dx[d + j] = dc * (1.0 - f);
                    dbefore[d + j] = dc * f;
                }
                CellKind::CoupledLstm => {
                    let (f, g, o) = (gate(0), gate(1), gate(2));
                    let (dc, d_o) = through_h(o);
                    dx[j] = dc * (timestep.before[d + j] - g) * dsigmoid(f);
                    dx[d + j] = dc * (1.0 - f) * dtanh(g);
                    dx[2 * d + j] = d_o * dsigmoid(o);
                    dbefore[d + j] = dc * f;
                }
            }
        }
        dhidden.copy_from_slice(&dx);
        if self.call.cell == CellKind::Gru {
            for j in 0..d {
                dhidden[2 * d + j] = dx[2 * d + j] * timestep.gates[j];
            }
        }
        [dx, dhidden, dbefore]
    }
}
