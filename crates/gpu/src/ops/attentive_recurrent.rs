//! Recurrent layers that attend to another sequence at each step, of which [`super::recurrent`] has the
//! cells.

use std::borrow::Cow;

use attentive_device::{
    AttentiveRecurrentCall, AttentiveRecurrentGradients, AttentiveRecurrentInputs, AttentiveRecurrentResult,
    Buffer,
};
use attentive_kernels::recurrent::Direction;

use super::elementwise::fill;
use super::product::{GpuMatrix, GpuProduct};
use super::recurrent::{Advance, GpuRecurrentSchedule, GpuRecurrentStates, Retreat, Tapes};
use super::sums::ColumnSums;
use crate::pipelines::GpuKernel;
use crate::queue::Binding::{Host, Read, Write};
use crate::queue::{Recording, elements, grid};
use crate::word::words;

pub(super) const ATTEND: GpuKernel = GpuKernel::new("attend", source);
pub(super) const BACKWARD: GpuKernel = GpuKernel::new("attend_backward", source);
pub(super) const KEYS: GpuKernel = GpuKernel::new("attend_keys", source);
pub(super) const VALUES: GpuKernel = GpuKernel::new("attend_values", source);

fn source(_: usize) -> Cow<'static, str> {
    concat!(
        include_str!("../wgsl/reduce.wgsl"),
        include_str!("../wgsl/steps.wgsl"),
        include_str!("../wgsl/attentive_recurrent.wgsl")
    )
    .into()
}

/// A call with its operands.
#[derive(Clone, Copy, Debug)]
struct Layer<'a> {
    call: AttentiveRecurrentCall<'a>,
    inputs: AttentiveRecurrentInputs<'a, &'a Buffer>,
}

impl<'a> Layer<'a> {
    fn new(call: AttentiveRecurrentCall<'a>, inputs: AttentiveRecurrentInputs<'a, &'a Buffer>) -> Self {
        let AttentiveRecurrentCall { recurrent, src_len, d_key, d_value } = call;
        let (d, batch) = (recurrent.d, recurrent.lengths.rows());
        assert!(d > 0, "`d` must not be 0");
        let gates = recurrent.cell.gates() * d;
        assert_eq!(inputs.query_weight.len(), d_key * d, "{call:?}");
        assert_eq!(inputs.context_weight.len(), gates * d_value, "{call:?}");
        assert_eq!(inputs.keys.len(), batch * src_len * d_key, "{call:?}");
        assert_eq!(inputs.values.len(), batch * src_len * d_value, "{call:?}");
        assert_eq!(inputs.v.len(), d_key, "{call:?}");
        if let Some(lengths) = inputs.src_lengths {
            assert_eq!([lengths.rows(), lengths.width()], [batch, src_len], "{call:?}");
        }
        Self { call, inputs }
    }

    fn schedule(&self, recording: &mut Recording<'_>) -> GpuRecurrentSchedule<'a> {
        let Self { call, inputs } = *self;
        let keys = |sequence: usize| match inputs.src_lengths {
            Some(lengths) => lengths.lens()[sequence],
            None => call.src_len,
        };
        GpuRecurrentSchedule::new(recording, call.recurrent, keys)
    }

    fn states(&self, out: &'a Buffer) -> GpuRecurrentStates<'a> {
        GpuRecurrentStates {
            all: out,
            width: self.call.out_cols(),
            first: 0,
            initial: self.inputs.recurrence.initial,
        }
    }

    /// The projection from h to the query.
    fn query_weight(&self) -> GpuMatrix<'a> {
        GpuMatrix::rows(self.inputs.query_weight, self.call.recurrent.d)
    }

    /// The projection from the context to the gates.
    fn context_weight(&self) -> GpuMatrix<'a> {
        GpuMatrix::rows(self.inputs.context_weight, self.call.d_value)
    }

    /// The parameters of the kernels of attention for the first `ranks` sequences at a step.
    fn parameters(&self, ranks: usize, step: usize, tape_first: usize, keeps: bool) -> [u32; 11] {
        let AttentiveRecurrentCall { recurrent, src_len, d_key, d_value } = self.call;
        words![
            src_len,
            d_key,
            d_value,
            self.call.out_cols(),
            recurrent.cell.states() * recurrent.d,
            recurrent.lengths.width(),
            recurrent.direction == Direction::Backward,
            ranks,
            step,
            tape_first,
            keeps,
        ]
    }

    fn product<'b>(&self, shape: [usize; 3], left: GpuMatrix<'b>, right: GpuMatrix<'b>) -> GpuProduct<'b> {
        GpuProduct::new(shape, left, right, self.call.recurrent.precision)
    }
}

