//! A thread that decodes.

use std::future::poll_fn;
use std::mem;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Poll;

use attentive_architecture::TokenContract;
use attentive_base::error::Error;
use attentive_decode::{
    Capacity, Decoding, Ending, Hypothesis, SearchContext, SearchOptions, SourceSentence, TextDecoding,
};
use attentive_device::Failure;
use attentive_kernels::threads::Threads;
use attentive_model::any_engine::AnyEngine;

use super::super::generate::PartialGeneration;
use super::super::{Pipeline, device};
use super::job::{Canceled, Continuation, GenerationJob, Job, JobEvent, Reply, TranslationJob, Work};
use super::{Client, Generation, ServiceLimits, Shared};

/// A thread that decodes sentences of many requests together.
pub(super) struct Worker<'p> {
    number: usize,
    pipeline: &'p Pipeline,
    contract: &'p TokenContract,
    shared: &'p Shared,
    /// The maximum number of rows.
    batch: usize,
    /// The sentences, grouped by their search options. There is a further lane for those that are too long
    /// for the others.
    lanes: Vec<Lane<'p>>,
    texts: Option<TextDecoding<'p, AnyEngine, ActiveText<'p>>>,
}

/// Sentences with the same search options.
struct Lane<'p> {
    options: SearchOptions,
    decoding: Decoding<'p, AnyEngine, ActiveSentence<'p>>,
}

/// A job that is being worked on; it is counted until this value is dropped.
struct Running<'p> {
    shared: &'p Shared,
    client: Client,
    rows: usize,
    /// The number of tokens of the result.
    tgt_tokens: usize,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.shared.counters.end(self.tgt_tokens);
        self.shared.queue.release(self.client, self.rows);
    }
}

/// A sentence that is being translated.
struct ActiveSentence<'p> {
    job: TranslationJob,
    canceled: Canceled,
    running: Running<'p>,
}

/// A text that is being continued.
struct ActiveText<'p> {
    /// The number of the text in its request.
    number: usize,
    generation: PartialGeneration<'p>,
    /// Why it ends early, without a text.
    failed: Option<Error>,
    reply: Reply<Generation>,
    canceled: Canceled,
    running: Running<'p>,
}

impl<'p> Worker<'p> {
    /// Works until the queue is closed and empty. Requests whose work panics get no answer.
    pub(super) fn work(
        number: usize,
        pipeline: &'p Pipeline,
        contract: &'p TokenContract,
        shared: &'p Shared,
        limits: ServiceLimits,
    ) {
        let run = || {
            let worker = || Self::new(number, pipeline, contract, shared, limits).run();
            while catch_unwind(AssertUnwindSafe(worker)).is_err() {}
        };
        // Kernels stay on the thread of their worker.
        match limits.workers {
            1 => run(),
            _ => Threads::alone(run),
        }
    }

    pub(super) fn new(
        number: usize,
        pipeline: &'p Pipeline,
        contract: &'p TokenContract,
        shared: &'p Shared,
        limits: ServiceLimits,
    ) -> Self {
        Self { number, pipeline, contract, shared, batch: limits.batch, lanes: Vec::new(), texts: None }
    }

    /// Takes turns. If the device of the model fails in one, whoever takes part in it gets this error; the
    /// next turn may succeed, since a device that has too little memory for one batch may have enough for
    /// another.
    fn run(mut self) {
        loop {
            match Failure::caught(|| self.turn()) {
                Ok(ControlFlow::Continue(())) => (),
                Ok(ControlFlow::Break(())) => break,
                Err(failure) => self.fail(&failure),
            }
        }
    }

    /// Works without blocking its thread: other tasks have their turns between two of its own. Ends when the
    /// queue is closed and empty. Requests whose work panics get no answer.
    pub(super) async fn drive(mut self) {
        loop {
            if self.rows() == 0 {
                self.shared.queue.filled().await;
            }
            match catch_unwind(AssertUnwindSafe(|| Failure::caught(|| self.turn()))) {
                Ok(Ok(ControlFlow::Continue(()))) => (),
                Ok(Ok(ControlFlow::Break(()))) => break,
                Ok(Err(failure)) => self.fail(&failure),
                Err(_) => (self.lanes, self.texts) = (Vec::new(), None),
            }
            give_way().await;
        }
    }

