//! Pages that are kept for reuse: touching fresh ones costs as much as a pass over the data.
//!
//! Pages that were taken from the pool of a thread go back to the pool of the thread that drops them. All
//! pools share one limit.

use std::alloc::{Layout, handle_alloc_error};
use std::cell::RefCell;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::platform::Pages;

/// The limit of the pools of all threads.
static LIMIT: Limit = Limit::new(MAX_KEPT);

thread_local! {
    static POOL: RefCell<BufferPool<'static, Pages>> = RefCell::new(BufferPool::new(&LIMIT));
}

/// Smaller buffers are left to the allocator.
pub(crate) const SMALLEST: usize = 1 << 12;
/// Maximum ratio between the size of a reused buffer and the requested size.
const SLACK: usize = 2;
/// Maximum number of elements kept by the pools of all threads together: 4 GiB.
pub(crate) const MAX_KEPT: usize = 1 << 30;

/// Returns the number of elements for which the free pages of this thread's pool have room.
pub fn pooled() -> usize {
    POOL.with_borrow(|pool| pool.free.iter().map(Pages::capacity).sum())
}

/// Gives the free pages of this thread's pool back to the operating system, before work that has no use for
/// them.
pub fn release() {
    POOL.with_borrow_mut(BufferPool::clear);
}

/// Returns pages with room for at least `len` elements of unspecified contents.
pub(crate) fn take(len: usize) -> Pages {
    POOL.with_borrow_mut(|pool| pool.take(len))
}

/// Keeps `pages` for reuse.
pub(crate) fn give(pages: Pages) {
    // The pool of a thread that ends is gone before its last pages.
    _ = POOL.try_with(|pool| pool.borrow_mut().give(pages));
}

/// A limit on the number of elements that several pools keep together.
pub(crate) struct Limit {
    most: usize,
    kept: AtomicUsize,
}

impl Limit {
    pub(crate) const fn new(most: usize) -> Self {
        Self { most, kept: AtomicUsize::new(0) }
    }

    /// Counts `len` more elements if the limit allows them.
    fn reserve(&self, len: usize) -> bool {
        let kept = self.kept.fetch_add(len, Ordering::Relaxed);
        let fits = kept + len <= self.most;
        if !fits {
            self.release(len);
        }
        fits
    }

    fn release(&self, len: usize) {
        self.kept.fetch_sub(len, Ordering::Relaxed);
    }
}

/// Memory that a pool can keep.
pub(crate) trait Poolable {
    /// Room for `capacity` elements.
    fn new(capacity: usize) -> Self;

    /// The number of elements for which there is room.
    fn capacity(&self) -> usize;
}

impl Poolable for Pages {
    fn new(capacity: usize) -> Self {
        let layout = Layout::array::<f32>(capacity).expect("no buffer is larger than the memory");
        Self::of(capacity).unwrap_or_else(|| handle_alloc_error(layout))
    }

    fn capacity(&self) -> usize {
        self.values().len()
    }
}

/// Free buffers.
pub(crate) struct BufferPool<'a, M: Poolable> {
    /// Sorted by capacity.
    free: Vec<M>,
    /// Counts the elements in `free`.
    limit: &'a Limit,
}

impl<'a, M: Poolable> BufferPool<'a, M> {
    pub(crate) fn new(limit: &'a Limit) -> Self {
        Self { free: Vec::new(), limit }
    }

    /// Returns room for at least `len` elements.
    pub(crate) fn take(&mut self, len: usize) -> M {
        self.fitting(len).unwrap_or_else(|| M::new(rounded(len)))
    }

    fn fitting(&mut self, len: usize) -> Option<M> {
        let first = self.free.partition_point(|memory| memory.capacity() < len);
        let fits = |memory: &M| memory.capacity() <= SLACK * len;
        if self.free.get(first).is_some_and(fits) {
            return Some(self.remove(first));
        }
        // Frees smaller buffers for the one to be allocated, so that buffers of changing sizes do not
        // accumulate. Larger ones stay: something needs them again, and new pages are filled with zeros
        // first.
        let mut missing = len;
        for index in (0..first).rev() {
            if missing == 0 {
                break;
            }
            missing = missing.saturating_sub(self.remove(index).capacity());
        }
        None
    }

    fn remove(&mut self, index: usize) -> M {
        let memory = self.free.remove(index);
        self.limit.release(memory.capacity());
        memory
    }

    /// Keeps `memory` if the limit allows it.
    pub(crate) fn give(&mut self, memory: M) {
        let capacity = memory.capacity();
        if self.limit.reserve(capacity) {
            let index = (self.free).partition_point(|other| other.capacity() < capacity);
            self.free.insert(index, memory);
        }
    }
}

impl<M: Poolable> BufferPool<'_, M> {
    fn clear(&mut self) {
        self.limit.release(self.free.iter().map(M::capacity).sum());
        self.free.clear();
    }
}

impl<M: Poolable> Drop for BufferPool<'_, M> {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Rounds `len` up by at most an eighth, so that buffers for batches of similar sizes are interchangeable.
fn rounded(len: usize) -> usize {
    len.next_multiple_of(1 << (len.max(8).ilog2() - 3))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(limit: &Limit) -> usize {
        limit.kept.load(Ordering::Relaxed)
    }

    #[test]
    fn pages_are_reused() {
        let pages = take(10_000);
        let address = pages.values().as_ptr();
        give(pages);
        assert_eq!(take(9_000).values().as_ptr(), address);
    }

    #[test]
    fn free_pages_are_given_back() {
        let pages = take(10_000);
        give(pages);
        assert!(pooled() >= 10_000);
        release();
        assert_eq!(pooled(), 0);
    }

    #[test]
    fn unsuitable_buffers_are_freed() {
        let limit = Limit::new(MAX_KEPT);
        let mut pool = BufferPool::new(&limit);
        let small: Pages = pool.take(5_000);
        pool.give(small);
        assert!(pool.take(20_000).capacity() >= 20_000);
        assert!(pool.free.is_empty() && kept(&limit) == 0);
    }

    #[test]
    fn a_pool_keeps_at_most_its_limit() {
        let limit = Limit::new(30_000);
        let mut pool: BufferPool<'_, Pages> = BufferPool::new(&limit);
        let buffers: Vec<_> = (0..10).map(|_| pool.take(8_192)).collect();
        buffers.into_iter().for_each(|buffer| pool.give(buffer));
        assert_eq!((pool.free.len(), kept(&limit)), (3, 3 * 8_192));
        // Makes room for as much as it takes.
        let other = pool.take(9_000);
        assert_eq!((pool.free.len(), kept(&limit)), (1, 8_192));
        let large = pool.take(40_000);
        pool.give(large);
        assert_eq!((pool.free.len(), kept(&limit)), (0, 0));
        drop(other);
    }

    /// Regression test: each thread of a server once kept as much as the whole process may.
    #[test]
    fn pools_share_their_limit() {
        let limit = Limit::new(30_000);
        let keep = |pool: &mut BufferPool<'_, Pages>| {
            let buffers: Vec<_> = (0..3).map(|_| pool.take(8_192)).collect();
            buffers.into_iter().for_each(|buffer| pool.give(buffer));
            pool.free.len()
        };
        let (mut first, mut second) = (BufferPool::new(&limit), BufferPool::new(&limit));
        assert_eq!([keep(&mut first), keep(&mut second)], [3, 0]);
        drop(first);
        assert_eq!(kept(&limit), 0, "a thread that ended keeps nothing");
        assert_eq!(keep(&mut second), 3);
    }
}
