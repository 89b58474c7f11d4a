//! Means of rows, and padding.

use super::*;

#[test]
fn means() {
    for (seed, (lens, width)) in (0..).zip([([3, 0, 4, 1], 4), ([2, 2, 2, 2], 2), ([0, 1, 0, 2], 5)]) {
        let lengths = Lengths::new(lens, width);
        let case = Case::new(110 + seed, &[[lens.len() * width, 3]]);
        case.check(&|inputs| mean_rows(inputs[0].clone(), &lengths));
    }
}

#[test]
fn padding_does_not_change_means() {
    on_each_device(|| {
        let lens = [2, 0, 3];
        let case = Case::new(120, &[[3 * 3, 4]]);
        let wide_case = {
            let narrow = case.inputs[0].to_vec();
            let mut values = vec![f32::NAN; 3 * 8 * 4];
            for (row, len) in lens.into_iter().enumerate() {
                let real = len * 4;
                values[row * 32..][..real].copy_from_slice(&narrow[row * 12..][..real]);
            }
            let wide = Case::new(120, &[[3 * 8, 4]]);
            wide.inputs[0].change(|all| all.copy_from_slice(&values));
            wide
        };
        let run = |case: &Case, width| {
            let lengths = Lengths::new(lens, width);
            case.gradients(&|inputs| mean_rows(inputs[0].clone(), &lengths))
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
    });
}
