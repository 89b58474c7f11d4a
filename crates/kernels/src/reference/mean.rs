//! Reference implementation of [`mod@crate::mean`].

use attentive_base::lengths::Lengths;

/// [`crate::mean::mean_rows`] and its gradient given `grad_out`.
pub fn mean_rows(lengths: &Lengths, d: usize, x: &[f64], grad_out: &[f64]) -> [Vec<f64>; 2] {
    let (mut out, mut dx) = (vec![0.0; grad_out.len()], vec![0.0; x.len()]);
    for (row, &len) in lengths.lens().iter().enumerate() {
        for position in 0..len {
            for i in 0..d {
                let at = (row * lengths.width() + position) * d + i;
                out[row * d + i] += x[at] / len as f64;
                dx[at] = grad_out[row * d + i] / len as f64;
            }
        }
    }
    [out, dx]
}
