//! Recurrent layers, with and without attention.

use super::*;

const CELLS: [CellKind; 5] =
    [CellKind::Rnn, CellKind::Lstm, CellKind::CoupledLstm, CellKind::Gru, CellKind::Ssru];

/// The ReLU of an SSRU has a kink at 0, where finite differences are wrong.
fn away_from_0(cell: CellKind, case: &Case) {
    if cell == CellKind::Ssru {
        for input in &case.inputs {
            input.change(|values| values.iter_mut().for_each(|value| *value += 2.0));
        }
    }
}

#[test]
fn recurrent_layers() {
    let lens = [3, 0, 4, 1];
    let (len, d) = (4, 3);
    let lengths = Lengths::new(lens, len);
    let rows = lens.len() * len;
    const DIRECTIONS: [Direction; 2] = [Direction::Forward, Direction::Backward];
    for (seed, cell) in (0..).zip(CELLS) {
        let (gates, states) = (cell.gates() * d, cell.states() * d);
        for directions in [&DIRECTIONS[..1], &DIRECTIONS[1..], &DIRECTIONS] {
            for (biased, begun) in [(true, true), (true, false), (false, true)] {
                let hidden = cell.hidden_gates() > 0;
                let mut of_one = vec![[rows, gates]];
                of_one.extend(hidden.then_some([gates, d]));
                of_one.extend((hidden && biased).then_some([1, gates]));
                of_one.extend(begun.then_some([lens.len(), states]));
                let count = of_one.len();
                let operation = |inputs: &[Value]| {
                    let each = directions.iter().zip(inputs.chunks_exact(count));
                    let each = each.map(|(&direction, inputs)| RecurrentDirection {
                        direction,
                        projected: inputs[0].clone(),
                        recurrence: TapeRecurrence {
                            hidden: hidden.then(|| map_of(&inputs[1], biased.then(|| &inputs[2]))),
                            initial: begun.then(|| inputs[count - 1].clone()),
                        },
                    });
                    recurrent(cell, &lengths, each.collect(), Float::F32)
                };
                let case = Case::new(90 + seed, &of_one.repeat(directions.len()));
                away_from_0(cell, &case);
                case.check(&operation);
            }
        }
    }
}

#[test]
fn attentive_recurrent_layers() {
    let (lens, src_lens) = ([3, 0, 2], [2, 1, 0]);
    let (len, src_len, d, d_key, d_value) = (3, 2, 3, 4, 2);
    let lengths = Lengths::new(lens, len);
    let src_lengths = Lengths::new(src_lens, src_len);
    for (seed, cell) in (0..).zip(CELLS) {
        let (gates, states) = (cell.gates() * d, cell.states() * d);
        for (biased, begun) in [(true, true), (true, false), (false, true)] {
            let mut shapes = vec![
                [lens.len() * len, gates],
                [d_key, d],
                [1, d_key],
                [gates, d_value],
                [src_lens.len() * src_len, d_key],
                [src_lens.len() * src_len, d_value],
            ];
            let hidden = cell.hidden_gates() > 0;
            shapes.extend(hidden.then_some([gates, d]));
            shapes.extend((hidden && biased).then_some([1, gates]));
            shapes.extend(begun.then_some([lens.len(), states]));
            let operation = |inputs: &[Value]| {
                let recurrence = AttentiveRecurrence {
                    query: inputs[1].clone(),
                    score: inputs[2].clone(),
                    context: inputs[3].clone(),
                    keys: inputs[4].clone(),
                    values: inputs[5].clone(),
                    src_lengths: src_lengths.clone(),
                    state: TapeRecurrence {
                        hidden: hidden.then(|| map_of(&inputs[6], biased.then(|| &inputs[7]))),
                        initial: begun.then(|| inputs[shapes.len() - 1].clone()),
                    },
                };
                let x = inputs[0].clone();
                attentive_recurrent(cell, &lengths, x, recurrence, Float::F32)
            };
            let case = Case::new(120 + seed, &shapes);
            away_from_0(cell, &case);
            case.check(&operation);
        }
    }
}

#[test]
fn additive_attention_of_one_query_per_sequence() {
    let src_lens = [3, 0, 1];
    let (rows, src_len, d_key, d_value) = (src_lens.len(), 3, 4, 2);
    let src_lengths = Lengths::new(src_lens, src_len);
    let shapes = [[rows, d_key], [rows * src_len, d_key], [rows * src_len, d_value], [1, d_key]];
    let operation = |inputs: &[Value]| {
        let [queries, keys, values, score] = inputs else { panic!("four operands") };
        let memory = AdditiveMemory {
            keys: keys.clone(),
            values: values.clone(),
            score: score.clone(),
            src_lengths: src_lengths.clone(),
        };
        additive_attention(queries.clone(), memory)
    };
    Case::new(140, &shapes).check(&operation);
}

/// The weighted sums of the values are the contexts.
#[test]
fn weights_belong_to_the_contexts() {
    on_each_device(|| {
        let (len, src_len, d, d_key, d_value) = (2, 3, 3, 4, 2);
        let (lengths, src_lengths) = (Lengths::new([2, 2], len), Lengths::new([3, 1], src_len));
        let recurrence = || AttentiveRecurrence {
            query: random(1, [d_key, d]),
            score: random(2, [1, d_key]),
            context: random(3, [d, d_value]),
            keys: random(4, [2 * src_len, d_key]),
            values: random(5, [2 * src_len, d_value]),
            src_lengths: src_lengths.clone(),
            state: TapeRecurrence {
                hidden: Some(map_of(&random(6, [d, d]), None)),
                initial: Some(random(7, [2, d])),
            },
        };
        let projected = random(8, [2 * len, d]);
        let out = attentive_recurrent(CellKind::Rnn, &lengths, projected, recurrence(), Float::F32);
        let states = columns(out.clone(), 0..d);
        let contexts = columns(out, d..d + d_value);
        let initial = random(7, [2, d]);
        let before: Vec<f32> = [
            &initial.values()[..d],
            &states.values()[..d],
            &initial.values()[d..],
            &states.values()[2 * d..3 * d],
        ]
        .concat();
        let weights = attentive_recurrent_weights(&recurrence(), &Value::new(before, [4, d]));
        assert_eq!(weights.shape, [2, 1, len, src_len]);
        for (row, weights) in weights.values.chunks_exact(src_len).enumerate() {
            let sequence = row / len;
            for feature in 0..d_value {
                let value =
                    |key: usize| recurrence().values.values()[(sequence * src_len + key) * d_value + feature];
                let expected: f32 = (0..src_len).map(|key| weights[key] * value(key)).sum();
                let found = contexts.values()[row * d_value + feature];
                assert!((found - expected).abs() < 1e-5, "{found} {expected}");
            }
        }
    });
}
