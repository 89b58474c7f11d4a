//! The forward pass.

use std::ops::Range;

use attentive_device::{Affine, Buffer, RecurrentForward};

use super::{GpuRecurrentSchedule, GpuRecurrentStates, source, states_width};
use crate::ops::elementwise::fill;
use crate::ops::product::{GpuMatrix, GpuProduct};
use crate::pipelines::GpuKernel;
use crate::queue::Binding::{Host, Read, ReadIf, Write};
use crate::queue::{Recording, elements};

const ADVANCE: GpuKernel = GpuKernel::new("recurrent_advance", source);

/// The forward pass of the cells.
#[derive(Debug)]
pub(in crate::ops) struct Advance<'a> {
    pub(in crate::ops) schedule: &'a GpuRecurrentSchedule<'a>,
    pub(in crate::ops) hidden: Option<Affine<&'a Buffer>>,
    pub(in crate::ops) projected: &'a Buffer,
    pub(in crate::ops) states: GpuRecurrentStates<'a>,
    /// The states before the next step, by rank.
    current: Buffer,
    /// U h + b, by rank.
    sums: Buffer,
    saved: Option<&'a Buffer>,
    /// What stands for `saved` if nothing is.
    unsaved: Buffer,
}

impl<'a> Advance<'a> {
    pub(in crate::ops) fn new(
        recording: &mut Recording<'_>,
        schedule: &'a GpuRecurrentSchedule<'a>,
        hidden: Option<Affine<&'a Buffer>>,
        projected: &'a Buffer,
        states: GpuRecurrentStates<'a>,
        saved: Option<&'a Buffer>,
    ) -> Self {
        schedule.check(hidden, states, saved, projected);
        let (call, batch) = (schedule.call, schedule.batch());
        Self {
            schedule,
            hidden,
            projected,
            states,
            current: schedule.first_states(recording, states.initial),
            sums: recording.room(batch * call.cell.hidden_gates() * call.d),
            saved,
            unsaved: recording.room(0),
        }
    }

    /// The states before the next step, by rank.
    pub(in crate::ops) fn current(&self) -> GpuMatrix<'_> {
        GpuMatrix::rows(&self.current, self.schedule.states())
    }

    /// A step, with what is added to the projected inputs, by rank.
    pub(in crate::ops) fn step(&self, recording: &mut Recording<'_>, step: usize, added: Option<&Buffer>) {
        let (schedule, call) = (self.schedule, self.schedule.call);
        if let Some(Affine { weight, bias }) = self.hidden {
            let shape = [schedule.ranks(step), schedule.gates(), call.d];
            let weight = GpuMatrix::rows(weight, call.d).t();
            GpuProduct::new(shape, self.current(), weight, call.precision)
                .with_bias(bias)
                .write(recording, GpuMatrix::rows(&self.sums, schedule.gates()));
        }
        self.cells(recording, step..step + 1, added);
    }

    /// The cells at some steps, for which U h + b is known.
    fn cells(&self, recording: &mut Recording<'_>, steps: Range<usize>, added: Option<&Buffer>) {
        if steps.is_empty() {
            return;
        }
        let saved = self.saved.map_or(0, |_| self.schedule.call.cell.saved());
        let schedule = self.schedule;
        let parameters = schedule.parameters(&steps, self.states, saved, added.is_some(), 0);
        let bindings = [
            Read(self.projected),
            ReadIf(added),
            Read(&self.sums),
            Host(schedule.uploaded()),
            Write(&self.current),
            Write(self.states.all),
            Write(self.saved.unwrap_or(&self.unsaved)),
        ];
        let groups = elements(schedule.ranks(steps.start) * schedule.call.d);
        recording.run(ADVANCE, &bindings, &parameters, groups);
    }
}

/// Several directions, one after the other.
pub(crate) fn recurrent(
    recording: &mut Recording<'_>,
    directions: Vec<RecurrentForward<'_, &Buffer, &mut Buffer>>,
    states: &Buffer,
) {
    fill(recording, states, 0.0);
    if states.is_empty() {
        return;
    }
    let width = directions.iter().map(|one| states_width(one.call)).sum();
    let mut first = 0;
    for one in directions {
        let states = GpuRecurrentStates { all: states, width, first, initial: one.recurrence.initial };
        first += states_width(one.call);
        one_direction(recording, one, states);
    }
}

fn one_direction(
    recording: &mut Recording<'_>,
    direction: RecurrentForward<'_, &Buffer, &mut Buffer>,
    states: GpuRecurrentStates<'_>,
) {
    let RecurrentForward { call, recurrence, projected, saved } = direction;
    if call.d == 0 {
        return;
    }
    let schedule = GpuRecurrentSchedule::new(recording, call, |_| 0);
    let advance =
        Advance::new(recording, &schedule, recurrence.hidden, projected, states, saved.map(|saved| &*saved));
    match recurrence.hidden {
        Some(_) => {
            for step in schedule.steps() {
                advance.step(recording, step, None);
            }
        }
        None => advance.cells(recording, schedule.steps(), None),
    }
}
