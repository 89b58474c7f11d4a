mod case;

use super::*;
use crate::gemm::Float;
use crate::recurrent::{CellKind, Direction, RecurrentForward, RecurrentGradients, recurrent};
use crate::testing::{assert_same_on_all_pools, bits};
use case::{Case, Sizes};

const CELLS: [CellKind; 5] =
    [CellKind::Rnn, CellKind::Lstm, CellKind::CoupledLstm, CellKind::Gru, CellKind::Ssru];

/// Results with one part per sequence, and whether that part has one row per position.
const BY_SEQUENCE: [(usize, bool); 6] = [(0, true), (1, true), (2, true), (5, false), (8, false), (9, false)];

/// Varied lengths; 0 for every fourth sentence.
fn ragged(src_len: usize) -> impl Fn(usize) -> usize {
    move |sentence| match sentence % 4 {
        2 => 0,
        _ => (5 * sentence + 3) % (src_len + 1),
    }
}

#[test]
fn forward_and_backward_match_the_reference() {
    let shapes: [(&[usize], usize, Sizes); 11] = [
        (&[], 3, (2, 4, 3, 5)),
        (&[0, 0], 0, (2, 3, 3, 3)),
        (&[0], 2, (1, 3, 2, 2)),
        (&[1], 1, (1, 1, 1, 1)),
        (&[2, 3], 3, (0, 5, 4, 3)),
        (&[2, 3], 3, (4, 5, 0, 3)),
        (&[2, 3], 3, (4, 5, 3, 0)),
        (&[3, 0, 5, 1, 5], 5, (7, 7, 5, 9)),
        (&[2, 4], 6, (17, 33, 19, 21)),
        (&[4; 9], 4, (3, 1, 16, 2)),
        (&[1, 1, 0, 1], 1, (13, 20, 7, 40)),
    ];
    for cell in CELLS {
        for (lens, len, sizes) in shapes {
            for (bias, initial) in [(true, true), (false, true), (true, false), (false, false)] {
                let mut case = Case::new(cell, lens, len, sizes);
                case.bias = case.bias.filter(|_| bias);
                case.initial = case.initial.filter(|_| initial);
                case.assert_matches_the_reference(3e-5);
                case.pad(ragged(sizes.0)).assert_matches_the_reference(3e-5);
            }
            let mut case = Case::new(cell, lens, len, sizes).pad(ragged(sizes.0));
            case.direction = Direction::Backward;
            case.assert_matches_the_reference(3e-5);
        }
    }
}

#[test]
fn a_multithreaded_call_matches_the_reference() {
    let lens: Vec<usize> = (0..70).map(|i| 3 - usize::from(i == 5)).collect();
    for cell in CELLS {
        let case = Case::new(cell, &lens, 3, (11, 240, 40, 60));
        case.pad(ragged(11)).assert_matches_the_reference(1e-4);
    }
}

#[test]
fn a_sequence_depends_neither_on_its_batch_nor_on_padding() {
    for cell in CELLS {
        for (initial, precision) in [(true, Float::F32), (false, Float::F32), (true, Float::Bf16)] {
            let mut batch = Case::new(cell, &[3, 0, 5, 1, 5, 4, 2], 6, (13, 19, 21, 35));
            batch.initial = batch.initial.filter(|_| initial);
            batch.precision = precision;
            let batch = batch.pad(ragged(13));
            let all = batch.run();
            for (sequence, &real) in batch.lengths.lens().iter().enumerate() {
                for (len, extra) in [(real, 0), (9, 40)] {
                    let alone = batch.alone(sequence, len, extra).run();
                    for (result, by_position) in BY_SEQUENCE {
                        // The weights are padded on both sides.
                        let wide = 13 + extra;
                        let mut alone = alone[result].clone();
                        if result == 1 {
                            let rows = alone.chunks(wide);
                            alone = rows.flat_map(|row| row[..13].to_vec()).collect();
                        }
                        let part = all[result].len() / 7;
                        let all = &all[result][sequence * part..][..part];
                        let kept = if by_position { part / batch.lengths.width() * real } else { part };
                        assert_eq!(bits(&alone[..kept]), bits(&all[..kept]), "result {result}");
                        assert!(alone[kept..].iter().all(|&x| x == 0.0));
                    }
                }
                let [narrow, padded] =
                    [(real, 0), (90, 70)].map(|(len, extra)| batch.alone(sequence, len, extra).run());
                for result in [3, 4, 6, 7, 10] {
                    assert_eq!(bits(&narrow[result]), bits(&padded[result]));
                }
            }
        }
    }
}

#[test]
fn the_batch_size_changes_nothing() {
    for cell in CELLS {
        for precision in [Float::F32, Float::Bf16] {
            let out = |batch: usize| {
                let mut case = Case::new(cell, &vec![2; batch], 2, (5, 37, 18, 33));
                case.precision = precision;
                bits(&case.out())
            };
            let all = out(70);
            for batch in 1..70 {
                let fewer = out(batch);
                assert!(fewer == all[..fewer.len()], "{batch} sequences of {cell:?}");
            }
        }
    }
}

