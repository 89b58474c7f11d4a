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
