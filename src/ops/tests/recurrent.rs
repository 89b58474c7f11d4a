use super::*;
use crate::ops::{self, recurrent};

const CELLS: [Cell; 4] = [Cell::Rnn, Cell::Lstm, Cell::CoupledLstm, Cell::Gru];

#[test]
fn recurrent_matches() {
    let lens = [3, 0, 4, 1];
    let (len, d) = (4, 3);
    let lengths = Lengths {
        lens: lens.into(),
        len,
    };
    let rows = lens.len() * len;
    for (seed, cell) in (0..).zip(CELLS) {
        let (gates, states) = (cell.gates() * d, cell.states() * d);
        for direction in [Direction::Forward, Direction::Backward] {
            for (biased, begun) in [(true, true), (true, false), (false, true)] {
                let mut shapes = vec![[rows, gates], [gates, d]];
                shapes.extend(biased.then_some([1, gates]));
                shapes.extend(begun.then_some([lens.len(), states]));
                let operation = |form, inputs: &[Tensor<2>]| {
                    let recurrence = Recurrence {
                        weight: inputs[1].clone(),
                        bias: biased.then(|| vector(&inputs[2])),
                        initial: begun.then(|| inputs[2 + usize::from(biased)].clone()),
                    };
                    let x = inputs[0].clone();
                    match form {
                        Form::Fused => {
                            let precision = Precision::F32;
                            ops::recurrent(cell, direction, &lengths, x, recurrence, precision)
                        }
                        Form::Portable => {
                            recurrent::portable(cell, direction, &lengths, x, recurrence)
                        }
                    }
                };
                Case::new(90 + seed, &shapes).check(&operation);
            }
        }
    }
}
