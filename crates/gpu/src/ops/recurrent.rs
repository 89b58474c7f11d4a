//! Recurrent layers.
//!
//! The steps of a sequence are its positions in the order in which they are read. Sequences are sorted from the longest to the
//! shortest, so that those that have a step come first, and their products are one product. The backward pass writes what the
//! gradients of weights need on tapes: matrices with a row for each step of each sequence, step by step.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::ops::Range;

use attentive_device::{
    Affine, Buffer, Recurrence, RecurrentCall, RecurrentGradients, RecurrentResult,
};
use attentive_kernels::recurrent::{Cell, Direction};

use super::elementwise::fill;
use super::product::{Matrix, Product};
use super::rows::{scatter_rows, select_rows};
use super::sums::ColumnSums;
use crate::pipelines::Kernel;
use crate::queue::Binding::{Host, Read, ReadIf, Write};
use crate::queue::{Recording, Uploaded, elements};
use crate::word::{all_words, words};

const ADVANCE: Kernel = Kernel::new("recurrent_advance", source);
const RETREAT: Kernel = Kernel::new("recurrent_retreat", source);
const BEFORE: Kernel = Kernel::new("recurrent_before", source);

fn source(_: usize) -> Cow<'static, str> {
    concat!(
        include_str!("../wgsl/steps.wgsl"),
        include_str!("../wgsl/recurrent.wgsl")
    )
    .into()
}

/// Which sequences take part in each step. The index of a sequence in the order of their lengths is its rank.
#[derive(Debug)]
pub(super) struct Schedule<'a> {
    pub(super) call: RecurrentCall<'a>,
    order: Vec<usize>,
    /// The first row of each step in a tape, and the number of all rows.
    starts: Vec<usize>,
    /// Sequence, length and number of keys of each rank; then `starts`.
    uploaded: Uploaded,
}

impl<'a> Schedule<'a> {
    /// The schedule of sequences that attend to `keys` keys each.
    pub(super) fn new(
        recording: &mut Recording<'_>,
        call: RecurrentCall<'a>,
        keys: impl Fn(usize) -> usize,
    ) -> Self {
        let lens = call.lengths.lens();
        let mut order: Vec<usize> = (0..lens.len()).collect();
        order.sort_by_key(|&sequence| Reverse(lens[sequence]));
        let mut starts = vec![0];
        for step in 0..call.lengths.max() {
            starts.push(starts[step] + order.partition_point(|&sequence| lens[sequence] > step));
        }
        let of_ranks = order
            .iter()
            .flat_map(|&sequence| [sequence, lens[sequence], keys(sequence)]);
        let uploaded = recording.upload(&all_words(of_ranks.chain(starts.iter().copied())));
        Self {
            call,
            order,
            starts,
            uploaded,
        }
    }

    pub(super) fn steps(&self) -> Range<usize> {
        0..self.starts.len() - 1
    }

    /// The number of sequences that have a step; theirs are the lowest ranks.
    pub(super) fn ranks(&self, step: usize) -> usize {
        self.tape(step).len()
    }

    /// The rows of a step in a tape.
    pub(super) fn tape(&self, step: usize) -> Range<usize> {
        self.starts[step]..self.starts[step + 1]
    }

    /// The number of rows of a tape.
    pub(super) fn total(&self) -> usize {
        self.call.lengths.total()
    }

    pub(super) fn uploaded(&self) -> &Uploaded {
        &self.uploaded
    }

    /// Columns of the gates.
    pub(super) fn gates(&self) -> usize {
        self.call.cell.gates() * self.call.d
    }

    /// Columns of the states.
    pub(super) fn states(&self) -> usize {
        self.call.cell.states() * self.call.d
    }

    /// The states before the first steps, by rank.
    pub(super) fn first_states(
        &self,
        recording: &mut Recording<'_>,
        initial: Option<&Buffer>,
    ) -> Buffer {
        let states = recording.room(self.order.len() * self.states());
        match initial {
            Some(initial) => select_rows(recording, self.states(), initial, &self.order, &states),
            None => fill(recording, &states, 0.0),
        }
        states
    }

