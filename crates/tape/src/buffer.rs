//! Buffers of numbers that are reused between updates: touching fresh pages costs as much as a pass over the data.
//!
//! A buffer that was taken from the pool of a thread goes back to the pool of the thread that drops it. All pools share one
//! limit. In a [rehearsal](crate::rehearse), buffers have a length but no memory.

use std::alloc::{Layout, handle_alloc_error};
use std::cell::RefCell;
use std::mem;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicUsize, Ordering};

use memmap2::MmapMut;

use crate::rehearsal::{self, Imagined};

/// The limit of the pools of all threads.
static LIMIT: Limit = Limit::new(MOST_KEPT);

thread_local! {
    static POOL: RefCell<Pool<'static, Pages>> = RefCell::new(Pool::new(&LIMIT));
}

/// Smaller buffers are left to the allocator.
pub(crate) const SMALLEST: usize = 1 << 12;
/// Maximum ratio between the size of a reused buffer and the requested size.
const SLACK: usize = 2;
/// Maximum number of elements kept by the pools of all threads together: 4 GiB.
pub(crate) const MOST_KEPT: usize = 1 << 30;

/// Returns the number of elements for which the free buffers of this thread's pool have room.
pub fn pooled() -> usize {
    POOL.with_borrow(|pool| pool.free.iter().map(Pages::capacity).sum())
}

/// A vector of numbers, which may belong to a pool.
#[derive(Debug)]
pub struct Buffer {
    len: usize,
    storage: Storage,
}

/// Where the numbers are.
#[derive(Debug)]
enum Storage {
    /// In a vector of its own.
    Own(Vec<f32>),
    /// At the beginning of pages that go back to a pool.
    Pooled(Option<Pages>),
    /// Nowhere.
    Imagined {
        /// What a rehearsal counts until it is dropped; `None` for what it does not count.
        _room: Option<Imagined>,
    },
}

impl Buffer {
    /// No numbers.
    pub(crate) const EMPTY: Self = Self {
        len: 0,
        storage: Storage::Own(Vec::new()),
    };

    /// Returns a buffer of `len` elements with unspecified contents.
    pub(crate) fn take(len: usize) -> Self {
        let storage = if rehearsal::is_on() {
            Storage::Imagined {
                _room: Some(Imagined::take(len)),
            }
        } else if len < SMALLEST {
            Storage::Own(vec![0.0; len])
        } else {
            Storage::Pooled(Some(POOL.with_borrow_mut(|pool| pool.room(len))))
        };
        Self { len, storage }
    }

    /// Returns a buffer of `len` elements that exist nowhere, for the parameters of a model that is only
    /// [rehearsed](crate::rehearse).
    pub fn imagined(len: usize) -> Self {
        Self {
            len,
            storage: Storage::Imagined { _room: None },
        }
    }

    /// Returns a buffer with the contents of `values`.
    pub(crate) fn copy_of(values: &Self) -> Self {
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

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true if there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the elements; none of a buffer without memory.
    pub fn values(&self) -> &[f32] {
        self
    }

    /// Returns the elements; those of a pool are copied.
    pub fn into_vec(mut self) -> Vec<f32> {
        match &mut self.storage {
            Storage::Own(values) => mem::take(values),
            Storage::Pooled(_) | Storage::Imagined { .. } => self.to_vec(),
        }
    }
}

impl Default for Buffer {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl From<Vec<f32>> for Buffer {
    fn from(values: Vec<f32>) -> Self {
        let len = values.len();
        let storage = match rehearsal::is_on() {
            true => Storage::Imagined {
                _room: Some(Imagined::own(len)),
            },
            false => Storage::Own(values),
        };
        Self { len, storage }
    }
}

impl Clone for Buffer {
    fn clone(&self) -> Self {
        Self::copy_of(self)
    }
}

impl Deref for Buffer {
    type Target = [f32];

