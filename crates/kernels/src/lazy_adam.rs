//! Adam for tables of which an update reads few rows: rows that are not read miss updates and catch up before
//! they are read.

use std::mem;

use crate::optimizer::{AdamRates, AdamStep, adam_chunk};
use crate::parallel::{CHUNK, is_large};

/// Updates that a row can miss before all rows catch up.
const MAX_MISSED: usize = 64;
/// Elements that catch up together: their values and moments fit in the first-level cache.
const BLOCK: usize = 1024;
/// The gradient of elements that were not read.
const NO_GRADIENT: [f32; BLOCK] = [0.0; BLOCK];

/// The updates that the rows of a table have missed.
///
/// The gradient of a row that is not read is zero, but Adam still changes the row by its moments. These
/// updates are carried out later, one by one and in order, by the same arithmetic as
/// [`adam`](crate::optimizer::adam): the bits are the same.
#[derive(Debug)]
pub struct LazyAdam {
    /// Columns of the table.
    d: usize,
    /// The updates that at least one row may have missed, in order.
    log: Vec<AdamRates>,
    /// The number of updates of the log that each row has got.
    done: Vec<usize>,
    /// Whether each row was read since the last update.
    is_read: Vec<bool>,
}

/// The elements of a table and its two moments, or of some of their rows.
type Table<'a> = [&'a mut [f32]; 3];

impl LazyAdam {
    /// No missed updates of a table of `rows` rows and `d` columns. All rows count as read.
    pub fn new(rows: usize, d: usize) -> Self {
        Self { d, log: Vec::new(), done: vec![0; rows], is_read: vec![true; rows] }
    }

    /// Notes that `rows` are read, in any order and any number of times, and returns those that must
    /// [catch up](Self::catch_up) first, each once and in order. Rows that the table does not have are left
    /// out.
    pub fn read(&mut self, rows: &[u32]) -> Vec<u32> {
        let mut behind = Vec::new();
        for &row in rows {
            if let Some(is_read) = self.is_read.get_mut(row as usize)
                && !mem::replace(is_read, true)
                && self.done[row as usize] < self.log.len()
            {
                behind.push(row);
            }
        }
        behind.sort_unstable();
        behind
    }

    /// Like [`Self::read`], for all rows.
    pub fn read_all(&mut self) -> Vec<u32> {
        self.is_read.fill(true);
        self.behind()
    }

    /// Carries out the updates that `rows` have missed, given in ascending order.
    ///
    /// # Panics
    /// If a slice or a row does not fit the table.
    pub fn catch_up(&mut self, rows: &[u32], param: &mut [f32], moments: [&mut [f32]; 2]) {
        let Self { d, log, done, .. } = &*self;
        let [mean, square] = moments;
        let together = |a: u32, b: u32| done[a as usize] == done[b as usize];
        let work = |first: usize, table: Table<'_>| replay(table, &log[done[first]..]);
        let table = [param, mean, square];
        self.check(&table);
        visit(rows, 0, *d, table, &together, &work);
        for &row in rows {
            self.done[row as usize] = self.log.len();
        }
        if self.done.iter().all(|&done| done == self.log.len()) {
            self.log.clear();
            self.done.fill(0);
        }
    }