    /// Writes what has a row by rank to the rows of the sequences.
    pub(super) fn scatter(&self, recording: &mut Recording<'_>, by_rank: &Buffer, out: &Buffer) {
        assert_eq!(out.len(), by_rank.len(), "{:?}", self.call);
        scatter_rows(recording, self.states(), by_rank, &self.order, out);
    }

    /// The row of a step of a rank in matrices with a row for each position.
    fn row(&self, rank: usize, step: usize) -> usize {
        let sequence = self.order[rank];
        let position = match self.call.direction {
            Direction::Forward => step,
            Direction::Backward => self.call.lengths.lens()[sequence] - 1 - step,
        };
        sequence * self.call.lengths.width() + position
    }

    fn check(
        &self,
        hidden: Option<Affine<&Buffer>>,
        states: States<'_>,
        saved: Option<&Buffer>,
        projected: &Buffer,
    ) {
        let (call, rows) = (self.call, self.call.lengths.positions());
        let wanted = call.cell.hidden_gates() > 0;
        assert_eq!(hidden.is_some(), wanted, "the hidden weight of {call:?}");
        if let Some(Affine { weight, bias }) = hidden {
            assert_eq!(weight.len(), self.gates() * call.d, "{call:?}");
            assert!(
                bias.is_none_or(|bias| bias.len() == self.gates()),
                "{call:?}"
            );
        }
        assert_eq!(states.all.len(), rows * states.width, "{call:?}");
        assert_eq!(projected.len(), rows * self.gates(), "{call:?}");
        let saved_len = rows * call.cell.saved() * call.d;
        assert!(
            saved.is_none_or(|saved| saved.len() == saved_len),
            "{call:?}"
        );
    }

    /// Writes the h before each step to the rows of a tape, which begin at element `to` of `tapes`.
    pub(super) fn gather_before(
        &self,
        recording: &mut Recording<'_>,
        states: States<'_>,
        tapes: &Buffer,
        to: usize,
    ) {
        let n = self.total() * self.call.d;
        if n == 0 {
            return;
        }
        let first = self.order[..self.ranks(0)].iter().copied();
        let later = self.steps().skip(1);
        let later =
            later.flat_map(|step| (0..self.ranks(step)).map(move |rank| self.row(rank, step - 1)));
        let rows = recording.upload(&all_words(first.chain(later)));
        let parameters = words![
            n,
            self.call.d,
            states.width,
            self.states(),
            states.initial.is_some(),
            self.ranks(0),
            to,
        ];
        let bindings = [
            Read(states.all),
            ReadIf(states.initial),
            Host(&rows),
            Write(tapes),
        ];
        recording.run(BEFORE, &bindings, &parameters, elements(n));
    }

    /// The parameters of all kernels of cells for some steps.
    fn parameters(
        &self,
        steps: &Range<usize>,
        states: States<'_>,
        saved: usize,
        attends: bool,
        tape_row: usize,
    ) -> [u32; 15] {
        let RecurrentCall {
            cell,
            direction,
            lengths,
            d,
            ..
        } = self.call;
        let number = match cell {
            Cell::Rnn => 0u32,
            Cell::Lstm => 1,
            Cell::CoupledLstm => 2,
            Cell::Gru => 3,
            Cell::Ssru => 4,
        };
        words![
            number,
            cell.gates(),
            cell.states(),
            saved,
            d,
            lengths.width(),
            direction == Direction::Backward,
            states.width,
            states.initial.is_some(),
            attends,
            tape_row,
            self.ranks(steps.start),
            steps.start,
            steps.end,
            self.starts[steps.start],
        ]
    }
}

/// The states of all positions, and those before them.
#[derive(Clone, Copy, Debug)]
pub(super) struct States<'a> {
    /// Rows of `width` columns, which begin with the state.
    pub(super) all: &'a Buffer,
    pub(super) width: usize,
    pub(super) initial: Option<&'a Buffer>,
}

