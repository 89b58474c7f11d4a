//! The edits of TER: Levenshtein distance within a beam, and a greedy search for shifts of word sequences.
//!
//! TER is defined by Tercom's heuristics, so the limits and tie-breaking rules are part of the result.

/// Maximum length of a shifted phrase.
const MAX_SHIFT_LEN: usize = 10;
/// Maximum distance between a shifted phrase and its position in the reference.
const MAX_SHIFT_DISTANCE: usize = 50;
/// Maximum number of shifts tried per sentence pair; the search that reaches the limit is discarded.
const MAX_SHIFTS_TRIED: usize = 1000;
/// Cells computed on each side of the diagonal of the distance matrix.
const BEAM_WIDTH: usize = 25;
/// Cost of a cell outside the beam.
const UNREACHED: u32 = u32::MAX / 2;

/// The number of insertions, deletions, substitutions and shifts found to turn `hypothesis` into `reference`.
pub(super) fn translation_edits(hypothesis: &[u32], reference: &[u32]) -> usize {
    if reference.is_empty() {
        return hypothesis.len();
    }
    let distance = BeamDistance::new(hypothesis.len(), reference);
    let mut words = hypothesis.to_vec();
    let mut matrix = distance.matrix(&words);
    let mut n_tried = 0;
    let mut n_shifts = 0;
    while let Some(shift) = best_shift(&distance, &words, &matrix, &mut n_tried) {
        words = shift.apply(&words);
        matrix = distance.matrix(&words);
        n_shifts += 1;
    }
    n_shifts + distance.total(&matrix) as usize
}

/// An operation on a word, from the hypothesis to the reference.
#[derive(Clone, Copy)]
enum Edit {
    Keep,
    Substitute,
    Delete,
    Insert,
}

#[derive(Clone, Copy)]
struct Cell {
    cost: u32,
    /// The last edit of the cheapest path to this cell.
    edit: Edit,
}

/// The part of a row of the distance matrix that lies within the beam.
#[derive(Default)]
struct Row {
    /// Column of the first cell.
    start: usize,
    cells: Vec<Cell>,
}

impl Row {
    fn cost(&self, column: usize) -> u32 {
        column.checked_sub(self.start).and_then(|i| self.cells.get(i)).map_or(UNREACHED, |cell| cell.cost)
    }
}

/// Distances between permutations of the hypothesis and one reference.
struct BeamDistance<'a> {
    reference: &'a [u32],
    n_words: usize,
    /// Reference words per hypothesis word: the slope of the diagonal.
    slope: f64,
    beam: usize,
}

impl<'a> BeamDistance<'a> {
    fn new(n_words: usize, reference: &'a [u32]) -> Self {
        let slope = if n_words == 0 { 1.0 } else { reference.len() as f64 / n_words as f64 };
        // If the diagonal is steep, the beams of neighboring rows must still overlap.
        let beam = if slope / 2.0 > BEAM_WIDTH as f64 {
            (slope / 2.0 + BEAM_WIDTH as f64).ceil() as usize
        } else {
            BEAM_WIDTH
        };
        Self { reference, n_words, slope, beam }
    }

    /// All rows; row i covers the first i words.
    fn matrix(&self, words: &[u32]) -> Vec<Row> {
        let insertions = (0..=self.reference.len() as u32).map(|cost| Cell { cost, edit: Edit::Insert });
        let mut rows = vec![Row { start: 0, cells: insertions.collect() }];
        for i in 1..=self.n_words {
            let mut row = Row::default();
            self.fill(&mut row, i, words[i - 1], &rows[i - 1]);
            rows.push(row);
        }
        rows
    }

    /// The distance given by a complete `matrix`.
    fn total(&self, matrix: &[Row]) -> u32 {
        matrix[self.n_words].cost(self.reference.len())
    }

    /// The distance of `words`, which equal those of `matrix` in the first `n_same` words.
    fn total_after(&self, words: &[u32], matrix: &[Row], n_same: usize, scratch: &mut [Row; 2]) -> u32 {
        if n_same == self.n_words {
            return self.total(matrix);
        }
        let [previous, row] = scratch;
        self.fill(row, n_same + 1, words[n_same], &matrix[n_same]);
        for i in n_same + 2..=self.n_words {
            std::mem::swap(previous, row);
            self.fill(row, i, words[i - 1], previous);
        }
        row.cost(self.reference.len())
    }

    /// Computes row `i`, which adds `word`. Ties are resolved in the order substitution, deletion, insertion.
    fn fill(&self, row: &mut Row, i: usize, word: u32, previous: &Row) {
        let n_columns = self.reference.len() + 1;
        let diagonal = (i as f64 * self.slope).floor() as usize;
        let start = diagonal.saturating_sub(self.beam);
        let end = if i == self.n_words { n_columns } else { n_columns.min(diagonal + self.beam) };
        row.start = start;
        row.cells.clear();
        let mut above_left = if start == 0 { UNREACHED } else { previous.cost(start - 1) };
        let mut left = UNREACHED;
        for column in start..end {
            let above = previous.cost(column);
            let mut cell = if column > 0 && self.reference[column - 1] == word {
                Cell { cost: above_left, edit: Edit::Keep }
            } else {
                Cell { cost: above_left + 1, edit: Edit::Substitute }
            };
            if above + 1 < cell.cost {
                cell = Cell { cost: above + 1, edit: Edit::Delete };
            }
            if left + 1 < cell.cost {
                cell = Cell { cost: left + 1, edit: Edit::Insert };
            }
            row.cells.push(cell);
            left = cell.cost;
            above_left = above;
        }
    }
}

