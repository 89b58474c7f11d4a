//! Recurrent layers that attend to another sequence at each position, as in the decoder of Bahdanau et al.
//! 2015 (appendix A.1.2 and A.2.2), and their gradients.
//!
//! Given the previous state h, the context and the cell input at a position are
//!
//! - q = W_q h,
//! - a = softmax over j of vᵀ tanh(q + key j), excluding padded keys,
//! - context = Σ_j a_j value j,
//! - x = projected + W_c context,
//!
//! and the [`CellKind`](crate::recurrent::CellKind) computes the next state from x and h. Positions are
//! processed as in
//! [`mod@crate::recurrent`]: a sequence's results depend neither on padding nor on other sequences, and calls of one
//! position each that continue from the previous state give the same bits as one long call.

mod attention_gradients;
mod backward;
mod layer;

pub use backward::{AttentiveRecurrentGradients, attentive_recurrent_backward};
pub use layer::AttentiveRecurrentResult;

use attentive_base::lengths::Lengths;

use crate::additive_attention::{AdditiveAttentionInputs, AdditiveAttentionShape};
use crate::area::assert_shape;
use crate::gemm::{PreparedRight, Product, View, with_prepared_right};
use crate::linear::Affine;
use crate::parallel::for_each;
use crate::recurrent::{
    ForwardPass, PreparedMap, Recurrence, RecurrentCall, RecurrentSchedule, state_product, with_prepared,
    with_prepared_if_any,
};
use crate::scratch::{with_scratch, with_scratches};
use crate::tile::TileMut;

/// Dimensions of a call.
#[derive(Clone, Copy, Debug)]
pub struct AttentiveRecurrentCall<'a> {
    /// The sequences that attend. `d` must not be 0.
    pub recurrent: RecurrentCall<'a>,
    /// Keys per attended sequence.
    pub src_len: usize,
    /// Columns of queries and keys.
    pub d_key: usize,
    /// Columns of values.
    pub d_value: usize,
}

impl AttentiveRecurrentCall<'_> {
    /// Columns of the output: h, then c if the cell has one, then the context.
    pub fn out_cols(&self) -> usize {
        self.recurrent.state_cols() + self.d_value
    }

    /// The elements that the backward pass needs to collect the operands of the gradients of all weights.
    pub fn room(&self) -> usize {
        self.tapes().iter().sum()
    }

    /// The lengths of the parts of this room: for the gradients of the hidden and of the input's gates, the
    /// previous states, the queries and their gradients.
    fn tapes(&self) -> [usize; 5] {
        let (recurrent, d_key) = (self.recurrent, self.d_key);
        let cols = recurrent.gate_cols();
        let apart = if recurrent.cell.adds_plainly() { 0 } else { cols };
        [cols, apart, recurrent.d, d_key, d_key].map(|cols| recurrent.lengths.total() * cols)
    }

    /// The attention of `rows` sequences at one position.
    fn attention(&self, rows: usize) -> AdditiveAttentionShape {
        AdditiveAttentionShape { rows, src_len: self.src_len, d_key: self.d_key, d_value: self.d_value }
    }
}

/// Operands of a layer.
#[derive(Clone, Copy, Debug)]
pub struct AttentiveRecurrentInputs<'a, T> {
    /// Recurrent weights and initial states.
    pub recurrence: Recurrence<T>,
    /// W_q, `[d_key, d]`
    pub query_weight: T,
    /// W_c, `[gates * d, d_value]`
    pub context_weight: T,
    /// `[batch * src_len, d_key]`
    pub keys: T,
    /// `[batch * src_len, d_value]`
    pub values: T,
    /// Keys per sequence; `None` if all are real. Padded keys and values are never read.
    pub src_lengths: Option<&'a Lengths>,
    /// `[d_key]`
    pub v: T,
}

impl<'a, T> AttentiveRecurrentInputs<'a, T> {
    /// Applies `f` to each operand.
    pub fn map<U>(self, f: impl Fn(T) -> U + Copy) -> AttentiveRecurrentInputs<'a, U> {
        AttentiveRecurrentInputs {
            recurrence: self.recurrence.map(f),
            query_weight: f(self.query_weight),
            context_weight: f(self.context_weight),
            keys: f(self.keys),
            values: f(self.values),
            src_lengths: self.src_lengths,
            v: f(self.v),
        }
    }
}