/// The forward pass of the cells.
#[derive(Debug)]
pub(super) struct Advance<'a> {
    pub(super) schedule: &'a Schedule<'a>,
    pub(super) hidden: Option<Affine<&'a Buffer>>,
    pub(super) projected: &'a Buffer,
    pub(super) states: States<'a>,
    /// The states before the next step, by rank.
    current: Buffer,
    /// U h + b, by rank.
    sums: Buffer,
    saved: Option<&'a Buffer>,
    /// What stands for `saved` if nothing is.
    unsaved: Buffer,
}

impl<'a> Advance<'a> {
    pub(super) fn new(
        recording: &mut Recording<'_>,
        schedule: &'a Schedule<'a>,
        hidden: Option<Affine<&'a Buffer>>,
        projected: &'a Buffer,
        states: States<'a>,
        saved: Option<&'a Buffer>,
    ) -> Self {
        schedule.check(hidden, states, saved, projected);
        let (call, batch) = (schedule.call, schedule.order.len());
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
    pub(super) fn current(&self) -> Matrix<'_> {
        Matrix::rows(&self.current, self.schedule.states())
    }

    /// A step, with what is added to the projected inputs, by rank.
    pub(super) fn step(&self, recording: &mut Recording<'_>, step: usize, added: Option<&Buffer>) {
        let (schedule, call) = (self.schedule, self.schedule.call);
        if let Some(Affine { weight, bias }) = self.hidden {
            let shape = [schedule.ranks(step), schedule.gates(), call.d];
            let weight = Matrix::rows(weight, call.d).t();
            Product::new(shape, self.current(), weight, call.precision)
                .with_bias(bias)
                .write(recording, Matrix::rows(&self.sums, schedule.gates()));
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
            Host(&schedule.uploaded),
            Write(&self.current),
            Write(self.states.all),
            Write(self.saved.unwrap_or(&self.unsaved)),
        ];
        let groups = elements(schedule.ranks(steps.start) * schedule.call.d);
        recording.run(ADVANCE, &bindings, &parameters, groups);
    }
}

/// The backward pass of the cells.
#[derive(Debug)]
pub(super) struct Retreat<'a> {
    pub(super) schedule: &'a Schedule<'a>,
    pub(super) hidden: Option<Affine<&'a Buffer>>,
    pub(super) states: States<'a>,
    pub(super) saved: &'a Buffer,
    pub(super) grad: &'a Buffer,
    pub(super) projected: &'a Buffer,
    pub(super) tapes: Tapes<'a>,
    /// The gradients of the states before the steps that were done last, by rank.
    pub(super) flow: Buffer,
}

/// The gradients of the gates on a tape, and behind it the h before each step on another one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tapes<'a> {
    pub(super) all: &'a Buffer,
    /// Columns of the first tape: the gradients of U h + b, and if they are others those of the projected inputs.
    pub(super) width: usize,
    /// The columns of the projected inputs.
    pub(super) inputs: usize,
    /// The first element of the second tape.
    pub(super) before: usize,
}

impl<'a> Tapes<'a> {
    /// The tapes in `all` of a layer that attends or not.
    pub(super) fn new(schedule: &Schedule<'_>, all: &'a Buffer, attends: bool) -> Self {
        let call = schedule.call;
        let width = match attends {
            true if call.cell == Cell::Gru => 2 * schedule.gates(),
            true => schedule.gates(),
            false => call.cell.hidden_gates() * call.d,
        };
        Self {
            all,
            width,
            inputs: width.saturating_sub(schedule.gates()),
            before: schedule.total() * width,
        }
    }

    /// The gradients of U h + b.
    pub(super) fn hidden(&self) -> Matrix<'a> {
        Matrix::rows(self.all, self.width)
    }

    /// The gradients of the projected inputs.
    pub(super) fn inputs(&self) -> Matrix<'a> {
        self.hidden().skip_columns(self.inputs)
    }

    /// The h before each step.
    pub(super) fn before(&self, d: usize) -> Matrix<'a> {
        Matrix::rows(self.all, d).skip_columns(self.before)
    }
}

