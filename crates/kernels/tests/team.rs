//! The team of a process whose first work has a single thread. A process has one team, so this test has one of its own.

use attentive_kernels::team;

#[test]
fn work_on_a_single_thread_does_not_decide_the_size_of_the_team() {
    let pool = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build().expect("a pool")
    };
    pool(1).install(|| {
        assert_eq!(team::size(), 1);
        team::run(3, &|_| ());
    });
    let size = pool(2).install(team::size);
    assert_eq!(size, 2);
    // A part of a job may be larger than the CPU allows, but no job is larger than its pool.
    assert!((2..=5).contains(&pool(5).install(team::size)));
    assert_eq!(pool(1).install(team::size), 1);
}
