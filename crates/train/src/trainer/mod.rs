//! The training loop.

mod mean;
mod run_files;
mod updates;
mod validation;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use attentive_base::error::{Error, NotFinite, Result};
use attentive_base::interrupt::Interrupt;
use attentive_checkpoint::weights::NamedTensor;
use attentive_checkpoint::{Choice, RecordedScore, Run, Snapshot, TrainingState};
use attentive_data::Position;
use serde::{Deserialize, Serialize};

use self::run_files::RunFiles;
pub(super) use self::updates::MAX_STARTED_UPDATES;
use self::updates::StartedUpdate;
use super::best::Standings;
use super::prepare::PreparedRun;
use super::report::{Event, Observer};
use super::update::{damaged, not_finite};
use super::update_totals::UpdateTotals;
use super::{ExchangeReport, Plateau, Schedule, StopReason, Summary};

/// Updates between comparisons of the weights of all processes.
const COMPARE_EVERY: u64 = 100;

/// A run in progress.
pub(super) struct Trainer<'a> {
    setup: PreparedRun,
    schedule: Schedule,
    progress: Progress,
    step: u64,
    /// The latest updates, whose results are not known yet.
    started: Vec<StartedUpdate>,
    /// The files that only the first process writes.
    files: Option<RunFiles>,
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
    /// Training stops here, or starts here from another model.
    Stop,
}

/// The state on which the best checkpoint, patience and the plateau schedule depend.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Progress {
    plateau: Plateau,
    #[serde(flatten)]
    standings: Standings,
    /// Whether the update was not validated, since a script failed or a stop was requested.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    validation_due: bool,
    /// The updates since the last log entry.
    unlogged: UpdateTotals,
}

