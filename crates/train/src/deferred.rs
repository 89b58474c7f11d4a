//! Tables of embeddings whose rows are updated when they are read.

use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use attentive_device::AdamStep;
use attentive_kernels::lazy_adam::LazyAdam;
use attentive_tape::{Buffer, Param, Pending, Rows};

/// A table of which an update reads few rows. Adam changes these rows; the others catch up before they are read.
#[derive(Debug)]
pub(super) struct Deferred {
    table: Param,
    state: Arc<State>,
}

/// What catching up needs, which the table and the optimizer share.
#[derive(Debug)]
struct State(Mutex<Missed>);

#[derive(Debug)]
struct Missed {
    updates: LazyAdam,
    /// Adam's first and second moment estimates: with the optimizer, and empty here, while no row has missed an update.
    moments: [Buffer; 2],
}

impl Deferred {
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
        table.defer(Arc::<State>::clone(&state));
        Some(Self {
            table: table.clone(),
            state,
        })
    }

    /// Updates the rows that were read since the last update, whose gradients are in `gradient`, and keeps the moments until
    /// [`Deferred::settle`].
    pub(super) fn update(&self, step: AdamStep, moments: [&mut Buffer; 2], gradient: &Buffer) {
        self.table.update_deferred(|values| {
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
        self.table.values();
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

impl Pending for State {
    fn settle(&self, rows: Rows<'_>, values: &mut Arc<Buffer>) {
        let Missed { updates, moments } = &mut *self.lock();
        let behind = match rows {
            Rows::All => updates.read_all(),
            Rows::Of(rows) => updates.read(rows),
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
