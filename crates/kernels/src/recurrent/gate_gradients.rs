//! Gradients of [`super::gates`] for one sequence at one position.

use super::CellKind;
use super::gates::{parts, parts_mut};
use crate::simd::tanh;

/// Saved forward results at one position.
#[derive(Clone, Copy)]
pub(super) struct SavedTimestep<'a> {
    /// `[saved * d]`
    pub(super) saved: &'a [f32],
    /// The new state, `[states * d]`
    pub(super) state: &'a [f32],
    /// The previous state, `[states * d]`
    pub(super) before: &'a [f32],
}

vectorized! {
    /// Gradients at one position. On entry `flow` `[states * d]` holds the gradient of the state without
    /// `grad_state`; on return, the gradient of the previous state without the contribution of the hidden
    /// product. `hidden` and `projected` `[gates * d]` receive the gradients of that product and of the
    /// projected input.
    pub(super) fn retreat(
        cell: CellKind,
        step: SavedTimestep<'_>,
        grad_state: &[f32],
        flow: &mut [f32],
        hidden: &mut [f32],
        projected: &mut [f32],
    ) {
        for (flow, &grad) in flow.iter_mut().zip(grad_state) {
            *flow += grad;
        }
        match cell {
            CellKind::Rnn => rnn(step, flow, hidden),
            CellKind::Lstm => lstm(step, flow, hidden),
            CellKind::CoupledLstm => coupled_lstm(step, flow, hidden),
            CellKind::Ssru => ssru(step, flow, hidden),
            // The two sums of the candidate have different gradients.
            CellKind::Gru => return gru(step, flow, hidden, projected),
        }
        projected.copy_from_slice(hidden);
    }
}

/// The derivative of σ at the point where its value is `y`.
#[inline(always)]
fn sigmoid_slope(y: f32) -> f32 {
    y * (1.0 - y)
}

/// The derivative of tanh at the point where its value is `y`.
#[inline(always)]
fn tanh_slope(y: f32) -> f32 {
    1.0 - y * y
}

#[inline(always)]
fn rnn(step: SavedTimestep<'_>, dh: &mut [f32], dsum: &mut [f32]) {
    for ((dsum, &dh), &h) in dsum.iter_mut().zip(&*dh).zip(step.state) {
        *dsum = dh * tanh_slope(h);
    }
    dh.fill(0.0);
}

/// Shared by both LSTMs: adds to `dc` the gradient through h = o ⊙ tanh(c), and writes the output gate's
/// `dsum`.
#[inline(always)]
fn let_out(o: &[f32], c: &[f32], dh: &mut [f32], dc: &mut [f32], dsum: &mut [f32]) {
    let bounded = dsum;
    for (bounded, &c) in bounded.iter_mut().zip(c) {
        *bounded = tanh(c);
    }
    for (((dc, &dh), &o), &bounded) in dc.iter_mut().zip(&*dh).zip(o).zip(&*bounded) {
        *dc += dh * o * tanh_slope(bounded);
    }
    for ((bounded, &dh), &o) in bounded.iter_mut().zip(&*dh).zip(o) {
        *bounded = dh * *bounded * sigmoid_slope(o);
    }
    dh.fill(0.0);
}

#[inline(always)]
fn lstm(step: SavedTimestep<'_>, flow: &mut [f32], dsums: &mut [f32]) {
    let d = flow.len() / 2;
    let [i, f, g, o] = parts(step.saved, d);
    let [di, df, dg, d_o] = parts_mut(dsums, d);
    let (dh, dc) = flow.split_at_mut(d);
    let_out(o, &step.state[d..], dh, dc, d_o);
    for (((di, &dc), &g), &i) in di.iter_mut().zip(&*dc).zip(g).zip(i) {
        *di = dc * g * sigmoid_slope(i);
    }
    for (((df, &dc), &c), &f) in df.iter_mut().zip(&*dc).zip(&step.before[d..]).zip(f) {
        *df = dc * c * sigmoid_slope(f);
    }
    for (((dg, &dc), &i), &g) in dg.iter_mut().zip(&*dc).zip(i).zip(g) {
        *dg = dc * i * tanh_slope(g);
    }
    for (dc, &f) in dc.iter_mut().zip(f) {
        *dc *= f;
    }
}

#[inline(always)]
fn coupled_lstm(step: SavedTimestep<'_>, flow: &mut [f32], dsums: &mut [f32]) {
    let d = flow.len() / 2;
    let [f, g, o] = parts(step.saved, d);
    let [df, dg, d_o] = parts_mut(dsums, d);
    let (dh, dc) = flow.split_at_mut(d);
    let_out(o, &step.state[d..], dh, dc, d_o);
    let before = &step.before[d..];
    for ((((df, &dc), &c), &g), &f) in df.iter_mut().zip(&*dc).zip(before).zip(g).zip(f) {
        *df = dc * (c - g) * sigmoid_slope(f);
    }
    for (((dg, &dc), &f), &g) in dg.iter_mut().zip(&*dc).zip(f).zip(g) {
        *dg = dc * (1.0 - f) * tanh_slope(g);
    }
    for (dc, &f) in dc.iter_mut().zip(f) {
        *dc *= f;
    }
}

#[inline(always)]
fn gru(step: SavedTimestep<'_>, dh: &mut [f32], hidden: &mut [f32], projected: &mut [f32]) {
    let d = dh.len();
    let [r, z, n, product] = parts(step.saved, d);
    let [dr, dz, dn] = parts_mut(projected, d);
    for (((dn, &dh), &z), &n) in dn.iter_mut().zip(&*dh).zip(z).zip(n) {
        *dn = dh * (1.0 - z) * tanh_slope(n);
    }
    for ((((dz, &dh), &h), &n), &z) in dz.iter_mut().zip(&*dh).zip(step.before).zip(n).zip(z) {
        *dz = dh * (h - n) * sigmoid_slope(z);
    }
    for (((dr, &dn), &product), &r) in dr.iter_mut().zip(&*dn).zip(product).zip(r) {
        *dr = dn * product * sigmoid_slope(r);
    }
    let (gates, candidate) = hidden.split_at_mut(2 * d);
    for ((candidate, &dn), &r) in candidate.iter_mut().zip(&*dn).zip(r) {
        *candidate = dn * r;
    }
    for (dh, &z) in dh.iter_mut().zip(z) {
        *dh *= z;
    }
    gates.copy_from_slice(&projected[..2 * d]);
}

#[inline(always)]
fn ssru(step: SavedTimestep<'_>, flow: &mut [f32], dx: &mut [f32]) {
    let d = flow.len() / 2;
    let [f, g] = parts(step.saved, d);
    let [df, dg] = parts_mut(dx, d);
    let (dh, dc) = flow.split_at_mut(d);
    for ((dc, dh), &c) in dc.iter_mut().zip(dh).zip(&step.state[d..]) {
        *dc += if c > 0.0 { *dh } else { 0.0 };
        *dh = 0.0;
    }
    let before = &step.before[d..];
    for ((((df, &dc), &c), &g), &f) in df.iter_mut().zip(&*dc).zip(before).zip(g).zip(f) {
        *df = dc * (c - g) * sigmoid_slope(f);
    }
    for ((dg, &dc), &f) in dg.iter_mut().zip(&*dc).zip(f) {
        *dg = dc * (1.0 - f);
    }
    for (dc, &f) in dc.iter_mut().zip(f) {
        *dc *= f;
    }
}
