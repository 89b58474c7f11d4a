//! Element-wise vector operations.

use crate::parallel::{for_chunks, for_row_chunks};

/// `total` += `x`.
///
/// # Panics
/// If the lengths differ.
pub fn add(total: &mut [f32], x: &[f32]) {
    for_chunks([x], total, |[x], total| add_chunk(total, x));
}

/// `x` = `factor` · `x`.
pub fn scale(x: &mut [f32], factor: f32) {
    for_row_chunks(x, 1, |_, x| scale_chunk(x, factor));
}

/// Every element of `x` = `value`.
pub fn fill(x: &mut [f32], value: f32) {
    for_row_chunks(x, 1, |_, x| x.fill(value));
}

/// Copies `count` columns of each row of `from`, which has rows of `from_width` and whose column `from_first`
/// is the first of them, to the columns of `to` from `to_first` on.
///
/// # Panics
/// If `from` has fewer rows than `to`, or a matrix fewer columns.
pub fn copy_columns(
    count: usize,
    (from, from_width, from_first): (&[f32], usize, usize),
    (to, to_width, to_first): (&mut [f32], usize, usize),
) {
    if count == 0 {
        return;
    }
    for_row_chunks(to, to_width, |first, to| {
        for (row, to) in (first..).zip(to.chunks_exact_mut(to_width)) {
            let from = &from[row * from_width..][..from_width];
            to[to_first..][..count].copy_from_slice(&from[from_first..][..count]);
        }
    });
}

vectorized! {
    /// [`add`] on the calling thread.
    pub(crate) fn add_chunk(total: &mut [f32], x: &[f32]) {
        for (total, &x) in total.iter_mut().zip(x) {
            *total += x;
        }
    }
}

vectorized! {
    fn scale_chunk(x: &mut [f32], factor: f32) {
        for x in x {
            *x *= factor;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_same_on_all_pools, random};

    #[test]
    fn every_element_is_added_once() {
        for len in [0, 1, 17, 100_003] {
            let (x, y) = (random(len, 1), random(len, 2));
            let mut found = x.clone();
            add(&mut found, &y);
            scale(&mut found, 0.3);
            let twin: Vec<f32> = x.iter().zip(&y).map(|(x, y)| (x + y) * 0.3).collect();
            assert!(found == twin, "{len} numbers");
        }
    }

    #[test]
    fn columns_are_copied_and_others_are_left() {
        for rows in [0, 1, 3, 20_000] {
            let from = random(5 * rows, 1);
            assert_same_on_all_pools(|| {
                let mut to = vec![0.0; 4 * rows];
                fill(&mut to, 7.0);
                copy_columns(2, (&from, 5, 3), (&mut to, 4, 1));
                for (from, to) in from.chunks_exact(5).zip(to.chunks_exact(4)) {
                    assert_eq!(*to, [7.0, from[3], from[4], 7.0]);
                }
                copy_columns(0, (&from, 5, 5), (&mut to, 4, 4));
                to
            });
        }
    }

    #[test]
    fn the_thread_count_changes_nothing() {
        let (x, y) = (random(100_003, 1), random(100_003, 2));
        assert_same_on_all_pools(|| {
            let mut out = x.clone();
            add(&mut out, &y);
            scale(&mut out, 1.7);
            out
        });
    }

    #[test]
    #[should_panic(expected = "the vectors must have the same length")]
    fn different_lengths_are_refused() {
        add(&mut [0.0; 2], &[0.0; 3]);
    }
}
