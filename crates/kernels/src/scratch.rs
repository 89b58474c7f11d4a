//! Per-thread scratch buffers, reused between kernels.

use std::cell::RefCell;

/// Maximum number of elements kept per thread: 256 MiB. Larger buffers are returned to the allocator.
const MOST_KEPT: usize = 1 << 26;

thread_local! {
    static FREE: RefCell<Vec<Vec<f32>>> = const { RefCell::new(Vec::new()) };
}

/// Calls `work` with a scratch buffer of `len` elements of unspecified contents. Calls may nest: each level has its
/// own buffer.
pub(crate) fn with_scratch<R>(len: usize, work: impl FnOnce(&mut [f32]) -> R) -> R {
    let mut buffer = FREE.with_borrow_mut(Vec::pop).unwrap_or_default();
    if buffer.len() < len {
        // A new allocation instead of growing the old one, which would copy unused data and over-allocate.
        drop(buffer);
        buffer = vec![0.0; len];
    }
    let result = work(&mut buffer[..len]);
    FREE.with_borrow_mut(|free| {
        let kept: usize = free.iter().map(Vec::capacity).sum();
        if kept + buffer.capacity() <= MOST_KEPT {
            free.push(buffer);
        }
    });
    result
}

/// [`with_scratch`], split into parts of lengths `lens`.
pub(crate) fn with_scratches<const N: usize, R>(
    lens: [usize; N],
    work: impl FnOnce([&mut [f32]; N]) -> R,
) -> R {
    with_scratch(lens.iter().sum(), |scratch| {
        let mut rest = scratch;
        work(lens.map(|len| {
            let (part, behind) = std::mem::take(&mut rest).split_at_mut(len);
            rest = behind;
            part
        }))
    })
}

/// The number of elements kept by the calling thread.
#[cfg(test)]
pub(crate) fn kept() -> usize {
    FREE.with_borrow(|free| free.iter().map(Vec::capacity).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_keeps_at_most_its_limit() {
        with_scratch(1000, |_| ());
        assert!((1000..=MOST_KEPT).contains(&kept()));
        with_scratch(MOST_KEPT + 1, |scratch| scratch[MOST_KEPT] = 1.0);
        assert!(kept() <= MOST_KEPT);
        with_scratch(MOST_KEPT / 2 + 1, |_| {
            with_scratch(MOST_KEPT / 2 + 1, |_| ());
        });
        assert!(kept() <= MOST_KEPT);
    }
}
