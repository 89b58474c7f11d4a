//! The loop over updates.

use std::path::PathBuf;
use std::time::Instant;

use attentive_kernels::optimizer::first_non_finite;
use burn::module::Module;
use serde::{Deserialize, Serialize};

use super::metrics_log::MetricsLog;
use super::prepare::Prepared;
use super::report::{Event, Observer, StartReport, StepReport, ValidationReport};
use super::{BestReport, Gathered, Plateau, Schedule, StopReason, Summary, UpdateScale};
use crate::batch::Batch;
use crate::checkpoint::{RecordedScore, Snapshot, TrainingState};
use crate::config::BestBy;
use crate::error::{Error, NotFinite, Result};
use crate::interrupt::Interrupt;
use crate::metrics::perplexity;
use crate::model::{Parameter, parameters};

/// A run in progress.
pub(super) struct Trainer<'a> {
    setup: Prepared,
    schedule: Schedule,
    progress: Progress,
    step: u64,
    log: MetricsLog,
    last_saved: Option<(u64, PathBuf)>,
    /// What the latest validation measured, and after which update.
    scores: Option<(u64, Vec<RecordedScore>)>,
    interrupt: &'a Interrupt,
    observer: &'a mut dyn Observer,
}

/// What decides about best, patience and the plateau schedule.
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
        let config = &setup.config;
        let mut trainer = Self {
            schedule: Schedule::new(
                &config.train.schedule,
                config.train.optimizer.learning_rate,
                config.model.d_model,
                config.train.max_steps,
            ),
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
        self.progress = state.progress;
        self.step = state.step;
        run.mend(self.progress.best.map(|best| best.step), step)?;
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
        if self
            .last_saved
            .as_ref()
            .is_none_or(|(step, _)| *step != self.step)
        {
            self.save(false)?;
        }
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
        let accumulate = setup.config.train.accumulate.max(1) as u64;
        let report = StartReport {
            step: self.step,
            max_steps: setup.config.train.max_steps,
            n_parameters: setup.learner.model().num_params(),
            n_examples: setup.material.n_examples,
            src_vocab: setup.material.tokenizers.src().vocab_size(),
            tgt_vocab: setup.material.tokenizers.tgt().vocab_size(),
            memory: setup.memory.peak() as u64,
            matmul: setup.learner.matmul(),
            instructions: setup.learner.instructions(),
            steps_per_epoch: (setup.material.feed.batches_per_epoch() as u64).div_ceil(accumulate),
        };
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

    /// One update: gradients of `accumulate` micro-batches, clipping, optimiser.
    fn update(&mut self) -> Result<StepReport> {
        let start = Instant::now();
        let epoch = self.setup.material.feed.position().epoch;
        let step = self.step + 1;
        let (gathered, lines) = self.gather(step)?;
        let (sums, n_tokens) = (gathered.sums, gathered.n_tokens());
        let gradient_norm = gathered.gradient_norm();
        if !gradient_norm.is_finite() {
            let layer = gathered.first_non_finite();
            let layer = layer.unwrap_or("the sum of all gradients");
            let loss = sums.loss / n_tokens;
            return Err(self.not_finite(step, loss, format!("gradient of {layer}"), lines));
        }
        let clip = self.setup.config.train.clip_norm;
        let clipping = if clip > 0.0 && gradient_norm > clip {
            clip / gradient_norm
        } else {
            1.0
        };
        let learning_rate = self.schedule.learning_rate(step, &self.progress.plateau);
        let scale = UpdateScale {
            step,
            learning_rate,
            gradient_scale: clipping / n_tokens,
        };
        self.setup.learner.update(gathered, scale);
        self.step = step;
        Ok(StepReport {
            step,
            epoch,
            loss: sums.loss / n_tokens,
            nll: sums.nll / n_tokens,
            perplexity: perplexity(sums.nll, sums.n_tokens as u64),
            accuracy: sums.n_correct as f64 / n_tokens,
            learning_rate,
            gradient_norm,
            tgt_tokens: sums.n_tokens,
            tokens_per_second: sums.n_tokens as f64 / start.elapsed().as_secs_f64(),
        })
    }

    /// The gradients of one update, and the corpus lines that they come from.
    fn gather(&mut self, step: u64) -> Result<(Gathered, Vec<usize>)> {
        let accumulate = self.setup.config.train.accumulate.max(1) as u64;
        let (mut gathered, mut lines) = (Gathered::default(), Vec::new());
        for number in (step - 1) * accumulate..step * accumulate {
            let batch = self.setup.material.feed.next_batch();
            let loss = self.setup.learner.loss(&batch, number);
            lines.extend(&batch.lines);
            if !loss.sums.loss.is_finite() {
                let layer = self.first_non_finite_layer(&batch, number);
                let value = loss.sums.loss / loss.sums.n_tokens.max(1) as f64;
                return Err(self.not_finite(step, value, layer, batch.lines));
            }
            self.setup.learner.gather(loss, &mut gathered);
        }
        Ok((gathered, lines))
    }

    fn first_non_finite_layer(&self, batch: &Batch, number: u64) -> String {
        let learner = &self.setup.learner;
        damaged(&parameters(learner.model()))
            .or_else(|| learner.first_non_finite_layer(batch, number))
            .unwrap_or_else(|| "projection".into())
    }

    fn not_finite(&self, step: u64, loss: f64, layer: String, lines: Vec<usize>) -> Error {
        let checkpoint = self.last_saved.as_ref().map(|(_, path)| path.clone());
        Error::NotFinite(Box::new(NotFinite {
            step,
            loss,
            layer,
            lines,
            checkpoint,
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

    /// Validates after every `validate_every` updates and after the last; says whether the result is the best so far.
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
            return Err(self.not_finite(self.step, report.loss, layer, Vec::new()));
        }
        report.best = self.is_better(&report);
        if is_regular {
            // Not after the last update: a run that is extended later must go on as if it had not stopped there.
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
        if due || better {
            self.save(better)
        } else {
            Ok(())
        }
    }

    fn save(&mut self, best: bool) -> Result<()> {
        let weights = parameters(self.setup.learner.model());
        if let Some(name) = damaged(&weights) {
            return Err(self.not_finite(self.step, f64::NAN, name, Vec::new()));
        }
        let setup = &mut self.setup;
        let scores = self.scores.iter().filter(|(step, _)| *step == self.step);
        setup.material.provenance.scores = scores.flat_map(|(_, scores)| scores.clone()).collect();
        setup.material.provenance.step = self.step;
        let state = TrainingState {
            step: self.step,
            position: setup.material.feed.position(),
            progress: self.progress.clone(),
        };
        let snapshot = Snapshot {
            state: &state,
            weights: &weights,
            optimizer: &setup.learner.optimizer().state(),
            provenance: &setup.material.provenance,
        };
        let path = setup
            .run
            .save(&snapshot, best, setup.config.train.keep_last)?;
        self.observer.on(&Event::Saved {
            path: &path,
            step: self.step,
        });
        self.last_saved = Some((self.step, path));
        Ok(())
    }

    fn interrupted(&mut self, signal: i32) -> Result<Error> {
        if self
            .last_saved
            .as_ref()
            .is_none_or(|(step, _)| *step != self.step)
        {
            self.save(false)?;
        }
        let dir = self.setup.run.dir().display();
        let saved = format!(
            "update {} is saved in `{dir}`; the same command with `--resume` goes on",
            self.step
        );
        Ok(Error::Interrupted { signal, saved })
    }
}

/// The first parameter that holds a number that is not finite.
fn damaged(parameters: &[Parameter]) -> Option<String> {
    let damaged = |parameter: &&Parameter| first_non_finite(&parameter.values).is_some();
    let parameter = parameters.iter().find(damaged)?;
    Some(format!("parameter {}", parameter.name))
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
