//! Helpers that split work over threads.

use attentive_base::platform::HAS_THREADS;
use rayon::prelude::*;

use crate::threads::Threads;

/// Number of elements above which an element-wise kernel uses several threads.
const LARGE: usize = 1 << 16;
/// Elements per task of an element-wise kernel.
pub(crate) const CHUNK: usize = 1 << 14;

/// Whether an element-wise kernel over `elements` should use several threads.
#[inline]
pub(crate) fn is_large(elements: usize) -> bool {
    HAS_THREADS && elements >= LARGE && Threads::current().count() > 1
}

/// Runs `task(0)` … `task(tasks - 1)`, on several threads if `parallel`.
pub(crate) fn for_each(tasks: usize, parallel: bool, task: impl Fn(usize) + Sync + Send) {
    if HAS_THREADS && parallel && tasks > 1 {
        (0..tasks).into_par_iter().with_max_len(1).for_each(task);
    } else {
        (0..tasks).for_each(task);
    }
}

/// [`for_each`] for many short tasks, of which a thread runs several, one after the other.
pub(crate) fn for_each_short(tasks: usize, parallel: bool, task: impl Fn(usize) + Sync + Send) {
    /// Enough for all threads to finish at about the same time.
    const PARTS_PER_THREAD: usize = 16;
    let parts = PARTS_PER_THREAD * Threads::current().count();
    let each = (tasks / parts).max(1);
    for_each(tasks.div_ceil(each), parallel, |part| {
        (part * each..tasks.min((part + 1) * each)).for_each(&task);
    });
}

/// Calls `work` with chunks of `inputs` and of `out`, all of the same length.
///
/// # Panics
/// If the lengths differ.
#[track_caller]
pub(crate) fn for_chunks<const N: usize>(
    inputs: [&[f32]; N],
    out: &mut [f32],
    work: impl Fn([&[f32]; N], &mut [f32]) + Sync + Send,
) {
    for input in inputs {
        assert_eq!(input.len(), out.len(), "the vectors must have the same length");
    }
    for_row_chunks(out, 1, |start, out| {
        work(inputs.map(|input| &input[start..][..out.len()]), out);
    });
}

/// Calls `work(first_row, rows)` for chunks of whole rows of `data`, each of length `row_len`.
pub(crate) fn for_row_chunks(
    data: &mut [f32],
    row_len: usize,
    work: impl Fn(usize, &mut [f32]) + Sync + Send,
) {
    if !is_large(data.len()) {
        return work(0, data);
    }
    let rows = (CHUNK / row_len.max(1)).max(1);
    data.par_chunks_mut(rows * row_len).enumerate().for_each(|(chunk, data)| work(chunk * rows, data));
}
