//! Profiling of training: the time of each part of an update.

use std::time::{Duration, Instant};

use attentive_base::error::{Error, Result};
use attentive_base::interrupt::Interrupt;
use attentive_base::platform::peak_ram;
use attentive_checkpoint as checkpoint;
use attentive_config::Config;
use attentive_data::Feed;
use attentive_device::current;
use attentive_processes::Processes;
use attentive_tape::{OpTimings, profiled};

use super::corpora::InMemoryCorpora;
use super::frozen::Frozen;
use super::material::{RunContext, material, preparing};
use super::opened_run::first_weights;
use super::prepare::{check_memory, fresh_model, keep_start_at_zero, with_batches};
use super::pretrained::PretrainedModel;
use super::report::{Event, Observer, StepReport};
use super::update_totals::UpdateTotals;
use super::{Learner, Plateau, Schedule, UpdateObserver, UpdatePhase, on_device};

/// The time and memory of several updates.
#[derive(Clone, Debug, Default)]
pub struct TrainingProfile {
    pub updates: u64,
    /// The number of real target tokens.
    pub tgt_tokens: usize,
    /// Time spent making batches.
    pub data: Duration,
    /// The total time of forward passes.
    pub forward: Duration,
    /// Total time of backward passes.
    pub backward: Duration,
    /// Time spent on the gradient norm and the optimizer.
    pub optimizer: Duration,
    /// The operations within forward and backward passes, slowest first.
    pub operations: Vec<(&'static str, OpTimings)>,
    /// Predicted peak memory use, in bytes.
    pub predicted_memory: u64,
    /// Measured peak memory use, where the system reports it.
    pub memory: Option<u64>,
}

impl TrainingProfile {
    /// Returns the total time of all updates.
    pub fn total(&self) -> Duration {
        self.data + self.forward + self.backward + self.optimizer
    }
}

/// Trains a fresh model, or the model of `model.from`, for one warm-up update and `updates` measured ones
/// according to `config`, and then discards it.
///
/// # Errors
/// Invalid configuration or data; a request to stop.
pub fn profile(
    config: &Config,
    updates: u64,
    interrupt: &Interrupt,
    observer: &mut dyn Observer,
) -> Result<TrainingProfile> {
    config.validate()?;
    on_device(config.train.device, &Processes::alone(), || profile_here(config, updates, interrupt, observer))
}

/// [`profile`] on the device of this thread.
fn profile_here(
    config: &Config,
    updates: u64,
    interrupt: &Interrupt,
    observer: &mut dyn Observer,
) -> Result<TrainingProfile> {
    if let Some(warning) = current().hardware().and_then(|it| it.warning()) {
        observer.on(&Event::Warning(&warning));
    }
    let alone = Processes::alone();
    let from = config.model.from.as_deref();
    let pretrained = from.map(|from| PretrainedModel::open(from, config)).transpose()?;
    let context = RunContext { run: None, pretrained: pretrained.as_ref() };
    let mut material =
        preparing(interrupt, || material(config, context, InMemoryCorpora::default(), &alone, observer))?;
    let architecture = checkpoint::architecture(config, &material.tokenizers);
    let frozen = Frozen::of(config, &architecture)?;
    let (memory, batch_tokens) =
        check_memory(config, &architecture, &frozen, &mut material, (&alone, true), observer)?;
    let config = &with_batches(config, batch_tokens);
    let model = match &pretrained {
        None => fresh_model(config, &architecture),
        Some(pretrained) => {
            let weights = first_weights(config, pretrained, &architecture, observer)?;
            checkpoint::build(&architecture, weights)
        }
    };
    frozen.apply(&model);
    keep_start_at_zero(config, &material.tokenizers, &model)?;
    let learner = Learner::new(model, config);
    let mut start = material.start_report(config, &learner, memory, 0);
    start.disk = 0;
    start.max_steps = updates;
    observer.on(&Event::Start(&start));
    let predicted_memory = start.memory;
    let mut subject =
        Subject { feed: material.feed, learner, schedule: Schedule::of(config), interrupt, observer };
    subject.update(1, &mut TrainingProfile::default())?;
    let mut profile = TrainingProfile::default();
    let (done, spent) = profiled(|| (2..updates + 2).try_for_each(|step| subject.update(step, &mut profile)));
    done?;
    profile.operations = spent.into_iter().collect();
    profile.operations.sort_by_key(|(_, spent)| std::cmp::Reverse(spent.forward + spent.backward));
    profile.predicted_memory = predicted_memory;
    profile.memory = peak_ram(None);
    Ok(profile)
}

/// What is profiled.
struct Subject<'a> {
    feed: Feed,
    learner: Learner,
    schedule: Schedule,
    interrupt: &'a Interrupt,
    observer: &'a mut dyn Observer,
}

impl Subject<'_> {
    /// Makes update number `step` and adds it to `profile`.
    fn update(&mut self, step: u64, profile: &mut TrainingProfile) -> Result<()> {
        let begin = Instant::now();
        let epoch = self.feed.position().epoch;
        let learning_rate = self.schedule.learning_rate(step, &Plateau::default());
        let (n_batches, share) = (self.learner.n_batches(), self.learner.share());
        let batches = profile.phase(UpdatePhase::Data, || self.feed.next_batches(n_batches, share))?;
        let update = self.learner.learn(step, learning_rate, &batches, profile);
        let update = update.map_err(Error::NotFinite)?;
        profile.updates += 1;
        profile.tgt_tokens += update.sums.n_tokens;
        let totals = UpdateTotals::of(&update, begin.elapsed());
        let report = StepReport::new(step, epoch, learning_rate, &totals, &self.learner);
        self.observer.on(&Event::Step { report: &report, logged: None });
        match self.interrupt.requested() {
            Some(signal) => Err(Error::Interrupted { signal, saved: "a profile saves nothing".into() }),
            None => Ok(()),
        }
    }
}

impl UpdateObserver for TrainingProfile {
    fn phase<R>(&mut self, phase: UpdatePhase, work: impl FnOnce() -> R) -> R {
        let start = Instant::now();
        let result = work();
        *match phase {
            UpdatePhase::Data => &mut self.data,
            UpdatePhase::Forward => &mut self.forward,
            UpdatePhase::Backward => &mut self.backward,
            UpdatePhase::Optimizer => &mut self.optimizer,
        } += start.elapsed();
        result
    }
}
