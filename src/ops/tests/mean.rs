//! Means of rows: both forms, and padding.

use super::*;
use crate::ops::mean;

#[test]
fn means_match() {
    for (seed, (lens, width)) in [([3, 0, 4, 1], 4), ([2, 2, 2, 2], 2), ([0, 1, 0, 2], 5)]
        .into_iter()
        .enumerate()
    {
        let lengths = Lengths::new(lens, width);
        let case = Case::new(110 + seed as u64, &[[lens.len() * width, 3]]);
        let operation = |form, inputs: &[Tensor<2>]| match form {
            Form::Fused => mean_rows(inputs[0].clone(), &lengths),
            Form::Portable => mean::portable(inputs[0].clone(), &lengths),
        };
        case.check(&operation);
        let (fused, fused_gradients) = case.gradients(Form::Fused, &operation);
        let (portable, portable_gradients) = case.gradients(Form::Portable, &operation);
        assert_eq!(fused, portable, "the order of operations is the same");
        assert_eq!(fused_gradients, portable_gradients);
    }
}

#[test]
fn padding_does_not_change_means() {
    let lens = [2, 0, 3];
    let case = Case::new(120, &[[3 * 3, 4]]);
    let wide_case = {
        let mut values = vec![f64::NAN; 3 * 8 * 4];
        for (row, len) in lens.into_iter().enumerate() {
            let real = len * 4;
            values[row * 32..][..real].copy_from_slice(&case.values[0][row * 12..][..real]);
        }
        let mut wide = Case::new(120, &[[3 * 8, 4]]);
        wide.values = vec![values];
        wide
    };
    let run = |case: &Case, width| {
        let lengths = Lengths::new(lens, width);
        case.gradients(Form::Fused, &|_, inputs| {
            mean_rows(inputs[0].clone(), &lengths)
        })
    };
    let ((narrow, narrow_grad), (wide, wide_grad)) = (run(&case, 3), run(&wide_case, 8));
    assert_eq!(narrow, wide);
    assert!(narrow[4..8].iter().all(|&mean| mean == 0.0), "an empty row");
    for (row, len) in lens.into_iter().enumerate() {
        let real = len * 4;
        let (gradient, padding) = wide_grad[0][row * 32..][..32].split_at(real);
        assert_eq!(gradient, &narrow_grad[0][row * 12..][..real]);
        assert!(padding.iter().all(|&gradient| gradient == 0.0));
    }
}
