//! Threads for work whose time grows with the size of a request: reading texts, and writing answers.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use attentive_pipeline::service::Client;
use tokio::sync::oneshot;
use tokio::task::spawn_blocking;

use super::problem::{Kind, Problem};

/// A limited number of places for reading and answering requests, outside the threads that serve connections.
/// Clients take turns, and no client takes all places.
#[derive(Debug)]
pub(super) struct Desk {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    free: usize,
    /// The maximum number of places of a client.
    most: usize,
    /// The number of places of each client that has at least one.
    taken: HashMap<Client, usize>,
    /// The waiting requests of each client that has at least one.
    waiting: HashMap<Client, VecDeque<oneshot::Sender<Place>>>,
    /// The clients that have waiting requests, in the order of their turns.
    turns: VecDeque<Client>,
}

/// A place at the desk, which is passed on when it is dropped.
#[derive(Debug)]
pub(super) struct Place {
    shared: Arc<Shared>,
    client: Client,
}

/// Tells work that its result is no longer needed.
#[derive(Clone, Debug, Default)]
pub(super) struct Stop(Arc<AtomicBool>);

impl Stop {
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
            Err(Problem::new(Kind::Internal, "the client closed the connection"))
        } else {
            Ok(())
        }
    }
}

/// Sets a [`Stop`] when it is dropped.
struct Leaving(Stop);

impl Drop for Leaving {
    fn drop(&mut self) {
        self.0.0.store(true, Relaxed);
    }
}

impl Desk {
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
    pub(super) async fn enter(&self, client: Client) -> Result<Place, Problem> {
        match self.shared.enter(client) {
            Ok(place) => Ok(place),
            Err(turn) => turn.await.map_err(|_| unread()),
        }
    }

    /// Does `work` when it is the turn of `client`. If the future is dropped, the work is stopped, or never
    /// started.
    ///
    /// # Errors
    /// A [`Problem`] of `work`, or if it panics.
    pub(super) async fn ask<T: Send + 'static>(
        &self,
        client: Client,
        work: impl FnOnce(&Stop) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let place = self.enter(client).await?;
        let stop = Stop::default();
        let _leaving = Leaving(stop.clone());
        let run = move || {
            let _place = place;
            work(&stop)
        };
        spawn_blocking(run).await.unwrap_or_else(|_| Err(unread()))
    }
}

fn unread() -> Problem {
    Problem::new(Kind::Internal, "the request could not be read")
}

impl Shared {
    fn new(places: usize) -> Arc<Self> {
        let state = State { free: places, most: places - 1, ..State::default() };
        Arc::new(Self(Mutex::new(state)))
    }

    /// Returns a place, or the receiver that gets one when it is the turn of `client`.
    fn enter(self: &Arc<Self>, client: Client) -> Result<Place, oneshot::Receiver<Place>> {
        let mut state = self.lock();
        if state.may_take(client) {
            state.take(client);
            return Ok(self.place(client));
        }
        let (sender, turn) = oneshot::channel();
        let of_client = state.waiting.entry(client).or_default();
        let is_first = of_client.is_empty();
        of_client.push_back(sender);
        if is_first {
            state.turns.push_back(client);
        }
        Err(turn)
    }

    fn place(self: &Arc<Self>, client: Client) -> Place {
        Place { shared: Arc::clone(self), client }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn may_take(&self, client: Client) -> bool {
        let taken = self.taken.get(&client).copied().unwrap_or(0);
        self.free > 0 && taken < self.most
    }

    fn take(&mut self, client: Client) {
        self.free -= 1;
        *self.taken.entry(client).or_default() += 1;
    }

    fn leave(&mut self, client: Client) {
        self.free += 1;
        if let Some(taken) = self.taken.get_mut(&client) {
            *taken -= 1;
            if *taken == 0 {
                self.taken.remove(&client);
            }
        }
    }

    /// The next client in turn that may take a place.
    fn next(&mut self) -> Option<(Client, oneshot::Sender<Place>)> {
        let mut turns = self.turns.iter();
        let turn = turns.position(|&client| self.may_take(client))?;
        let client = self.turns.remove(turn)?;
        let of_client = self.waiting.get_mut(&client)?;
        let next = of_client.pop_front()?;
        if of_client.is_empty() {
            drop(self.waiting.remove(&client))
        } else {
            self.turns.push_back(client)
        }
        self.take(client);
        Some((client, next))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut leaving = self.client;
        loop {
            let next = {
                let mut state = self.shared.lock();
                state.leave(leaving);
                state.next()
            };
            let Some((client, next)) = next else { return };
            if next.is_closed() {
                leaving = client;
                continue;
            }
            // A client that disconnects now passes the place on when it drops it.
            let _ = next.send(self.shared.place(client));
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::time::Duration;
    use tokio::runtime::Builder;
    use tokio::time::timeout;

    #[test]
    fn clients_take_turns_and_those_who_left_are_passed_over() {
        let shared = Shared::new(2);
        let (_other, mut place) = (shared.enter(Client(9)), shared.enter(Client(0)).ok());
        let waiting = [1, 1, 1, 2, 3].map(|client| shared.enter(Client(client)).unwrap_err());
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
        let first = [shared.enter(Client(1)), shared.enter(Client(1))];
        let [Ok(first), Ok(_second)] = first else {
            panic!("two places are free");
        };
        let mut waiting = shared.enter(Client(1)).unwrap_err();
        let other = shared.enter(Client(2)).unwrap();
        let mut also_waiting = shared.enter(Client(2)).unwrap_err();
        // The place goes to the client that waited first and may take it.
        drop(other);
        assert!(waiting.try_recv().is_err());
        let other = also_waiting.try_recv().unwrap();
        drop(first);
        let third = waiting.try_recv().unwrap();
        drop((other, third));
        let state = shared.lock();
        assert_eq!((state.free, state.taken.len()), (2, 1));
    }

    #[test]
    fn a_place_is_kept_until_it_is_dropped() {
        let runtime = Builder::new_current_thread().enable_time().build();
        let runtime = runtime.unwrap();
        let desk = Desk::new(2);
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
        let desk = Desk::new(Desk::places());
        let (sender, receiver) = mpsc::channel();
        let work = move |stop: &Stop| {
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
        let panics = |_: &Stop| -> Result<(), Problem> { panic!("as the test wants") };
        let failed = runtime.block_on(desk.ask(Client(1), panics));
        assert_eq!(failed.unwrap_err().kind, Kind::Internal);
        while desk.shared.lock().free < Desk::places() {
            thread::yield_now();
        }
    }
}
