//! Row selection and means of rows.

use burn::tensor::{Int, Tensor, TensorData};

use super::Lengths;

/// The rows of `x` with the given numbers, in that order.
pub fn select_rows(x: Tensor<2>, rows: &[usize]) -> Tensor<2> {
    let indices: Vec<i64> = rows.iter().map(|&row| row as i64).collect();
    let data = TensorData::new(indices, [rows.len()]);
    let indices = Tensor::<1, Int>::from_data(data, &x.device());
    x.select(0, indices)
}

/// The mean over the real positions of each sequence; zero for an empty one.
///
/// Positions are added one by one, so padding does not change the result.
///
/// # Shapes
/// - `x`: `[rows · width, d]`
/// - result: `[rows, d]`
pub fn mean_rows(x: Tensor<2>, lengths: &Lengths) -> Tensor<2> {
    let [_, d] = x.dims();
    let (rows, width) = (lengths.rows(), lengths.width());
    let options = (&x.device(), x.dtype());
    let share = |position| {
        let lens = lengths.lens().iter();
        let shares = lens.map(|&len| {
            if position < len {
                1.0 / len as f64
            } else {
                0.0
            }
        });
        let data = TensorData::new(shares.collect::<Vec<f64>>(), [rows, 1]);
        Tensor::<2>::from_data(data.convert_dtype(options.1), options)
    };
    let x = x.reshape([rows, width, d]);
    let mut sum = Tensor::<2>::zeros([rows, d], options);
    for position in 0..width {
        let vectors = x.clone().narrow(1, position, 1).reshape([rows, d]);
        sum = sum + vectors * share(position);
    }
    sum
}