impl Retreat<'_> {
    pub(super) fn check(&self) {
        let (schedule, saved) = (self.schedule, Some(self.saved));
        schedule.check(self.hidden, self.states, saved, self.projected);
        assert_eq!(
            self.grad.len(),
            self.states.all.len(),
            "{:?}",
            schedule.call
        );
        let tapes = self.tapes.before + schedule.total() * schedule.call.d;
        let has_tapes = self.tapes.width > 0;
        assert!(
            !has_tapes || self.tapes.all.len() >= tapes,
            "{:?}",
            schedule.call
        );
    }

    /// Writes the second tape.
    pub(super) fn gather_before(&self, recording: &mut Recording<'_>) {
        let Tapes { all, before, .. } = self.tapes;
        self.schedule
            .gather_before(recording, self.states, all, before);
    }

    /// The gradients of the cells at a step.
    pub(super) fn step(&self, recording: &mut Recording<'_>, step: usize) {
        self.cells(recording, step..step + 1);
    }

    /// Adds to the gradients of the states before a step those through U h.
    pub(super) fn through_hidden(&self, recording: &mut Recording<'_>, step: usize) {
        let (schedule, call) = (self.schedule, self.schedule.call);
        if let Some(Affine { weight, .. }) = self.hidden {
            let rows = schedule.tape(step);
            let shape = [rows.len(), call.d, schedule.gates()];
            let hidden = self.tapes.hidden().skip_rows(rows.start);
            Product::new(shape, hidden, Matrix::rows(weight, call.d), call.precision)
                .added()
                .write(recording, self.flow());
        }
    }

    pub(super) fn flow(&self) -> Matrix<'_> {
        Matrix::rows(&self.flow, self.schedule.states())
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
            Host(&schedule.uploaded),
            Write(&self.flow),
            Write(self.projected),
            Write(self.tapes.all),
        ];
        let groups = elements(schedule.ranks(steps.start) * schedule.call.d);
        recording.run(RETREAT, &bindings, &parameters, groups);
    }

    /// Once all steps are done: the gradients of weight, bias and initial states.
    pub(super) fn finish(
        &self,
        recording: &mut Recording<'_>,
        gradients: RecurrentGradients<&Buffer>,
    ) {
        let (schedule, call) = (self.schedule, self.schedule.call);
        let (gates, total) = (schedule.gates(), schedule.total());
        if let Some(weight) = gradients.weight {
            let shape = [gates, call.d, total];
            let (hidden, before) = (self.tapes.hidden().t(), self.tapes.before(call.d));
            let product = Product::new(shape, hidden, before, call.precision);
            product.write(recording, Matrix::rows(weight, call.d));
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

pub(crate) fn recurrent(
    recording: &mut Recording<'_>,
    call: RecurrentCall<'_>,
    recurrence: Recurrence<&Buffer>,
    projected: &Buffer,
    states: &Buffer,
    saved: Option<&Buffer>,
) {
    fill(recording, states, 0.0);
    if states.is_empty() {
        return;
    }
    let schedule = Schedule::new(recording, call, |_| 0);
    let states = States {
        all: states,
        width: schedule.states(),
        initial: recurrence.initial,
    };
    let advance = Advance::new(
        recording,
        &schedule,
        recurrence.hidden,
        projected,
        states,
        saved,
    );
    match recurrence.hidden {
        Some(_) => {
            for step in schedule.steps() {
                advance.step(recording, step, None);
            }
        }
        None => advance.cells(recording, schedule.steps(), None),
    }
}

pub(crate) fn recurrent_backward(
    recording: &mut Recording<'_>,
    call: RecurrentCall<'_>,
    recurrence: Recurrence<&Buffer>,
    result: RecurrentResult<&Buffer>,
    grad: &Buffer,
    gradients: RecurrentGradients<&Buffer>,
    room: &Buffer,
) {
    fill(recording, gradients.projected, 0.0);
    if call.d == 0 {
        return;
    }
    let schedule = Schedule::new(recording, call, |_| 0);
    let states = States {
        all: result.states,
        width: schedule.states(),
        initial: recurrence.initial,
    };
    let retreat = Retreat {
        schedule: &schedule,
        hidden: recurrence.hidden,
        states,
        saved: result.saved,
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
