//! Gradients of attentive recurrent layers: backward through time, then one matrix product per weight.
//!
//! As in the recurrent layer, the gradients at each position are collected on tapes for the final products.
//! The queries are recomputed in one product, and the scores at each position.

use super::attention_gradients::AttentionBackward;
use super::layer::{AttentiveRecurrentResult, Layer};
use super::{AttentiveRecurrentCall, AttentiveRecurrentInputs};
use crate::area::{assert_shape, assert_shape_if_any};
use crate::gemm::{PreparedRight, Product, View, with_prepared_right, with_prepared_right_if_any};
use crate::linear::add_column_sums;
use crate::parallel::for_each;
use crate::recurrent::{
    BackwardPass, RecurrentCall, RecurrentGradients, RecurrentSchedule, hidden_gradients, weight_gradient,
};
use crate::scratch::{split, with_scratch, with_scratches};
use crate::tile::TileMut;

/// The weights of all positions, packed for products with gradients.
#[derive(Clone, Copy)]
struct PreparedWeights<'a> {
    /// `[gates * d, d_value]`
    context: PreparedRight<'a>,
    /// `[d_key, d]`
    query: PreparedRight<'a>,
    /// `[gates * d, d]`
    hidden: Option<PreparedRight<'a>>,
}

impl AttentiveRecurrentResult<&[f32]> {
    fn check(&self, call: AttentiveRecurrentCall<'_>) {
        let (rows, weights) = (call.recurrent, self.attention_weights);
        rows.check_rows("out", self.out, call.out_cols());
        rows.check_rows("attention_weights", weights, call.src_len);
        rows.check_rows("saved", self.saved, rows.saved_cols());
    }
}

/// Gradient outputs. `None` skips the computation.
#[derive(Debug)]
pub struct AttentiveRecurrentGradients<T> {
    /// Gradients of the projections, U, b and the initial states.
    pub recurrence: RecurrentGradients<T>,
    /// `[d_key, d]`
    pub query_weight: Option<T>,
    /// `[gates * d, d_value]`
    pub context_weight: Option<T>,
    /// `[batch * src_len, d_key]`, zero at padding.
    pub keys: T,
    /// `[batch * src_len, d_value]`, zero at padding.
    pub values: T,
    /// `[d_key]`
    pub v: T,
}

impl<T> AttentiveRecurrentGradients<T> {
    /// Applies `f` to each output.
    pub fn map<U>(self, f: impl Fn(T) -> U + Copy) -> AttentiveRecurrentGradients<U> {
        AttentiveRecurrentGradients {
            recurrence: self.recurrence.map(f),
            query_weight: self.query_weight.map(f),
            context_weight: self.context_weight.map(f),
            keys: f(self.keys),
            values: f(self.values),
            v: f(self.v),
        }
    }
}

impl AttentiveRecurrentGradients<&mut [f32]> {
    fn check(&self, call: AttentiveRecurrentCall<'_>, inputs: AttentiveRecurrentInputs<'_, &[f32]>) {
        self.recurrence.check(call.recurrent);
        assert_shape_if_any("dquery_weight", self.query_weight.as_deref(), [inputs.query_weight.len()]);
        assert_shape_if_any("dcontext_weight", self.context_weight.as_deref(), [inputs.context_weight.len()]);
        assert_shape("dkeys", self.keys, [inputs.keys.len()]);
        assert_shape("dvalues", self.values, [inputs.values.len()]);
        assert_shape("dv", self.v, [call.d_key]);
    }
}

/// The gradients of [`super::attentive_recurrent`] given `grad_out` `[batch * len, states * d + d_value]`,
/// which is not read at padding. `room` has [`AttentiveRecurrentCall::room`] elements of any value.
///
/// # Panics
/// See [`super::attentive_recurrent`].
pub fn attentive_recurrent_backward(
    call: AttentiveRecurrentCall<'_>,
    inputs: AttentiveRecurrentInputs<'_, &[f32]>,
    result: AttentiveRecurrentResult<&[f32]>,
    grad_out: &[f32],
    gradients: AttentiveRecurrentGradients<&mut [f32]>,
    room: &mut [f32],
) {
    inputs.check(call);
    result.check(call);
    gradients.check(call, inputs);
    let recurrent = call.recurrent;
    recurrent.check_rows("grad_out", grad_out, call.out_cols());
    let schedule = RecurrentSchedule::new(recurrent, inputs.recurrence.initial);
    assert_shape("room", room, [call.room()]);
    let [hidden, input, before, queries, dqueries] = split(room, call.tapes());
    let tapes = Tapes { hidden, input, before, queries, dqueries };
    let layer = Layer { call, inputs, result, grad_out, schedule: &schedule };
    layer.backward(tapes, gradients);
}

