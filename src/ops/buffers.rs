//! Memory for results, used again from one update to the next: fresh pages cost as much as a pass over them.
//!
//! Tensors that Burn's own operations made come by too. They are left to the allocator: otherwise what Burn allocates in
//! every update would pile up here. A buffer of ours is known by its capacity.

use std::cell::RefCell;

thread_local! {
    /// Sorted by capacity.
    static FREE: RefCell<Vec<Vec<f32>>> = const { RefCell::new(Vec::new()) };
}

/// Smaller buffers are left to the allocator.
const SMALLEST: usize = 1 << 12;
/// How far the capacity of a buffer of ours lies above a size of [`rounded`], and that of hardly any other.
const MARK: usize = 13;
/// A buffer may be this many times larger than what is asked for.
const SLACK: usize = 2;

/// A buffer of `len` numbers that may hold anything.
pub(super) fn take(len: usize) -> Vec<f32> {
    if len < SMALLEST {
        return vec![0.0; len];
    }
    let fitting = FREE.with_borrow_mut(|free| {
        let first = free.partition_point(|buffer| buffer.capacity() < len);
        let fits = free
            .get(first)
            .is_some_and(|buffer| buffer.capacity() <= SLACK * len);
        if fits {
            return Some(free.remove(first));
        }
        // Makes room for the buffer that must now be allocated, so that changing sizes do not pile up.
        if first > 0 {
            free.remove(first - 1);
        }
        None
    });
    match fitting {
        Some(mut buffer) => {
            buffer.resize(len, 0.0);
            buffer
        }
        None => {
            let mut buffer = Vec::with_capacity(rounded(len) + MARK);
            buffer.resize(len, 0.0);
            buffer
        }
    }
}

/// A size at most an eighth above `len`, so that buffers for batches of almost one size are interchangeable.
fn rounded(len: usize) -> usize {
    len.next_multiple_of(1 << (len.max(8).ilog2() - 3))
}

/// Whether [`take`] made the buffer.
fn is_ours(buffer: &Vec<f32>) -> bool {
    let size = buffer.capacity().saturating_sub(MARK);
    size >= SMALLEST && rounded(size) == size
}

/// Gives a buffer back for later use.
pub fn give(buffer: Vec<f32>) {
    if is_ours(&buffer) {
        FREE.with_borrow_mut(|free| {
            let place = free.partition_point(|other| other.capacity() < buffer.capacity());
            free.insert(place, buffer);
        });
    }
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
        give(take(5_000));
        assert_eq!(take(20_000).len(), 20_000);
        FREE.with_borrow(|free| assert!(free.is_empty()));
    }

    /// Recurrent models pass many of Burn's own results by; they once filled the memory.
    #[test]
    fn what_others_allocated_does_not_pile_up() {
        for len in [5_000, 8_192, 65_536, 100_003] {
            give(vec![0.0; len]);
        }
        FREE.with_borrow(|free| assert!(free.is_empty()));
        for len in [4_096, 5_000, 8_191, 65_536, 1_000_003] {
            let buffer = take(len);
            assert!(is_ours(&buffer), "{len}: {}", buffer.capacity());
        }
    }
}
