//! Parameters.

use std::fmt::Debug;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockWriteGuard};

use crate::value::GradientTarget;
use crate::{Buffer, Value};

/// Identifies a parameter in [`crate::Gradients`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ParamId(u64);

static NEXT: AtomicU64 = AtomicU64::new(0);

/// A named vector or matrix that is trained or frozen. Clones refer to the same parameter.
#[derive(Clone, Debug)]
pub struct Param(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    id: ParamId,
    name: String,
    shape: Vec<usize>,
    values: RwLock<Arc<Buffer>>,
    deferred: RwLock<Option<Arc<dyn DeferredUpdates>>>,
    is_trained: AtomicBool,
    /// The row that training keeps at zero.
    zero_row: OnceLock<usize>,
}

/// A parameter whose updates are deferred: the only way to change it without bringing its rows up to date. If
/// this is dropped, the parameter still carries out all updates before it is read.
#[derive(Debug)]
pub struct DeferredParam {
    param: Param,
    deferred: Arc<dyn DeferredUpdates>,
}

impl DeferredParam {
    /// Returns the parameter.
    pub fn param(&self) -> &Param {
        &self.param
    }

    /// Like [`Param::update`], but no row is brought up to date.
    ///
    /// # Panics
    /// If [`Param::defer`] has been called again: the parameter would never carry out these updates.
    pub fn update(&self, change: impl FnOnce(&mut Buffer)) {
        let current = self.param.deferred();
        assert!(
            current.is_some_and(|current| Arc::ptr_eq(&current, &self.deferred)),
            "the updates of `{}` have since been deferred by another optimizer",
            self.param.name()
        );
        change(Arc::make_mut(&mut *self.param.lock()));
    }
}

/// Updates of a parameter that are carried out when it is read; see [`Param::defer`].
pub trait DeferredUpdates: Debug + Send + Sync {
    /// Brings `rows` of `values` up to date, which are about to be read.
    fn settle(&self, rows: RowSelection<'_>, values: &mut Arc<Buffer>);
}

/// Rows of a matrix.
#[derive(Clone, Copy, Debug)]
pub enum RowSelection<'a> {
    /// All of them.
    All,
    /// Those with these numbers, in any order and any number of times.
    Of(&'a [u32]),
}

impl Param {
    /// A trained parameter with the given elements, row after row.
    ///
    /// # Panics
    /// If the shape has no or more than two dimensions, or the number of elements does not fit it.
    pub fn new(name: impl Into<String>, shape: Vec<usize>, values: impl Into<Buffer>) -> Self {
        let (name, values) = (name.into(), values.into());
        assert!(
            (1..=2).contains(&shape.len()) && shape.iter().product::<usize>() == values.len(),
            "`{name}` has {} numbers for a shape of {shape:?}",
            values.len()
        );
        Self(Arc::new(Inner {
            id: ParamId(NEXT.fetch_add(1, Ordering::Relaxed)),
            name,
            shape,
            values: RwLock::new(Arc::new(values)),
            deferred: RwLock::default(),
            is_trained: AtomicBool::new(true),
            zero_row: OnceLock::new(),
        }))
    }