/// Tapes with one row per position of each sequence, without padding.
struct Tapes<'a> {
    /// The gradients of U h + b, `[total, gates * d]`.
    hidden: &'a mut [f32],
    /// The gradients of x, `[total, gates * d]`; empty if equal to `hidden`.
    input: &'a mut [f32],
    /// The previous h, `[total, d]`.
    before: &'a mut [f32],
    /// `[total, d_key]`
    queries: &'a mut [f32],
    /// The gradients of the queries, `[total, d_key]`.
    dqueries: &'a mut [f32],
}

impl Layer<'_> {
    fn backward(&self, mut tapes: Tapes<'_>, gradients: AttentiveRecurrentGradients<&mut [f32]>) {
        let AttentiveRecurrentCall { recurrent, src_len, d_key, d_value } = self.call;
        let AttentiveRecurrentGradients { recurrence, query_weight, context_weight, keys, values, v } =
            gradients;
        self.replay(&mut tapes);
        let (batch, rows, cols) = (recurrent.batch(), recurrent.rows(), recurrent.gate_cols());
        recurrent.clear_padding(recurrence.projected, cols);
        keys.fill(0.0);
        let lens = [batch * d_key, rows * d_value, batch * recurrent.state_cols()];
        with_scratches(lens, |[shares, dcontexts, flow]| {
            shares.fill(0.0);
            flow.fill(0.0);
            let attention = AttentionBackward {
                layer: self,
                dcontexts: TileMut::new(dcontexts, rows, d_value, d_value),
                keys: TileMut::new(keys, batch, src_len * d_key, src_len * d_key),
                shares: TileMut::new(shares, batch, d_key, d_key),
            };
            let projected = TileMut::new(recurrence.projected, rows, cols, cols);
            let to_initial = recurrence.initial.is_some();
            self.with_prepared_weights(|weights| {
                self.all_positions(weights, &mut tapes, attention, projected, to_initial, flow);
            });
            self.values(dcontexts, values);
            v.fill(0.0);
            add_column_sums(View::rows(shares, d_key), batch, v);
            if let Some(initial) = recurrence.initial {
                self.schedule.scatter_initial(flow, initial);
            }
        });
        let RecurrentGradients { weight, bias, .. } = recurrence;
        self.state_weights(&tapes, weight, bias, query_weight);
        if let Some(context_weight) = context_weight {
            self.context_weight(tapes.of_input(), context_weight);
        }
    }

    /// The state columns of the result.
    fn states(&self) -> View<'_> {
        View::rows(self.result.out, self.call.out_cols())
    }

    /// Fills the tapes with the inputs of the forward pass.
    fn replay(&self, tapes: &mut Tapes<'_>) {
        let AttentiveRecurrentCall { recurrent, d_key, .. } = self.call;
        self.schedule.gather(recurrent.d, tapes.before, |rank, position| {
            self.schedule.before(rank, position, self.states())
        });
        let before = View::rows(tapes.before, recurrent.d);
        let weight = View::transposed(self.inputs.query_weight, recurrent.d);
        let shape = [self.schedule.total(), d_key];
        Product::new(recurrent.d, before, weight).write(recurrent.precision, shape, tapes.queries);
    }

    /// Calls `work` with the packed weights.
    fn with_prepared_weights(&self, work: impl FnOnce(PreparedWeights<'_>)) {
        let (inputs, d_value, d_key) = (self.inputs, self.call.d_value, self.call.d_key);
        let RecurrentCall { precision, d, .. } = self.call.recurrent;
        let cols = self.call.recurrent.gate_cols();
        let context = View::rows(inputs.context_weight, d_value);
        let query = View::rows(inputs.query_weight, d);
        let hidden = inputs.recurrence.hidden;
        let hidden = hidden.map(|hidden| View::rows(hidden.weight, d));
        with_prepared_right(precision, context, [cols, d_value], |context| {
            with_prepared_right(precision, query, [d_key, d], |query| {
                with_prepared_right_if_any(precision, hidden, [cols, d], |hidden| {
                    work(PreparedWeights { context, query, hidden });
                });
            });
        });
    }

    /// Runs the pass backward through time.
    fn all_positions(
        &self,
        weights: PreparedWeights<'_>,
        tapes: &mut Tapes<'_>,
        attention: AttentionBackward<'_>,
        projected: TileMut<'_>,
        to_initial: bool,
        flow: &mut [f32],
    ) {
        let AttentiveRecurrentCall { recurrent, d_key, d_value, .. } = self.call;
        let (cols, state_cols) = (recurrent.gate_cols(), recurrent.state_cols());
        let lens = [state_cols, recurrent.batch() * d_value];
        with_scratches(lens, |[zeros, dcontexts]| {
            zeros.fill(0.0);
            let pass = BackwardPass {
                schedule: self.schedule,
                states: self.states(),
                saved: self.result.saved,
                grad_states: View::rows(self.grad_out, self.call.out_cols()),
                zeros,
                projected,
                to_initial,
            };
            for (position, rows) in self.schedule.backwards() {
                let part = |cols: usize| rows.start * cols..rows.end * cols;
                let hidden = &mut tapes.hidden[part(cols)];
                pass.retreat(position, flow, hidden);
                let input = if recurrent.cell.adds_plainly() {
                    &*hidden
                } else {
                    let input = &mut tapes.input[part(cols)];
                    pass.gather_projected(position, input);
                    input
                };
                let dcontexts = &mut dcontexts[..rows.len() * d_value];
                Product::new(cols, View::rows(input, cols), weights.context).write_to(&mut TileMut::new(
                    dcontexts,
                    rows.len(),
                    d_value,
                    d_value,
                ));
                let dqueries = &mut tapes.dqueries[part(d_key)];
                let queries = &tapes.queries[part(d_key)];
                attention.retreat(position, dcontexts, queries, dqueries);
                if let Some(weight) = weights.hidden {
                    pass.flow_through(position, View::rows(hidden, cols), weight, flow);
                }
                pass.flow_through(position, View::rows(dqueries, d_key), weights.query, flow);
            }
        });
    }

    /// The gradients of the values given those of all contexts, `[batch * len, d_value]`: one product per
    /// sequence.
    fn values(&self, dcontexts: &[f32], values: &mut [f32]) {
        let AttentiveRecurrentCall { recurrent, src_len, d_value, .. } = self.call;
        let (batch, len) = (recurrent.batch(), recurrent.lengths.width());
        let weights = View::rows(self.result.attention_weights, src_len);
        let dcontexts = View::rows(dcontexts, d_value);
        let values = TileMut::new(values, batch * src_len, d_value, d_value);
        let large = self.call.attention(batch).is_large();
        for_each(batch, large, |sequence| {
            let first = sequence * len;
            // SAFETY: each task has its own sequence.
            let mut values = unsafe { values.part(sequence * src_len, 0, src_len, d_value) };
            let (weights, dcontexts) = (weights.from(first, 0), dcontexts.from(first, 0));
            let len = recurrent.lengths.lens()[sequence];
            Product::new(len, weights.t(), dcontexts).write_here(&mut values);
        });
    }

    /// The gradients of the weights that multiply h.
    fn state_weights(
        &self,
        tapes: &Tapes<'_>,
        weight: Option<&mut [f32]>,
        bias: Option<&mut [f32]>,
        query_weight: Option<&mut [f32]>,
    ) {
        let recurrent = self.call.recurrent;
        let total = self.schedule.total();
        let hidden = View::rows(tapes.hidden, recurrent.gate_cols());
        let before = View::rows(tapes.before, recurrent.d);
        hidden_gradients(recurrent.precision, total, hidden, before, weight, bias);
        if let Some(weight) = query_weight {
            let dqueries = View::rows(tapes.dqueries, self.call.d_key);
            weight_gradient(recurrent.precision, total, dqueries, before, weight);
        }
    }

    /// The gradient of W_c given those of x, `[total, gates * d]`.
    fn context_weight(&self, input: &[f32], weight: &mut [f32]) {
        let AttentiveRecurrentCall { recurrent, d_value, .. } = self.call;
        let (total, state_cols) = (self.schedule.total(), recurrent.state_cols());
        with_scratch(total * d_value, |contexts| {
            self.schedule.gather(d_value, contexts, |rank, position| {
                let out = self.states();
                let row = self.schedule.row(rank, position);
                Some(&out.row(row, self.call.out_cols())[state_cols..])
            });
            let input = View::rows(input, recurrent.gate_cols());
            let contexts = View::rows(contexts, d_value);
            weight_gradient(recurrent.precision, total, input, contexts, weight);
        });
    }
}

impl Tapes<'_> {
    /// The gradients of x.
    fn of_input(&self) -> &[f32] {
        if self.input.is_empty() { self.hidden } else { self.input }
    }
}
