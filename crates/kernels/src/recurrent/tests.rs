use super::*;
use crate::reference::Recurrent;
use crate::testing::{assert_close, assert_same_on_all_pools, bits, random, wide};

const CELLS: [CellKind; 5] =
    [CellKind::Rnn, CellKind::Lstm, CellKind::CoupledLstm, CellKind::Gru, CellKind::Ssru];
const DIRECTIONS: [Direction; 2] = [Direction::Forward, Direction::Backward];

/// A call with random inputs, NaN at padding.
#[derive(Clone)]
struct Case {
    cell: CellKind,
    direction: Direction,
    lengths: Lengths,
    d: usize,
    precision: Float,
    projected: Vec<f32>,
    weight: Vec<f32>,
    bias: Option<Vec<f32>>,
    initial: Option<Vec<f32>>,
    grad: Vec<f32>,
}

/// States and gradients.
struct Results {
    states: Vec<f32>,
    dprojected: Vec<f32>,
    dweight: Vec<f32>,
    dbias: Vec<f32>,
    dinitial: Vec<f32>,
}

impl Results {
    fn all(&self) -> [&[f32]; 5] {
        [&self.states, &self.dprojected, &self.dweight, &self.dbias, &self.dinitial]
    }

    fn gradients(&mut self, has_hidden: bool) -> RecurrentGradients<&mut [f32]> {
        RecurrentGradients {
            projected: &mut self.dprojected,
            weight: has_hidden.then_some(&mut self.dweight[..]),
            bias: has_hidden.then_some(&mut self.dbias[..]),
            initial: Some(&mut self.dinitial),
        }
    }

    fn assert_same(&self, other: &Self, what: &str) {
        for (number, (one, other)) in self.all().into_iter().zip(other.all()).enumerate() {
            assert!(bits(one) == bits(other), "{what}: result {number}");
        }
    }
}

impl Case {
    fn new(cell: CellKind, direction: Direction, lens: &[usize], len: usize, d: usize) -> Self {
        let (gates, states, rows) = (cell.gates() * d, cell.states() * d, lens.len() * len);
        let mut case = Self {
            cell,
            direction,
            lengths: Lengths::new(lens, len),
            d,
            precision: Float::F32,
            projected: random(rows * gates, 1).iter().map(|x| 2.0 * x).collect(),
            weight: random(cell.hidden_gates() * d * d, 2),
            bias: Some(random(cell.hidden_gates() * d, 3)),
            initial: Some(random(lens.len() * states, 4)),
            grad: random(rows * states, 5),
        };
        for (sequence, &real) in lens.iter().enumerate() {
            let padding = sequence * len + real..(sequence + 1) * len;
            case.projected[padding.start * gates..padding.end * gates].fill(f32::NAN);
            case.grad[padding.start * states..padding.end * states].fill(f32::NAN);
        }
        case
    }