impl<'a> AttentiveRecurrentInputs<'a, &'a [f32]> {
    fn check(&self, call: AttentiveRecurrentCall<'_>) {
        let recurrent = call.recurrent;
        let (d, cols) = (recurrent.d, recurrent.gate_cols());
        let AttentiveRecurrentCall { d_key, d_value, .. } = call;
        assert!(d > 0, "`d` must not be 0");
        recurrent.check(self.recurrence);
        assert_shape("query_weight", self.query_weight, [d_key, d]);
        assert_shape("context_weight", self.context_weight, [cols, d_value]);
        self.attention(&[]).check_sentences(call.attention(recurrent.batch()));
    }

    /// The operands of attention for `queries`.
    fn attention(&self, queries: &'a [f32]) -> AdditiveAttentionInputs<'a, &'a [f32]> {
        AdditiveAttentionInputs {
            queries,
            keys: self.keys,
            values: self.values,
            lengths: self.src_lengths,
            v: self.v,
        }
    }

    /// The projection to the queries.
    fn query_map(&self) -> Affine<&'a [f32]> {
        Affine { weight: self.query_weight, bias: None }
    }
}

/// Computes `out` `[batch * len, states * d + d_value]` for all positions: h and c, followed by the context
/// that produced them; zero at padding. The contexts of a sequence without visible keys are zero. `projected`
/// `[batch * len, gates * d]` holds the projected inputs, including their bias.
///
/// `attention_weights` `[batch * len, src_len]` receives a, with zeros at padding on either side. `saved`
/// `[batch * len, saved * d]` receives what else the backward pass needs; its padded rows are left untouched.
///
/// # Panics
/// If a slice does not fit, or `d` is 0.
pub fn attentive_recurrent(
    call: AttentiveRecurrentCall<'_>,
    inputs: AttentiveRecurrentInputs<'_, &[f32]>,
    projected: &[f32],
    out: &mut [f32],
    attention_weights: Option<&mut [f32]>,
    saved: Option<&mut [f32]>,
) {
    inputs.check(call);
    let recurrent = call.recurrent;
    recurrent.check_rows("projected", projected, recurrent.gate_cols());
    recurrent.check_rows("out", out, call.out_cols());
    if let Some(saved) = saved.as_deref() {
        recurrent.check_rows("saved", saved, recurrent.saved_cols());
    }
    recurrent.clear_padding(out, call.out_cols());
    let matrix = |data, cols| TileMut::new(data, recurrent.rows(), cols, cols);
    let out = matrix(out, call.out_cols());
    let attention_weights = attention_weights.map(|weights| {
        recurrent.check_rows("attention_weights", weights, call.src_len);
        recurrent.clear_padding(weights, call.src_len);
        matrix(weights, call.src_len)
    });
    let (rows, state_cols) = (recurrent.rows(), recurrent.state_cols());
    // SAFETY: the two parts have no column in common, and nothing else accesses the matrix.
    let (states, contexts) =
        unsafe { (out.part(0, 0, rows, state_cols), out.part(0, state_cols, rows, call.d_value)) };
    let schedule = RecurrentSchedule::new(recurrent, inputs.recurrence.initial);
    let attention =
        AttentionPass { call, inputs, projected, schedule: &schedule, contexts, attention_weights };
    let states = ForwardPass {
        schedule: &schedule,
        states,
        saved: saved.map(|saved| matrix(saved, recurrent.saved_cols())),
    };
    with_prepared_maps(&attention, |maps| through_time(&attention, &states, maps));
}

/// The weights of all positions, packed.
#[derive(Clone, Copy)]
struct PreparedMaps<'a> {
    query: PreparedMap<'a>,
    hidden: Option<PreparedMap<'a>>,
    /// `[d_value, gates * d]`
    context: PreparedRight<'a>,
}