impl<'a> Trainer<'a> {
    pub(super) fn new(
        setup: PreparedRun,
        interrupt: &'a Interrupt,
        observer: &'a mut dyn Observer,
    ) -> Result<Self> {
        let files = setup.processes.is_first().then(|| {
            let tensorboard = setup.config.train.tensorboard;
            RunFiles::open(&setup.dir, setup.resume_at, tensorboard)
        });
        let files = setup.processes.agree("the run's files were opened", files.transpose())?;
        let mut trainer = Self {
            schedule: Schedule::of(&setup.config),
            progress: Progress::default(),
            step: 0,
            started: Vec::new(),
            files,
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
        let doing = "the run was resumed";
        let processes = self.setup.processes.clone();
        let run = self.files.as_ref().map(|files| &files.run);
        let state: TrainingState<Progress> = processes.value_of_first(doing, || in_first(run).state(step))?;
        let shapes = self.setup.learner.state_shapes();
        let optimizer = run.map(|run| run.optimizer(step, &shapes)).transpose();
        let optimizer = processes.agree(doing, optimizer)?;
        self.setup.learner.restore(&optimizer.unwrap_or_default());
        let sought = self.setup.material.feed.seek(state.position);
        processes.agree(doing, sought)?;
        let products = self.setup.learner.products();
        let before = state.products;
        if before != products {
            self.observer.on(&Event::Note(&format!(
                "the run used {before} so far and continues with {products}: its weights may differ in the \
                 last bits from those of a run on one machine and device"
            )));
        }
        self.progress = state.progress;
        self.step = state.step;
        let standings = &mut self.progress.standings;
        standings.arrange(&self.setup.config.train);
        let first = standings.first.best.map(|best| (Choice::Best, best.step));
        let others = standings.others.iter();
        let others = others.filter_map(|(by, one)| Some((Choice::BestBy(*by), one.best?.step)));
        let best: BTreeMap<Choice, u64> = first.into_iter().chain(others).collect();
        let mended = run.map_or(Ok(Vec::new()), |run| run.mend(&best, step));
        for warning in processes.agree(doing, mended)? {
            self.observer.on(&Event::Warning(&warning));
        }
        self.last_saved = Some((step, Run::new(&self.setup.dir).folder(step)));
        Ok(())
    }

    pub(super) fn run(mut self) -> Result<Summary> {
        let start = Instant::now();
        self.announce();
        self.setup.processes.limit_waits();
        self.take_over()?;
        if self.progress.validation_due {
            // An epoch that ended with this update is another one by now.
            let Position { epoch, window, batch } = self.setup.material.feed.position();
            let is_new = window == 0 && batch == 0;
            self.finish_update(epoch.saturating_sub(u64::from(is_new)))?;
        }
        let stopped = loop {
            if let Some(reason) = self.finished() {
                break reason;
            }
            let epoch = self.update()?;
            self.compare_if_due()?;
            self.record_if_due()?;
            self.finish_update(epoch)?;
            if let Some(signal) = self.interrupted_by() {
                return Err(self.interrupted(signal)?);
            }
        };
        self.save_unsaved()?;
        self.serve_mean(true)?;
        let processes = &self.setup.processes;
        Ok(Summary {
            step: self.step,
            epoch: self.setup.material.feed.position().epoch,
            best: self.progress.standings.first.best,
            stopped,
            resumed_at: self.setup.resume_at,
            seconds: start.elapsed().as_secs_f64(),
            exchange: (!processes.is_alone()).then(|| ExchangeReport {
                processes: processes.count(),
                seconds: processes.time().as_secs_f64(),
                bytes_sent: processes.bytes_sent(),
            }),
            path: self.setup.dir.clone(),
        })
    }

    /// Validates and saves after an update of this epoch, if it is time to.
    fn finish_update(&mut self, epoch: u64) -> Result<()> {
        let better = self.validate_if_due().map_err(|error| self.put_off_validation(error))?;
        self.save_if_due(epoch, &better)
    }

    fn announce(&mut self) {
        let setup = &self.setup;
        let report = setup.material.start_report(&setup.config, &setup.learner, setup.memory, self.step);
        self.observer.on(&Event::Start(&report));
    }

    /// Validates and saves a model that comes from `model.from` before its first update. Afterwards its
    /// directory is no longer needed, and it remains the best model until training improves it.
    fn take_over(&mut self) -> Result<()> {
        if self.setup.config.model.from.is_none() || self.setup.resume_at.is_some() {
            return Ok(());
        }
        let validates = self.setup.config.train.validate_every > 0;
        let better = if validates { self.validate(true)? } else { Vec::new() };
        self.save(Reason::Stop, &better)
    }

    fn finished(&self) -> Option<StopReason> {
        let train = &self.setup.config.train;
        let epochs = self.setup.material.feed.position().epoch;
        if self.step >= train.max_steps {
            Some(StopReason::MaxSteps)
        } else if train.max_epochs > 0 && epochs >= train.max_epochs {
            Some(StopReason::MaxEpochs)
        } else if self.progress.standings.are_exhausted(train) {
            Some(StopReason::Patience)
        } else {
            None
        }
    }

    fn damaged(&self, damage: NotFinite) -> Error {
        let checkpoint = self.last_saved.as_ref().map(|(_, path)| path.clone());
        Error::NotFinite(Box::new(NotFinite { checkpoint, ..damage }))
    }

    /// The signal by which any process was asked to stop.
    fn interrupted_by(&self) -> Option<i32> {
        let signal = self.interrupt.requested().unwrap_or(0);
        let processes = &self.setup.processes;
        let signal = processes.largest("an update ended", signal as u64) as i32;
        (signal != 0).then_some(signal)
    }

    /// Compares the weights of all processes after every hundredth update, and before they are saved.
    fn compare_if_due(&self) -> Result<()> {
        if self.step.is_multiple_of(COMPARE_EVERY) { self.compare() } else { Ok(()) }
    }

    fn compare(&self) -> Result<()> {
        let processes = &self.setup.processes;
        if processes.is_alone() {
            return Ok(());
        }
        let checksum = self.setup.learner.checksum().to_le_bytes();
        let all = processes.gather("the weights were compared", &checksum);
        let different = all.iter().position(|other| *other != all[0]);
        match different {
            None => Ok(()),
            Some(process) => {
                processes.fail_together();
                Err(Error::data(
                    format!(
                        "after update {} the weights of process {process} differ from those of process 0",
                        self.step
                    ),
                    "look for faulty RAM or a faulty network; the last checkpoint is from before",
                ))
            }
        }
    }

    fn save_if_due(&mut self, epoch: u64, better: &[Choice]) -> Result<()> {
        let due = match self.setup.config.train.save_every {
            0 => self.setup.material.feed.position().epoch > epoch,
            every => self.step.is_multiple_of(every),
        };
        // A validation after the last update happens regardless of `validate_every`.
        let every = self.setup.config.train.validate_every;
        let reason = if due || self.step.is_multiple_of(every) { Reason::Regular } else { Reason::Stop };
        if due || !better.is_empty() { self.save(reason, better) } else { Ok(()) }
    }

    /// Saves a checkpoint of the latest update, where training stops, unless already saved.
    fn save_unsaved(&mut self) -> Result<()> {
        match self.last_saved {
            Some((step, _)) if step == self.step => Ok(()),
            _ => self.save(Reason::Stop, &[]),
        }
    }

    fn save(&mut self, reason: Reason, better: &[Choice]) -> Result<()> {
        self.record()?;
        self.compare()?;
        let processes = self.setup.processes.clone();
        let scores = self.scores.iter().filter(|(step, _)| *step == self.step);
        let provenance = &mut self.setup.material.provenance;
        provenance.scores = scores.flat_map(|(_, scores)| scores.clone()).collect();
        provenance.step = self.step;
        self.setup.learner.settle();
        self.setup.learner.swap_averages();
        let optimizer = self.setup.learner.state();
        let saved = self.files.as_ref();
        let saved = saved.map_or(Ok(()), |files| self.write(files, &optimizer, reason, better));
        drop(optimizer);
        self.setup.learner.swap_averages();
        processes.agree("a checkpoint was saved", saved)?;
        let path = Run::new(&self.setup.dir).folder(self.step);
        self.observer.on(&Event::Saved { path: &path, step: self.step });
        self.last_saved = Some((self.step, path));
        Ok(())
    }

    /// Writes a checkpoint.
    fn write(
        &self,
        files: &RunFiles,
        optimizer: &[NamedTensor<'_>],
        reason: Reason,
        better: &[Choice],
    ) -> Result<()> {
        let setup = &self.setup;
        let model = setup.learner.model();
        if let Some(name) = damaged(model.parameters()) {
            let damage = not_finite(self.step, f64::NAN, name, Vec::new());
            return Err(self.damaged(*damage));
        }
        let state = TrainingState {
            step: self.step,
            position: setup.material.feed.position(),
            products: setup.learner.products(),
            provisional: reason == Reason::Stop && setup.config.train.average_last > 0,
            progress: self.progress.clone(),
        };
        let snapshot = Snapshot {
            state: &state,
            weights: &model.copied(),
            frozen: setup.frozen.names(),
            optimizer,
            provenance: &setup.material.provenance,
        };
        // The checkpoint relies on the log lines up to its update.
        files.sync()?;
        let keep_last = setup.config.train.keep_last;
        files.run.save(&snapshot, better, keep_last).map(drop)
    }

    fn interrupted(&mut self, signal: i32) -> Result<Error> {
        self.save_unsaved()?;
        self.serve_mean(false)?;
        self.setup.processes.fail_together();
        let dir = self.setup.dir.display();
        let saved = format!(
            "update {} is saved in `{dir}`; to continue, repeat the same call with `Existing::Resume`",
            self.step
        );
        Ok(Error::Interrupted { signal, saved })
    }
}

/// The value in the first process, for functions that only this process calls.
fn in_first<T>(value: Option<T>) -> T {
    value.expect("the first process has the files")
}