    /// Begins jobs, and does a step of all. Breaks once there is nothing left to do.
    fn turn(&mut self) -> ControlFlow<()> {
        self.take_jobs()?;
        self.step_lanes();
        self.step_texts();
        ControlFlow::Continue(())
    }

    /// Ends all jobs with this failure.
    fn fail(&mut self, failure: &Failure) {
        for lane in std::mem::take(&mut self.lanes) {
            for ActiveSentence { job, running, .. } in lane.decoding.into_keys() {
                drop(running);
                let error = device::failed(failure.clone());
                (job.reply)(job.number, JobEvent::Done(Err(error)));
            }
        }
        for text in self.texts.take().into_iter().flat_map(TextDecoding::into_keys) {
            drop(text.running);
            let error = device::failed(failure.clone());
            (text.reply)(text.number, JobEvent::Done(Err(error)));
        }
    }

    /// Begins jobs while there is room and this worker has fewer rows than the others. Breaks once there is
    /// nothing left to do.
    fn take_jobs(&mut self) -> ControlFlow<()> {
        while let Some((client, job)) = self.shared.queue.take(self.number, self.rows())? {
            let is_decoded = !matches!(job.work, Work::Compute { .. });
            self.begin(client, job);
            // One job of other work between two steps.
            if !is_decoded {
                break;
            }
        }
        ControlFlow::Continue(())
    }

    /// The maximum number of rows of the current jobs.
    fn rows(&self) -> usize {
        let in_lane = |lane: &Lane<'_>| lane.decoding.len() * lane.options.strategy.rows();
        let in_lanes: usize = self.lanes.iter().map(in_lane).sum();
        in_lanes + self.texts.as_ref().map_or(0, TextDecoding::len)
    }

    fn begin(&mut self, client: Client, job: Job) {
        let Job { canceled, cost, work } = job;
        if canceled.get() {
            self.shared.queue.release(client, cost.rows);
            return;
        }
        self.shared.counters.begin(match &work {
            Work::Translate(job) => job.request.source.ids.len(),
            Work::Generate(job) => job.continuation.prompt.ids.len(),
            Work::Compute { .. } => 0,
        });
        let running = Running { shared: self.shared, client, rows: cost.rows, tgt_tokens: 0 };
        match work {
            Work::Translate(job) => self.enqueue_in_lane(ActiveSentence { job, canceled, running }),
            Work::Generate(job) => self.add_text(job, canceled, running),
            Work::Compute { work, .. } => {
                // The client notices a panic, since its reply is dropped.
                let _ = catch_unwind(AssertUnwindSafe(|| work(self.pipeline)));
            }
        }
    }

    /// Adds a sentence to the first lane with its search options that has room, or to a new lane.
    fn enqueue_in_lane(&mut self, sentence: ActiveSentence<'p>) {
        let options = sentence.job.options;
        let request = &sentence.job.request;
        let source = SourceSentence {
            src: request.source.ids.clone(),
            prefix: request.required.prefix.clone(),
            constraints: request.required.constraints.clone(),
            stream: request.position.stream(),
        };
        let mut offered = (sentence, source);
        for lane in &mut self.lanes {
            if lane.options == options {
                match lane.decoding.offer(offered.0, offered.1) {
                    Ok(()) => return,
                    Err(refused) => offered = refused,
                }
            }
        }
        let mut lane = match Failure::caught(|| self.lane(options)) {
            Ok(lane) => lane,
            Err(failure) => {
                let ActiveSentence { job, running, .. } = offered.0;
                drop(running);
                let error = device::failed(failure.clone());
                (job.reply)(job.number, JobEvent::Done(Err(error)));
                failure.raise();
            }
        };
        // The first sentence is never refused.
        let _ = lane.decoding.offer(offered.0, offered.1);
        self.lanes.push(lane);
    }

