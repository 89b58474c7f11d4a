//! Per-thread scratch buffers, reused between kernels.

use std::cell::RefCell;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::platform::prefer_large_pages;

/// Maximum number of elements kept by all threads together: 512 MiB. Buffers beyond it return to the
/// allocator.
const MAX_KEPT: usize = 1 << 27;

/// Number of elements in the [`Kept`] buffers of all threads.
static TOTAL: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static FREE: RefCell<Vec<Kept>> = const { RefCell::new(Vec::new()) };
}

/// A buffer that counts towards the limit until it is dropped, also while it is in use.
struct Kept(Vec<f32>);

impl Kept {
    /// Keeps `buffer` if the limit allows it.
    fn new(buffer: Vec<f32>) -> Option<Self> {
        let total = TOTAL.fetch_add(buffer.capacity(), Ordering::Relaxed);
        let kept = Self(buffer);
        (total + kept.0.capacity() <= MAX_KEPT).then_some(kept)
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        TOTAL.fetch_sub(self.0.capacity(), Ordering::Relaxed);
    }
}

/// Calls `work` with a scratch buffer of `len` elements of unspecified contents. Calls may nest: each level
/// has its own buffer.
pub(crate) fn with_scratch<R>(len: usize, work: impl FnOnce(&mut [f32]) -> R) -> R {
    let free = FREE.with_borrow_mut(Vec::pop);
    // A new allocation instead of growing the old one, which would copy unused data and over-allocate.
    let (result, kept) = match free.filter(|kept| kept.0.len() >= len) {
        Some(mut kept) => {
            let scratch = &mut kept.0[..len];
            // Whoever reads what it has not written fails its tests.
            #[cfg(test)]
            scratch.fill(f32::NAN);
            (work(scratch), Some(kept))
        }
        None => {
            let mut buffer = vec![if cfg!(test) { f32::NAN } else { 0.0 }; len];
            prefer_large_pages(&mut buffer);
            (work(&mut buffer), Kept::new(buffer))
        }
    };
    FREE.with_borrow_mut(|free| free.extend(kept));
    result
}

/// [`with_scratch`], split into parts of lengths `lens`.
pub(crate) fn with_scratches<const N: usize, R>(
    lens: [usize; N],
    work: impl FnOnce([&mut [f32]; N]) -> R,
) -> R {
    with_scratch(lens.iter().sum(), |scratch| work(split(scratch, lens)))
}

/// The parts of `room` with lengths `lens`, one behind the other.
///
/// # Panics
/// If there is too little room.
pub(crate) fn split<const N: usize>(room: &mut [f32], lens: [usize; N]) -> [&mut [f32]; N] {
    let mut rest = room;
    lens.map(|len| {
        let (part, behind) = std::mem::take(&mut rest).split_at_mut(len);
        rest = behind;
        part
    })
}

/// The number of elements kept by the calling thread.
#[cfg(test)]
pub(crate) fn kept() -> usize {
    FREE.with_borrow(|free| free.iter().map(|kept| kept.0.capacity()).sum())
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::thread;

    use super::*;

    /// One test, because the limit is the process's: a thread, nested calls, and several threads.
    #[test]
    fn all_threads_keep_at_most_the_limit() {
        let half = MAX_KEPT / 2 + 1;
        with_scratch(1000, |_| ());
        assert!((1000..=MAX_KEPT).contains(&kept()));
        with_scratch(MAX_KEPT + 1, |scratch| scratch[MAX_KEPT] = 1.0);
        assert!(kept() <= MAX_KEPT);
        with_scratch(half, |_| with_scratch(half, |_| ()));
        assert!((half..=MAX_KEPT).contains(&kept()));
        FREE.take();

        let barrier = Barrier::new(2);
        let keep = || {
            with_scratch(half, |_| barrier.wait());
            let kept = kept();
            barrier.wait();
            kept
        };
        let both: usize = thread::scope(|scope| {
            let threads = [scope.spawn(keep), scope.spawn(keep)];
            threads.map(|thread| thread.join().unwrap()).iter().sum()
        });
        assert!((half..=MAX_KEPT).contains(&both), "{both} elements are kept");
        with_scratch(half, |_| ());
        assert!(kept() >= half, "threads that ended keep nothing");
    }
}