    fn call(&self) -> RecurrentCall<'_> {
        RecurrentCall {
            cell: self.cell,
            direction: self.direction,
            lengths: &self.lengths,
            d: self.d,
            precision: self.precision,
        }
    }

    fn recurrence(&self) -> Recurrence<&[f32]> {
        Recurrence {
            hidden: self
                .has_hidden()
                .then(|| Affine { weight: &self.weight[..], bias: self.bias.as_deref() }),
            initial: self.initial.as_deref(),
        }
    }

    fn has_hidden(&self) -> bool {
        self.cell.hidden_gates() > 0
    }

    fn forward<'a>(&'a self, saved: Option<&'a mut [f32]>) -> RecurrentForward<'a, &'a [f32], &'a mut [f32]> {
        RecurrentForward {
            call: self.call(),
            recurrence: self.recurrence(),
            projected: &self.projected,
            saved,
        }
    }

    fn backward<'a>(
        &'a self,
        saved: &'a [f32],
        gradients: RecurrentGradients<&'a mut [f32]>,
        room: &'a mut [f32],
    ) -> RecurrentBackward<'a, &'a [f32], &'a mut [f32]> {
        RecurrentBackward { call: self.call(), recurrence: self.recurrence(), saved, gradients, room }
    }

    /// The states alone, without saving anything for the backward pass.
    fn states(&self) -> Vec<f32> {
        let mut states = vec![f32::NAN; self.grad.len()];
        recurrent(vec![self.forward(None)], &mut states);
        states
    }

    /// Room for the values of the backward pass.
    fn room_to_save(&self) -> Vec<f32> {
        vec![f32::NAN; self.lengths.positions() * self.cell.saved() * self.d]
    }

    /// Room for all results.
    fn room_for_results(&self) -> Results {
        let nan = |len: usize| vec![f32::NAN; len];
        Results {
            states: nan(self.grad.len()),
            dprojected: nan(self.projected.len()),
            dweight: nan(self.weight.len()),
            dbias: nan(self.cell.hidden_gates() * self.d),
            dinitial: nan(self.lengths.rows() * self.cell.states() * self.d),
        }
    }

    fn run(&self) -> Results {
        let (mut results, mut saved) = (self.room_for_results(), self.room_to_save());
        recurrent(vec![self.forward(Some(&mut saved))], &mut results.states);
        assert!(bits(&results.states) == bits(&self.states()), "without saved values");
        let room = &mut vec![f32::NAN; self.call().room()];
        let gradients = results.gradients(self.has_hidden());
        let backward = self.backward(&saved, gradients, room);
        recurrent_backward(vec![backward], &self.states(), &self.grad);
        results
    }

    fn assert_matches_the_reference(&self, tolerance: f64) {
        let [projected, weight] = [&self.projected, &self.weight].map(|x| wide(x));
        let [bias, initial] = [&self.bias, &self.initial].map(|x| x.as_ref().map(|x| wide(x)));
        let twin = Recurrent {
            call: self.call(),
            projected: &projected,
            weight: self.has_hidden().then_some(&weight),
            bias: bias.as_deref(),
            initial: initial.as_deref(),
        };
        let [dprojected, dweight, dbias, dinitial] = twin.backward(&wide(&self.grad));
        let expected = [twin.forward(), dprojected, dweight, dbias, dinitial];
        for (number, (found, expected)) in self.run().all().into_iter().zip(&expected).enumerate() {
            let what = format!("result {number} of {:?}", self.call());
            assert_close(found, expected, tolerance, &what);
        }
    }

    /// One sequence in rows of `len`.
    fn alone(&self, sequence: usize, len: usize) -> Self {
        let real = self.lengths.lens()[sequence];
        let (gates, states) = (self.cell.gates() * self.d, self.cell.states() * self.d);
        let take = |matrix: &[f32], cols: usize| {
            let mut rows = matrix[sequence * self.lengths.width() * cols..][..real * cols].to_vec();
            rows.resize(len * cols, f32::NAN);
            rows
        };
        let initial = self.initial.as_ref();
        Self {
            lengths: Lengths::new([real], len),
            projected: take(&self.projected, gates),
            grad: take(&self.grad, states),
            initial: initial.map(|initial| initial[sequence * states..][..states].to_vec()),
            ..self.clone()
        }
    }
}

fn for_all_kinds(test: impl Fn(CellKind, Direction)) {
    for cell in CELLS {
        for direction in DIRECTIONS {
            test(cell, direction);
        }
    }
}

#[test]
fn forward_and_backward_match_the_reference() {
    let shapes: [(&[usize], usize, usize); 9] = [
        (&[], 3, 4),
        (&[0, 0], 0, 3),
        (&[0], 2, 3),
        (&[2, 1], 3, 0),
        (&[1], 1, 1),
        (&[3, 0, 5, 1, 5], 5, 7),
        (&[2, 4], 6, 33),
        (&[4; 9], 4, 1),
        (&[1, 1, 0, 1], 1, 20),
    ];
    for_all_kinds(|cell, direction| {
        for (lens, len, d) in shapes {
            for (bias, initial) in [(true, true), (false, true), (true, false), (false, false)] {
                let mut case = Case::new(cell, direction, lens, len, d);
                case.bias = case.bias.filter(|_| bias);
                case.initial = case.initial.filter(|_| initial);
                case.assert_matches_the_reference(2e-5);
            }
        }
    });
}

#[test]
fn a_multithreaded_call_matches_the_reference() {
    let lens: Vec<usize> = (0..70).map(|i| 3 - usize::from(i == 5)).collect();
    for_all_kinds(|cell, direction| {
        let d = 960 / cell.work();
        let mut case = Case::new(cell, direction, &lens, 3, d.min(240));
        // Keeps sums over many columns from saturating the gates.
        case.weight.iter_mut().for_each(|w| *w /= 8.0);
        case.assert_matches_the_reference(1e-4);
    });
}

