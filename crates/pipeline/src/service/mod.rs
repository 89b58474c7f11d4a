//! A model that answers concurrent requests.
//!
//! Each worker, a thread, decodes sentences of many requests together: it adds new ones before every decoding
//! step and drops canceled ones (continuous batching). An answer does not depend on what else is being
//! decoded, so it is identical to the result of [`Pipeline::translate_requests`] or [`Pipeline::generate`].

mod fair_queue;
mod job;
mod load;
mod queue;
#[cfg(test)]
mod tests;
mod worker;

pub use fair_queue::{FairQueue, Queued};
pub use job::{Chunk, Computation, Continuation, JobEvent, Reply, RequestHandle, Sentences};
pub use load::Load;

use std::sync::Arc;
use std::thread::{self, JoinHandle};

use attentive_architecture::TokenContract;
use attentive_base::error::{Error, Result};
use attentive_config::{Task, Units};
use attentive_decode::SearchOptions;

use self::job::{GenerationJob, Job, TranslationJob, Work};
use self::load::Counters;
use self::queue::Queue;
use self::worker::Worker;
use super::request::PreparedRequest;
use super::{Generation, Pipeline, Prompt, Request, Translation};

/// Limits of a [`Service`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServiceLimits {
    /// The number of threads, each of which decodes its own sentences.
    pub workers: usize,
    /// The maximum number of hypotheses that a worker decodes together. A worker that has this many takes no
    /// more sentences, except that up to twice as many are allowed while one client crowds out others.
    /// Results do not depend on this limit. A higher limit increases the throughput of a worker, up to a
    /// point, and the time that each sentence takes.
    pub batch: usize,
    /// The maximum number of jobs that wait.
    pub queue: usize,
    /// The maximum number of jobs of one client that wait.
    pub per_client: usize,
}

/// The admission of jobs to the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// The jobs are accepted only if the queue has room for them.
    New,
    /// The jobs continue a request whose earlier jobs were accepted and are done. They are always accepted,
    /// so that finished work is not thrown away, and precede the new jobs of their client. The limits on
    /// earlier jobs bound their number.
    Further,
}

/// The client that sends a request. Clients take turns, by the cost of their jobs in hypotheses and tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Client(pub u64);

/// The reason why a request was refused.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// Too many jobs wait.
    #[error("the model's queue is full: {waiting} jobs wait, and there is no room for {jobs} more")]
    Full {
        /// The number of jobs that wait.
        waiting: usize,
        /// The number of jobs of the request.
        jobs: usize,
    },
    /// Too many jobs of the client wait.
    #[error("you already have {waiting} jobs waiting, and there is no room for {jobs} more from you")]
    Crowding {
        /// The number of jobs of the client that wait.
        waiting: usize,
        /// The number of jobs of the request.
        jobs: usize,
    },
    /// The service accepts no more requests.
    #[error("the service is closing")]
    Closed,
    /// The request cannot be met.
    #[error(transparent)]
    Invalid(#[from] Error),
}

/// A model that answers concurrent requests. Dropping it finishes all accepted requests.
#[derive(Debug)]
pub struct Service {
    pipeline: Arc<Pipeline>,
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

/// The state that a service shares with its workers.
#[derive(Debug)]
struct Shared {
    queue: Queue,
    counters: Counters,
}

impl Service {
    /// Starts a service and its workers; only one for a model on another device than the CPU.
    ///
    /// # Errors
    /// [`Error::Usage`] for limits of 0; [`Error::Io`] if the system has no more threads.
    pub fn start(pipeline: Arc<Pipeline>, limits: ServiceLimits) -> Result<Self> {
        let workers = if pipeline.is_on_device() { limits.workers.min(1) } else { limits.workers };
        let limits = ServiceLimits { workers, ..limits };
        let (mut service, contract) = Self::without_workers(pipeline, limits, true)?;
        for number in 0..workers {
            let (pipeline, shared) = (Arc::clone(&service.pipeline), Arc::clone(&service.shared));
            let contract = contract.clone();
            let run = move || Worker::work(number, &pipeline, &contract, &shared, limits);
            let thread = thread::Builder::new().name(format!("worker {number}"));
            let thread = thread.spawn(run).map_err(Error::io("start a thread of", "the service"))?;
            service.threads.push(thread);
        }
        Ok(service)
    }

    /// Creates a service without threads. The returned worker, its only one, does a step of all jobs whenever
    /// it is polled, and ends once the service is dropped and its jobs are done.
    ///
    /// # Errors
    /// [`Error::Usage`] for limits of 0.
    pub fn driven(
        pipeline: Arc<Pipeline>,
        limits: ServiceLimits,
    ) -> Result<(Self, impl Future<Output = ()> + Send + use<>)> {
        let limits = ServiceLimits { workers: 1, ..limits };
        let (service, contract) = Self::without_workers(pipeline, limits, false)?;
        let (pipeline, shared) = (Arc::clone(&service.pipeline), Arc::clone(&service.shared));
        let work = async move { Worker::new(0, &pipeline, &contract, &shared, limits).drive().await };
        Ok((service, work))
    }

