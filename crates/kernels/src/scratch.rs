//! Working memory that each thread keeps for its next kernel.

use std::cell::RefCell;

/// Numbers that a thread keeps at most: 256 MiB. What lies above goes back to the allocator.
const MOST_KEPT: usize = 1 << 26;

thread_local! {
    static FREE: RefCell<Vec<Vec<f32>>> = const { RefCell::new(Vec::new()) };
}

/// Lends `work` a buffer of `len` numbers that hold anything. Calls may nest: each level keeps a buffer of its own.
pub(crate) fn with_scratch<R>(len: usize, work: impl FnOnce(&mut [f32]) -> R) -> R {
    let mut buffer = FREE.with_borrow_mut(Vec::pop).unwrap_or_default();
    if buffer.len() < len {
        // Not by growing, which would copy what nobody reads and take more than is asked for.
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

/// [`with_scratch`] in parts of `lens`.
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

/// Numbers that the calling thread keeps.
#[cfg(test)]
pub(crate) fn kept() -> usize {
    FREE.with_borrow(|free| free.iter().map(Vec::capacity).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_keeps_no_more_than_its_limit() {
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