    /// The elements; none of a buffer without memory.
    fn deref(&self) -> &[f32] {
        match &self.storage {
            Storage::Own(values) => values,
            Storage::Pooled(Some(pages)) => &pages.values()[..self.len],
            Storage::Pooled(None) | Storage::Imagined { .. } => &[],
        }
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [f32] {
        match &mut self.storage {
            Storage::Own(values) => values,
            Storage::Pooled(Some(pages)) => &mut pages.values_mut()[..self.len],
            Storage::Pooled(None) | Storage::Imagined { .. } => &mut [],
        }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if let Storage::Pooled(pages) = &mut self.storage
            && let Some(pages) = pages.take()
        {
            // The pool of a thread that ends is gone before its last buffers.
            _ = POOL.try_with(|pool| pool.borrow_mut().give(pages));
        }
    }
}

/// A limit on the number of elements that several pools keep together.
pub(crate) struct Limit {
    most: usize,
    kept: AtomicUsize,
}

impl Limit {
    pub(crate) const fn new(most: usize) -> Self {
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

/// Memory that a pool can keep.
pub(crate) trait Room {
    /// Room for `capacity` elements.
    fn new(capacity: usize) -> Self;

    /// The number of elements for which there is room.
    fn capacity(&self) -> usize;
}

/// Pages of the operating system, which take no memory before they are first written, and give it back when they are dropped.
/// An allocator would keep the memory of buffers that are no longer needed, beside that of the larger ones that replace them.
#[derive(Debug)]
pub(crate) struct Pages(MmapMut);

impl Pages {
    fn values(&self) -> &[f32] {
        bytemuck::cast_slice(&self.0)
    }

    fn values_mut(&mut self) -> &mut [f32] {
        bytemuck::cast_slice_mut(&mut self.0)
    }
}

impl Room for Pages {
    fn new(capacity: usize) -> Self {
        let layout = Layout::array::<f32>(capacity).expect("no buffer is larger than the memory");
        let pages = MmapMut::map_anon(layout.size());
        Self(pages.unwrap_or_else(|_| handle_alloc_error(layout)))
    }

    fn capacity(&self) -> usize {
        self.values().len()
    }
}

/// Free buffers.
pub(crate) struct Pool<'a, R: Room> {
    /// Sorted by capacity.
    free: Vec<R>,
    /// Counts the elements in `free`.
    limit: &'a Limit,
}

impl<'a, R: Room> Pool<'a, R> {
    pub(crate) fn new(limit: &'a Limit) -> Self {
        Self {
            free: Vec::new(),
            limit,
        }
    }

    /// Returns room for at least `len` elements.
    pub(crate) fn room(&mut self, len: usize) -> R {
        self.fitting(len).unwrap_or_else(|| R::new(rounded(len)))
    }

    fn fitting(&mut self, len: usize) -> Option<R> {
        let first = self.free.partition_point(|room| room.capacity() < len);
        let fits = |room: &R| room.capacity() <= SLACK * len;
        if self.free.get(first).is_some_and(fits) {
            return Some(self.remove(first));
        }
        // Frees space for the buffer to be allocated, so that buffers of changing sizes do not accumulate.
        let mut missing = len;
        while missing > 0 && !self.free.is_empty() {
            let place = self.free.partition_point(|room| room.capacity() < len);
            let freed = self.remove(place.saturating_sub(1));
            missing = missing.saturating_sub(freed.capacity());
        }
        None
    }

    fn remove(&mut self, place: usize) -> R {
        let room = self.free.remove(place);
        self.limit.release(room.capacity());
        room
    }

    /// Keeps `room` if the limit allows it.
    pub(crate) fn give(&mut self, room: R) {
        let capacity = room.capacity();
        if self.limit.reserve(capacity) {
            let place = (self.free).partition_point(|other| other.capacity() < capacity);
            self.free.insert(place, room);
        }
    }
}

impl<R: Room> Drop for Pool<'_, R> {
    fn drop(&mut self) {
        self.limit.release(self.free.iter().map(R::capacity).sum());
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
        assert!(POOL.with_borrow(|pool| pool.free.is_empty()));
    }

    #[test]
    fn unsuitable_buffers_are_freed() {
        let limit = Limit::new(MOST_KEPT);
        let mut pool = Pool::new(&limit);
        let small: Pages = pool.room(5_000);
        pool.give(small);
        assert!(pool.room(20_000).capacity() >= 20_000);
        assert!(pool.free.is_empty() && kept(&limit) == 0);
    }

    #[test]
    fn a_pool_keeps_at_most_its_limit() {
        let limit = Limit::new(30_000);
        let mut pool: Pool<'_, Pages> = Pool::new(&limit);
        let buffers: Vec<_> = (0..10).map(|_| pool.room(8_192)).collect();
        buffers.into_iter().for_each(|buffer| pool.give(buffer));
        assert_eq!((pool.free.len(), kept(&limit)), (3, 3 * 8_192));
        // Makes room for as much as it takes.
        let other = pool.room(9_000);
        assert_eq!((pool.free.len(), kept(&limit)), (1, 8_192));
        let large = pool.room(40_000);
        pool.give(large);
        assert_eq!((pool.free.len(), kept(&limit)), (0, 0));
        drop(other);
    }

    /// Regression test: each thread of a server once kept as much as the whole process may.
    #[test]
    fn pools_share_their_limit() {
        let limit = Limit::new(30_000);
        let keep = |pool: &mut Pool<'_, Pages>| {
            let buffers: Vec<_> = (0..3).map(|_| pool.room(8_192)).collect();
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
