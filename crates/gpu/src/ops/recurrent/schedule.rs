//! Which sequences take part in which steps.

use std::cmp::Reverse;
use std::ops::Range;

use attentive_device::{Affine, Buffer, RecurrentCall};
use attentive_kernels::recurrent::Direction;

use super::source;
use crate::ops::elementwise::fill;
use crate::ops::rows::{scatter_rows, select_rows};
use crate::pipelines::GpuKernel;
use crate::queue::Binding::{Host, Read, ReadIf, Write};
use crate::queue::{Recording, Uploaded, elements};
use crate::word::{all_words, words};

const BEFORE: GpuKernel = GpuKernel::new("recurrent_before", source);

/// Which sequences take part in each step. The index of a sequence in the order of their lengths is its rank.
#[derive(Debug)]
pub(in crate::ops) struct GpuRecurrentSchedule<'a> {
    pub(in crate::ops) call: RecurrentCall<'a>,
    order: Vec<usize>,
    /// The first row of each step in a tape, and the number of all rows.
    starts: Vec<usize>,
    /// Sequence, length and number of keys of each rank; then `starts`.
    uploaded: Uploaded,
}

impl<'a> GpuRecurrentSchedule<'a> {
    /// The schedule of sequences that attend to `keys` keys each.
    pub(in crate::ops) fn new(
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
        let of_ranks = order.iter().flat_map(|&sequence| [sequence, lens[sequence], keys(sequence)]);
        let uploaded = recording.upload(&all_words(of_ranks.chain(starts.iter().copied())));
        Self { call, order, starts, uploaded }
    }

    /// The number of sequences.
    pub(super) fn batch(&self) -> usize {
        self.order.len()
    }

    pub(in crate::ops) fn steps(&self) -> Range<usize> {
        0..self.starts.len() - 1
    }

    /// The number of sequences that have a step; theirs are the lowest ranks.
    pub(in crate::ops) fn ranks(&self, step: usize) -> usize {
        self.tape(step).len()
    }

    /// The rows of a step in a tape.
    pub(in crate::ops) fn tape(&self, step: usize) -> Range<usize> {
        self.starts[step]..self.starts[step + 1]
    }

    /// The number of rows of a tape.
    pub(in crate::ops) fn total(&self) -> usize {
        self.call.lengths.total()
    }

    pub(in crate::ops) fn uploaded(&self) -> &Uploaded {
        &self.uploaded
    }

    /// Columns of the gates.
    pub(in crate::ops) fn gates(&self) -> usize {
        self.call.cell.gates() * self.call.d
    }

    /// Columns of the states.
    pub(in crate::ops) fn states(&self) -> usize {
        states_width(self.call)
    }

    /// The states before the first steps, by rank.
    pub(in crate::ops) fn first_states(
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
    pub(in crate::ops) fn scatter(&self, recording: &mut Recording<'_>, by_rank: &Buffer, out: &Buffer) {
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

    pub(super) fn check(
        &self,
        hidden: Option<Affine<&Buffer>>,
        states: GpuRecurrentStates<'_>,
        saved: Option<&Buffer>,
        projected: &Buffer,
    ) {
        let (call, rows) = (self.call, self.call.lengths.positions());
        let wanted = call.cell.hidden_gates() > 0;
        assert_eq!(hidden.is_some(), wanted, "the hidden weight of {call:?}");
        if let Some(Affine { weight, bias }) = hidden {
            assert_eq!(weight.len(), self.gates() * call.d, "{call:?}");
            assert!(bias.is_none_or(|bias| bias.len() == self.gates()), "{call:?}");
        }
        assert_eq!(states.all.len(), rows * states.width, "{call:?}");
        assert_eq!(projected.len(), rows * self.gates(), "{call:?}");
        let saved_len = rows * call.cell.saved() * call.d;
        assert!(saved.is_none_or(|saved| saved.len() == saved_len), "{call:?}");
    }

    /// Writes the h before each step to the rows of a tape, which begin at element `to` of `tapes`.
    pub(in crate::ops) fn gather_before(
        &self,
        recording: &mut Recording<'_>,
        states: GpuRecurrentStates<'_>,
        tapes: &Buffer,
        to: usize,
    ) {
        let n = self.total() * self.call.d;
        if n == 0 {
            return;
        }
        let first = self.order[..self.ranks(0)].iter().copied();
        let later = self.steps().skip(1);
        let later = later.flat_map(|step| (0..self.ranks(step)).map(move |rank| self.row(rank, step - 1)));
        let rows = recording.upload(&all_words(first.chain(later)));
        let parameters = words![
            n,
            self.call.d,
            states.width,
            states.first,
            self.states(),
            states.initial.is_some(),
            self.ranks(0),
            to,
        ];
        let bindings = [Read(states.all), ReadIf(states.initial), Host(&rows), Write(tapes)];
        recording.run(BEFORE, &bindings, &parameters, elements(n));
    }

    /// The parameters of all kernels of cells for some steps.
    pub(super) fn parameters(
        &self,
        steps: &Range<usize>,
        states: GpuRecurrentStates<'_>,
        saved: usize,
        attends: bool,
        tape_row: usize,
    ) -> [u32; 16] {
        let RecurrentCall { cell, direction, lengths, d, .. } = self.call;
        words![
            cell as u32,
            cell.gates(),
            cell.states(),
            saved,
            d,
            lengths.width(),
            direction == Direction::Backward,
            states.width,
            states.first,
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

/// The columns of the states of a layer.
pub(super) fn states_width(call: RecurrentCall<'_>) -> usize {
    call.cell.states() * call.d
}

/// The states of all positions, and those before them.
#[derive(Clone, Copy, Debug)]
pub(in crate::ops) struct GpuRecurrentStates<'a> {
    /// Rows of `width` columns.
    pub(in crate::ops) all: &'a Buffer,
    pub(in crate::ops) width: usize,
    /// The first column of the state.
    pub(in crate::ops) first: usize,
    pub(in crate::ops) initial: Option<&'a Buffer>,
}
