//! Threads that share short pieces of work, such as the product of a single row with a large matrix.
//!
//! Waking a sleeping thread takes longer than such a piece of work. The members of the team therefore wait
//! actively for a short time after each piece, and sleep only if nothing follows.

use std::cell::UnsafeCell;
use std::hint::spin_loop;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, TryLockError};
use std::thread::{self, Thread};

use crate::threads::Threads;

/// How often a member looks for work before it sleeps: about 50 µs.
const LOOKS: usize = 1000;

/// The largest number of members, which are started when they are first needed.
const MAX_MEMBERS: usize = 255;

/// The team of the process.
static TEAM: Team = Team {
    turn: Mutex::new(()),
    members: [const { Member::new() }; MAX_MEMBERS],
    job: UnsafeCell::new(None),
    busy: AtomicUsize::new(0),
    panicked: AtomicBool::new(false),
};

/// True after [`disband`].
static DISBANDED: AtomicBool = AtomicBool::new(false);

/// Leaves all further work to the threads that call [`run`]. A process that was forked must call this before
/// any other work: it has none of the threads of the process from which it comes.
pub fn disband() {
    DISBANDED.store(true, Ordering::Relaxed);
}

/// The number of parts into which [`run`] should split work on this thread, including its own: at most the
/// number of the current [`Threads`].
#[inline]
pub fn size() -> usize {
    if DISBANDED.load(Ordering::Relaxed) { 1 } else { Threads::current().count().min(1 + MAX_MEMBERS) }
}

