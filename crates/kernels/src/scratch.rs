//! Working memory that each thread keeps for its next kernel.

use std::cell::RefCell;

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
    FREE.with_borrow_mut(|free| free.push(buffer));
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