    /// Returns what identifies the parameter.
    pub fn id(&self) -> ParamId {
        self.0.id
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Returns the dimensions: one or two.
    pub fn shape(&self) -> &[usize] {
        &self.0.shape
    }

    /// Returns the number of elements.
    pub fn size(&self) -> usize {
        self.0.shape.iter().product()
    }

    /// Returns the elements, row after row.
    pub fn values(&self) -> Arc<Buffer> {
        self.settled(RowSelection::All)
    }

    /// Returns the elements, of which those of `rows` are up to date.
    fn settled(&self, rows: RowSelection<'_>) -> Arc<Buffer> {
        let Some(deferred) = self.deferred() else {
            return Arc::clone(&self.0.values.read().unwrap_or_else(PoisonError::into_inner));
        };
        let mut values = self.lock();
        deferred.settle(rows, &mut values);
        Arc::clone(&values)
    }

    /// From now on, calls `deferred` before rows are read, or changed by anything but the result. What was
    /// deferred before is carried out first.
    pub fn defer(&self, deferred: Arc<dyn DeferredUpdates>) -> DeferredParam {
        self.update(|_| ());
        let mut current = (self.0.deferred).write().unwrap_or_else(PoisonError::into_inner);
        *current = Some(Arc::clone(&deferred));
        DeferredParam { param: self.clone(), deferred }
    }

    fn deferred(&self) -> Option<Arc<dyn DeferredUpdates>> {
        let deferred = (self.0.deferred).read().unwrap_or_else(PoisonError::into_inner);
        deferred.clone()
    }

    fn lock(&self) -> RwLockWriteGuard<'_, Arc<Buffer>> {
        (self.0.values).write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a copy of the elements, row after row.
    pub fn to_vec(&self) -> Vec<f32> {
        self.values().values().into_owned()
    }

    /// Changes the elements on the host; see [`Buffer::edit`].
    pub fn change(&self, change: impl FnOnce(&mut [f32])) {
        self.update(|values| values.edit(change));
    }

    /// Changes the elements: in place if nothing else refers to them.
    pub fn update(&self, change: impl FnOnce(&mut Buffer)) {
        let deferred = self.deferred();
        let mut values = self.lock();
        if let Some(deferred) = deferred {
            deferred.settle(RowSelection::All, &mut values);
        }
        change(Arc::make_mut(&mut *values));
    }

    /// Returns whether gradients are computed.
    pub fn is_trained(&self) -> bool {
        self.0.is_trained.load(Ordering::Relaxed)
    }

    /// Computes no gradients from now on.
    pub fn freeze(&self) {
        self.0.is_trained.store(false, Ordering::Relaxed);
    }

    /// Sets the row number `row` to zero and keeps it there: from now on, its gradient is zero.
    ///
    /// # Panics
    /// If there is no such row, or another one is kept at zero.
    pub fn keep_at_zero(&self, row: usize) {
        assert_eq!(*self.0.zero_row.get_or_init(|| row), row, "only one row of a parameter is kept at zero");
        let row = self.row(row);
        self.change(|values| values[row].fill(0.0));
    }

    /// Sets the gradient of the row that is kept at zero to zero.
    pub(crate) fn mask(&self, gradient: &mut Buffer) {
        if let Some(&row) = self.0.zero_row.get() {
            let row = self.row(row);
            // In a rehearsal there are no values.
            gradient.edit(|values| values.get_mut(row).into_iter().for_each(|row| row.fill(0.0)));
        }
    }

    /// The places of the elements of a row.
    fn row(&self, row: usize) -> Range<usize> {
        let [_, columns] = self.area();
        row * columns..(row + 1) * columns
    }

    /// Returns the parameter as an operand; a vector of n elements is `[1, n]`. Gradients are computed if it
    /// is trained.
    pub fn value(&self) -> Value {
        self.value_of(RowSelection::All)
    }

    /// Like [`Param::value`], for an operation that reads only these rows.
    pub fn value_of(&self, rows: RowSelection<'_>) -> Value {
        let target = self.is_trained().then(|| GradientTarget::Param(self.clone()));
        Value::with_target(self.settled(rows), self.area(), target)
    }

    /// Like [`Param::value`], without gradients.
    pub fn constant(&self) -> Value {
        self.constant_of(RowSelection::All)
    }

    /// Like [`Param::value_of`], without gradients.
    pub fn constant_of(&self, rows: RowSelection<'_>) -> Value {
        Value::with_target(self.settled(rows), self.area(), None)
    }

    fn area(&self) -> [usize; 2] {
        match self.0.shape[..] {
            [rows, columns] => [rows, columns],
            _ => [1, self.0.shape[0]],
        }
    }
}
