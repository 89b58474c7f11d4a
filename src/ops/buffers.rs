//! Memory for results, used again from one update to the next: fresh pages cost as much as a pass over them.
//!
//! Each thread has a pool. Tensors that Burn's own operations made come by too; they are left to the allocator, since what
//! Burn allocates in every update would pile up here. So the pool remembers the addresses of the buffers that it lent.

use std::cell::RefCell;
use std::collections::HashMap;

thread_local! {
    static POOL: RefCell<Pool> = RefCell::new(Pool::new(MOST_KEPT));
}

/// Smaller buffers are left to the allocator.
const SMALLEST: usize = 1 << 12;
/// A buffer may be this many times larger than what is asked for.
const SLACK: usize = 2;
/// Numbers that a thread's pool keeps at most: 4 GiB.
const MOST_KEPT: usize = 1 << 30;
/// Buffers that a pool remembers to have lent. More are only out if many were dropped elsewhere.
const MOST_LENT: usize = 1 << 16;

/// A buffer of `len` numbers that may hold anything.
pub(super) fn take(len: usize) -> Vec<f32> {
    if len < SMALLEST {
        return vec![0.0; len];
    }
    POOL.with_borrow_mut(|pool| pool.take(len))
}

/// Gives a buffer back for later use.
pub fn give(buffer: Vec<f32>) {
    if buffer.capacity() >= SMALLEST {
        POOL.with_borrow_mut(|pool| pool.give(buffer));
    }
}

/// Buffers for later use, and which others are out.
struct Pool {
    /// Sorted by capacity.
    free: Vec<Vec<f32>>,
    /// Numbers in `free`.
    kept: usize,
    /// The most that `kept` may be.
    most: usize,
    /// The capacities of the buffers that are out, by address. One that was dropped elsewhere stays here until its address
    /// is lent again.
    lent: HashMap<usize, usize>,
}

impl Pool {
    fn new(most: usize) -> Self {
        Self {
            free: Vec::new(),
            kept: 0,
            most,
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
        // Makes room for the buffer that must now be allocated, so that changing sizes do not pile up.
        if first > 0 {
            self.remove(first - 1);
        }
        None
    }

    fn remove(&mut self, place: usize) -> Vec<f32> {
        let buffer = self.free.remove(place);
        self.kept -= buffer.capacity();
        buffer
    }

    fn give(&mut self, buffer: Vec<f32>) {
        let capacity = buffer.capacity();
        let lent = self.lent.remove(&address(&buffer));
        if lent == Some(capacity) && self.kept + capacity <= self.most {
            let place = (self.free).partition_point(|other| other.capacity() < capacity);
            self.free.insert(place, buffer);
            self.kept += capacity;
        }
    }
}

fn address(buffer: &Vec<f32>) -> usize {
    buffer.as_ptr().addr()
}

/// A size at most an eighth above `len`, so that buffers for batches of almost one size are interchangeable.
fn rounded(len: usize) -> usize {
    len.next_multiple_of(1 << (len.max(8).ilog2() - 3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_come_back() {
        let buffer = take(10_000);
        let address = buffer.as_ptr();
        give(buffer);
        let small = take(4_000);
        assert_ne!(small.as_ptr(), address, "too large to be used for this");
        let again = take(9_000);
        assert_eq!((again.as_ptr(), again.len()), (address, 9_000));
    }

    #[test]
    fn what_does_not_fit_makes_room() {
        let mut pool = Pool::new(MOST_KEPT);
        let small = pool.take(5_000);
        pool.give(small);
        assert_eq!(pool.take(20_000).len(), 20_000);
        assert!(pool.free.is_empty() && pool.kept == 0);
    }

    /// Recurrent models pass many of Burn's own results by; they once filled the memory.
    #[test]
    fn what_others_allocated_does_not_pile_up() {
        let mut pool = Pool::new(MOST_KEPT);
        for len in [5_000, 8_192, 65_536, 100_003] {
            pool.give(vec![0.0; len]);
            pool.give(Vec::with_capacity(rounded(len)));
        }
        assert!(pool.free.is_empty());
        for len in [4_096, 5_000, 8_191, 65_536, 1_000_003] {
            let buffer = pool.take(len);
            pool.give(buffer);
            assert_eq!(pool.free.len(), 1, "{len}");
            pool.free.clear();
            pool.kept = 0;
        }
    }

    #[test]
    fn a_pool_keeps_no_more_than_its_limit() {
        let mut pool = Pool::new(30_000);
        let buffers: Vec<_> = (0..10).map(|_| pool.take(8_192)).collect();
        buffers.into_iter().for_each(|buffer| pool.give(buffer));
        assert_eq!((pool.free.len(), pool.kept), (3, 3 * 8_192));
        assert!(pool.lent.is_empty(), "all came back");
        let large = pool.take(40_000);
        pool.give(large);
        assert_eq!((pool.free.len(), pool.kept), (2, 2 * 8_192));
    }

    #[test]
    fn lost_buffers_are_forgotten() {
        let mut pool = Pool::new(MOST_KEPT);
        pool.lent = (0..MOST_LENT).map(|address| (address, SMALLEST)).collect();
        drop(pool.take(SMALLEST));
        assert_eq!(pool.lent.len(), 1);
    }
}