#[test]
fn position_by_position_equals_all_at_once() {
    for cell in CELLS {
        for (d, precision) in [(1, Float::F32), (7, Float::Bf16), (300, Float::F32)] {
            let mut batch = Case::new(cell, &[5, 5, 5], 5, (6, d, 9, 17)).pad(|sentence| 6 - 2 * sentence);
            batch.precision = precision;
            let (gates, states) = (cell.gates() * d, cell.states() * d);
            let out_cols = states + 17;
            for initial in [batch.initial.clone(), None] {
                batch.initial = initial.clone();
                let all = batch.out();
                let mut step = Case {
                    lengths: Lengths::full(3, 1),
                    initial,
                    grad: vec![0.0; 3 * out_cols],
                    ..batch.clone()
                };
                for position in 0..5 {
                    let rows = |matrix: &[f32], cols: usize| -> Vec<f32> {
                        let row = |rows: &[f32]| rows[position * cols..][..cols].to_vec();
                        matrix.chunks(5 * cols).flat_map(row).collect()
                    };
                    step.projected = rows(&batch.projected, gates);
                    let out = step.out();
                    assert_eq!(bits(&out), bits(&rows(&all, out_cols)));
                    let state = |row: &[f32]| row[..states].to_vec();
                    step.initial = Some(out.chunks(out_cols).flat_map(state).collect());
                }
            }
        }
    }
}

#[test]
fn without_keys_it_equals_the_plain_layer() {
    for cell in CELLS {
        let case =
            Case::new(cell, &[3, 1, 4], 4, (5, 9, 6, 7)).pad(|sentence| if sentence == 1 { 0 } else { 5 });
        let out = case.out();
        let nothing = case.clone().pad(|_| 0);
        let blind = nothing.out();
        let (call, inputs) = (nothing.call().recurrent, nothing.inputs());
        let mut states = vec![0.0; 12 * cell.states() * 9];
        let forward = RecurrentForward {
            call,
            recurrence: inputs.recurrence,
            projected: &case.projected[..],
            saved: None,
        };
        recurrent(vec![forward], &mut states);
        let (cols, rows) = (cell.states() * 9, out.len() / 12);
        for (number, (row, blind)) in out.chunks(rows).zip(blind.chunks(rows)).enumerate() {
            assert_eq!(bits(&blind[..cols]), bits(&states[number * cols..][..cols]));
            assert!(blind[cols..].iter().all(|&x| x == 0.0));
            if number / 4 == 1 {
                assert_eq!(bits(row), bits(blind));
            }
        }
        assert!(nothing.run().concat().iter().all(|x| x.is_finite()));
    }
}

#[test]
fn a_missing_initial_state_means_zeros() {
    for cell in CELLS {
        let mut case = Case::new(cell, &[3, 0, 4], 4, (5, 9, 6, 7));
        case.initial = Some(vec![0.0; 3 * cell.states() * 9]);
        let zeros = case.run();
        case.initial = None;
        for (number, (one, other)) in zeros.iter().zip(&case.run()).enumerate() {
            assert_eq!(bits(one), bits(other), "result {number}");
        }
    }
}

#[test]
fn skipped_gradients_do_not_affect_the_others() {
    for cell in CELLS {
        let case = Case::new(cell, &[3, 1, 4], 5, (5, 9, 6, 7)).pad(ragged(5));
        let expected = case.run();
        let mut saved = vec![0.0; 15 * cell.saved() * 9];
        let [mut out, mut weights] = [0, 1].map(|number| expected[number].clone());
        let (call, inputs) = (case.call(), case.inputs());
        let keep = (Some(&mut weights[..]), Some(&mut saved[..]));
        attentive_recurrent(call, inputs, &case.projected, &mut out, keep.0, keep.1);
        let result =
            AttentiveRecurrentResult { out: &out[..], attention_weights: &weights[..], saved: &saved[..] };
        let [mut projected, mut keys, mut values, mut v] =
            [2, 8, 9, 10].map(|number| vec![f32::NAN; expected[number].len()]);
        let gradients = AttentiveRecurrentGradients {
            recurrence: RecurrentGradients {
                projected: &mut projected[..],
                weight: None,
                bias: None,
                initial: None,
            },
            query_weight: None,
            context_weight: None,
            keys: &mut keys[..],
            values: &mut values[..],
            v: &mut v[..],
        };
        let room = &mut vec![f32::NAN; call.room()];
        attentive_recurrent_backward(call, inputs, result, &case.grad, gradients, room);
        for (number, found) in [(2, projected), (8, keys), (9, values), (10, v)] {
            assert_eq!(bits(&found), bits(&expected[number]), "result {number}");
        }
    }
}

#[test]
fn huge_inputs_give_finite_results() {
    for cell in CELLS {
        for scale in [1e3, 1e15] {
            let mut case = Case::new(cell, &[4, 4], 4, (5, 5, 6, 7));
            for x in [&mut case.projected, &mut case.keys, &mut case.context_weight] {
                x.iter_mut().for_each(|x| *x *= scale);
            }
            assert!(case.run().concat().iter().all(|x| x.is_finite()));
        }
    }
}

#[test]
fn bf16_operands_give_nearly_the_same_results() {
    for cell in CELLS {
        let mut case = Case::new(cell, &[3, 5], 5, (7, 16, 24, 40));
        case.precision = Float::Bf16;
        case.assert_matches_the_reference(5e-2);
    }
}

#[test]
fn the_thread_count_changes_nothing() {
    let lens: Vec<usize> = (0..90).map(|i| i * 7 % 5).collect();
    for cell in CELLS {
        let case = Case::new(cell, &lens, 4, (12, 260, 50, 60)).pad(ragged(12));
        assert_same_on_all_pools(|| case.run().concat());
    }
}

#[test]
#[should_panic(expected = "`context_weight` is [6, 3]")]
fn a_weight_of_the_wrong_shape_is_refused() {
    let mut case = Case::new(CellKind::Gru, &[3], 3, (4, 2, 5, 3));
    case.context_weight.pop();
    case.out();
}
