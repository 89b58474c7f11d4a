//! The backward pass.

use std::ops::Range;

use attentive_device::{Affine, Buffer, RecurrentBackward, RecurrentGradients};

use super::{GpuRecurrentSchedule, GpuRecurrentStates, source, states_width};
use crate::ops::elementwise::fill;
use crate::ops::product::{GpuMatrix, GpuProduct};
use crate::ops::sums::ColumnSums;
use crate::pipelines::GpuKernel;
use crate::queue::Binding::{Host, Read, ReadIf, Write};
use crate::queue::{Recording, elements};

const RETREAT: GpuKernel = GpuKernel::new("recurrent_retreat", source);

/// The backward pass of the cells.
#[derive(Debug)]
pub(in crate::ops) struct Retreat<'a> {
    pub(in crate::ops) schedule: &'a GpuRecurrentSchedule<'a>,
    pub(in crate::ops) hidden: Option<Affine<&'a Buffer>>,
    pub(in crate::ops) states: GpuRecurrentStates<'a>,
    pub(in crate::ops) saved: &'a Buffer,
    pub(in crate::ops) grad: &'a Buffer,
    pub(in crate::ops) projected: &'a Buffer,
    pub(in crate::ops) tapes: Tapes<'a>,
    /// The gradients of the states before the steps that were done last, by rank.
    pub(in crate::ops) flow: Buffer,
}

/// The gradients of the gates on a tape, and behind it the h before each step on another one.
#[derive(Clone, Copy, Debug)]
pub(in crate::ops) struct Tapes<'a> {
    pub(in crate::ops) all: &'a Buffer,
    /// Columns of the first tape: the gradients of U h + b, and if they are others those of the projected
    /// inputs.
    pub(in crate::ops) width: usize,
    /// The columns of the projected inputs.
    pub(in crate::ops) inputs: usize,
    /// The first element of the second tape.
    pub(in crate::ops) before: usize,
}

impl<'a> Tapes<'a> {
    /// The tapes in `all` of a layer that attends or not.
    pub(in crate::ops) fn new(schedule: &GpuRecurrentSchedule<'_>, all: &'a Buffer, attends: bool) -> Self {
        let call = schedule.call;
        let width = if attends && !call.cell.adds_plainly() {
            2 * schedule.gates()
        } else if attends {
            schedule.gates()
        } else {
            call.cell.hidden_gates() * call.d
        };
        Self { all, width, inputs: width.saturating_sub(schedule.gates()), before: schedule.total() * width }
    }

    /// The gradients of U h + b.
    pub(in crate::ops) fn hidden(&self) -> GpuMatrix<'a> {
        GpuMatrix::rows(self.all, self.width)
    }

    /// The gradients of the projected inputs.
    pub(in crate::ops) fn inputs(&self) -> GpuMatrix<'a> {
        self.hidden().skip_columns(self.inputs)
    }

    /// The h before each step.
    pub(in crate::ops) fn before(&self, d: usize) -> GpuMatrix<'a> {
        GpuMatrix::rows(self.all, d).skip_columns(self.before)
    }
}