/// Calls `work(0)` … `work(parts - 1)`, each on a thread of its own if the team is free and large enough,
/// else one after the other on this thread.
///
/// # Panics
/// If `work` panics.
pub fn run(parts: usize, work: &(dyn Fn(usize) + Sync)) {
    if parts <= 1 || parts > size() {
        return (0..parts).for_each(work);
    }
    let turn = match TEAM.turn.try_lock() {
        Ok(turn) => Some(turn),
        Err(TryLockError::Poisoned(turn)) => Some(turn.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    };
    match turn {
        Some(_turn) => TEAM.share(parts, work),
        None => (0..parts).for_each(work),
    }
}

struct Team {
    /// Held by the thread whose work is done.
    turn: Mutex<()>,
    members: [Member; MAX_MEMBERS],
    job: UnsafeCell<Job>,
    /// Members that take part in the job and have not finished it.
    busy: AtomicUsize,
    panicked: AtomicBool,
}

struct Member {
    thread: OnceLock<Thread>,
    /// Counts the jobs in which it takes part; a member that sees a new number has a new job.
    number: AtomicUsize,
    asleep: AtomicBool,
}

type Job = Option<&'static (dyn Fn(usize) + Sync)>;

// SAFETY: `job` is only written by the holder of `turn` while no member is busy, and only read by members
// that take part in it, after they have seen their new `number`, until they are no longer busy.
unsafe impl Sync for Team {}

impl Member {
    const fn new() -> Self {
        Self { thread: OnceLock::new(), number: AtomicUsize::new(0), asleep: AtomicBool::new(false) }
    }

    /// Starts this member of the team for part `part` of its jobs, unless it runs already. False if the
    /// system has no more threads.
    fn start(&'static self, part: usize) -> bool {
        if self.thread.get().is_some() {
            return true;
        }
        let builder = thread::Builder::new().name(format!("team-{part}"));
        let started = builder.spawn(move || TEAM.serve(self, part));
        started.is_ok_and(|started| self.thread.set(started.thread().clone()).is_ok())
    }

    /// Waits for a job after number `done`.
    fn wait(&self, done: usize) {
        let is_new = || self.number.load(Ordering::SeqCst) != done;
        for _ in 0..LOOKS {
            if is_new() {
                return;
            }
            spin_loop();
        }
        // Not a store: qemu 7.2 lets the next load overtake one, which ARM forbids, and the wake-up would be lost.
        self.asleep.swap(true, Ordering::SeqCst);
        while !is_new() {
            thread::park();
        }
        self.asleep.store(false, Ordering::SeqCst);
    }
}

impl Team {
    /// Does all parts, of which this thread does the first.
    fn share(&'static self, parts: usize, work: &(dyn Fn(usize) + Sync)) {
        let members = &self.members[..parts - 1];
        if !(1..).zip(members).all(|(part, member)| member.start(part)) {
            // The system has no more threads.
            return (0..parts).for_each(work);
        }
        // SAFETY: this function returns only after all members have finished the job, so the reference is not
        // used later.
        let work: &'static (dyn Fn(usize) + Sync) = unsafe { std::mem::transmute(work) };
        // SAFETY: this thread holds `turn`, and no member is busy.
        unsafe {
            *self.job.get() = Some(work);
        }
        self.busy.store(members.len(), Ordering::Relaxed);
        for member in members {
            member.number.fetch_add(1, Ordering::SeqCst);
            if member.asleep.load(Ordering::SeqCst)
                && let Some(thread) = member.thread.get()
            {
                thread.unpark();
            }
        }
        let own = panic::catch_unwind(AssertUnwindSafe(|| work(0)));
        let mut looks = 0;
        while self.busy.load(Ordering::Acquire) > 0 {
            looks += 1;
            if looks < LOOKS {
                spin_loop()
            } else {
                // The members may be waiting for this processor.
                thread::yield_now()
            }
        }
        // Cleared in any case, or the next job would seem to have panicked.
        let panicked = self.panicked.swap(false, Ordering::Relaxed);
        if let Err(problem) = own {
            panic::resume_unwind(problem);
        }
        assert!(!panicked, "a part of the work panicked");
    }

    /// The life of a member, which does part `part` of its jobs.
    fn serve(&self, member: &Member, part: usize) {
        let mut done = 0;
        loop {
            member.wait(done);
            done += 1;
            // SAFETY: a new number was seen, and this member is still busy.
            let job = unsafe { *self.job.get() };
            if let Some(work) = job {
                let outcome = panic::catch_unwind(AssertUnwindSafe(|| work(part)));
                if outcome.is_err() {
                    self.panicked.store(true, Ordering::Relaxed);
                }
            }
            self.busy.fetch_sub(1, Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn every_part_is_done_once() {
        for round in 0..200 {
            let parts = round % 4;
            let counts: Vec<AtomicUsize> = (0..parts).map(|_| AtomicUsize::new(0)).collect();
            run(parts, &|part| {
                counts[part].fetch_add(1, Ordering::Relaxed);
            });
            assert!(counts.iter().all(|count| count.load(Ordering::Relaxed) == 1));
            if round % 50 == 0 {
                // The members sleep, and are woken.
                thread::sleep(Duration::from_millis(2));
            }
        }
    }

    #[test]
    fn work_within_work_and_on_several_threads_is_done() {
        let count = AtomicUsize::new(0);
        let twice = |_| {
            run(2, &|_| {
                count.fetch_add(1, Ordering::Relaxed);
            });
        };
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..100).for_each(|_| run(2, &twice)));
            }
        });
        assert_eq!(count.load(Ordering::Relaxed), 4 * 100 * 2 * 2);
    }

    /// The panic of `work` in two parts, on two threads.
    fn panic_of(work: impl Fn(usize) + Sync) -> String {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2);
        let pool = pool.build().expect("a pool");
        let run = AssertUnwindSafe(|| pool.install(|| run(2, &work)));
        let problem = panic::catch_unwind(run).expect_err("a panic");
        let text = problem.downcast_ref::<&str>().map(|text| (*text).to_owned());
        text.or_else(|| problem.downcast_ref::<String>().cloned()).expect("a text")
    }

    #[test]
    fn a_panic_is_passed_on_and_forgotten() {
        for _ in 0..20 {
            let text = panic_of(|part| assert!(part == 0, "part {part} panicked"));
            assert!(text.contains("panicked"), "{text}");
            // All parts panic: the flag of the members must not outlive the panic of this thread.
            let text = panic_of(|part| panic!("part {part} panicked"));
            assert!(text.contains("panicked"), "{text}");
            let pool = rayon::ThreadPoolBuilder::new().num_threads(2);
            let pool = pool.build().expect("a pool");
            pool.install(|| run(2, &|_| ()));
        }
    }
}