    /// Creates an empty lane.
    fn lane(&self, options: SearchOptions) -> Lane<'p> {
        /// The average number of source positions of a row of a lane.
        const POSITIONS: usize = 256;
        let context = SearchContext {
            contract: self.contract,
            options: options.all_candidates(),
            capacity: Capacity {
                sentences: self.batch.div_ceil(options.strategy.rows()),
                positions: self.batch * POSITIONS,
            },
        };
        let decoding = Decoding::new(self.pipeline.stepper(), context);
        Lane { options, decoding }
    }

    /// Adds a text.
    fn add_text(&mut self, job: GenerationJob, canceled: Canceled, running: Running<'p>) {
        let pipeline = self.pipeline;
        let GenerationJob { number, continuation: Continuation { prompt, options }, rules, reply } = job;
        let create = || TextDecoding::new(pipeline.stepper(), rules);
        let texts = match Failure::caught(|| self.texts.get_or_insert_with(create)) {
            Ok(texts) => texts,
            Err(failure) => {
                drop(running);
                let error = device::failed(failure.clone());
                reply(number, JobEvent::Done(Err(error)));
                failure.raise();
            }
        };
        let generation = match PartialGeneration::new(pipeline, &prompt, &options) {
            Ok(generation) => generation,
            Err(error) => {
                drop(running);
                return reply(number, JobEvent::Done(Err(error)));
            }
        };
        let text = ActiveText { number, generation, failed: None, reply, canceled, running };
        texts.add(text, &prompt.ids, &options.sample);
    }

    fn step_lanes(&mut self) {
        for lane in &mut self.lanes {
            lane.decoding.retain(|sentence| !sentence.canceled.get());
            let ended = lane.decoding.advance();
            self.shared.counters.step(lane.decoding.rows());
            for (sentence, hypotheses) in ended {
                sentence.finish(self.pipeline, hypotheses);
            }
            for (sentence, tokens) in lane.decoding.best() {
                let tokenizer = self.pipeline.tokenizers().tgt();
                // If it cannot be decoded, or the model failed, the end tells.
                if sentence.job.watch
                    && self.pipeline.failure().is_none()
                    && let Ok(text) = tokenizer.decode(tokens)
                {
                    (sentence.job.reply)(sentence.job.number, JobEvent::Text(text));
                }
            }
        }
        // The memory of an unused lane is released.
        self.lanes.retain(|lane| !lane.decoding.is_empty());
    }

    fn step_texts(&mut self) {
        let Some(texts) = &mut self.texts else {
            return;
        };
        texts.retain(|text| !text.canceled.get());
        self.shared.counters.step(texts.len());
        let pipeline = self.pipeline;
        let has_failed = pipeline.failure().is_some();
        let ended = texts.advance(|text, token| match text.generation.push(token) {
            _ if has_failed => ControlFlow::Break(()),
            Err(error) => {
                text.failed = Some(error);
                ControlFlow::Break(())
            }
            Ok(ControlFlow::Continue(piece)) => {
                text.send(piece);
                ControlFlow::Continue(())
            }
            Ok(ControlFlow::Break(piece)) => {
                text.send(piece);
                ControlFlow::Break(())
            }
        });
        for (text, ending) in ended {
            text.finish(pipeline, ending);
        }
        if texts.is_empty() {
            self.texts = None;
        }
    }
}

/// Lets other tasks have their turns.
async fn give_way() {
    let mut has_given = false;
    poll_fn(|context| {
        if mem::replace(&mut has_given, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

impl ActiveSentence<'_> {
    fn finish(mut self, pipeline: &Pipeline, hypotheses: Vec<Hypothesis>) {
        let TranslationJob { number, request, options, reply, .. } = self.job;
        let result = match pipeline.failure() {
            None => pipeline.translation(request, hypotheses, &options),
            Some(failure) => Err(device::failed(failure)),
        };
        if let Ok(translation) = &result {
            let candidates = translation.hypotheses.iter();
            self.running.tgt_tokens = candidates.map(|one| one.tokens.len()).sum();
        }
        // The counts must be right before the client can ask for them.
        drop(self.running);
        reply(number, JobEvent::Done(result));
    }
}

impl ActiveText<'_> {
    fn send(&mut self, piece: String) {
        self.running.tgt_tokens += 1;
        if !piece.is_empty() {
            (self.reply)(self.number, JobEvent::Text(piece));
        }
    }

    fn finish(self, pipeline: &Pipeline, ending: Option<Ending>) {
        let failed = self.failed.or_else(|| pipeline.failure().map(device::failed));
        let (piece, generation) = match failed {
            None => self.generation.finish(ending),
            Some(error) => (String::new(), Err(error)),
        };
        drop(self.running);
        if !piece.is_empty() {
            (self.reply)(self.number, JobEvent::Text(piece));
        }
        (self.reply)(self.number, JobEvent::Done(generation));
    }
}
