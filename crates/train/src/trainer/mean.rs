//! Averages the latest checkpoints of a finished run.

use attentive_base::error::Result;
use attentive_checkpoint as checkpoint;

use super::Trainer;
use super::validation::recorded;
use crate::exchange::parameters_of_first;
use crate::report::{Event, ValidationReport};

impl Trainer<'_> {
    /// Makes the average of the latest `train.average_last` checkpoints the final model, if that is not 0.
    /// Validates it if `validated` is true and the run has validation data. Resuming the run is not affected:
    /// its state remains the state of the last checkpoint.
    pub(super) fn serve_mean(&mut self, validated: bool) -> Result<()> {
        let setup = &self.setup;
        let last = setup.config.train.average_last;
        if last == 0 {
            return Ok(());
        }
        // The sums in `f64` would otherwise be the peak of the run.
        attentive_device::release();
        let doing = "checkpoints were averaged";
        let processes = setup.processes.clone();
        let architecture = checkpoint::architecture(&setup.config, &setup.material.tokenizers);
        let run = self.files.as_ref().map(|files| &files.run);
        let mean = run.map(|run| run.mean(last, &architecture)).transpose();
        let mut mean = processes.agree(doing, mean)?;
        let validation = setup.material.validation.as_ref();
        let every = setup.config.train.validate_every;
        let report = validation
            .filter(|_| validated && every > 0)
            .map(|validation| {
                let weights = mean.as_ref().map(|mean| mean.weights.clone());
                let shapes = checkpoint::shapes(&architecture);
                let weights = parameters_of_first(&processes, weights, shapes);
                let model = checkpoint::build(&architecture, weights);
                validation.measure(model, setup, self.step, self.interrupt)
            })
            .transpose()?;
        let is_finite = |report: &ValidationReport| report.loss.is_finite();
        if let (Some(mean), Some(report)) = (&mut mean, report.as_ref().filter(|r| is_finite(r))) {
            mean.provenance.scores = recorded(report);
        }
        let served = run.zip(mean.as_ref());
        let served = served.map_or(Ok(()), |(run, mean)| run.serve(mean));
        processes.agree(doing, served)?;
        let Some(mean) = mean else { return Ok(()) };
        self.observer
            .on(&Event::Averaged { steps: &mean.provenance.averaged_steps, validation: report.as_ref() });
        Ok(())
    }
}
