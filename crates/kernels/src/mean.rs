//! The mean over the real positions of each sequence.

use attentive_base::lengths::Lengths;

use crate::area::assert_shape;
use crate::parallel::for_row_chunks;

/// `out` `[rows, d]` = the mean over the real positions of each row of `x` `[rows · width, d]`; zero for an
/// empty row.
///
/// Each vector is multiplied by 1 / length and added in order of position.
///
/// # Panics
/// If a slice does not fit.
pub fn mean_rows(lengths: &Lengths, d: usize, x: &[f32], out: &mut [f32]) {
    check(lengths, d, x, out);
    if d == 0 {
        return;
    }
    for_row_chunks(out, d, |first, out| {
        for (row, out) in (first..).zip(out.chunks_exact_mut(d)) {
            let len = lengths.lens()[row];
            let start = row * lengths.width() * d;
            out.fill(0.0);
            for x in x[start..start + len * d].chunks_exact(d) {
                add_scaled(out, x, share(len));
            }
        }
    });
}

/// The gradient of [`mean_rows`], `[rows · width, d]`, given `grad_out` `[rows, d]`; zero at padding.
///
/// # Panics
/// If a slice does not fit.
pub fn mean_rows_backward(lengths: &Lengths, d: usize, grad_out: &[f32], dx: &mut [f32]) {
    check(lengths, d, dx, grad_out);
    if dx.is_empty() {
        return;
    }
    for_row_chunks(dx, lengths.width() * d, |first, dx| {
        let rows = dx.chunks_exact_mut(lengths.width() * d);
        for (row, dx) in (first..).zip(rows) {
            let len = lengths.lens()[row];
            let grad_out = &grad_out[row * d..(row + 1) * d];
            let (real, padding) = dx.split_at_mut(len * d);
            for dx in real.chunks_exact_mut(d) {
                scale_into(dx, grad_out, share(len));
            }
            padding.fill(0.0);
        }
    });
}

fn check(lengths: &Lengths, d: usize, x: &[f32], out: &[f32]) {
    let (rows, positions) = (lengths.rows(), lengths.positions());
    assert_shape("x", x, [positions, d]);
    assert_shape("out", out, [rows, d]);
}

/// The weight of each of `len` positions.
fn share(len: usize) -> f32 {
    (1.0 / len as f64) as f32
}

vectorized! {
    fn add_scaled(total: &mut [f32], x: &[f32], factor: f32) {
        for (total, &x) in total.iter_mut().zip(x) {
            *total += x * factor;
        }
    }
}

vectorized! {
    fn scale_into(out: &mut [f32], x: &[f32], factor: f32) {
        for (out, &x) in out.iter_mut().zip(x) {
            *out = x * factor;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference;
    use crate::testing::{assert_close, assert_same_on_all_pools, bits, random, wide};

    fn both(lengths: &Lengths, d: usize, x: &[f32], grad_out: &[f32]) -> [Vec<f32>; 2] {
        let (mut out, mut dx) = (vec![7.0; grad_out.len()], vec![7.0; x.len()]);
        mean_rows(lengths, d, x, &mut out);
        mean_rows_backward(lengths, d, grad_out, &mut dx);
        [out, dx]
    }

    #[test]
    fn means_match_the_reference() {
        let cases: [(&[usize], usize, usize); 6] = [
            (&[3, 0, 4, 1], 4, 5),
            (&[2], 2, 33),
            (&[0, 0], 0, 3),
            (&[1, 2], 2, 0),
            (&[], 3, 4),
            (&[90, 7, 61], 100, 300),
        ];
        for (seed, (lens, width, d)) in (0..).zip(cases) {
            let lengths = Lengths::new(lens, width);
            let x = random(lengths.positions() * d, seed);
            let grad_out = random(lengths.rows() * d, seed + 50);
            let [out, dx] = both(&lengths, d, &x, &grad_out);
            let [mean, gradient] = reference::mean_rows(&lengths, d, &wide(&x), &wide(&grad_out));
            assert_close(&out, &mean, 1e-6, "mean");
            assert_close(&dx, &gradient, 1e-6, "gradient");
        }
    }

    #[test]
    fn padding_changes_nothing() {
        let (lens, d) = ([3, 1], 5);
        let (narrow, wide) = (Lengths::new(lens, 3), Lengths::new(lens, 7));
        let grad_out = random(2 * d, 1);
        let x = random(3 * 2 * d, 2);
        let mut padded = vec![f32::NAN; wide.positions() * d];
        for (row, len) in lens.into_iter().enumerate() {
            let real = &x[row * 3 * d..][..len * d];
            padded[row * 7 * d..][..len * d].copy_from_slice(real);
        }
        let [out, dx] = both(&narrow, d, &x, &grad_out);
        let [same, padded_dx] = both(&wide, d, &padded, &grad_out);
        assert_eq!(bits(&out), bits(&same));
        for (row, len) in lens.into_iter().enumerate() {
            let (real, padding) = padded_dx[row * 7 * d..][..7 * d].split_at(len * d);
            assert_eq!(bits(real), bits(&dx[row * 3 * d..][..len * d]));
            assert!(padding.iter().all(|&dx| dx == 0.0));
        }
    }

    #[test]
    fn the_thread_count_changes_nothing() {
        let (d, lengths) = (40, Lengths::new(vec![3; 3000], 4));
        let x = random(lengths.positions() * d, 1);
        let grad_out = random(lengths.rows() * d, 2);
        assert_same_on_all_pools(|| both(&lengths, d, &x, &grad_out).concat());
    }

    #[test]
    #[should_panic(expected = "`x` is [6, 2]")]
    fn a_slice_that_does_not_fit_is_refused() {
        mean_rows(&Lengths::full(2, 3), 2, &[0.0; 10], &mut [0.0; 4]);
    }
}
