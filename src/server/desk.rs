//! Threads for what takes the longer the more a request says: reading texts, and writing answers.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use tokio::sync::oneshot;
use tokio::task::spawn_blocking;

use super::problem::{Kind, Problem};
use crate::pipeline::service::Client;

/// A few places at which requests are read and answered, beside the threads that serve connections. Clients take turns.
#[derive(Debug)]
pub(super) struct Desk {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    free: usize,
    /// Those who wait, of each client that has any.
    waiting: HashMap<Client, VecDeque<oneshot::Sender<Place>>>,
    /// The clients for whom somebody waits, in the order of their turns.
    turns: VecDeque<Client>,
}

/// A place at the desk, which is given on when it is dropped.
#[derive(Debug)]
struct Place(Arc<Shared>);

/// Whether somebody still waits for what is being done.
#[derive(Clone, Debug, Default)]
pub(super) struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Whether nobody waits any more.
    pub(super) fn is_set(&self) -> bool {
        self.0.load(Relaxed)
    }

    /// Ends work for which nobody waits any more.
    ///
    /// # Errors
    /// A [`Problem`] that nobody sees.
    pub(super) fn check(&self) -> Result<(), Problem> {
        match self.is_set() {
            false => Ok(()),
            true => Err(Problem::new(Kind::Internal, "the client has gone")),
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
    /// The number of places of a desk: one for each processor, but no more than are of use beside the models.
    pub(super) fn places() -> usize {
        const MOST: usize = 4;
        thread::available_parallelism().map_or(1, |count| usize::from(count).min(MOST))
    }

    pub(super) fn new() -> Self {
        let state = State {
            free: Self::places(),
            ..State::default()
        };
        Self {
            shared: Arc::new(Shared(Mutex::new(state))),
        }
    }

    /// Does `work` when it is the turn of `client`. If this is dropped, the work is told to stop, or never begun.
    ///
    /// # Errors
    /// A [`Problem`] of `work`, or if it panics.
    pub(super) async fn ask<T: Send + 'static>(
        &self,
        client: Client,
        work: impl FnOnce(&Stop) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let failed = || Problem::new(Kind::Internal, "the request could not be read");
        let place = match self.shared.enter(client) {
            Ok(place) => place,
            Err(turn) => turn.await.map_err(|_| failed())?,
        };
        let stop = Stop::default();
        let _leaving = Leaving(stop.clone());
        let run = move || {
            let _place = place;
            work(&stop)
        };
        spawn_blocking(run).await.unwrap_or_else(|_| Err(failed()))
    }
}

impl Shared {
    /// A place, or the turn of `client`.
    fn enter(self: &Arc<Self>, client: Client) -> Result<Place, oneshot::Receiver<Place>> {
        let mut state = self.lock();
        if state.free > 0 {
            state.free -= 1;
            return Ok(Place(Arc::clone(self)));
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

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Who is next.
    fn next(&mut self) -> Option<oneshot::Sender<Place>> {
        let client = self.turns.pop_front()?;
        let of_client = self.waiting.get_mut(&client)?;
        let next = of_client.pop_front();
        match of_client.is_empty() {
            true => drop(self.waiting.remove(&client)),
            false => self.turns.push_back(client),
        }
        next
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        loop {
            let next = {
                let mut state = self.0.lock();
                let next = state.next();
                state.free += usize::from(next.is_none());
                next
            };
            let Some(next) = next else { return };
            if next.is_closed() {
                continue;
            }
            // A client that goes away just now gives the place on when it drops it.
            let _ = next.send(Place(Arc::clone(&self.0)));
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
        let state = State {
            free: 1,
            ..State::default()
        };
        let shared = Arc::new(Shared(Mutex::new(state)));
        let mut place = shared.enter(Client(0)).ok();
        let waiting = [1, 1, 1, 2, 3].map(|client| shared.enter(Client(client)).unwrap_err());
        let mut waiting: Vec<_> = waiting.into_iter().enumerate().collect();
        waiting.remove(1);
        let mut served = Vec::new();
        while !waiting.is_empty() {
            drop(place.take());
            let given = waiting
                .iter_mut()
                .enumerate()
                .find_map(|(index, (_, turn))| {
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
    fn work_ends_when_its_client_leaves() {
        let runtime = Builder::new_current_thread().enable_time().build();
        let runtime = runtime.unwrap();
        let desk = Desk::new();
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
