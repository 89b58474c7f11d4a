//! Threads for work whose time grows with the size of a request: reading texts, and writing answers.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use attentive_pipeline::service::{Admission, Client, FairQueue, Queued};
use tokio::sync::oneshot;
use tokio::task::spawn_blocking;

use super::problem::{Problem, ProblemKind};

/// A limited number of places for reading and answering requests, outside the threads that serve connections.
/// Clients take turns, and no client takes all places.
#[derive(Debug)]
pub(super) struct FairThreadPool {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// The maximum number of places of a client.
    most: usize,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    free: usize,
    waiting: FairQueue<Waiting>,
}

/// A request that waits for a place.
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

/// A place at the desk, which is passed on when it is dropped.
#[derive(Debug)]
pub(super) struct ThreadPermit {
    shared: Arc<Shared>,
    client: Client,
}

/// Tells work that its result is no longer needed.
#[derive(Clone, Debug, Default)]
pub(super) struct StopFlag(Arc<AtomicBool>);

impl StopFlag {
    /// Returns true if the result is no longer needed.
    pub(super) fn is_set(&self) -> bool {
        self.0.load(Relaxed)
    }

    /// Returns an error if the result is no longer needed, so that the work ends.
    ///
    /// # Errors
    /// A [`Problem`] that is not sent to any client.
    pub(super) fn check(&self) -> Result<(), Problem> {
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
    /// The number of places of a desk: one for each processor, but no more than are useful beside the models,
    /// and one that is reserved.
    pub(super) fn places() -> usize {
        const MOST: usize = 4;
        1 + thread::available_parallelism().map_or(1, |count| usize::from(count).min(MOST))
    }

    /// A desk with `places` places, one of which is reserved for clients that have none.
    pub(super) fn new(places: usize) -> Self {
        Self { shared: Shared::new(places) }
    }

    /// Waits for the turn of `client` and returns its place.
    ///
    /// # Errors
    /// A [`Problem`] if the desk is gone.
    pub(super) async fn enter(&self, client: Client) -> Result<ThreadPermit, Problem> {
        self.shared.enter(client).await.map_err(|_| unread())
    }

    /// Does `work` when it is the turn of `client`. If the future is dropped, the work is stopped, or never
    /// started.
    ///
    /// # Errors
    /// A [`Problem`] of `work`, or if it panics.
    pub(super) async fn ask<T: Send + 'static>(
        &self,
        client: Client,
        work: impl FnOnce(&StopFlag) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let place = self.enter(client).await?;
        let stop = StopFlag::default();
        let _leaving = StopOnDrop(stop.clone());
        let run = move || {
            let _place = place;
            work(&stop)
        };
        spawn_blocking(run).await.unwrap_or_else(|_| Err(unread()))
    }
}

fn unread() -> Problem {
    Problem::new(ProblemKind::Internal, "the request could not be read")
}

impl Shared {
    fn new(places: usize) -> Arc<Self> {
        let state = State { free: places, waiting: FairQueue::default() };
        Arc::new(Self { most: places - 1, state: Mutex::new(state) })
    }

    /// Returns the receiver that gets a place when it is the turn of `client`.
    fn enter(self: &Arc<Self>, client: Client) -> oneshot::Receiver<ThreadPermit> {
        let (sender, turn) = oneshot::channel();
        self.lock().waiting.add(client, Admission::New, [Waiting(sender)]);
        self.give_out();
        turn
    }

    /// Gives the free places to those whose turn it is.
    fn give_out(self: &Arc<Self>) {
        while let Some((client, Waiting(sender))) = self.next() {
            let place = ThreadPermit { shared: Arc::clone(self), client };
            // A client that disconnects now passes the place on when it drops it.
            let _ = sender.send(place);
        }
    }

    /// The next request in turn, for which a place is taken.
    fn next(&self) -> Option<(Client, Waiting)> {
        let mut state = self.lock();
        while state.free > 0 {
            let (client, waiting) = state.waiting.next(|taken| taken < self.most)?;
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

    /// The place that a free desk gives at once.
    fn given(shared: &Arc<Shared>, client: u64) -> ThreadPermit {
        shared.enter(Client(client)).try_recv().unwrap()
    }

    #[test]
    fn clients_take_turns_and_those_who_left_are_passed_over() {
        let shared = Shared::new(2);
        let (_other, first) = (given(&shared, 9), given(&shared, 0));
        let mut place = Some(first);
        let waiting = [1, 1, 1, 2, 3].map(|client| shared.enter(Client(client)));
        let mut waiting: Vec<_> = waiting.into_iter().enumerate().collect();
        waiting.remove(1);
        let mut served = Vec::new();
        while !waiting.is_empty() {
            drop(place.take());
            let given = waiting.iter_mut().enumerate().find_map(|(index, (_, turn))| {
                place = turn.try_recv().ok();
                place.is_some().then_some(index)
            });
            served.push(waiting.remove(given.unwrap()).0);
        }
        assert_eq!(served, [0, 3, 4, 2]);
        drop(place);
        assert_eq!(shared.lock().free, 1);
    }

    #[test]
    fn no_client_takes_all_places() {
        let shared = Shared::new(3);
        let (first, _second) = (given(&shared, 1), given(&shared, 1));
        let mut waiting = shared.enter(Client(1));
        let other = given(&shared, 2);
        let mut also_waiting = shared.enter(Client(2));
        // The place goes to the client that waited first and may take it.
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
    fn a_place_is_kept_until_it_is_dropped() {
        let runtime = Builder::new_current_thread().enable_time().build();
        let runtime = runtime.unwrap();
        let desk = FairThreadPool::new(2);
        let enter = |client| {
            let soon = Duration::from_millis(20);
            runtime.block_on(async { timeout(soon, desk.enter(Client(client))).await.ok() })
        };
        let first = enter(1).unwrap().unwrap();
        assert!(enter(1).is_none(), "the other place is for others");
        let other = enter(2).unwrap().unwrap();
        assert!(enter(3).is_none(), "both are taken");
        drop(first);
        let again = enter(1).unwrap().unwrap();
        drop((other, again));
        assert_eq!(desk.shared.lock().free, 2);
    }

    #[test]
    fn work_ends_when_its_client_leaves() {
        let runtime = Builder::new_current_thread().enable_time().build();
        let runtime = runtime.unwrap();
        let desk = FairThreadPool::new(FairThreadPool::places());
        let (sender, receiver) = mpsc::channel();
        let work = move |stop: &StopFlag| {
            while !stop.is_set() {
                thread::yield_now();
            }
            sender.send(()).unwrap();
            stop.check()
        };
        let soon = Duration::from_millis(20);
        let asked = runtime.block_on(async { timeout(soon, desk.ask(Client(1), work)).await });
        assert!(asked.is_err(), "it does not end by itself");
        receiver.recv_timeout(Duration::from_secs(60)).unwrap();
        let panics = |_: &StopFlag| -> Result<(), Problem> { panic!("as the test wants") };
        let failed = runtime.block_on(desk.ask(Client(1), panics));
        assert_eq!(failed.unwrap_err().kind, ProblemKind::Internal);
        while desk.shared.lock().free < FairThreadPool::places() {
            thread::yield_now();
        }
    }
}
