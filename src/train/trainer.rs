//! The training loop.

mod mean;

use std::path::PathBuf;
use std::time::Instant;

use burn::module::Module;
use serde::{Deserialize, Serialize};

use super::metrics_log::MetricsLog;
use super::prepare::Prepared;
use super::report::{Event, Observer, StepReport, ValidationReport};
use super::update::{damaged, not_finite};
use super::{BestReport, Plateau, Schedule, StopReason, Summary, Unwatched};
use crate::checkpoint::{RecordedScore, Snapshot, TrainingState};
use crate::config::BestBy;
use crate::error::{Error, NotFinite, Result};
use crate::interrupt::Interrupt;
use crate::model::parameters;

/// A run in progress.
pub(super) struct Trainer<'a> {
    setup: Prepared,
    schedule: Schedule,
    progress: Progress,
    step: u64,
    log: MetricsLog,
    last_saved: Option<(u64, PathBuf)>,
    /// The scores of the latest validation, and its update.
    scores: Option<(u64, Vec<RecordedScore>)>,
    interrupt: &'a Interrupt,
    observer: &'a mut dyn Observer,
}

/// The reason for writing a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reason {
    /// Every run with this configuration writes it.
    Regular,
    /// Training stops here.
    Stop,
}

/// The state behind best checkpoint, patience and the plateau schedule.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Progress {
    plateau: Plateau,
    best: Option<BestReport>,
    validations_without_better: u64,
}

impl<'a> Trainer<'a> {
    pub(super) fn new(
        setup: Prepared,
        interrupt: &'a Interrupt,
        observer: &'a mut dyn Observer,
    ) -> Result<Self> {
        let mut trainer = Self {
            schedule: Schedule::of(&setup.config),
            progress: Progress::default(),
            step: 0,
            log: MetricsLog::open(setup.run.dir(), setup.resume_at.unwrap_or(0))?,
            last_saved: None,
            scores: None,
            interrupt,
            observer,
            setup,
        };
        if let Some(step) = trainer.setup.resume_at {
            trainer.restore(step)?;
        }
        Ok(trainer)
    }

    fn restore(&mut self, step: u64) -> Result<()> {
        let run = &self.setup.run;
        let state: TrainingState<Progress> = run.state(step)?;
        let optimizer = self.setup.learner.optimizer_mut();
        optimizer.restore(run.optimizer(step, &optimizer.state_shapes())?);
        self.setup.material.feed.seek(state.position)?;
        let products = self.setup.learner.products();
        if let Some(before) = state.products.filter(|before| *before != products) {
            self.observer.on(&Event::Note(&format!(
                "the run used {before} so far and continues with {products}: its weights may differ in the last bits from \
                 those of a run on one machine"
            )));
        }
        self.progress = state.progress;
        self.step = state.step;
        for warning in run.mend(self.progress.best.map(|best| best.step), step)? {
            self.observer.on(&Event::Warning(&warning));
        }
        self.last_saved = Some((step, run.folder(step)));
        Ok(())
    }

    pub(super) fn run(mut self) -> Result<Summary> {
        let start = Instant::now();
        self.announce();
        let stopped = loop {
            if let Some(reason) = self.finished() {
                break reason;
            }
            let report = self.update()?;
            self.record(&report)?;
            let better = self.validate_if_due()?;
            self.save_if_due(report.epoch, better)?;
            if let Some(signal) = self.interrupt.requested() {
                return Err(self.interrupted(signal)?);
            }
        };
        self.save_unsaved()?;
        self.serve_mean(true)?;
        Ok(Summary {
            step: self.step,
            epoch: self.setup.material.feed.position().epoch,
            best: self.progress.best,
            stopped,
            seconds: start.elapsed().as_secs_f64(),
            path: self.setup.run.dir().to_path_buf(),
        })
    }

    fn announce(&mut self) {
        let setup = &self.setup;
        let report =
            setup
                .material
                .start_report(&setup.config, &setup.learner, setup.memory, self.step);
        self.observer.on(&Event::Start(&report));
    }

    fn finished(&self) -> Option<StopReason> {
        let train = &self.setup.config.train;
        let epochs = self.setup.material.feed.position().epoch;
        if self.step >= train.max_steps {
            Some(StopReason::MaxSteps)
        } else if train.max_epochs > 0 && epochs >= train.max_epochs {
            Some(StopReason::MaxEpochs)
        } else if train.patience > 0 && self.progress.validations_without_better >= train.patience {
            Some(StopReason::Patience)
        } else {
            None
        }
    }

    fn update(&mut self) -> Result<StepReport> {
        let start = Instant::now();
        let feed = &mut self.setup.material.feed;
        let (step, epoch) = (self.step + 1, feed.position().epoch);
        let learning_rate = self.schedule.learning_rate(step, &self.progress.plateau);
        let learner = &mut self.setup.learner;
        let batches = feed.next_batches(learner.n_batches())?;
        let update = learner.learn(step, learning_rate, &batches, &mut Unwatched);
        let update = update.map_err(|damage| self.damaged(*damage))?;
        self.step = step;
        let time = start.elapsed();
        Ok(StepReport::new(step, epoch, learning_rate, &update, time))
    }

    fn damaged(&self, damage: NotFinite) -> Error {
        let checkpoint = self.last_saved.as_ref().map(|(_, path)| path.clone());
        Error::NotFinite(Box::new(NotFinite {
            checkpoint,
            ..damage
        }))
    }

