//! The jobs of a service.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use attentive_base::error::Result;
use attentive_decode::{SearchOptions, TextRules};

use super::super::request::PreparedRequest;
use super::super::{GenerateOptions, Generation, Pipeline, Prompt, Translation, Warning};

/// Receives the events of a request: the number of the job in its request, and the event. It is called on a
/// worker's thread, so it must not block. It is dropped without [`JobEvent::Done`] if the request is
/// canceled, or if a worker panics.
pub type Reply<T> = Arc<dyn Fn(usize, JobEvent<T>) + Send + Sync>;

/// An event of a job.
#[derive(Debug)]
pub enum JobEvent<T> {
    /// The best translation so far, which may still change, or the next piece of a generated text.
    Text(String),
    /// The result, which is sent once.
    Done(Result<T>),
}

/// A request in progress. Dropping it cancels its jobs: they leave the queue, and the rows that they occupy
/// are free after one decoding step.
#[derive(Debug)]
#[must_use = "dropping it cancels the request"]
pub struct RequestHandle {
    canceled: Arc<AtomicBool>,
}

impl RequestHandle {
    pub(super) fn new() -> Self {
        Self { canceled: Arc::default() }
    }

    /// Tells whether this handle was dropped.
    pub(super) fn canceled(&self) -> Canceled {
        Canceled(Arc::clone(&self.canceled))
    }
}

impl Job {
    /// Creates a job for the holder of `handle`.
    pub(super) fn new(handle: &RequestHandle, work: Work) -> Self {
        Self { canceled: handle.canceled(), cost: work.cost(), work }
    }
}

impl Drop for RequestHandle {
    fn drop(&mut self) {
        self.canceled.store(true, Ordering::Release);
    }
}

/// Tells whether a request was dropped.
#[derive(Clone, Debug)]
pub(super) struct Canceled(Arc<AtomicBool>);

impl Canceled {
    pub(super) fn get(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// The cost of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cost {
    /// The maximum number of hypotheses that are decoded at once.
    pub(super) rows: usize,
    /// The approximate number of tokens that are read and written for each of them.
    pub(super) positions: usize,
}

impl Cost {
    /// The cost that is counted when clients take turns: small enough that sums of it never overflow.
    pub(super) fn total(self) -> u64 {
        let total = self.rows.saturating_mul(self.positions) as u64;
        total.clamp(1, u64::from(u32::MAX))
    }

    /// The cost of translating a sentence. The translation is assumed to be as long as the sentence.
    fn of_sentence(request: &PreparedRequest, options: &SearchOptions) -> Self {
        /// The number of tokens of phrases that cost as much as one more pass over the hypotheses.
        const PHRASES: usize = 16;
        let (src, required) = (request.source.ids.len(), &request.required);
        let phrases: usize = required.constraints.iter().map(|phrase| phrase.tokens.len()).sum();
        let positions = 2 * src + required.prefix.len() + phrases;
        Self { rows: options.strategy.rows(), positions: positions.saturating_mul(1 + phrases / PHRASES) }
    }
}

/// A computation with a pipeline.
pub type Computation<T> = Box<dyn FnOnce(&Pipeline) -> Result<T> + Send>;

/// A piece of work with a pipeline that is not decoding. Other jobs have their turns between two pieces.
pub struct Chunk<T> {
    /// The approximate number of tokens that are read.
    pub positions: usize,
    /// The computation.
    pub work: Computation<T>,
}

impl<T> Chunk<T> {
    /// Creates a chunk that reads about `positions` tokens.
    pub fn new(positions: usize, work: impl FnOnce(&Pipeline) -> Result<T> + Send + 'static) -> Self {
        Self { positions, work: Box::new(work) }
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
    /// The options of its continuation.
    pub options: GenerateOptions,
}

/// Sentences to translate, as [`Service::read`](super::Service::read) returns them.
#[derive(Debug)]
pub struct Sentences {
    pub(super) options: SearchOptions,
    pub(super) requests: Vec<PreparedRequest>,
}

impl Sentences {
    /// Returns the number of sentences.
    pub fn len(&self) -> usize {
        self.requests.len()
    }

    /// Returns true if there are no sentences.
    pub fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    /// Returns the warnings about the sentences, without those about their translations.
    pub fn warnings(&self) -> impl Iterator<Item = &Warning> {
        self.requests.iter().flat_map(|request| &request.source.warnings)
    }

    /// Returns the number of source tokens of all sentences.
    pub fn tokens(&self) -> usize {
        self.requests.iter().map(|request| request.source.ids.len()).sum()
    }
}

/// A sentence to translate, a text to continue, or other work.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) canceled: Canceled,
    pub(super) cost: Cost,
    pub(super) work: Work,
}

/// The work of a job.
pub(super) enum Work {
    Translate(TranslationJob),
    Generate(GenerationJob),
    Compute { positions: usize, work: Box<dyn FnOnce(&Pipeline) + Send> },
}

/// A sentence to translate.
pub(super) struct TranslationJob {
    /// The number of the sentence in its request.
    pub(super) number: usize,
    pub(super) request: PreparedRequest,
    pub(super) options: SearchOptions,
    /// True if the reply gets the best translation so far.
    pub(super) watch: bool,
    pub(super) reply: Reply<Translation>,
}

/// A text to continue.
pub(super) struct GenerationJob {
    /// The number of the text in its request.
    pub(super) number: usize,
    pub(super) continuation: Continuation,
    pub(super) rules: TextRules,
    pub(super) reply: Reply<Generation>,
}

impl Work {
    /// The cost of the work.
    pub(super) fn cost(&self) -> Cost {
        match self {
            Self::Translate(TranslationJob { request, options, .. }) => Cost::of_sentence(request, options),
            Self::Generate(GenerationJob { continuation, .. }) => Cost {
                rows: 1,
                positions: (continuation.prompt.ids.len())
                    .saturating_add(continuation.options.sample.max_new_tokens),
            },
            Self::Compute { positions, .. } => Cost { rows: 1, positions: *positions },
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
