//! Pools of result buffers that are reused between updates: touching fresh pages costs as much as a pass over the
//! data.
//!
//! Each thread has its own pool, and all pools share one limit. A pool remembers the addresses of the buffers that it
//! lent, because tensors made by Burn's own operations are offered too. These go to the allocator; otherwise they would
//! accumulate here with every update.

use std::cell::RefCell;
use std::collections::HashMap;
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
/// Maximum number of lent buffers that a pool tracks. It is exceeded only if many were dropped elsewhere.
const MOST_LENT: usize = 1 << 16;

/// Returns a buffer of `len` elements with unspecified contents.
pub(super) fn take(len: usize) -> Vec<f32> {
    if len < SMALLEST {
        return vec![0.0; len];
    }
    POOL.with_borrow_mut(|pool| pool.take(len))
}

/// Returns a buffer to the pool.
pub fn give(buffer: Vec<f32>) {
    if buffer.capacity() >= SMALLEST {
        POOL.with_borrow_mut(|pool| pool.give(buffer));
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

/// Free buffers and the addresses of lent ones.
struct Pool<'a> {
    /// Sorted by capacity.
    free: Vec<Vec<f32>>,
    /// Counts the elements in `free`.
    limit: &'a Limit,
    /// Capacities of the lent buffers, by address. A buffer dropped elsewhere remains here until its address is lent
    /// again.
    lent: HashMap<usize, usize>,
}

impl<'a> Pool<'a> {
    fn new(limit: &'a Limit) -> Self {
        Self {
            free: Vec::new(),
            limit,
            lent: HashMap::new(),
        }
    }

    fn take(&mut self, len: usize) -> Vec<f32> {
        let mut buffer = self
            .fitting(len)
            .unwrap_or_else(|| Vec::with_capacity(rounded(len)));
        buffer.resize(len, 0.0);
        if self.lent.len() == MOST_LENT {
            self.lent.clear();
        }
        self.lent.insert(address(&buffer), buffer.capacity());
        buffer
    }

    fn fitting(&mut self, len: usize) -> Option<Vec<f32>> {
        let first = self.free.partition_point(|buffer| buffer.capacity() < len);
        let fits = |buffer: &Vec<f32>| buffer.capacity() <= SLACK * len;
        if self.free.get(first).is_some_and(fits) {
            return Some(self.remove(first));
        }
        // Frees space for the buffer to be allocated, so that buffers of changing sizes do not accumulate.
        if first > 0 {
            self.remove(first - 1);
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
        let lent = self.lent.remove(&address(&buffer));
        if lent == Some(capacity) && self.limit.reserve(capacity) {
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

fn address(buffer: &[f32]) -> usize {
    buffer.as_ptr().addr()
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
        let buffer = take(10_000);
        let address = buffer.as_ptr();
        give(buffer);
        let small = take(4_000);
        assert_ne!(small.as_ptr(), address, "too large to be reused here");
        let again = take(9_000);
        assert_eq!((again.as_ptr(), again.len()), (address, 9_000));
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

    /// Regression test: results of Burn's own operations, common in recurrent models, once exhausted the RAM.
    #[test]
    fn foreign_buffers_do_not_accumulate() {
        let limit = Limit::new(MOST_KEPT);
        let mut pool = Pool::new(&limit);
        for len in [5_000, 8_192, 65_536, 100_003] {
            pool.give(vec![0.0; len]);
            pool.give(Vec::with_capacity(rounded(len)));
        }
        assert!(pool.free.is_empty());
        for len in [4_096, 5_000, 8_191, 65_536, 1_000_003] {
            let mut pool = Pool::new(&limit);
            let buffer = pool.take(len);
            pool.give(buffer);
            assert_eq!(pool.free.len(), 1, "{len}");
        }
    }

    #[test]
    fn a_pool_keeps_at_most_its_limit() {
        let limit = Limit::new(30_000);
        let mut pool = Pool::new(&limit);
        let buffers: Vec<_> = (0..10).map(|_| pool.take(8_192)).collect();
        buffers.into_iter().for_each(|buffer| pool.give(buffer));
        assert_eq!((pool.free.len(), kept(&limit)), (3, 3 * 8_192));
        assert!(pool.lent.is_empty(), "all buffers were returned");
        let large = pool.take(40_000);
        pool.give(large);
        assert_eq!((pool.free.len(), kept(&limit)), (2, 2 * 8_192));
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

    #[test]
    fn lost_buffers_are_forgotten() {
        let limit = Limit::new(MOST_KEPT);
        let mut pool = Pool::new(&limit);
        pool.lent = (0..MOST_LENT).map(|address| (address, SMALLEST)).collect();
        drop(pool.take(SMALLEST));
        assert_eq!(pool.lent.len(), 1);
    }
}