pub(crate) fn attentive_recurrent(
    recording: &mut Recording<'_>,
    call: AttentiveRecurrentCall<'_>,
    inputs: AttentiveRecurrentInputs<'_, &Buffer>,
    projected: &Buffer,
    out: &Buffer,
    kept: Option<[&Buffer; 2]>,
) {
    let layer = Layer::new(call, inputs);
    let [kept_weights, saved] = kept.map_or([None; 2], |kept| kept.map(Some));
    fill(recording, out, 0.0);
    if let Some(weights) = kept_weights {
        assert_eq!(weights.len(), call.recurrent.lengths.positions() * call.src_len, "{call:?}");
        fill(recording, weights, 0.0);
    }
    let schedule = layer.schedule(recording);
    let (hidden, states) = (inputs.recurrence.hidden, layer.states(out));
    let advance = Advance::new(recording, &schedule, hidden, projected, states, saved);
    let batch = call.recurrent.lengths.rows();
    let (d, gates) = (call.recurrent.d, schedule.gates());
    let [queries, contexts, x, weights] =
        [call.d_key, call.d_value, gates, call.src_len].map(|width| recording.room(batch * width));
    for step in schedule.steps() {
        let ranks = schedule.ranks(step);
        let product = layer.product([ranks, call.d_key, d], advance.current(), layer.query_weight().t());
        product.write(recording, GpuMatrix::rows(&queries, call.d_key));
        let bindings = [
            Read(&queries),
            Read(inputs.keys),
            Read(inputs.values),
            Read(inputs.v),
            Host(schedule.uploaded()),
            Write(out),
            Write(&contexts),
            Write(kept_weights.unwrap_or(&weights)),
        ];
        let parameters = layer.parameters(ranks, step, 0, kept_weights.is_some());
        recording.run(ATTEND, &bindings, &parameters, grid(ranks));
        let (shape, contexts) = ([ranks, gates, call.d_value], GpuMatrix::rows(&contexts, call.d_value));
        let product = layer.product(shape, contexts, layer.context_weight().t());
        product.write(recording, GpuMatrix::rows(&x, gates));
        advance.step(recording, step, Some(&x));
    }
}

pub(crate) fn attentive_recurrent_backward(
    recording: &mut Recording<'_>,
    call: AttentiveRecurrentCall<'_>,
    inputs: AttentiveRecurrentInputs<'_, &Buffer>,
    result: AttentiveRecurrentResult<&Buffer>,
    grad: &Buffer,
    gradients: AttentiveRecurrentGradients<&Buffer>,
    room: &Buffer,
) {
    let layer = Layer::new(call, inputs);
    let (recurrent, projected) = (call.recurrent, gradients.recurrence.projected);
    fill(recording, projected, 0.0);
    let schedule = layer.schedule(recording);
    let retreat = Retreat {
        schedule: &schedule,
        hidden: inputs.recurrence.hidden,
        states: layer.states(result.out),
        saved: result.saved,
        grad,
        projected,
        tapes: Tapes::new(&schedule, room, true),
        flow: schedule.first_states(recording, None),
    };
    retreat.check();
    retreat.gather_before(recording);
    let attention = AttentionBackward::new(recording, layer, &retreat, result.attention_weights);
    for step in schedule.steps().rev() {
        retreat.step(recording, step);
        attention.step(recording, step);
        retreat.through_hidden(recording, step);
        attention.through_query(recording, step);
    }
    attention.sentences(recording, [gradients.keys, gradients.values, gradients.v]);
    if let Some(query_weight) = gradients.query_weight {
        let shape = [call.d_key, recurrent.d, schedule.total()];
        let (dqueries, before) = (attention.dqueries().t(), retreat.tapes.before(recurrent.d));
        let product = layer.product(shape, dqueries, before);
        product.write(recording, GpuMatrix::rows(query_weight, recurrent.d));
    }
    if let Some(context_weight) = gradients.context_weight {
        // At padding both are zero.
        let shape = [schedule.gates(), call.d_value, recurrent.lengths.positions()];
        let dx = GpuMatrix::rows(projected, schedule.gates()).t();
        let contexts = GpuMatrix::rows(result.out, call.out_cols()).skip_columns(schedule.states());
        let product = layer.product(shape, dx, contexts);
        product.write(recording, GpuMatrix::rows(context_weight, call.d_value));
    }
    retreat.finish(recording, gradients.recurrence);
}

