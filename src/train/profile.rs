//! Where the time of an update goes.

use std::time::{Duration, Instant};

use super::prepare::{check_memory, fresh_model, material};
use super::report::Observer;
use super::{Gathered, Learner, UpdateScale};
use crate::batch::Batch;
use crate::config::Config;
use crate::device;
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::ops::{Spent, profiled};

/// What some updates took.
#[derive(Clone, Debug)]
pub struct Profile {
    /// Updates.
    pub updates: u64,
    /// Real target tokens.
    pub tgt_tokens: usize,
    /// Making batches.
    pub data: Duration,
    /// Forward passes in all.
    pub forward: Duration,
    /// Backward passes in all.
    pub backward: Duration,
    /// Norm of the gradient and optimiser.
    pub optimizer: Duration,
    /// The parts of the forward and backward passes, from the longest to the shortest.
    pub operations: Vec<(&'static str, Spent)>,
}

impl Profile {
    /// All updates.
    pub fn total(&self) -> Duration {
        self.data + self.forward + self.backward + self.optimizer
    }
}

/// Trains a fresh model for `updates` updates as `config` says, after one more to warm up, and throws it away.
///
/// # Errors
/// Anything wrong with configuration or data; a request to stop.
pub fn profile(
    config: &Config,
    updates: u64,
    interrupt: &Interrupt,
    observer: &mut dyn Observer,
) -> Result<Profile> {
    config.validate()?;
    let mut material = material(config, None, interrupt, observer)?;
    let device = device::cpu().autodiff();
    let model = fresh_model(config, &material.tokenizers, &device);
    check_memory(config, &model, &material)?;
    let mut stopwatch = Stopwatch {
        learner: Learner::new(model, config, device),
        accumulate: config.train.accumulate.max(1) as u64,
        profile: Profile::nothing(),
    };
    let mut next_batch = || material.feed.next_batch();
    stopwatch.update(0, &mut next_batch);
    stopwatch.profile = Profile::nothing();
    let (stopped, spent) = profiled(|| {
        (1..=updates).find_map(|step| {
            stopwatch.update(step, &mut next_batch);
            interrupt.requested()
        })
    });
    if let Some(signal) = stopped {
        let saved = "a profile saves nothing".into();
        return Err(Error::Interrupted { signal, saved });
    }
    let mut profile = stopwatch.profile;
    profile.operations = spent.into_iter().collect();
    profile
        .operations
        .sort_by_key(|(_, spent)| std::cmp::Reverse(spent.forward + spent.backward));
    Ok(profile)
}

struct Stopwatch {
    learner: Learner,
    accumulate: u64,
    profile: Profile,
}

impl Stopwatch {
    fn update(&mut self, step: u64, next_batch: &mut impl FnMut() -> Batch) {
        let (learner, profile) = (&mut self.learner, &mut self.profile);
        let mut gathered = Gathered::default();
        for number in step * self.accumulate..(step + 1) * self.accumulate {
            let batch = timed(&mut profile.data, &mut *next_batch);
            let loss = timed(&mut profile.forward, || learner.loss(&batch, number));
            timed(&mut profile.backward, || {
                learner.gather(loss, &mut gathered)
            });
        }
        profile.updates += 1;
        profile.tgt_tokens += gathered.sums.n_tokens;
        timed(&mut profile.optimizer, || {
            let scale = UpdateScale {
                step: step + 1,
                learning_rate: 0.0,
                gradient_scale: gathered.gradient_norm().recip(),
            };
            learner.update(gathered, scale);
        });
    }
}

impl Profile {
    fn nothing() -> Self {
        Self {
            updates: 0,
            tgt_tokens: 0,
            data: Duration::ZERO,
            forward: Duration::ZERO,
            backward: Duration::ZERO,
            optimizer: Duration::ZERO,
            operations: Vec::new(),
        }
    }
}

fn timed<R>(total: &mut Duration, work: impl FnOnce() -> R) -> R {
    let start = Instant::now();
    let result = work();
    *total += start.elapsed();
    result
}
