//! The threads that do the work for requests.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

/// A worker of a model, which does a step whenever it is polled.
type Worker = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The threads that do the work for requests.
#[derive(Clone)]
pub(crate) enum Threading {
    /// Threads of the server and of each model.
    Own,
    /// Only the thread that drives the server, which also drives these workers.
    Driver(Workers),
}

/// The workers of all models of a server without threads.
#[derive(Clone, Default)]
pub(crate) struct Workers(Arc<Mutex<Vec<Worker>>>);

impl Workers {
    /// Adds a worker, which stays until it ends.
    pub(crate) fn add(&self, worker: impl Future<Output = ()> + Send + 'static) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(Box::pin(worker));
    }

    /// Lets each worker do a step, if it has jobs.
    pub(crate) fn step(&self) {
        let mut context = Context::from_waker(Waker::noop());
        let mut workers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        workers.retain_mut(|worker| worker.as_mut().poll(&mut context) == Poll::Pending);
    }
}
