//! Splitting the output into tasks.

use crate::parallel::for_each;
use crate::threads::Threads;
use crate::tile::TileMut;

/// The task sizes preferred by a kernel.
pub(crate) struct Grain {
    /// The largest output rectangle per task.
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    /// The smallest output rectangle per task.
    pub(crate) min_rows: usize,
    pub(crate) min_cols: usize,
    /// Rectangles are multiples of the register tile.
    pub(crate) tile_rows: usize,
    pub(crate) tile_cols: usize,
    /// Whether to prefer slices of the output over squares, by splitting further in the direction with more
    /// tasks.
    pub(crate) slices: bool,
}

impl Grain {
    /// The largest rectangle size that gives at least `wanted` tasks, or the smallest allowed size. Sizes are
    /// balanced so that no thread waits for a task that is larger than the others.
    pub(crate) fn rectangle(&self, m: usize, n: usize, wanted: usize) -> (usize, usize) {
        let mut rows = m.min(self.rows);
        let mut cols = n.min(self.cols);
        while m.div_ceil(rows) * n.div_ceil(cols) < wanted {
            let cut_cols = if self.slices { n.div_ceil(cols) > m.div_ceil(rows) } else { cols >= rows };
            if cols > self.min_cols && (cut_cols || rows <= self.min_rows) {
                cols = (cols / 2).next_multiple_of(self.tile_cols);
            } else if rows > self.min_rows {
                rows = (rows / 2).next_multiple_of(self.tile_rows);
            } else {
                break;
            }
        }
        let even =
            |all: usize, part: usize, tile: usize| all.div_ceil(all.div_ceil(part)).next_multiple_of(tile);
        (even(m, rows, self.tile_rows), even(n, cols, self.tile_cols))
    }
}

/// The number of tasks worth starting for `work` multiply-adds at `task_work` each.
pub(crate) fn wanted_tasks(work: usize, task_work: usize) -> usize {
    match Threads::current().count() {
        1 => 1,
        threads => (4 * threads).min(work / task_work),
    }
}

/// Calls `work(row, col, part)` for each `rows` by `cols` rectangle of `out`.
pub(crate) fn for_each_rectangle(
    (rows, cols): (usize, usize),
    parallel: bool,
    out: &mut TileMut<'_>,
    work: impl Fn(usize, usize, &mut TileMut<'_>) + Sync + Send,
) {
    let (m, n) = (out.rows(), out.cols());
    let across = n.div_ceil(cols);
    let out = &*out;
    for_each(m.div_ceil(rows) * across, parallel, |task| {
        let (row, col) = (task / across * rows, task % across * cols);
        // SAFETY: the rectangles are disjoint, and the caller lends all of `out`.
        let mut part = unsafe { out.part(row, col, rows.min(m - row), cols.min(n - col)) };
        work(row, col, &mut part);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_have_balanced_sizes() {
        let grain = Grain {
            rows: 576,
            cols: 512,
            min_rows: 48,
            min_cols: 64,
            tile_rows: 6,
            tile_cols: 16,
            slices: false,
        };
        // Not seven times 288 rows and a remainder of 32.
        assert_eq!(grain.rectangle(2048, 256, 8), (258, 256));
        assert_eq!(grain.rectangle(2048, 1024, 8), (516, 512));
        assert_eq!(grain.rectangle(5, 8000, 8), (6, 512));
        assert_eq!(grain.rectangle(1, 1, 1), (6, 16));
    }
}
