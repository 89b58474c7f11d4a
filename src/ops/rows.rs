//! Row selection.

use burn::tensor::{Int, Tensor, TensorData};

/// The rows of `x` with the given numbers, in that order.
pub fn select_rows(x: Tensor<2>, rows: &[usize]) -> Tensor<2> {
    let indices: Vec<i64> = rows.iter().map(|&row| row as i64).collect();
    let data = TensorData::new(indices, [rows.len()]);
    let indices = Tensor::<1, Int>::from_data(data, &x.device());
    x.select(0, indices)
}
