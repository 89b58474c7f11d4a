//! Threads for work whose time grows with the size of a request: reading texts, and writing answers.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use attentive_pipeline::service::{Admission, Client, FairQueue, Queued};
use tokio::sync::oneshot;
use tokio::task::spawn_blocking;

use crate::problem::{Problem, ProblemKind};
use crate::work::threading::Threading;

/// A limited number of threads for reading and answering requests, besides those that serve connections.
/// Clients take turns, and no client takes all threads.
#[derive(Debug)]
pub(crate) struct FairThreadPool {
    shared: Arc<Shared>,
    /// True if the caller does the work.
    is_caller: bool,
}

#[derive(Debug)]
struct Shared {
    /// The maximum number of permits of a client.
    max_per_client: usize,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    free: usize,
    waiting: FairQueue<Waiting>,
}

/// A request that waits for a permit.
struct Waiting(oneshot::Sender<ThreadPermit>);

impl Queued for Waiting {
    fn cost(&self) -> u64 {
        1
    }

    fn size(&self) -> usize {
        1
    }

    fn is_canceled(&self) -> bool {
        self.0.is_closed()
    }
}

/// The permit to use a thread of the pool, which is passed on when it is dropped.
#[derive(Debug)]
pub(crate) struct ThreadPermit {
    shared: Arc<Shared>,
    client: Client,
}

/// Tells work that its result is no longer needed.
#[derive(Clone, Debug, Default)]
pub(crate) struct StopFlag(Arc<AtomicBool>);

impl StopFlag {
    /// Returns true if the result is no longer needed.
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Relaxed)
    }

    /// Returns an error if the result is no longer needed, so that the work ends.
    ///
    /// # Errors
    /// A [`Problem`] that is not sent to any client.
    pub(crate) fn check(&self) -> Result<(), Problem> {
        if self.is_set() {
            Err(Problem::new(ProblemKind::Internal, "the client closed the connection"))
        } else {
            Ok(())
        }
    }
}

/// Sets a [`StopFlag`] when it is dropped.
struct StopOnDrop(StopFlag);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.0.store(true, Relaxed);
    }
}

impl FairThreadPool {
    /// The usual number of permits: one for each processor, but no more than are useful beside the models,
    /// and one that is reserved.
    pub(crate) fn default_permits() -> usize {
        const MAX_PROCESSORS: usize = 4;
        1 + thread::available_parallelism().map_or(1, |count| usize::from(count).min(MAX_PROCESSORS))
    }

    /// A pool with this number of permits, one of which is reserved for clients that have none.
    pub(crate) fn new(permits: usize, threading: &Threading) -> Self {
        let is_caller = matches!(threading, Threading::Driver(_));
        Self { shared: Shared::new(permits), is_caller }
    }

    /// Waits for the turn of `client` and returns its permit.
    ///
    /// # Errors
    /// A [`Problem`] if the pool is gone.
    pub(crate) async fn enter(&self, client: Client) -> Result<ThreadPermit, Problem> {
        self.shared.enter(client).await.map_err(|_| unread())
    }

    /// Does `work` on a thread of the pool when it is the turn of `client`. If the future is dropped, the
    /// work is stopped, or never started.
    ///
    /// # Errors
    /// A [`Problem`] of `work`, or if it panics.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        client: Client,
        work: impl FnOnce(&StopFlag) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let permit = self.enter(client).await?;
        let stop = StopFlag::default();
        let _leaving = StopOnDrop(stop.clone());
        let run = move || {
            let _permit = permit;
            work(&stop)
        };
        if !cfg!(feature = "network") || self.is_caller {
            return run();
        }
        spawn_blocking(run).await.unwrap_or_else(|_| Err(unread()))
    }
}

fn unread() -> Problem {
    Problem::new(ProblemKind::Internal, "the request could not be read")
}

impl Shared {
    fn new(permits: usize) -> Arc<Self> {
        let state = State { free: permits, waiting: FairQueue::default() };
        Arc::new(Self { max_per_client: permits - 1, state: Mutex::new(state) })
    }

    /// Returns the receiver that gets a permit when it is the turn of `client`.
    fn enter(self: &Arc<Self>, client: Client) -> oneshot::Receiver<ThreadPermit> {
        let (sender, turn) = oneshot::channel();
        self.lock().waiting.add(client, Admission::New, [Waiting(sender)]);
        self.give_out();
        turn
    }

    /// Gives the free permits to those whose turn it is.
    fn give_out(self: &Arc<Self>) {
        while let Some((client, Waiting(sender))) = self.next() {
            let permit = ThreadPermit { shared: Arc::clone(self), client };
            // A client that disconnects now passes the permit on when it drops it.
            let _ = sender.send(permit);
        }
    }

