//! Operations that only move numbers.

use super::*;

#[test]
fn columns_side_by_side() {
    on_each_device(|| {
        let (a, b) = (Value::new(vec![1., 2., 3., 4.], [2, 2]), Value::new(vec![5., 6.], [2, 1]));
        let joined = join(vec![a, b]);
        assert_eq!(joined.shape(), [2, 3]);
        assert_eq!(*joined.values(), [1., 2., 5., 3., 4., 6.]);
        assert_eq!(*columns(joined.clone(), 1..3).values(), [2., 5., 4., 6.]);
        assert_eq!(columns(joined, 3..3).shape(), [2, 0]);
        Case::new(1, &[[3, 2], [3, 4], [3, 1]]).check(&|inputs| join(inputs.to_vec()));
        Case::new(2, &[[3, 5]]).check(&|inputs| columns(inputs[0].clone(), 1..4));
        let ends = |x: &Value| column_ranges(x.clone(), vec![3..5, 0..2, 2..2]);
        let x = Value::new(vec![1., 2., 3., 4., 5.], [1, 5]);
        assert_eq!(*ends(&x).values(), [4., 5., 1., 2.]);
        Case::new(4, &[[3, 5]]).check(&|inputs| ends(&inputs[0]));
        // An operand used twice has the sum of both gradients.
        Case::new(3, &[[3, 2]]).check(&|inputs| join(vec![inputs[0].clone(), inputs[0].clone()]));
    });
}

#[test]
#[should_panic(expected = "[0..3, 3..3, 2..5] overlap")]
fn ranges_of_columns_that_overlap_are_refused() {
    column_ranges(Value::zeros([2, 5]), vec![0..3, 3..3, 2..5]);
}

#[test]
fn selected_rows() {
    on_each_device(|| {
        let x = Value::new(vec![1., 2., 3., 4., 5., 6.], [3, 2]);
        assert_eq!(*select_rows(x.clone(), &[2, 0]).values(), [5., 6., 1., 2.]);
        assert_eq!(*row_range(x.clone(), 1..3).values(), [3., 4., 5., 6.]);
        let turned = transposed_rows(x, vec![2, 0, 0]);
        assert_eq!(turned.shape(), [2, 3]);
        assert_eq!(*turned.values(), [5., 1., 1., 6., 2., 2.]);
        Case::new(4, &[[4, 3]]).check(&|inputs| select_rows(inputs[0].clone(), &[3, 1, 3]));
        Case::new(5, &[[4, 3]]).check(&|inputs| transposed_rows(inputs[0].clone(), vec![3, 1, 3]));
    });
}

#[test]
fn learned_positions() {
    on_each_device(|| {
        let x = Value::zeros([4, 1]);
        let table = Value::new(vec![7., 8., 9.], [3, 1]);
        assert_eq!(*add_positions(x, table, 1, 2).values(), [8., 9., 8., 9.]);
        Case::new(6, &[[6, 2], [5, 2]])
            .check(&|inputs| add_positions(inputs[0].clone(), inputs[1].clone(), 2, 3));
    });
}

#[test]
#[should_panic(expected = "5 numbers for a shape of [2, 3]")]
fn numbers_that_do_not_fit_a_shape_are_refused() {
    Value::new(vec![0.0; 5], [2, 3]);
}
