//! What waits to be done.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::super::request::Job as Read;
use super::super::{GenerateOptions, Generation, Pipeline, Prompt, Translation};
use crate::decode::{SearchOptions, TextRules};
use crate::error::Result;

/// What a request gets: the number of the job in its request, and what happened. It is called on a worker's thread, so it must
/// not block. It is dropped without [`Event::Done`] if the request is canceled, or if a worker panics.
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
    canceled: Arc<AtomicBool>,
}

impl Ticket {
    pub(super) fn new() -> Self {
        Self {
            canceled: Arc::default(),
        }
    }

    /// Whether it was dropped.
    pub(super) fn canceled(&self) -> Canceled {
        Canceled(Arc::clone(&self.canceled))
    }
}

impl Job {
    /// Work for whoever holds `ticket`.
    pub(super) fn new(ticket: &Ticket, work: Work) -> Self {
        Self {
            canceled: ticket.canceled(),
            cost: work.cost(),
            work,
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.canceled.store(true, Ordering::Release);
    }
}

/// Whether a ticket was dropped.
#[derive(Clone, Debug)]
pub(super) struct Canceled(Arc<AtomicBool>);

impl Canceled {
    pub(super) fn get(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// What a job takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cost {
    /// Hypotheses that are decoded at once, at most.
    pub(super) rows: usize,
    /// About how many tokens are read and written for each of them.
    pub(super) positions: usize,
}

impl Cost {
    /// What is counted when clients take turns: so little that sums of it never overflow.
    pub(super) fn total(self) -> u64 {
        let total = self.rows.saturating_mul(self.positions) as u64;
        total.clamp(1, u64::from(u32::MAX))
    }

    /// Of a sentence in translation. Its translation is taken to be as long as itself.
    fn of_sentence(read: &Read, options: &SearchOptions) -> Self {
        /// Tokens of phrases that take as long as one more pass over the hypotheses.
        const PHRASES: usize = 16;
        let (src, terms) = (read.source.ids.len(), &read.terms);
        let phrases: usize = terms.constraints.iter().map(Vec::len).sum();
        let positions = 2 * src + terms.prefix.len() + phrases;
        Self {
            rows: options.rows(),
            positions: positions.saturating_mul(1 + phrases / PHRASES),
        }
    }
}

/// What is done with a pipeline.
pub type Computation<T> = Box<dyn FnOnce(&Pipeline) -> Result<T> + Send>;

/// Work with a pipeline that is not decoding, in a piece after which others have their turn.
pub struct Chunk<T> {
    /// About how many tokens are read.
    pub positions: usize,
    /// What is done.
    pub work: Computation<T>,
}

impl<T> Chunk<T> {
    /// A chunk that reads about so many tokens.
    pub fn new(
        positions: usize,
        work: impl FnOnce(&Pipeline) -> Result<T> + Send + 'static,
    ) -> Self {
        Self {
            positions,
            work: Box::new(work),
        }
    }
}

impl<T> fmt::Debug for Chunk<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Chunk of {} positions", self.positions)
    }
}

/// A text to continue.
#[derive(Clone, Debug)]
pub struct Continuation {
    /// The text.
    pub prompt: Arc<Prompt>,
    /// How it is continued.
    pub options: GenerateOptions,
}

/// Sentences to translate, as [`Service::read`](super::Service::read) returns them.
#[derive(Debug)]
pub struct Sentences {
    pub(super) options: SearchOptions,
    pub(super) jobs: Vec<Read>,
}

impl Sentences {
    /// The number of sentences.
    pub fn len(&self) -> usize {
        self.jobs.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    /// The number of source tokens of all of them.
    pub fn tokens(&self) -> usize {
        self.jobs.iter().map(|read| read.source.ids.len()).sum()
    }
}

/// A sentence, a text, or other work.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) canceled: Canceled,
    pub(super) cost: Cost,
    pub(super) work: Work,
}

/// What is to be done.
pub(super) enum Work {
    Translate(Translating),
    Generate(Writing),
    Compute {
        positions: usize,
        work: Box<dyn FnOnce(&Pipeline) + Send>,
    },
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
    /// In its request.
    pub(super) number: usize,
    pub(super) asked: Continuation,
    pub(super) rules: TextRules,
    pub(super) reply: Reply<Generation>,
}

impl Work {
    /// What it takes; other work says so itself.
    pub(super) fn cost(&self) -> Cost {
        match self {
            Self::Translate(Translating { read, options, .. }) => Cost::of_sentence(read, options),
            Self::Generate(Writing { asked, .. }) => Cost {
                rows: 1,
                positions: (asked.prompt.ids.len())
                    .saturating_add(asked.options.sample.max_new_tokens),
            },
            Self::Compute { positions, .. } => Cost {
                rows: 1,
                positions: *positions,
            },
        }
    }
}

impl fmt::Debug for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Translate(_) => "Translate",
            Self::Generate(_) => "Generate",
            Self::Compute { .. } => "Compute",
        })
    }
}
