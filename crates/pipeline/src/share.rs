//! Sharing a queue of work among threads.

use std::cell::RefCell;
use std::iter;
use std::panic;
use std::sync::{Mutex, PoisonError};
use std::thread;

use attentive_kernels::threads::Threads;
use attentive_model::profile::{self, ProfileSection, Start};

/// The results of `work` for `items`, in their order. `work` is called once by each of `workers` threads, of
/// which this is one, with the items that it takes, and returns their results in that order. Kernels that it
/// calls run on the same thread.
pub fn share<T, R: Send>(
    items: impl Iterator<Item = T> + Send,
    workers: usize,
    work: impl Fn(&mut dyn Iterator<Item = T>) -> Vec<R> + Sync,
) -> Vec<R> {
    let mut items = items;
    if workers < 2 {
        return profile::time(ProfileSection::Search, || work(&mut items));
    }
    let queue = Mutex::new(items.enumerate());
    let run = |start: Start| {
        let taken = RefCell::new(Vec::new());
        let mut own = std::iter::from_fn(|| {
            let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
            next.map(|(number, item)| {
                taken.borrow_mut().push(number);
                item
            })
        });
        let (results, profile) = start.search(|| Threads::alone(|| work(&mut own)));
        let numbered = taken.into_inner().into_iter().zip(results);
        (numbered.collect::<Vec<_>>(), profile)
    };
    let run_all = |start: Start| -> (Vec<Vec<(usize, R)>>, _) {
        thread::scope(|scope| {
            let run = &run;
            let begin = |_| thread::Builder::new().spawn_scoped(scope, || run(start)).ok();
            let threads: Vec<_> = (1..workers).map_while(begin).collect();
            let own = run(start);
            let others = threads.into_iter().map(|thread| match thread.join() {
                Ok(results) => results,
                Err(problem) => panic::resume_unwind(problem),
            });
            iter::once(own).chain(others).unzip()
        })
    };
    let mut all: Vec<(usize, R)> = profile::side_by_side(run_all).into_iter().flatten().collect();
    all.sort_by_key(|(number, _)| *number);
    all.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_order_and_kernels_stay_on_their_thread() {
        for workers in [0, 1, 2, 5] {
            let squares = share(0..100, workers, |items| {
                if workers > 1 {
                    assert_eq!(Threads::current().count(), 1);
                }
                items.map(|item| item * item).collect()
            });
            assert_eq!(squares, (0..100).map(|item| item * item).collect::<Vec<_>>());
            let none: Vec<i32> = share(0..0, workers, |items| items.collect());
            assert!(none.is_empty());
        }
    }

    #[test]
    #[should_panic(expected = "the seventh")]
    fn a_panic_is_passed_on() {
        share(0..20, 2, |items| items.inspect(|item| assert!(*item != 7, "the seventh")).collect());
    }
}