/// Words that the cheapest edits change, and the position of each reference word in the hypothesis.
struct Alignment {
    /// For each hypothesis word: true if it is deleted or substituted.
    hypothesis_wrong: Vec<bool>,
    /// For each reference word: true if it is inserted or substituted.
    reference_wrong: Vec<bool>,
    /// For each reference word: the number of hypothesis words up to and including its counterpart.
    words_up_to: Vec<usize>,
}

impl Alignment {
    /// Traces the cheapest path back through the matrix.
    fn of(matrix: &[Row], n_words: usize, n_reference: usize) -> Self {
        let mut alignment = Self {
            hypothesis_wrong: vec![false; n_words],
            reference_wrong: vec![false; n_reference],
            words_up_to: vec![0; n_reference],
        };
        let (mut i, mut j) = (n_words, n_reference);
        while i > 0 || j > 0 {
            let row = &matrix[i];
            let edit = row.cells[j - row.start].edit;
            let wrong = !matches!(edit, Edit::Keep);
            if !matches!(edit, Edit::Delete) {
                j -= 1;
                alignment.words_up_to[j] = i;
                alignment.reference_wrong[j] = wrong;
            }
            if !matches!(edit, Edit::Insert) {
                i -= 1;
                alignment.hypothesis_wrong[i] = wrong;
            }
        }
        alignment
    }
}

/// A phrase and its destination.
#[derive(Clone, Copy)]
struct Shift {
    start: usize,
    len: usize,
    /// The phrase is moved in front of the word at this position.
    target: usize,
}

impl Shift {
    fn apply(&self, words: &[u32]) -> Vec<u32> {
        let mut shifted = Vec::new();
        self.apply_to(words, &mut shifted);
        shifted
    }

    fn apply_to(&self, words: &[u32], shifted: &mut Vec<u32>) {
        let Self { start, len, target } = *self;
        shifted.clear();
        shifted.extend_from_slice(words);
        if target < start {
            shifted[target..start + len].rotate_right(len);
        } else if target > start + len {
            shifted[start..target].rotate_left(len);
        } else {
            // If the target lies within the phrase, the phrase moves on by that many words.
            shifted[start..words.len().min(target + len)].rotate_left(len);
        }
    }
}

/// The shift that saves most edits, if any does and the limit is not reached. Ties are resolved in favor of
/// the longest phrase, then of the lowest start, then of the lowest destination.
fn best_shift(
    distance: &BeamDistance<'_>,
    words: &[u32],
    matrix: &[Row],
    n_tried: &mut usize,
) -> Option<Shift> {
    let alignment = Alignment::of(matrix, words.len(), distance.reference.len());
    let before = distance.total(matrix);
    let mut scratch = <[Row; 2]>::default();
    let mut shifted = Vec::with_capacity(words.len());
    let mut best: Option<((u32, usize), Shift)> = None;
    for run in common_runs(words, distance.reference) {
        if !run.is_worth_shifting(&alignment) {
            continue;
        }
        for shift in run.shifts(&alignment) {
            shift.apply_to(words, &mut shifted);
            let n_same = shift.start.min(shift.target);
            let after = distance.total_after(&shifted, matrix, n_same, &mut scratch);
            *n_tried += 1;
            let gain = (before.saturating_sub(after), shift.len);
            let better = best.is_none_or(|(best_gain, best)| {
                (gain, best.start, best.target) > (best_gain, shift.start, shift.target)
            });
            if better {
                best = Some((gain, shift));
            }
        }
        if *n_tried >= MAX_SHIFTS_TRIED {
            return None;
        }
    }
    best.filter(|((saved, _), _)| *saved > 0).map(|(_, shift)| shift)
}

/// A sequence of words that occurs in both hypothesis and reference.
struct CommonRun {
    start: usize,
    reference_start: usize,
    len: usize,
}

/// All common runs, ordered by start in the hypothesis, start in the reference, and length.
fn common_runs(words: &[u32], reference: &[u32]) -> impl Iterator<Item = CommonRun> {
    (0..words.len()).flat_map(move |start| {
        let first = start.saturating_sub(MAX_SHIFT_DISTANCE);
        let last = reference.len().min(start + MAX_SHIFT_DISTANCE + 1);
        (first..last).flat_map(move |reference_start| {
            let n_common = words[start..]
                .iter()
                .zip(&reference[reference_start..])
                .take(MAX_SHIFT_LEN)
                .take_while(|(word, other)| word == other)
                .count();
            (1..=n_common).map(move |len| CommonRun { start, reference_start, len })
        })
    })
}

impl CommonRun {
    /// Returns true if both sides contain an error and the target lies outside the phrase.
    fn is_worth_shifting(&self, alignment: &Alignment) -> bool {
        let Self { start, reference_start, len } = *self;
        let counterpart_end = alignment.words_up_to[reference_start];
        alignment.hypothesis_wrong[start..start + len].contains(&true)
            && alignment.reference_wrong[reference_start..reference_start + len].contains(&true)
            && !(start + 1..=start + len).contains(&counterpart_end)
    }

    /// The candidate shifts: after the counterpart of each reference word, beginning with the one before the
    /// phrase.
    fn shifts(&self, alignment: &Alignment) -> impl Iterator<Item = Shift> {
        let Self { start, reference_start, len } = *self;
        let before = match reference_start {
            0 => 0,
            position => alignment.words_up_to[position - 1],
        };
        let mut previous = None;
        std::iter::once(before)
            .chain(alignment.words_up_to[reference_start..reference_start + len].iter().copied())
            .filter(move |&target| previous.replace(target) != Some(target))
            .map(move |target| Shift { start, len, target })
    }
}
