//! The team grows. A process has one team, so this test is alone in its process.

use std::collections::HashSet;
use std::sync::Mutex;
use std::thread;

use attentive_kernels::team;
use attentive_kernels::threads::Threads;

/// The number of threads that do `parts` parts of a job for which a pool has `threads` threads.
fn n_workers(threads: usize, parts: usize) -> usize {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
    let workers = Mutex::new(HashSet::new());
    pool.build().expect("a pool").install(|| {
        assert_eq!(team::size(), threads);
        assert_eq!(Threads::alone(team::size), 1);
        team::run(parts, &|_| {
            workers.lock().expect("a lock").insert(thread::current().id());
        });
    });
    workers.into_inner().expect("a lock").len()
}

#[test]
fn the_team_is_as_large_as_its_present_work_needs() {
    assert_eq!(n_workers(1, 3), 1);
    assert_eq!(n_workers(2, 2), 2);
    assert_eq!(n_workers(5, 5), 5);
    assert_eq!(n_workers(5, 3), 3);
    // No job has more parts than its pool has threads.
    assert_eq!(n_workers(2, 3), 1);
}
