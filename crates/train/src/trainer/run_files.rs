//! The files of a run.

use std::path::Path;

use attentive_base::error::Result;
use attentive_checkpoint::Run;

use crate::metrics_log::MetricsLog;
use crate::report::{StepReport, ValidationReport};
use crate::tensorboard::EventFile;

/// The files of a run.
pub(super) struct RunFiles {
    pub(super) run: Run,
    log: MetricsLog,
    /// The event file, if `train.tensorboard` is set.
    events: Option<EventFile>,
}

impl RunFiles {
    /// Opens the files of the run in the directory `dir`, which continues after update `step`.
    pub(super) fn open(dir: &Path, step: Option<u64>, tensorboard: bool) -> Result<Self> {
        Ok(Self {
            run: Run::new(dir),
            log: MetricsLog::open(dir, step)?,
            events: tensorboard.then(|| EventFile::create(dir, step)).transpose()?,
        })
    }

    pub(super) fn log_step(&mut self, report: &StepReport) -> Result<()> {
        self.log.step(report)?;
        let events = self.events.as_mut();
        events.map_or(Ok(()), |events| events.step(report))
    }

    pub(super) fn log_validation(&mut self, report: &ValidationReport) -> Result<()> {
        self.log.validation(report)?;
        let events = self.events.as_mut();
        events.map_or(Ok(()), |events| events.validation(report))
    }

    /// Waits until all log entries are on disk.
    pub(super) fn sync(&self) -> Result<()> {
        self.log.sync()?;
        self.events.as_ref().map_or(Ok(()), EventFile::sync)
    }
}