    /// The next request in turn, for which a permit is taken.
    fn next(&self) -> Option<(Client, Waiting)> {
        let mut state = self.lock();
        while state.free > 0 {
            let (client, waiting) = state.waiting.next(|taken| taken < self.max_per_client)?;
            if waiting.is_canceled() {
                state.waiting.release(client, 1);
            } else {
                state.free -= 1;
                return Some((client, waiting));
            }
        }
        None
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ThreadPermit {
    fn drop(&mut self) {
        {
            let mut state = self.shared.lock();
            state.free += 1;
            state.waiting.release(self.client, 1);
        }
        self.shared.give_out();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::time::Duration;
    use tokio::runtime::Builder;
    use tokio::time::timeout;

    /// The permit that a free pool gives at once.
    fn given(shared: &Arc<Shared>, client: u64) -> ThreadPermit {
        shared.enter(Client(client)).try_recv().unwrap()
    }

    #[test]
    fn clients_take_turns_and_those_who_left_are_passed_over() {
        let shared = Shared::new(2);
        let (_other, first) = (given(&shared, 9), given(&shared, 0));
        let mut permit = Some(first);
        let waiting = [1, 1, 1, 2, 3].map(|client| shared.enter(Client(client)));
        let mut waiting: Vec<_> = waiting.into_iter().enumerate().collect();
        waiting.remove(1);
        let mut served = Vec::new();
        while !waiting.is_empty() {
            drop(permit.take());
            let given = waiting.iter_mut().enumerate().find_map(|(index, (_, turn))| {
                permit = turn.try_recv().ok();
                permit.is_some().then_some(index)
            });
            served.push(waiting.remove(given.unwrap()).0);
        }
        assert_eq!(served, [0, 3, 4, 2]);
        drop(permit);
        assert_eq!(shared.lock().free, 1);
    }

    #[test]
    fn no_client_takes_all_permits() {
        let shared = Shared::new(3);
        let (first, _second) = (given(&shared, 1), given(&shared, 1));
        let mut waiting = shared.enter(Client(1));
        let other = given(&shared, 2);
        let mut also_waiting = shared.enter(Client(2));
        // The permit goes to the client that waited first and may take it.
        drop(other);
        assert!(waiting.try_recv().is_err());
        let other = also_waiting.try_recv().unwrap();
        drop(first);
        let third = waiting.try_recv().unwrap();
        drop((other, third));
        let state = shared.lock();
        assert_eq!((state.free, state.waiting.waiting()), (2, 0));
    }

    #[test]
    fn a_permit_is_kept_until_it_is_dropped() {
        let runtime = Builder::new_current_thread().enable_time().build();
        let runtime = runtime.unwrap();
        let pool = FairThreadPool::new(2, &Threading::Own);
        let enter = |client| {
            let soon = Duration::from_millis(20);
            runtime.block_on(async { timeout(soon, pool.enter(Client(client))).await.ok() })
        };
        let first = enter(1).unwrap().unwrap();
        assert!(enter(1).is_none(), "the other permit is for others");
        let other = enter(2).unwrap().unwrap();
        assert!(enter(3).is_none(), "both are taken");
        drop(first);
        let again = enter(1).unwrap().unwrap();
        drop((other, again));
        assert_eq!(pool.shared.lock().free, 2);
    }

    #[test]
    fn work_ends_when_its_client_leaves() {
        let runtime = Builder::new_current_thread().enable_time().build();
        let runtime = runtime.unwrap();
        let pool = FairThreadPool::new(FairThreadPool::default_permits(), &Threading::Own);
        let (sender, receiver) = mpsc::channel();
        let work = move |stop: &StopFlag| {
            while !stop.is_set() {
                thread::yield_now();
            }
            sender.send(()).unwrap();
            stop.check()
        };
        let soon = Duration::from_millis(20);
        let unfinished = runtime.block_on(async { timeout(soon, pool.run(Client(1), work)).await });
        assert!(unfinished.is_err(), "it does not end by itself");
        receiver.recv_timeout(Duration::from_secs(60)).unwrap();
        let panics = |_: &StopFlag| -> Result<(), Problem> { panic!("as the test wants") };
        let failed = runtime.block_on(pool.run(Client(1), panics));
        assert_eq!(failed.unwrap_err().kind, ProblemKind::Internal);
        while pool.shared.lock().free < FairThreadPool::default_permits() {
            thread::yield_now();
        }
    }
}