    /// Updates the rows that were read since the last update like [`adam`](crate::optimizer::adam); the
    /// others miss the update. `grad` has the shape of the table; only the gradients of these rows are read.
    ///
    /// # Panics
    /// If a slice does not fit the table.
    pub fn update(&mut self, step: AdamStep, param: &mut [f32], moments: [&mut [f32]; 2], grad: &[f32]) {
        assert_eq!(grad.len(), param.len(), "`grad` must be as long as the table");
        let [mean, square] = moments;
        let mut table = [param, mean, square];
        self.check(&table);
        let rates = AdamRates::new(step);
        self.log.push(rates);
        let is_read = self.is_read.iter_mut().zip(0..);
        let rows: Vec<u32> = is_read.filter_map(|(is_read, row)| mem::take(is_read).then_some(row)).collect();
        let d = self.d;
        let work = |first: usize, [param, mean, square]: Table<'_>| {
            let grad = &grad[first * d..][..param.len()];
            adam_chunk(param, mean, square, grad, rates);
        };
        visit(&rows, 0, d, table.each_mut().map(|part| &mut **part), &|_, _| true, &work);
        for row in rows {
            self.done[row as usize] = self.log.len();
        }
        if self.log.len() == MAX_MISSED {
            let [param, mean, square] = table;
            self.catch_up(&self.behind(), param, [mean, square]);
        }
    }

    /// The rows that have missed updates.
    fn behind(&self) -> Vec<u32> {
        let done = self.done.iter().zip(0..);
        done.filter_map(|(&done, row)| (done < self.log.len()).then_some(row)).collect()
    }

    fn check(&self, table: &Table<'_>) {
        let elements = self.done.len() * self.d;
        assert!(
            table.iter().all(|part| part.len() == elements),
            "the values and moments of a table of {} rows and {} columns",
            self.done.len(),
            self.d
        );
    }
}

