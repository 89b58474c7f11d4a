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
