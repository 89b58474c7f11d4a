//! The gates and the new state of one sequence at one position.
//!
//! Each loop uses few slices, so that the compiler needs few checks to see that they do not overlap.

use super::CellKind;
use crate::simd::{sigmoid, tanh};

vectorized! {
    /// Advances `state` using the projected input `projected`. The gate columns of `work` hold U h + b on
    /// entry and the values to be saved on return.
    pub(super) fn advance(cell: CellKind, projected: &[f32], work: &mut [f32], state: &mut [f32]) {
        match cell {
            CellKind::Rnn => rnn(projected, work, state),
            CellKind::Lstm => lstm(projected, work, state),
            CellKind::CoupledLstm => coupled_lstm(projected, work, state),
            CellKind::Gru => gru(projected, work, state),
            CellKind::Ssru => ssru(projected, work, state),
        }
    }
}

/// Splits a row into `N` parts of `d` columns.
#[inline(always)]
pub(super) fn parts<const N: usize>(row: &[f32], d: usize) -> [&[f32]; N] {
    std::array::from_fn(|part| &row[part * d..][..d])
}

/// Splits a row into `N` mutable parts of `d` columns.
#[inline(always)]
pub(super) fn parts_mut<const N: usize>(row: &mut [f32], d: usize) -> [&mut [f32]; N] {
    let mut rest = row;
    std::array::from_fn(|_| {
        let (part, behind) = std::mem::take(&mut rest).split_at_mut(d);
        rest = behind;
        part
    })
}

/// x = σ(x + y)
#[inline(always)]
fn sigmoid_of_sums(x: &mut [f32], y: &[f32]) {
    for (x, &y) in x.iter_mut().zip(y) {
        *x = sigmoid(*x + y);
    }
}

/// x = tanh(x + y)
#[inline(always)]
fn tanh_of_sums(x: &mut [f32], y: &[f32]) {
    for (x, &y) in x.iter_mut().zip(y) {
        *x = tanh(*x + y);
    }
}

/// h = o ⊙ tanh(c)
#[inline(always)]
fn let_out(o: &[f32], c: &[f32], h: &mut [f32]) {
    for ((h, &o), &c) in h.iter_mut().zip(o).zip(c) {
        *h = o * tanh(c);
    }
}

#[inline(always)]
fn rnn(projected: &[f32], work: &mut [f32], state: &mut [f32]) {
    tanh_of_sums(work, projected);
    state.copy_from_slice(work);
}

#[inline(always)]
fn lstm(projected: &[f32], work: &mut [f32], state: &mut [f32]) {
    let d = state.len() / 2;
    sigmoid_of_sums(&mut work[..2 * d], projected);
    tanh_of_sums(&mut work[2 * d..3 * d], &projected[2 * d..]);
    sigmoid_of_sums(&mut work[3 * d..4 * d], &projected[3 * d..]);
    let [i, f, g, o] = parts(work, d);
    let (h, c) = state.split_at_mut(d);
    for (((c, &i), &f), &g) in c.iter_mut().zip(i).zip(f).zip(g) {
        *c = f * *c + i * g;
    }
    let_out(o, c, h);
}

#[inline(always)]
fn coupled_lstm(projected: &[f32], work: &mut [f32], state: &mut [f32]) {
    let d = state.len() / 2;
    sigmoid_of_sums(&mut work[..d], projected);
    tanh_of_sums(&mut work[d..2 * d], &projected[d..]);
    sigmoid_of_sums(&mut work[2 * d..3 * d], &projected[2 * d..]);
    let [f, g, o] = parts(work, d);
    let (h, c) = state.split_at_mut(d);
    for ((c, &f), &g) in c.iter_mut().zip(f).zip(g) {
        *c = f * *c + (1.0 - f) * g;
    }
    let_out(o, c, h);
}

#[inline(always)]
fn gru(projected: &[f32], work: &mut [f32], h: &mut [f32]) {
    let d = h.len();
    sigmoid_of_sums(&mut work[..2 * d], projected);
    let [r, z, n, hidden] = parts_mut(work, d);
    hidden.copy_from_slice(n);
    for (((n, &x), &r), &hidden) in n.iter_mut().zip(&projected[2 * d..]).zip(&*r).zip(&*hidden) {
        *n = tanh(x + r * hidden);
    }
    for ((h, &z), &n) in h.iter_mut().zip(&*z).zip(&*n) {
        *h = (1.0 - z) * n + z * *h;
    }
}

#[inline(always)]
fn ssru(projected: &[f32], work: &mut [f32], state: &mut [f32]) {
    let d = state.len() / 2;
    let [x, candidate] = parts(projected, d);
    let [f, g] = parts_mut(work, d);
    for (f, &x) in f.iter_mut().zip(x) {
        *f = sigmoid(x);
    }
    g.copy_from_slice(candidate);
    let (h, c) = state.split_at_mut(d);
    for ((c, &f), &g) in c.iter_mut().zip(&*f).zip(&*g) {
        *c = f * *c + (1.0 - f) * g;
    }
    for (h, &c) in h.iter_mut().zip(&*c) {
        *h = if c < 0.0 { 0.0 } else { c };
    }
}