/// Calls `work` with the first row and the elements of each run of neighboring `rows` that belong `together`.
/// `table` begins at row `first`.
fn visit(
    rows: &[u32],
    first: usize,
    d: usize,
    table: Table<'_>,
    together: &(impl Fn(u32, u32) -> bool + Sync),
    work: &(impl Fn(usize, Table<'_>) + Sync),
) {
    if rows.len() > 1 && rows.len() * d > CHUNK && is_large(table[0].len()) {
        let (left, right) = rows.split_at(rows.len() / 2);
        let middle = right[0] as usize;
        let [param, mean, square] = table.map(|part| part.split_at_mut((middle - first) * d));
        let (before, after) = ([param.0, mean.0, square.0], [param.1, mean.1, square.1]);
        rayon::join(
            || visit(left, first, d, before, together, work),
            || visit(right, middle, d, after, together, work),
        );
        return;
    }
    let [param, mean, square] = table;
    for run in rows.chunk_by(|&a, &b| b - a == 1 && together(a, b)) {
        let start = (run[0] as usize - first) * d;
        let part = start..start + run.len() * d;
        let table = [&mut param[part.clone()], &mut mean[part.clone()], &mut square[part]];
        work(run[0] as usize, table);
    }
}

/// Carries out `missed` updates of elements without a gradient.
fn replay([param, mean, square]: Table<'_>, missed: &[AdamRates]) {
    let blocks = param.chunks_mut(BLOCK).zip(mean.chunks_mut(BLOCK)).zip(square.chunks_mut(BLOCK));
    let is_inert = missed.iter().all(AdamRates::keep_what_has_no_moments);
    for ((param, mean), square) in blocks {
        let is_zero = |x: &[f32]| x.iter().fold(0, |bits, x| bits | x.to_bits()) == 0;
        if is_inert && is_zero(mean) && is_zero(square) {
            continue;
        }
        for &rates in missed {
            adam_chunk(param, mean, square, &NO_GRADIENT[..param.len()], rates);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optimizer::adam;
    use crate::testing::{assert_same_on_all_pools, random, random_below};

    const PLAIN: AdamStep = AdamStep {
        learning_rate: 0.01,
        beta1: 0.9,
        beta2: 0.98,
        epsilon: 1e-9,
        weight_decay: 0.0,
        l2: 0.0,
        grad_scale: 1.0,
        step: 0,
    };

    /// Updates of a table, some of whose rows are read by each; returns the table and its moments after dense
    /// and lazy updates.
    fn dense_and_lazy(
        options: AdamStep,
        [n_rows, d]: [usize; 2],
        updates: u64,
        read: usize,
    ) -> [Vec<u32>; 2] {
        let mut param = random(n_rows * d, 1);
        (param[0], param[n_rows * d - 1]) = (-0.0, 0.0);
        let start = [param, vec![0.0; n_rows * d], vec![0.0; n_rows * d]];
        let (mut dense, mut table) = (start.clone(), start);
        let mut lazy = LazyAdam::new(n_rows, d);
        for step in 1..=updates {
            let [param, mean, square] = &mut table;
            let seed = 10 * step as u32;
            if step % 97 == 0 {
                // All rows are read, for example by a validation.
                let behind = lazy.read_all();
                lazy.catch_up(&behind, param, [mean, square]);
                assert_eq!(*param, dense[0], "before update {step}");
            }
            let mut grad = vec![0.0; n_rows * d];
            for micro_batch in 0..2 {
                // The last row is never read.
                let rows = random_below(read, n_rows as u32 - 1, seed + micro_batch);
                let behind = lazy.read(&rows);
                lazy.catch_up(&behind, param, [mean, square]);
                for &row in &rows {
                    let row = row as usize * d..(row as usize + 1) * d;
                    let new = random(d, seed + 5 + micro_batch);
                    grad[row.clone()].iter_mut().zip(new).for_each(|(sum, new)| *sum += new);
                    assert_eq!(param[row.clone()], dense[0][row], "what update {step} reads");
                }
            }
            let options = AdamStep {
                step,
                learning_rate: options.learning_rate / (step as f32).sqrt(),
                grad_scale: 1.0 / step as f32,
                ..options
            };
            lazy.update(options, param, [mean, square], &grad);
            let [param, mean, square] = &mut dense;
            adam(param, mean, square, &grad, options);
        }
        let [param, mean, square] = &mut table;
        let behind = lazy.read_all();
        assert!(read > n_rows || !behind.is_empty(), "some rows missed updates");
        lazy.catch_up(&behind, param, [mean, square]);
        assert!(lazy.read_all().is_empty(), "all rows have caught up");
        [dense, table].map(|table| table.concat().iter().map(|x| x.to_bits()).collect())
    }

    #[test]
    fn lazy_updates_have_the_bits_of_dense_ones() {
        let plain = PLAIN;
        let decoupled = AdamStep { weight_decay: 0.1, ..plain };
        let l2 = AdamStep { l2: 0.05, ..plain };
        let no_momentum = AdamStep { beta1: 0.0, ..plain };
        let constant = AdamStep { learning_rate: 0.0, ..plain };
        let fast_decay = AdamStep { beta1: 0.1, beta2: 0.1, epsilon: 1e-30, ..plain };
        for options in [plain, decoupled, l2, no_momentum, constant, fast_decay] {
            for (shape, updates, read) in [
                ([7, 3], 300, 1),
                ([50, 17], 200, 4),
                ([3, 1], 100, 9),
                ([40, 1500], 70, 2),
                ([300, 256], 140, 20),
            ] {
                let [dense, lazy] = dense_and_lazy(options, shape, updates, read);
                assert!(dense == lazy, "{options:?}, {shape:?}");
            }
        }
    }

    #[test]
    fn the_thread_count_changes_nothing() {
        assert_same_on_all_pools(|| {
            let [_, lazy] = dense_and_lazy(PLAIN, [400, 200], 80, 120);
            lazy.into_iter().map(f32::from_bits).collect()
        });
    }

    #[test]
    fn rows_that_no_update_reads_are_not_touched() {
        let mut lazy = LazyAdam::new(4, 2);
        let step = AdamStep { learning_rate: 0.5, step: 1, ..PLAIN };
        let [mut param, mut mean, mut square] = [vec![1.0; 8], vec![0.5; 8], vec![0.5; 8]];
        // At first, all rows count as read.
        lazy.update(step, &mut param, [&mut mean, &mut square], &[0.0; 8]);
        let before = param.clone();
        assert!(lazy.read(&[2, 2, 9]).is_empty());
        lazy.update(step, &mut param, [&mut mean, &mut square], &[f32::NAN; 8]);
        let changed: Vec<bool> = param.iter().zip(&before).map(|(a, b)| a.to_bits() != b.to_bits()).collect();
        assert_eq!(changed, [false, false, false, false, true, true, false, false]);
        assert_eq!(lazy.read(&[3, 0, 3]), [0, 3]);
        assert_eq!(lazy.read_all(), [0, 1, 3]);
    }
}