    /// A service whose workers are still to be started, with what they need. They have threads of their own if
    /// its queue `blocks`.
    fn without_workers(
        pipeline: Arc<Pipeline>,
        limits: ServiceLimits,
        blocks: bool,
    ) -> Result<(Self, TokenContract)> {
        let ServiceLimits { workers, batch, queue, per_client } = limits;
        if [workers, batch, queue, per_client].contains(&0) {
            return Err(Error::usage(
                "a service needs at least one worker, one hypothesis at a time and room for one job",
                "raise the limit that is 0",
            ));
        }
        let contract = pipeline.contract()?;
        let shared = Arc::new(Shared { queue: Queue::new(limits, blocks), counters: Counters::default() });
        Ok((Self { pipeline, shared, threads: Vec::new() }, contract))
    }

    /// Returns the model.
    pub fn pipeline(&self) -> &Arc<Pipeline> {
        &self.pipeline
    }

    /// Reads `requests`, the lines of one text, which are numbered 1, 2, … for warnings and random numbers.
    /// Runs on the calling thread, and takes longer the longer they are.
    ///
    /// # Errors
    /// The errors of [`Pipeline::translate_requests`] that occur before it translates.
    pub fn read(&self, requests: &[Request], options: &SearchOptions) -> Result<Sentences> {
        // A search without constraints is the one of `Pipeline::translate_lines`.
        let options = SearchOptions { guided: !without_constraints(requests), ..*options };
        Ok(Sentences { options, requests: self.pipeline.prepare(1, requests, &options)? })
    }

    /// Translates `sentences`. With `watch`, `reply` also gets the best translation so far, after each step
    /// that changes it.
    ///
    /// # Errors
    /// [`Refused::Full`], [`Refused::Crowding`] and [`Refused::Closed`].
    pub fn translate(
        &self,
        client: Client,
        sentences: Sentences,
        watch: bool,
        reply: Reply<Translation>,
    ) -> Result<RequestHandle, Refused> {
        let Sentences { options, requests } = sentences;
        let handle = RequestHandle::new();
        let job = |(number, request): (usize, PreparedRequest)| {
            let work = TranslationJob { number, request, options, watch, reply: Arc::clone(&reply) };
            Job::new(&handle, Work::Translate(work))
        };
        let (blank, requests): (Vec<_>, Vec<_>) =
            (0..).zip(requests).partition(|(_, request)| request.source.ids.is_empty());
        let jobs = requests.into_iter().map(job).collect();
        self.shared.queue.add(client, Admission::New, jobs)?;
        for (number, request) in blank {
            reply(number, JobEvent::Done(Ok(Translation::blank(request.source))));
        }
        Ok(handle)
    }

    /// Returns the number of tokens of `prompt`, without the one at the start of a line.
    pub fn tokens(&self, prompt: &Prompt) -> usize {
        let starts = match self.pipeline.config().data.units {
            Units::Lines => 1,
            Units::Stream => 0,
        };
        prompt.ids.len().saturating_sub(starts)
    }

    /// Continues texts. `reply` gets each text piece by piece, then the whole text.
    ///
    /// # Errors
    /// [`Refused::Invalid`] for invalid options and for a model that does not generate text; the errors of
    /// [`Service::translate`].
    pub fn generate(
        &self,
        client: Client,
        texts: Vec<Continuation>,
        reply: Reply<Generation>,
    ) -> Result<RequestHandle, Refused> {
        self.pipeline.require(Task::Generate)?;
        let rules = self.pipeline.text_rules()?;
        let handle = RequestHandle::new();
        let job = |(number, continuation): (usize, Continuation)| {
            continuation.options.check()?;
            let work =
                GenerationJob { number, continuation, rules: rules.clone(), reply: Arc::clone(&reply) };
            Ok(Job::new(&handle, Work::Generate(work)))
        };
        let jobs = texts.into_iter().enumerate().map(job);
        let jobs = jobs.collect::<Result<_>>()?;
        self.shared.queue.add(client, Admission::New, jobs)?;
        Ok(handle)
    }

    /// Does other work with the pipeline, on the workers' threads. Each of `chunks` has its own turn, between
    /// two decoding steps.
    ///
    /// # Errors
    /// The errors of [`Service::translate`]; only [`Refused::Closed`] for [`Admission::Further`].
    pub fn compute<T: Send + 'static>(
        &self,
        client: Client,
        admission: Admission,
        chunks: Vec<Chunk<T>>,
        reply: Reply<T>,
    ) -> Result<RequestHandle, Refused> {
        let handle = RequestHandle::new();
        let job = |(number, Chunk { positions, work }): (usize, Chunk<T>)| {
            let reply = Arc::clone(&reply);
            let work = move |pipeline: &Pipeline| reply(number, JobEvent::Done(work(pipeline)));
            let work = Box::new(work);
            Job::new(&handle, Work::Compute { positions, work })
        };
        let jobs = chunks.into_iter().enumerate().map(job).collect();
        self.shared.queue.add(client, admission, jobs)?;
        Ok(handle)
    }

    /// Returns the current load and the totals since the start.
    pub fn load(&self) -> Load {
        self.shared.counters.load(self.shared.queue.waiting())
    }

    /// Stops accepting requests; accepted ones are finished.
    pub fn close(&self) {
        self.shared.queue.close();
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.close();
        for thread in self.threads.drain(..) {
            // A worker catches its panics.
            let _ = thread.join();
        }
    }
}

/// Returns true if no request has constraints. Requests that share their constraints are checked once.
fn without_constraints(requests: &[Request]) -> bool {
    let mut groups = requests.chunk_by(|one, next| Arc::ptr_eq(&one.constraints, &next.constraints));
    groups.all(|group| group[0].constraints.is_blank())
}