/// Calls `work` with the packed weights.
fn with_prepared_maps(attention: &AttentionPass<'_>, work: impl FnOnce(PreparedMaps<'_>)) {
    let AttentionPass { call, inputs, .. } = attention;
    let RecurrentCall { precision, d, .. } = call.recurrent;
    let context = View::transposed(inputs.context_weight, call.d_value);
    let shape = [call.d_value, call.recurrent.gate_cols()];
    with_prepared_right(precision, context, shape, |context| {
        with_prepared(precision, d, inputs.query_map(), |query| {
            with_prepared_if_any(precision, d, inputs.recurrence.hidden, |hidden| {
                work(PreparedMaps { query, hidden, context });
            });
        });
    });
}

/// Runs the pass through time.
fn through_time(attention: &AttentionPass<'_>, states: &ForwardPass<'_>, maps: PreparedMaps<'_>) {
    let AttentionPass { call, schedule, .. } = attention;
    let recurrent = call.recurrent;
    let (batch, cols) = (recurrent.batch(), recurrent.gate_cols());
    let width = recurrent.cell.work() * recurrent.d;
    let lens = [recurrent.state_cols(), width, call.d_key, cols, call.d_value];
    with_scratches(lens.map(|cols| batch * cols), |[current, work, queries, x, contexts]| {
        schedule.gather_initial(current);
        for position in schedule.positions() {
            state_product(schedule, position, current, maps.query, queries, call.d_key);
            attention.attend(position, queries, contexts, maps.context, x);
            if let Some(hidden) = maps.hidden {
                state_product(schedule, position, current, hidden, work, width);
            }
            let input = |rank: usize, _| &x[rank * cols..][..cols];
            states.advance(position, input, current, work);
        }
    });
}

/// The attention of the forward pass and its outputs.
struct AttentionPass<'a> {
    call: AttentiveRecurrentCall<'a>,
    inputs: AttentiveRecurrentInputs<'a, &'a [f32]>,
    /// `[batch * len, gates * d]`
    projected: &'a [f32],
    schedule: &'a RecurrentSchedule<'a>,
    /// `[batch * len, d_value]`
    contexts: TileMut<'a>,
    /// `[batch * len, src_len]`
    attention_weights: Option<TileMut<'a>>,
}

impl AttentionPass<'_> {
    /// Computes the `contexts` `[batch, d_value]` and the inputs `x` `[batch, gates * d]` of the sequences at
    /// `position` from their `queries` `[batch, d_key]`, all in rank order.
    fn attend(
        &self,
        position: usize,
        queries: &[f32],
        contexts: &mut [f32],
        context_weight: PreparedRight<'_>,
        x: &mut [f32],
    ) {
        let Self { call, inputs, .. } = self;
        let (cols, d_value) = (call.recurrent.gate_cols(), call.d_value);
        let rows = self.schedule.active(position);
        let shape = call.attention(rows);
        let mut x = TileMut::new(x, rows, cols, cols);
        {
            let contexts = TileMut::new(contexts, rows, d_value, d_value);
            for_each(rows, shape.is_large(), |rank| {
                let row = self.schedule.row(rank, position);
                // SAFETY: each rank occurs once, its sequence owns this row, and the matrices are mutably
                // borrowed for as long as `self` exists.
                let (mut x, mut context, mut kept, mut weights) = unsafe {
                    (
                        x.part(rank, 0, 1, cols),
                        contexts.part(rank, 0, 1, d_value),
                        self.contexts.part(row, 0, 1, d_value),
                        self.attention_weights.as_ref().map(|weights| weights.part(row, 0, 1, call.src_len)),
                    )
                };
                x.row_mut(0).copy_from_slice(&self.projected[row * cols..][..cols]);
                let (attention, context) = (inputs.attention(queries), context.row_mut(0));
                let query = attention.row(shape, rank, self.schedule.sequence(rank));
                match &mut weights {
                    Some(weights) => query.attend(weights.row_mut(0), context),
                    None => with_scratch(call.src_len, |weights| query.attend(weights, context)),
                }
                kept.row_mut(0).copy_from_slice(context);
            });
        }
        let contexts = View::rows(contexts, d_value);
        Product::new(d_value, contexts, context_weight).added().write_to(&mut x);
    }
}

#[cfg(test)]
mod tests;
