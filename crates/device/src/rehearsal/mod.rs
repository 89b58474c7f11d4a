//! Rehearsals: computations in which only the memory of buffers is counted.

mod dry_run;

use std::cell::{Cell, RefCell};

use self::dry_run::DryRunDevice;
use crate::on;
use crate::pool::{BufferPool, Limit, MAX_KEPT, Poolable, SMALLEST};

static LIMIT: Limit = Limit::new(MAX_KEPT);

thread_local! {
    static IS_ON: Cell<bool> = const { Cell::new(false) };
    static USAGE: Cell<MemoryUsage> = const { Cell::new(MemoryUsage { now: 0, most: 0 }) };
    static POOL: RefCell<BufferPool<'static, CountedMemory>> = RefCell::new(BufferPool::new(&LIMIT));
}

/// The memory of all buffers of a computation, in elements of four bytes. It includes the free memory of the
/// pool, and what larger buffers than needed waste.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryUsage {
    /// The number of elements now.
    pub now: usize,
    /// The largest number so far.
    pub most: usize,
}

/// Runs `work` on this thread without computing anything, and counts the memory of its buffers until its end.
/// A computation takes as much if the pool is empty at its beginning. Values are empty, and losses are 0.
///
/// Parameters and vectors from before the rehearsal are not counted; models may be made of
/// [imagined](crate::Buffer::imagined) parameters.
pub fn rehearse(work: impl FnOnce()) -> MemoryUsage {
    /// Ends the rehearsal, even if `work` panics.
    struct End;
    impl Drop for End {
        fn drop(&mut self) {
            IS_ON.set(false);
            POOL.replace(BufferPool::new(&LIMIT));
            USAGE.take();
        }
    }

    IS_ON.set(true);
    let end = End;
    on(&DryRunDevice, work);
    let usage = USAGE.get();
    drop(end);
    usage
}

/// The memory of a buffer in a rehearsal.
#[derive(Debug)]
pub(crate) enum VirtualBuffer {
    /// From the allocator; too little to be counted.
    Small,
    /// From the pool; `None` once it has gone back.
    Pooled(Option<CountedMemory>),
    /// A vector of its own.
    Own {
        /// What it takes until it is dropped.
        _memory: CountedMemory,
    },
}

impl VirtualBuffer {
    /// As much as a buffer of `len` elements takes from the pool.
    pub(crate) fn take(len: usize) -> Self {
        if len < SMALLEST {
            Self::Small
        } else {
            Self::Pooled(Some(POOL.with_borrow_mut(|pool| pool.take(len))))
        }
    }

    /// As much as a vector of `len` elements.
    pub(crate) fn own(len: usize) -> Self {
        Self::Own { _memory: CountedMemory::new(len) }
    }
}

impl Drop for VirtualBuffer {
    fn drop(&mut self) {
        if let Self::Pooled(memory) = self
            && let Some(memory) = memory.take()
            && IS_ON.get()
        {
            POOL.with_borrow_mut(|pool| pool.give(memory));
        }
    }
}

/// Counted memory.
#[derive(Debug)]
pub(crate) struct CountedMemory(usize);

impl Poolable for CountedMemory {
    fn new(capacity: usize) -> Self {
        let MemoryUsage { now, most } = USAGE.get();
        let now = now + capacity;
        let most = most.max(now);
        USAGE.set(MemoryUsage { now, most });
        Self(capacity)
    }

    fn capacity(&self) -> usize {
        self.0
    }
}

impl Drop for CountedMemory {
    fn drop(&mut self) {
        let MemoryUsage { now, most } = USAGE.get();
        let now = now.saturating_sub(self.0);
        USAGE.set(MemoryUsage { now, most });
    }
}
