//! Tables of embeddings whose rows are updated when they are read.

use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use attentive_kernels::lazy_adam::LazyAdam;
use attentive_kernels::optimizer::AdamStep;
use attentive_tape::{Buffer, DeferredParam, DeferredUpdates, Param, RowSelection};

/// A table of which an update reads few rows. Adam changes these rows; the others catch up before they are
/// read.
#[derive(Debug)]
pub(super) struct LazyTable {
    table: DeferredParam,
    state: Arc<State>,
}

/// What catching up needs, which the table and the optimizer share.
#[derive(Debug)]
struct State(Mutex<Missed>);

#[derive(Debug)]
struct Missed {
    updates: LazyAdam,
    /// Adam's first and second moment estimates: with the optimizer, and empty here, while no row has missed
    /// an update.
    moments: [Buffer; 2],
}

impl LazyTable {
    /// Defers the updates of `table` from now on; `None` unless it is a matrix in the memory of the host.
    pub(super) fn new(table: &Param) -> Option<Self> {
        let [rows, d] = *table.shape() else {
            return None;
        };
        if !table.values().is_on_host() {
            return None;
        }
        let state = Arc::new(State(Mutex::new(Missed {
            updates: LazyAdam::new(rows, d),
            moments: [Buffer::EMPTY, Buffer::EMPTY],
        })));
        let table = table.defer(Arc::<State>::clone(&state));
        Some(Self { table, state })
    }

    /// Updates the rows that were read since the last update, whose gradients are in `gradient`, and keeps
    /// the moments until [`LazyTable::settle`].
    ///
    /// # Panics
    /// If another optimizer has since deferred the updates of the table.
    pub(super) fn update(&self, step: AdamStep, moments: [&mut Buffer; 2], gradient: &Buffer) {
        self.table.update(|values| {
            let mut missed = self.state.lock();
            for (own, other) in missed.moments.iter_mut().zip(moments) {
                hand_over(other, own);
            }
            let Missed { updates, moments } = &mut *missed;
            edit(values, moments, |values, moments| {
                updates.update(step, values, moments, &gradient.values());
            });
        });
    }

    /// Carries out all updates, and gives the moments back.
    pub(super) fn settle(&self, moments: [&mut Buffer; 2]) {
        self.table.param().values();
        for (own, other) in self.state.lock().moments.iter_mut().zip(moments) {
            hand_over(own, other);
        }
    }
}

impl State {
    fn lock(&self) -> MutexGuard<'_, Missed> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl DeferredUpdates for State {
    fn settle(&self, rows: RowSelection<'_>, values: &mut Arc<Buffer>) {
        let Missed { updates, moments } = &mut *self.lock();
        let behind = match rows {
            RowSelection::All => updates.read_all(),
            RowSelection::Of(rows) => updates.read(rows),
        };
        if !behind.is_empty() {
            edit(Arc::make_mut(values), moments, |values, moments| {
                updates.catch_up(&behind, values, moments);
            });
        }
    }
}

/// Moves numbers, unless they have been moved before.
fn hand_over(from: &mut Buffer, to: &mut Buffer) {
    if to.is_empty() {
        mem::swap(from, to);
    }
}

/// Changes values and moments on the host.
fn edit(
    values: &mut Buffer,
    [mean, square]: &mut [Buffer; 2],
    change: impl FnOnce(&mut [f32], [&mut [f32]; 2]),
) {
    values.edit(|values| mean.edit(|mean| square.edit(|square| change(values, [mean, square]))));
}

#[cfg(test)]
mod tests {
    use attentive_device::{BufferSliceMut, OptimizerStep, current};

    use super::*;

    const STEP: AdamStep = AdamStep {
        learning_rate: 0.5,
        beta1: 0.9,
        beta2: 0.98,
        epsilon: 1e-9,
        weight_decay: 0.1,
        l2: 0.0,
        grad_scale: 1.0,
        step: 1,
    };

    /// The elements as they are, without catching up.
    fn raw(lazy: &LazyTable) -> Vec<f32> {
        let mut found = Vec::new();
        let table = &lazy.table;
        table.update(|values| found = values.values().into_owned());
        found
    }

