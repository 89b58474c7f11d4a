//! How long each fused operation takes, for whoever asks.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// What one kind of operation took.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spent {
    /// Forward passes.
    pub calls: u64,
    /// Time of the forward passes.
    pub forward: Duration,
    /// Time of the backward passes.
    pub backward: Duration,
    /// Floating-point operations of the matrix products in both.
    pub flops: f64,
}

thread_local! {
    static SPENT: RefCell<Option<BTreeMap<&'static str, Spent>>> = const { RefCell::new(None) };
}

/// Runs `work` and says what the fused operations that this thread called took, by name.
pub fn profiled<R>(work: impl FnOnce() -> R) -> (R, BTreeMap<&'static str, Spent>) {
    let before = SPENT.replace(Some(BTreeMap::new()));
    let result = work();
    let spent = SPENT.replace(before).unwrap_or_default();
    (result, spent)
}

/// Times `work` and lets `add` book the time under `name`; without anyone asking, only does `work`.
pub(super) fn timed<R>(
    name: &'static str,
    add: impl FnOnce(&mut Spent, Duration),
    work: impl FnOnce() -> R,
) -> R {
    if SPENT.with_borrow(Option::is_none) {
        return work();
    }
    let start = Instant::now();
    let result = work();
    let elapsed = start.elapsed();
    SPENT.with_borrow_mut(|spent| {
        if let Some(spent) = spent {
            add(spent.entry(name).or_default(), elapsed);
        }
    });
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_booked_only_while_someone_asks() {
        let work = || {
            let book = |spent: &mut Spent, _| spent.calls += 1;
            timed("work", book, || {
                std::thread::sleep(Duration::from_millis(1))
            });
        };
        work();
        let ((), spent) = profiled(|| (0..3).for_each(|_| work()));
        assert_eq!(spent["work"].calls, 3);
        assert!(profiled(|| ()).1.is_empty());
    }
}
