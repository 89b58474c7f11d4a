//! Projection and cross-entropy.

use super::*;

#[test]
fn losses() {
    let targets = [2, IGNORE, 0, 6, 2, IGNORE];
    for label_smoothing in [0.0, 0.1] {
        for bias in [false, true] {
            let mut shapes = vec![[6, 4], [7, 4]];
            if bias {
                shapes.push([1, 7]);
            }
            for weights in [None, Some(&[1.0, 0.0, 2.0, 0.0, 0.5, 1.0][..])] {
                Case::new(10, &shapes).check(&|inputs| {
                    let x = inputs[0].clone();
                    let projection = map_of(&inputs[1], inputs.get(2));
                    cross_entropy(x, projection, &targets, weights, label_smoothing, Float::F32).loss
                });
            }
        }
    }
}

#[test]
fn losses_of_two_passes() {
    let targets = [2, IGNORE, 0, 6, 2, IGNORE];
    for (label_smoothing, strength) in [(0.0, 1.0), (0.1, 2.5)] {
        for bias in [false, true] {
            let mut shapes = vec![[6, 4], [6, 4], [7, 4]];
            if bias {
                shapes.push([1, 7]);
            }
            for weights in [None, Some(&[1.0, 0.0, 2.0, 0.0, 0.5, 1.0][..])] {
                Case::new(10, &shapes).checked(&|inputs| {
                    let passes = [inputs[0].clone(), inputs[1].clone()];
                    let projection = map_of(&inputs[2], inputs.get(3));
                    let numbers = [label_smoothing, strength];
                    consistent_cross_entropy(
                        passes,
                        projection,
                        &targets,
                        weights,
                        numbers[0],
                        numbers[1],
                        Float::F32,
                    )
                    .loss
                });
            }
        }
    }
}
