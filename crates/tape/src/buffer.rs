//! Buffers of numbers that are reused between updates: touching fresh pages costs as much as a pass over the data.
//!
//! A buffer that was taken from the pool of a thread goes back to the pool of the thread that drops it. All pools share one
//! limit.

use std::cell::RefCell;
use std::mem;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The limit of the pools of all threads.
static LIMIT: Limit = Limit::new(MOST_KEPT);

thread_local! {
    static POOL: RefCell<Pool<'static>> = RefCell::new(Pool::new(&LIMIT));
}

/// Smaller buffers are left to the allocator.
const SMALLEST: usize = 1 << 12;
/// Maximum ratio between the size of a reused buffer and the requested size.
const SLACK: usize = 2;
/// Maximum number of elements kept by the pools of all threads together: 4 GiB.
const MOST_KEPT: usize = 1 << 30;

/// A vector of numbers, which may belong to a pool.
#[derive(Debug, Default)]
pub struct Buffer {
    values: Vec<f32>,
    is_pooled: bool,
}

impl Buffer {
    /// Returns a buffer of `len` elements with unspecified contents.
    pub(crate) fn take(len: usize) -> Self {
        if len < SMALLEST {
            return vec![0.0; len].into();
        }
        Self {
            values: POOL.with_borrow_mut(|pool| pool.take(len)),
            is_pooled: true,
        }
    }

    /// Returns a buffer with the contents of `values`.
    pub(crate) fn copy_of(values: &[f32]) -> Self {
        let mut copy = Self::take(values.len());
        copy.copy_from_slice(values);
        copy
    }

    /// Returns `len` zeros.
    pub fn zeros(len: usize) -> Self {
        let mut zeros = Self::take(len);
        zeros.fill(0.0);
        zeros
    }

    /// Returns the elements; their memory no longer belongs to a pool.
    pub fn into_vec(mut self) -> Vec<f32> {
        mem::take(&mut self.values)
    }
}

impl From<Vec<f32>> for Buffer {
    fn from(values: Vec<f32>) -> Self {
        Self {
            values,
            is_pooled: false,
        }
    }
}

impl Clone for Buffer {
    fn clone(&self) -> Self {
        Self::copy_of(self)
    }
}

impl Deref for Buffer {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        &self.values
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [f32] {
        &mut self.values
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if self.is_pooled && self.values.capacity() > 0 {
            let values = mem::take(&mut self.values);
            // The pool of a thread that ends is gone before its last buffers.
            _ = POOL.try_with(|pool| pool.borrow_mut().give(values));
        }
    }
}

/// A limit on the number of elements that several pools keep together.
struct Limit {
    most: usize,
    kept: AtomicUsize,
}

impl Limit {
    const fn new(most: usize) -> Self {
        Self {
            most,
            kept: AtomicUsize::new(0),
        }
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

/// Free buffers.
struct Pool<'a> {
    /// Sorted by capacity.
    free: Vec<Vec<f32>>,
    /// Counts the elements in `free`.
    limit: &'a Limit,
}

impl<'a> Pool<'a> {
    fn new(limit: &'a Limit) -> Self {
        Self {
            free: Vec::new(),
            limit,
        }
    }

    fn take(&mut self, len: usize) -> Vec<f32> {
        let mut buffer = self
            .fitting(len)
            .unwrap_or_else(|| Vec::with_capacity(rounded(len)));
        buffer.resize(len, 0.0);
        buffer
    }

    fn fitting(&mut self, len: usize) -> Option<Vec<f32>> {
        let first = self.free.partition_point(|buffer| buffer.capacity() < len);
        let fits = |buffer: &Vec<f32>| buffer.capacity() <= SLACK * len;
        if self.free.get(first).is_some_and(fits) {
            return Some(self.remove(first));
        }
        // Frees space for the buffer to be allocated, so that buffers of changing sizes do not accumulate.
        let mut missing = len;
        while missing > 0 && !self.free.is_empty() {
            let place = self.free.partition_point(|buffer| buffer.capacity() < len);
            let freed = self.remove(place.saturating_sub(1));
            missing = missing.saturating_sub(freed.capacity());
        }
        None
    }

    fn remove(&mut self, place: usize) -> Vec<f32> {
        let buffer = self.free.remove(place);
        self.limit.release(buffer.capacity());
        buffer
    }

    fn give(&mut self, buffer: Vec<f32>) {
        let capacity = buffer.capacity();
        if self.limit.reserve(capacity) {
            let place = (self.free).partition_point(|other| other.capacity() < capacity);
            self.free.insert(place, buffer);
        }
    }
}

impl Drop for Pool<'_> {
    fn drop(&mut self) {
        self.limit
            .release(self.free.iter().map(Vec::capacity).sum());
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
    fn buffers_are_reused() {
        let buffer = Buffer::take(10_000);
        let address = buffer.as_ptr();
        drop(buffer);
        let again = Buffer::take(9_000);
        assert_eq!((again.as_ptr(), again.len()), (address, 9_000));
    }

    #[test]
    fn vectors_from_elsewhere_do_not_accumulate() {
        drop(Buffer::from(vec![1.0; 7_000]));
        drop(Buffer::take(8_000).into_vec());
        assert!(POOL.with_borrow(|pool| pool.free.is_empty()));
    }

    #[test]
    fn unsuitable_buffers_are_freed() {
        let limit = Limit::new(MOST_KEPT);
        let mut pool = Pool::new(&limit);
        let small = pool.take(5_000);
        pool.give(small);
        assert_eq!(pool.take(20_000).len(), 20_000);
        assert!(pool.free.is_empty() && kept(&limit) == 0);
    }

    #[test]
    fn a_pool_keeps_at_most_its_limit() {
        let limit = Limit::new(30_000);
        let mut pool = Pool::new(&limit);
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
        let keep = |pool: &mut Pool<'_>| {
            let buffers: Vec<_> = (0..3).map(|_| pool.take(8_192)).collect();
            buffers.into_iter().for_each(|buffer| pool.give(buffer));
            pool.free.len()
        };
        let (mut first, mut second) = (Pool::new(&limit), Pool::new(&limit));
        assert_eq!([keep(&mut first), keep(&mut second)], [3, 0]);
        drop(first);
        assert_eq!(kept(&limit), 0, "a thread that ended keeps nothing");
        assert_eq!(keep(&mut second), 3);
    }
}