impl Retreat<'_> {
    pub(in crate::ops) fn check(&self) {
        let (schedule, saved) = (self.schedule, Some(self.saved));
        schedule.check(self.hidden, self.states, saved, self.projected);
        assert_eq!(self.grad.len(), self.states.all.len(), "{:?}", schedule.call);
        let tapes = self.tapes.before + schedule.total() * schedule.call.d;
        let has_tapes = self.tapes.width > 0;
        assert!(!has_tapes || self.tapes.all.len() >= tapes, "{:?}", schedule.call);
    }

    /// Writes the second tape.
    pub(in crate::ops) fn gather_before(&self, recording: &mut Recording<'_>) {
        let Tapes { all, before, .. } = self.tapes;
        self.schedule.gather_before(recording, self.states, all, before);
    }

    /// The gradients of the cells at a step.
    pub(in crate::ops) fn step(&self, recording: &mut Recording<'_>, step: usize) {
        self.cells(recording, step..step + 1);
    }

    /// Adds to the gradients of the states before a step those through U h.
    pub(in crate::ops) fn through_hidden(&self, recording: &mut Recording<'_>, step: usize) {
        let (schedule, call) = (self.schedule, self.schedule.call);
        if let Some(Affine { weight, .. }) = self.hidden {
            let rows = schedule.tape(step);
            let shape = [rows.len(), call.d, schedule.gates()];
            let hidden = self.tapes.hidden().skip_rows(rows.start);
            GpuProduct::new(shape, hidden, GpuMatrix::rows(weight, call.d), call.precision)
                .added()
                .write(recording, self.flow());
        }
    }

    pub(in crate::ops) fn flow(&self) -> GpuMatrix<'_> {
        GpuMatrix::rows(&self.flow, self.schedule.states())
    }

    fn cells(&self, recording: &mut Recording<'_>, steps: Range<usize>) {
        if steps.is_empty() {
            return;
        }
        let schedule = self.schedule;
        let (saved, tape_row) = (schedule.call.cell.saved(), self.tapes.width);
        let parameters = schedule.parameters(&steps, self.states, saved, false, tape_row);
        let bindings = [
            Read(self.grad),
            Read(self.states.all),
            Read(self.saved),
            ReadIf(self.states.initial),
            Host(schedule.uploaded()),
            Write(&self.flow),
            Write(self.projected),
            Write(self.tapes.all),
        ];
        let groups = elements(schedule.ranks(steps.start) * schedule.call.d);
        recording.run(RETREAT, &bindings, &parameters, groups);
    }

    /// Once all steps are done: the gradients of weight, bias and initial states.
    pub(in crate::ops) fn finish(
        &self,
        recording: &mut Recording<'_>,
        gradients: RecurrentGradients<&Buffer>,
    ) {
        let (schedule, call) = (self.schedule, self.schedule.call);
        let (gates, total) = (schedule.gates(), schedule.total());
        if let Some(weight) = gradients.weight {
            let shape = [gates, call.d, total];
            let (hidden, before) = (self.tapes.hidden().t(), self.tapes.before(call.d));
            let product = GpuProduct::new(shape, hidden, before, call.precision);
            product.write(recording, GpuMatrix::rows(weight, call.d));
        }
        if let Some(bias) = gradients.bias {
            let sums = ColumnSums {
                rows: total,
                columns: gates,
                matrix: self.tapes.all,
                first: 0,
                width: self.tapes.width,
            };
            sums.write(recording, bias, false);
        }
        if let Some(initial) = gradients.initial {
            schedule.scatter(recording, &self.flow, initial);
        }
    }
}

/// Several directions, one after the other.
pub(crate) fn recurrent_backward(
    recording: &mut Recording<'_>,
    directions: Vec<RecurrentBackward<'_, &Buffer, &mut Buffer>>,
    states: &Buffer,
    grad: &Buffer,
) {
    let width = directions.iter().map(|one| states_width(one.call)).sum();
    let mut first = 0;
    for one in directions {
        let states = GpuRecurrentStates { all: states, width, first, initial: one.recurrence.initial };
        first += states_width(one.call);
        one_direction(recording, one, states, grad);
    }
}

fn one_direction(
    recording: &mut Recording<'_>,
    direction: RecurrentBackward<'_, &Buffer, &mut Buffer>,
    states: GpuRecurrentStates<'_>,
    grad: &Buffer,
) {
    let RecurrentBackward { call, recurrence, saved, gradients, room } = direction;
    let gradients = gradients.map(|gradient| &*gradient);
    fill(recording, gradients.projected, 0.0);
    if call.d == 0 {
        return;
    }
    let schedule = GpuRecurrentSchedule::new(recording, call, |_| 0);
    let retreat = Retreat {
        schedule: &schedule,
        hidden: recurrence.hidden,
        states,
        saved,
        grad,
        projected: gradients.projected,
        tapes: Tapes::new(&schedule, room, false),
        flow: schedule.first_states(recording, None),
    };
    retreat.check();
    match recurrence.hidden {
        Some(_) => {
            for step in schedule.steps().rev() {
                retreat.step(recording, step);
                retreat.through_hidden(recording, step);
            }
        }
        None => retreat.cells(recording, schedule.steps()),
    }
    if gradients.weight.is_some() {
        retreat.gather_before(recording);
    }
    retreat.finish(recording, gradients);
}
