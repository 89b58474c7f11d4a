//! Time spent in each operation.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Time spent in one kind of operation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OpTimings {
    /// Number of forward passes.
    pub calls: u64,
    /// Total time of the forward passes.
    pub forward: Duration,
    /// Total time of the backward passes.
    pub backward: Duration,
    /// Floating-point operations of the matrix products in both passes.
    pub flops: f64,
}

thread_local! {
    static TIMINGS: RefCell<Option<BTreeMap<&'static str, OpTimings>>> = const { RefCell::new(None) };
}

/// Runs `work` and returns the statistics, by name, of the operations that this thread called.
pub fn profiled<R>(work: impl FnOnce() -> R) -> (R, BTreeMap<&'static str, OpTimings>) {
    let before = TIMINGS.replace(Some(BTreeMap::new()));
    let result = work();
    let timings = TIMINGS.replace(before).unwrap_or_default();
    (result, timings)
}

/// Times `work` and lets `add` record the time under `name`; outside of [`profiled`] it only runs `work`.
pub(super) fn timed<R>(
    name: &'static str,
    add: impl FnOnce(&mut OpTimings, Duration),
    work: impl FnOnce() -> R,
) -> R {
    if TIMINGS.with_borrow(Option::is_none) {
        return work();
    }
    let start = Instant::now();
    let result = work();
    let elapsed = start.elapsed();
    TIMINGS.with_borrow_mut(|timings| {
        if let Some(timings) = timings {
            add(timings.entry(name).or_default(), elapsed);
        }
    });
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_recorded_only_while_profiling() {
        let work = || {
            let record = |timings: &mut OpTimings, _| timings.calls += 1;
            timed("work", record, || std::thread::sleep(Duration::from_millis(1)));
        };
        work();
        let ((), timings) = profiled(|| (0..3).for_each(|_| work()));
        assert_eq!(timings["work"].calls, 3);
        assert!(profiled(|| ()).1.is_empty());
    }
}