#[test]
fn a_sequence_depends_neither_on_its_batch_nor_on_padding() {
    for_all_kinds(|cell, direction| {
        for (initial, precision) in [(true, Float::F32), (false, Float::F32), (true, Float::Bf16)] {
            let mut batch = Case::new(cell, direction, &[3, 0, 5, 1, 5, 4, 2], 6, 19);
            batch.initial = batch.initial.filter(|_| initial);
            batch.precision = precision;
            let all = batch.run();
            for (sequence, &real) in batch.lengths.lens().iter().enumerate() {
                for len in [real, 9] {
                    let alone = batch.alone(sequence, len).run();
                    for (alone, all) in [(&alone.states, &all.states), (&alone.dprojected, &all.dprojected)] {
                        let width = all.len() / batch.lengths.positions();
                        let all = &all[sequence * batch.lengths.width() * width..];
                        assert_eq!(bits(&alone[..real * width]), bits(&all[..real * width]));
                        assert!(alone[real * width..].iter().all(|&x| x == 0.0));
                    }
                    let states = alone.dinitial.len();
                    let dinitial = &all.dinitial[sequence * states..][..states];
                    assert_eq!(bits(&alone.dinitial), bits(dinitial));
                }
            }
        }
    });
}

#[test]
fn weight_gradients_do_not_depend_on_padding() {
    for_all_kinds(|cell, direction| {
        let one = Case::new(cell, direction, &[4], 4, 19);
        let (one, padded) = (one.run(), one.alone(0, 400).run());
        assert_eq!(bits(&one.dweight), bits(&padded.dweight));
        assert_eq!(bits(&one.dbias), bits(&padded.dbias));
    });
}

#[test]
fn position_by_position_equals_all_at_once() {
    for_all_kinds(|cell, direction| {
        for d in [1, 7, 300] {
            let batch = Case::new(cell, direction, &[5, 5, 5], 5, d);
            let (all, cols) = (batch.states(), cell.states() * d);
            let mut step = Case::new(cell, direction, &[1, 1, 1], 1, d);
            (step.bias, step.initial) = (batch.bias.clone(), None);
            let rows = |matrix: &[f32], cols: usize, position: usize| -> Vec<f32> {
                let sequences = matrix.chunks(5 * cols);
                let row = |rows: &[f32]| rows[position * cols..][..cols].to_vec();
                sequences.flat_map(row).collect()
            };
            let mut batch_without = batch.clone();
            batch_without.initial = None;
            let all_without = batch_without.states();
            for (all, initial) in [(&all, batch.initial.clone()), (&all_without, None)] {
                step.initial = initial;
                for number in 0..5 {
                    let position = match direction {
                        Direction::Forward => number,
                        Direction::Backward => 4 - number,
                    };
                    step.projected = rows(&batch.projected, cell.gates() * d, position);
                    let states = step.states();
                    assert_eq!(bits(&states), bits(&rows(all, cols, position)));
                    step.initial = Some(states);
                }
            }
        }
    });
}

#[test]
fn a_missing_initial_state_means_zeros() {
    for_all_kinds(|cell, direction| {
        let mut case = Case::new(cell, direction, &[3, 0, 4], 4, 9);
        case.initial = Some(vec![0.0; 3 * cell.states() * 9]);
        let zeros = case.run();
        case.initial = None;
        zeros.assert_same(&case.run(), "no initial state");
    });
}

#[test]
fn skipped_gradients_do_not_affect_the_others() {
    for_all_kinds(|cell, direction| {
        let case = Case::new(cell, direction, &[3, 1, 4], 5, 9);
        let expected = case.run();
        let (mut states, mut saved) = (expected.states.clone(), case.room_to_save());
        recurrent(vec![case.forward(Some(&mut saved))], &mut states);
        let mut dprojected = vec![f32::NAN; case.projected.len()];
        let gradients =
            RecurrentGradients { projected: &mut dprojected[..], weight: None, bias: None, initial: None };
        let room = &mut vec![f32::NAN; case.call().room()];
        let backward = case.backward(&saved, gradients, room);
        recurrent_backward(vec![backward], &states, &case.grad);
        assert_eq!(bits(&dprojected), bits(&expected.dprojected));
    });
}

#[test]
fn saturated_gates_stay_finite() {
    for_all_kinds(|cell, direction| {
        for scale in [1e3, 1e30] {
            let mut case = Case::new(cell, direction, &[4, 4], 4, 5);
            case.projected.iter_mut().for_each(|x| *x *= scale);
            let results = case.run();
            assert!(results.all().into_iter().flatten().all(|x| x.is_finite()));
        }
    });
}

