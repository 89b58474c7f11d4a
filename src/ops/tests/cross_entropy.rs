//! Projection and cross-entropy: both forms, and their sums.

use super::*;

fn full_precision(
    x: Tensor<2>,
    projection: Map,
    targets: &[u32],
    label_smoothing: f64,
) -> CrossEntropy {
    cross_entropy(x, projection, targets, label_smoothing, Precision::F32)
}

fn full_precision_portable(
    x: Tensor<2>,
    projection: Map,
    targets: &[u32],
    label_smoothing: f64,
) -> CrossEntropy {
    let precision = Precision::F32;
    crate::ops::cross_entropy::portable(x, projection, targets, label_smoothing, precision)
}

#[test]
fn cross_entropy_matches() {
    let targets = [2, IGNORE, 0, 6, 2, IGNORE];
    for label_smoothing in [0.0, 0.1] {
        for bias in [false, true] {
            let mut shapes = vec![[6, 4], [7, 4]];
            if bias {
                shapes.push([1, 7]);
            }
            Case::new(10, &shapes).check(&|form, inputs| {
                let x = inputs[0].clone();
                let projection = map_of(inputs[1].clone(), inputs.get(2).map(vector));
                let found = match form {
                    Form::Fused => full_precision(x, projection, &targets, label_smoothing),
                    Form::Portable => {
                        full_precision_portable(x, projection, &targets, label_smoothing)
                    }
                };
                found.loss.unsqueeze()
            });
        }
    }
}

#[test]
fn cross_entropy_sums_match() {
    let case = Case::new(11, &[[6, 4], [7, 4]]);
    let inputs = case.tensors(&case.values, DType::F32, &Device::flex());
    let targets = [2, IGNORE, 0, 6, 2, IGNORE];
    let sums = |run: fn(Tensor<2>, Map, &[u32], f64) -> CrossEntropy| {
        let projection = map_of(inputs[1].clone(), None);
        run(inputs[0].clone(), projection, &targets, 0.1).sums
    };
    let (fused, portable) = (sums(full_precision), sums(full_precision_portable));
    assert_eq!((fused.n_tokens, fused.n_correct), (4, portable.n_correct));
    assert!((fused.loss - portable.loss).abs() < 1e-4);
    assert!((fused.nll - portable.nll).abs() < 1e-4);
}
