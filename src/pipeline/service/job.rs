//! What waits to be done.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::super::request::Job as Read;
use super::super::{GenerateOptions, Generation, Pipeline, Prompt, Translation};
use crate::decode::{SearchOptions, TextRules};
use crate::error::Result;

/// What a request gets: the number of the job in its request, and what happened. It is called on a worker's thread, so it must
/// not block. It is dropped without [`Event::Done`] if the request is cancelled, or if a worker panics.
pub type Reply<T> = Arc<dyn Fn(usize, Event<T>) + Send + Sync>;

/// News of a job.
#[derive(Debug)]
pub enum Event<T> {
    /// The best translation so far, which may change its mind, or the next piece of a generated text.
    Text(String),
    /// The result, which comes once.
    Done(Result<T>),
}

/// A request in progress. Dropping it cancels its jobs: they leave the queue, and the rows that they take are free after one
/// decoding step.
#[derive(Debug)]
#[must_use = "dropping it cancels the request"]
pub struct Ticket {
    cancelled: Arc<AtomicBool>,
}

impl Ticket {
    pub(super) fn new() -> Self {
        Self {
            cancelled: Arc::default(),
        }
    }

    /// Whether it was dropped.
    pub(super) fn cancelled(&self) -> Cancelled {
        Cancelled(Arc::clone(&self.cancelled))
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.cancelled.store(true, Ordering::Release);
    }
}

/// Whether a ticket was dropped.
#[derive(Clone, Debug)]
pub(super) struct Cancelled(Arc<AtomicBool>);

impl Cancelled {
    pub(super) fn get(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    /// Whether both are of the same ticket.
    #[cfg(test)]
    pub(super) fn is_of(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// A sentence, a text, or other work.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) cancelled: Cancelled,
    pub(super) work: Work,
}

/// What is to be done.
pub(super) enum Work {
    Translate(Translating),
    Generate(Writing),
    Compute(Box<dyn FnOnce(&Pipeline) + Send>),
}

/// A sentence to translate.
pub(super) struct Translating {
    /// In its request.
    pub(super) number: usize,
    pub(super) read: Read,
    pub(super) options: SearchOptions,
    /// Whether the reply gets the best translation so far.
    pub(super) watch: bool,
    pub(super) reply: Reply<Translation>,
}

/// A text to continue.
pub(super) struct Writing {
    pub(super) prompt: Arc<Prompt>,
    pub(super) rules: TextRules,
    pub(super) options: GenerateOptions,
    pub(super) reply: Reply<Generation>,
}

impl fmt::Debug for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Translate(_) => "Translate",
            Self::Generate(_) => "Generate",
            Self::Compute(_) => "Compute",
        })
    }
}