    fn record(&mut self, report: &StepReport) -> Result<()> {
        let every = self.setup.config.train.log_every.max(1);
        let logged = report.step == 1 || report.step.is_multiple_of(every);
        if logged {
            self.log.step(report)?;
        }
        self.observer.on(&Event::Step { report, logged });
        Ok(())
    }

    /// Validates after every `validate_every` updates and after the last one. Returns whether the result is the best so
    /// far.
    fn validate_if_due(&mut self) -> Result<bool> {
        let every = self.setup.config.train.validate_every;
        let is_last = matches!(
            self.finished(),
            Some(StopReason::MaxSteps | StopReason::MaxEpochs)
        );
        let is_regular = every > 0 && self.step.is_multiple_of(every);
        if !(is_regular || every > 0 && is_last) {
            return Ok(false);
        }
        let Some(validation) = &self.setup.material.validation else {
            return Ok(false);
        };
        let Prepared {
            learner,
            config,
            material,
            ..
        } = &self.setup;
        let mut report = validation.measure(
            learner.model().valid(),
            config,
            &material.tokenizers,
            self.step,
        )?;
        if !report.loss.is_finite() {
            let layer = "validation".into();
            let damage = not_finite(self.step, report.loss, layer, Vec::new());
            return Err(self.damaged(*damage));
        }
        report.best = self.is_better(&report);
        if is_regular {
            // Not after the last update, so that a run extended later continues as if it had not stopped there.
            let plateau = &mut self.progress.plateau;
            plateau.observe(&config.train.schedule, report.loss);
        }
        if report.best {
            let bleu = report.bleu.as_ref().map(|score| score.value);
            self.progress.best = Some(BestReport {
                step: report.step,
                loss: report.loss,
                bleu,
            });
            self.progress.validations_without_better = 0;
        } else if is_regular {
            self.progress.validations_without_better += 1;
        }
        self.scores = Some((self.step, recorded(&report)));
        self.log.validation(&report)?;
        self.observer.on(&Event::Validation(&report));
        Ok(report.best)
    }

    fn is_better(&self, report: &ValidationReport) -> bool {
        let Some(best) = self.progress.best else {
            return true;
        };
        match (self.setup.config.train.best_by, &report.bleu, best.bleu) {
            (BestBy::Bleu, Some(score), Some(best)) => score.value > best,
            _ => report.loss < best.loss,
        }
    }

    fn save_if_due(&mut self, epoch: u64, better: bool) -> Result<()> {
        let due = match self.setup.config.train.save_every {
            0 => self.setup.material.feed.position().epoch > epoch,
            every => self.step.is_multiple_of(every),
        };
        // A validation after the last update happens regardless of `validate_every`.
        let every = self.setup.config.train.validate_every;
        let reason = match due || self.step.is_multiple_of(every) {
            true => Reason::Regular,
            false => Reason::Stop,
        };
        if due || better {
            self.save(reason, better)
        } else {
            Ok(())
        }
    }

    /// Saves a checkpoint of the latest update, where training stops, unless already saved.
    fn save_unsaved(&mut self) -> Result<()> {
        match self.last_saved {
            Some((step, _)) if step == self.step => Ok(()),
            _ => self.save(Reason::Stop, false),
        }
    }

    fn save(&mut self, reason: Reason, best: bool) -> Result<()> {
        let weights = parameters(self.setup.learner.model());
        if let Some(name) = damaged(&weights) {
            let damage = not_finite(self.step, f64::NAN, name, Vec::new());
            return Err(self.damaged(*damage));
        }
        let setup = &mut self.setup;
        let scores = self.scores.iter().filter(|(step, _)| *step == self.step);
        setup.material.provenance.scores = scores.flat_map(|(_, scores)| scores.clone()).collect();
        setup.material.provenance.step = self.step;
        let state = TrainingState {
            step: self.step,
            position: setup.material.feed.position(),
            products: Some(setup.learner.products()),
            provisional: reason == Reason::Stop && setup.config.train.average_last > 0,
            progress: self.progress.clone(),
        };
        let snapshot = Snapshot {
            state: &state,
            weights: &weights,
            optimizer: &setup.learner.optimizer().state(),
            provenance: &setup.material.provenance,
        };
        // The checkpoint relies on the log lines up to its update.
        self.log.sync()?;
        let keep_last = setup.config.train.keep_last;
        let path = setup.run.save(&snapshot, best, keep_last)?;
        self.observer.on(&Event::Saved {
            path: &path,
            step: self.step,
        });
        self.last_saved = Some((self.step, path));
        Ok(())
    }

    fn interrupted(&mut self, signal: i32) -> Result<Error> {
        self.save_unsaved()?;
        self.serve_mean(false)?;
        let dir = self.setup.run.dir().display();
        let saved = format!(
            "update {} is saved in `{dir}`; to continue, repeat the same call with `Existing::Resume`",
            self.step
        );
        Ok(Error::Interrupted { signal, saved })
    }
}

fn recorded(report: &ValidationReport) -> Vec<RecordedScore> {
    let plain = |name: &str, value| RecordedScore {
        name: format!("validation {name}"),
        value,
        signature: None,
    };
    let mut scores = vec![
        plain("loss", report.loss),
        plain("perplexity", report.perplexity),
    ];
    scores.extend(report.bleu.iter().map(|score| RecordedScore {
        name: format!("validation {}", score.name),
        value: score.value,
        signature: Some(score.signature.clone()),
    }));
    scores
}