#[test]
fn bf16_operands_give_nearly_the_same_results() {
    for_all_kinds(|cell, direction| {
        let mut case = Case::new(cell, direction, &[3, 5], 5, 16);
        case.precision = Float::Bf16;
        case.weight.iter_mut().for_each(|w| *w /= 4.0);
        case.assert_matches_the_reference(3e-2);
    });
}

#[test]
fn the_thread_count_changes_nothing() {
    let lens: Vec<usize> = (0..90).map(|i| i * 7 % 5).collect();
    for_all_kinds(|cell, direction| {
        let case = Case::new(cell, direction, &lens, 4, 260);
        assert_same_on_all_pools(|| case.run().all().concat());
    });
}

#[test]
#[should_panic(expected = "hidden weight of Ssru")]
fn an_unexpected_hidden_weight_is_refused() {
    let case = Case::new(CellKind::Ssru, Direction::Forward, &[3], 3, 2);
    let mut forward = case.forward(None);
    forward.recurrence.hidden = Some(Affine { weight: &[0.0; 8], bias: None });
    recurrent(vec![forward], &mut vec![0.0; case.grad.len()]);
}

/// A matrix with the rows of two others side by side.
fn side_by_side(rows: usize, both: [&[f32]; 2]) -> Vec<f32> {
    let widths = both.map(|matrix| matrix.len().checked_div(rows).unwrap_or(0));
    let row = |row: usize| (both.iter().zip(widths)).flat_map(move |(x, d)| &x[row * d..][..d]);
    (0..rows).flat_map(row).copied().collect()
}

/// Results of two directions at once, the states first.
fn run_both(both: [&Case; 2]) -> Vec<Vec<f32>> {
    let [mut forward, mut backward] = both.map(Case::room_for_results);
    let [mut saved, mut saved_backward] = both.map(Case::room_to_save);
    let [mut room, mut room_backward] = both.map(|case| vec![f32::NAN; case.call().room()]);
    let mut states = vec![f32::NAN; forward.states.len() + backward.states.len()];
    let directions = vec![both[0].forward(Some(&mut saved)), both[1].forward(Some(&mut saved_backward))];
    recurrent(directions, &mut states);
    let [has_hidden, backward_has_hidden] = both.map(Case::has_hidden);
    let directions = vec![
        both[0].backward(&saved, forward.gradients(has_hidden), &mut room),
        both[1].backward(&saved_backward, backward.gradients(backward_has_hidden), &mut room_backward),
    ];
    let grads = both.map(|case| &case.grad[..]);
    let grads = side_by_side(both[0].lengths.positions(), grads);
    recurrent_backward(directions, &states, &grads);
    let gradients = [&forward, &backward].into_iter().flat_map(|results| {
        let [_, gradients @ ..] = results.all();
        gradients.map(<[f32]>::to_vec)
    });
    [states].into_iter().chain(gradients).collect()
}

#[test]
fn directions_side_by_side_have_the_bits_of_each_alone_on_any_number_of_threads() {
    let many: Vec<usize> = (0..40).map(|i| i * 7 % 9).collect();
    for cell in CELLS {
        for (lens, len, d) in [(&[][..], 3, 4), (&[2, 1], 3, 0), (&[3, 0, 4, 1], 5, 7), (&many, 8, 210)] {
            for precision in [Float::F32, Float::Bf16] {
                let [mut forward, mut backward] =
                    DIRECTIONS.map(|direction| Case::new(cell, direction, lens, len, d));
                (forward.precision, backward.precision) = (precision, precision);
                backward.weight.iter_mut().for_each(|w| *w *= -0.5);
                backward.initial = None;
                let [one, other] = [&forward, &backward].map(Case::run);
                let states = side_by_side(lens.len() * len, [&one.states, &other.states]);
                let mut expected = vec![states];
                for results in [&one, &other] {
                    let [_, gradients @ ..] = results.all();
                    expected.extend(gradients.map(<[f32]>::to_vec));
                }
                assert_same_on_all_pools(|| {
                    let found = run_both([&forward, &backward]);
                    for (number, (found, expected)) in found.iter().zip(&expected).enumerate() {
                        let what = format!("result {number} of {:?}", forward.call());
                        assert!(bits(found) == bits(expected), "{what}");
                    }
                    found.concat()
                });
            }
        }
    }
}

#[test]
#[should_panic(expected = "read the same sequences")]
fn directions_of_other_sequences_are_refused() {
    let case = |lens: &[usize]| Case::new(CellKind::Gru, Direction::Forward, lens, 3, 2);
    let (one, other) = (case(&[3]), case(&[2]));
    recurrent(vec![one.forward(None), other.forward(None)], &mut [0.0; 12]);
}
