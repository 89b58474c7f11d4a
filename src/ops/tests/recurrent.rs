use super::*;
use crate::ops::{self, recurrent};

const CELLS: [Cell; 5] = [
    Cell::Rnn,
    Cell::Lstm,
    Cell::CoupledLstm,
    Cell::Gru,
    Cell::Ssru,
];

#[test]
fn recurrent_matches() {
    let lens = [3, 0, 4, 1];
    let (len, d) = (4, 3);
    let lengths = Lengths::new(lens, len);
    let rows = lens.len() * len;
    for (seed, cell) in (0..).zip(CELLS) {
        let (gates, states) = (cell.gates() * d, cell.states() * d);
        for direction in [Direction::Forward, Direction::Backward] {
            for (biased, begun) in [(true, true), (true, false), (false, true)] {
                let hidden = cell.hidden_gates() > 0;
                let mut shapes = vec![[rows, gates]];
                shapes.extend(hidden.then_some([gates, d]));
                shapes.extend((hidden && biased).then_some([1, gates]));
                shapes.extend(begun.then_some([lens.len(), states]));
                let operation = |form, inputs: &[Tensor<2>]| {
                    let recurrence = Recurrence {
                        hidden: hidden.then(|| {
                            let bias = biased.then(|| vector(&inputs[2]));
                            map_of(inputs[1].clone(), bias)
                        }),
                        initial: begun.then(|| inputs[shapes.len() - 1].clone()),
                    };
                    let x = inputs[0].clone();
                    match form {
                        Form::Fused => {
                            let precision = Precision::F32;
                            ops::recurrent(cell, direction, &lengths, x, recurrence, precision)
                        }
                        Form::Portable => {
                            let precision = Precision::F32;
                            let lengths = &lengths;
                            recurrent::portable(cell, direction, lengths, x, recurrence, precision)
                        }
                    }
                };
                Case::new(90 + seed, &shapes).check(&operation);
            }
        }
    }
}

#[test]
fn attentive_recurrent_matches() {
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
            let operation = |form, inputs: &[Tensor<2>]| {
                let recurrence = AttentiveRecurrence {
                    query: inputs[1].clone(),
                    score: vector(&inputs[2]),
                    context: inputs[3].clone(),
                    keys: inputs[4].clone(),
                    values: inputs[5].clone(),
                    src_lengths: src_lengths.clone(),
                    state: Recurrence {
                        hidden: hidden.then(|| {
                            let bias = biased.then(|| vector(&inputs[7]));
                            map_of(inputs[6].clone(), bias)
                        }),
                        initial: begun.then(|| inputs[shapes.len() - 1].clone()),
                    },
                };
                let x = inputs[0].clone();
                match form {
                    Form::Fused => {
                        attentive_recurrent(cell, &lengths, x, recurrence, Precision::F32)
                    }
                    Form::Portable => {
                        let precision = Precision::F32;
                        ops::attentive_recurrent::portable(cell, &lengths, x, recurrence, precision)
                    }
                }
            };
            Case::new(120 + seed, &shapes).check(&operation);
        }
    }
}