/// The backward pass of the attention.
#[derive(Debug)]
struct AttentionBackward<'a> {
    layer: Layer<'a>,
    retreat: &'a Retreat<'a>,
    weights: &'a Buffer,
    /// Tapes.
    queries: Buffer,
    dqueries: Buffer,
    /// The gradients of the contexts through the gates, by rank.
    through_gates: Buffer,
    /// The gradients of contexts and scores, in a row for each position.
    attended: Buffer,
}

impl<'a> AttentionBackward<'a> {
    /// Computes the queries again.
    fn new(
        recording: &mut Recording<'_>,
        layer: Layer<'a>,
        retreat: &'a Retreat<'a>,
        weights: &'a Buffer,
    ) -> Self {
        let AttentiveRecurrentCall { recurrent, src_len, d_key, d_value } = layer.call;
        let (lengths, total) = (recurrent.lengths, retreat.schedule.total());
        assert_eq!(weights.len(), lengths.positions() * src_len, "{:?}", layer.call);
        let [queries, dqueries] = [(); 2].map(|()| recording.room(total * d_key));
        let (shape, before) = ([total, d_key, recurrent.d], retreat.tapes.before(recurrent.d));
        let product = layer.product(shape, before, layer.query_weight().t());
        product.write(recording, GpuMatrix::rows(&queries, d_key));
        Self {
            layer,
            retreat,
            weights,
            queries,
            dqueries,
            through_gates: recording.room(lengths.rows() * d_value),
            attended: recording.room(lengths.positions() * (d_value + src_len)),
        }
    }

    fn dqueries(&self) -> GpuMatrix<'_> {
        GpuMatrix::rows(&self.dqueries, self.layer.call.d_key)
    }

    /// The gradients at a step, once those of the projected inputs are known.
    fn step(&self, recording: &mut Recording<'_>, step: usize) {
        let (layer, schedule) = (self.layer, self.retreat.schedule);
        let (inputs, d_value) = (layer.inputs, layer.call.d_value);
        let rows = schedule.tape(step);
        let dx = self.retreat.tapes.inputs().skip_rows(rows.start);
        let shape = [rows.len(), d_value, schedule.gates()];
        let product = layer.product(shape, dx, layer.context_weight());
        product.write(recording, GpuMatrix::rows(&self.through_gates, d_value));
        let bindings = [
            Read(self.retreat.grad),
            Read(&self.through_gates),
            Read(&self.queries),
            Read(inputs.keys),
            Read(inputs.values),
            Host(schedule.uploaded()),
            Read(inputs.v),
            Read(self.weights),
            Write(&self.attended),
            Write(&self.dqueries),
        ];
        let parameters = layer.parameters(rows.len(), step, rows.start, true);
        recording.run(BACKWARD, &bindings, &parameters, grid(rows.len()));
    }

    /// Adds to the gradients of the states before a step those through its queries.
    fn through_query(&self, recording: &mut Recording<'_>, step: usize) {
        let (layer, rows) = (self.layer, self.retreat.schedule.tape(step));
        let shape = [rows.len(), layer.call.recurrent.d, layer.call.d_key];
        let dqueries = self.dqueries().skip_rows(rows.start);
        let product = layer.product(shape, dqueries, layer.query_weight()).added();
        product.write(recording, self.retreat.flow());
    }

    /// Once all steps are done: the gradients of keys, values and v.
    fn sentences(&self, recording: &mut Recording<'_>, [keys, values, v]: [&Buffer; 3]) {
        let Self { layer, retreat, .. } = self;
        let (inputs, d_key) = (layer.inputs, layer.call.d_key);
        assert_eq!([keys.len(), v.len()], [inputs.keys.len(), d_key], "{:?}", layer.call);
        assert_eq!(values.len(), inputs.values.len(), "{:?}", layer.call);
        let parameters = layer.parameters(layer.call.recurrent.lengths.rows(), 0, 0, true);
        let schedule = Host(retreat.schedule.uploaded());
        let terms = recording.room(keys.len());
        let bindings = [
            Read(&self.attended),
            Read(&self.queries),
            Read(inputs.keys),
            Read(inputs.v),
            schedule,
            Write(keys),
            Write(&terms),
        ];
        recording.run(KEYS, &bindings, &parameters, elements(keys.len()));
        let sums = ColumnSums {
            rows: keys.len() / d_key.max(1),
            columns: d_key,
            matrix: &terms,
            first: 0,
            width: d_key,
        };
        sums.write(recording, v, false);
        let bindings = [Read(&self.attended), Read(self.weights), schedule, Write(values)];
        recording.run(VALUES, &bindings, &parameters, elements(values.len()));
    }
}