    /// An update of all rows, and one of which no row is read.
    fn update_twice(lazy: &LazyTable) {
        let mut moments = [(); 2].map(|()| Buffer::zeros(4));
        for (step, gradient) in [(1, [1.0, -2.0, 3.0, 4.0]), (2, [0.0; 4])] {
            let [mean, square] = &mut moments;
            let step = AdamStep { step, ..STEP };
            lazy.update(step, [mean, square], &Buffer::from(gradient.to_vec()));
        }
    }

    fn small_table() -> Param {
        Param::new("table", vec![2, 2], vec![1.0, 2.0, 3.0, 4.0])
    }

    #[test]
    fn a_table_carries_out_its_updates_without_its_optimizer() {
        let [kept, dropped, replaced] = [(); 3].map(|()| small_table());
        let lazy = LazyTable::new(&kept).expect("a matrix on the host");
        update_twice(&lazy);
        let before = raw(&lazy);
        let expected = kept.to_vec();
        assert_ne!(before, expected, "no row has missed an update");
        update_twice(&LazyTable::new(&dropped).expect("a matrix on the host"));
        assert_eq!(dropped.to_vec(), expected);
        update_twice(&LazyTable::new(&replaced).expect("a matrix on the host"));
        let next = LazyTable::new(&replaced).expect("a matrix on the host");
        assert_eq!(raw(&next), expected);
    }

    #[test]
    #[should_panic(expected = "the updates of `table` have since been deferred by another optimizer")]
    fn two_optimizers_of_one_table_are_refused() {
        let table = small_table();
        let [first, _second] = [(); 2].map(|()| LazyTable::new(&table).expect("a matrix"));
        update_twice(&first);
    }

    #[test]
    fn rows_change_when_they_are_read_and_all_rows_when_something_else_reads_the_table() {
        let start = vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let [dense, table] = [(); 2].map(|()| Param::new("table", vec![3, 2], start.clone()));
        let lazy = LazyTable::new(&table).expect("a matrix on the host");
        let mut moments = [(); 2].map(|()| Buffer::zeros(6));
        let mut all = [(); 2].map(|()| Buffer::zeros(6));
        let mut update = |step, gradient: [f32; 6]| {
            let step = AdamStep { step, ..STEP };
            let gradient = Buffer::from(gradient.to_vec());
            let [mean, square] = &mut moments;
            lazy.update(step, [mean, square], &gradient);
            dense.update(|values| {
                let part = BufferSliceMut { buffer: values, range: 0..6 };
                let [mean, square] = &mut all;
                current().optimize(OptimizerStep::Adam(step), part, vec![mean, square], &gradient, None);
            });
        };
        // At first, all rows count as read.
        update(1, [0.5, -1.0, 0.25, 2.0, 1.0, 0.125]);
        let first = raw(&lazy);
        assert_eq!(first, dense.to_vec());
        drop(table.value_of(RowSelection::Of(&[1, 1])));
        update(2, [0.0, 0.0, 0.5, 0.5, 0.0, 0.0]);
        let mut expected = first;
        expected[2..4].copy_from_slice(&dense.to_vec()[2..4]);
        assert_eq!(raw(&lazy), expected);
        drop(table.constant_of(RowSelection::Of(&[2])));
        expected[4..].copy_from_slice(&dense.to_vec()[4..]);
        assert_eq!(raw(&lazy), expected);
        update(3, [0.0; 6]);
        assert_ne!(raw(&lazy), dense.to_vec());
        assert_eq!(table.to_vec(), dense.to_vec());
        update(4, [1.0; 6]);
        assert_eq!(raw(&lazy), dense.to_vec(), "all rows had been read");
        update(5, [0.0; 6]);
        table.change(|values| values[0] = 7.0);
        let mut expected = dense.to_vec();
        expected[0] = 7.0;
        assert_eq!(table.to_vec(), expected);
        assert!(moments.iter().all(Buffer::is_empty));
        let [mean, square] = &mut moments;
        lazy.settle([mean, square]);
        assert_eq!(moments.map(Buffer::into_vec), all.map(Buffer::into_vec));
    }
}
