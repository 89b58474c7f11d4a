//! Serves the mean of the latest checkpoints of a finished run.

use super::{Trainer, recorded};
use crate::checkpoint;
use crate::device;
use crate::error::Result;
use crate::train::report::{Event, ValidationReport};

impl Trainer<'_> {
    /// Serves the mean of the latest `train.average_last` checkpoints if that is not 0, after validating it if
    /// `validated` and the run validates at all. Resuming the run is not affected: its state remains that of the last
    /// checkpoint.
    pub(super) fn serve_mean(&mut self, validated: bool) -> Result<()> {
        let setup = &self.setup;
        let last = setup.config.train.average_last;
        if last == 0 {
            return Ok(());
        }
        let architecture = checkpoint::architecture(&setup.config, &setup.material.tokenizers);
        let mut mean = setup.run.mean(last, &architecture)?;
        let validation = setup.material.validation.as_ref();
        let every = setup.config.train.validate_every;
        let report = validation
            .filter(|_| validated && every > 0)
            .map(|validation| {
                let model = checkpoint::build(&architecture, mean.weights.clone(), &device::cpu());
                validation.measure(model, &setup.config, &setup.material.tokenizers, self.step)
            })
            .transpose()?;
        let is_finite = |report: &ValidationReport| report.loss.is_finite();
        if let Some(report) = report.as_ref().filter(|report| is_finite(report)) {
            mean.provenance.scores = recorded(report);
        }
        setup.run.serve(&mean)?;
        self.observer.on(&Event::Averaged {
            steps: &mean.provenance.averaged_steps,
            validation: report.as_ref(),
        });
        Ok(())
    }
}
