//! The average of the weights of several checkpoints (*Attention Is All You Need*, section 6.1).

use std::path::Path;

use attentive_architecture::Architecture;
use attentive_base::error::{Error, Result};
use attentive_model::model::Parameter;

use super::{
    Choice, Provenance, Run, architecture, atomic, files, load_recipe, refuse_existing, require_trained,
    shapes, versioned_weights, weights, write_model,
};

/// The checkpoints to average.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AverageSelection {
    /// This many of the latest checkpoints.
    Last(usize),
    /// These checkpoints.
    These(Vec<Choice>),
}

/// Writes the average of the weights of several checkpoints of the run directory `run` to the new model
/// directory `out`, and returns their updates. The directory appears with all its files or not at all.
///
/// # Errors
/// Fails if the run does not have a chosen checkpoint, if one is chosen twice or damaged, if none is chosen,
/// or if `out` exists or another process is writing it.
pub fn average(run: &Path, which: &AverageSelection, out: &Path) -> Result<Vec<u64>> {
    refuse_existing(out)?;
    require_trained(run)?;
    let (config, tokenizers) = load_recipe(run)?;
    let checkpoints = Run::new(run);
    let steps = match which {
        AverageSelection::Last(last) => checkpoints.latest(*last)?,
        AverageSelection::These(choices) => checkpoints.these(choices)?,
    };
    let mean = checkpoints.mean_of(steps, &architecture(&config, &tokenizers))?;
    let distillation = run.join(files::DISTILLATION);
    let copy_distillation = |path: &Path| atomic::copy(&distillation, path);
    let write_weights = |path: &Path| weights::write(path, &mean.weights);
    let mut others: Vec<(&str, &atomic::ContentWriter<'_>)> = vec![(files::WEIGHTS, &write_weights)];
    if distillation.exists() {
        others.push((files::DISTILLATION, &copy_distillation));
    }
    let provenance = || mean.provenance.clone();
    write_model(out, &config, &tokenizers, &others, &provenance)?;
    Ok(mean.provenance.averaged_steps)
}

/// The average of the weights of several checkpoints, summed in `f64`.
#[derive(Debug)]
pub struct Mean {
    /// The weights, in the order of the architecture's parameters.
    pub weights: Vec<Parameter>,
    /// The provenance of the latest checkpoint, without scores, and with the updates of all checkpoints.
    pub provenance: Provenance,
}

impl Run {
    /// Returns the average of the `last` latest checkpoints, or of all if there are fewer.
    ///
    /// # Errors
    /// Fails if the run has no checkpoints, or if a checkpoint is damaged or of another architecture.
    pub fn mean(&self, last: usize, architecture: &Architecture) -> Result<Mean> {
        let mut steps = self.regular_steps()?;
        steps.drain(..steps.len().saturating_sub(last));
        self.mean_of(steps, architecture)
    }

    /// The `last` latest updates that have checkpoints.
    fn latest(&self, last: usize) -> Result<Vec<u64>> {
        let mut steps = self.regular_steps()?;
        if steps.is_empty() {
            // Its error names the reason.
            self.step_of(Choice::Last)?;
        }
        if last == 0 || last > steps.len() {
            return Err(Error::usage(
                format!(
                    "cannot average the last {last} checkpoints: `{}` has {}",
                    self.dir().display(),
                    steps.len()
                ),
                "average fewer, or train with a larger `train.keep_last`",
            ));
        }
        Ok(steps.split_off(steps.len() - last))
    }

    /// The updates of the checkpoints `choices`, in order.
    fn these(&self, choices: &[Choice]) -> Result<Vec<u64>> {
        let steps = choices.iter().map(|choice| self.step_of(*choice));
        let mut steps = steps.collect::<Result<Vec<u64>>>()?;
        steps.sort_unstable();
        match steps.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(Error::usage(
                format!("the checkpoint of update {} is chosen twice", pair[0]),
                "name each checkpoint once; `best` and `last` may be the same",
            )),
            None => Ok(steps),
        }
    }

    /// Returns the average of the checkpoints of the updates `steps`.
    fn mean_of(&self, steps: Vec<u64>, architecture: &Architecture) -> Result<Mean> {
        let Some(&latest) = steps.last() else {
            return Err(Error::model(self.dir(), "it has no checkpoint to average"));
        };
        let expected = shapes(architecture);
        let mut sums: Vec<Vec<f64>> = vec![Vec::new(); expected.len()];
        for &step in &steps {
            self.weights(step)?.read_each(&expected, |index, values| {
                let sum = &mut sums[index];
                sum.resize(values.len(), 0.0);
                let pairs = sum.iter_mut().zip(values);
                pairs.for_each(|(sum, value)| *sum += f64::from(value));
            })?;
        }
        let count = steps.len() as f64;
        let weights: Vec<Parameter> = expected
            .into_iter()
            .zip(sums)
            .map(|((name, shape), sum)| Parameter {
                name,
                shape,
                values: sum.into_iter().map(|sum| (sum / count) as f32).collect(),
            })
            .collect();
        let sha256 = weights::sha256(&weights).map_err(Error::io("read", self.dir()))?;
        let provenance = Provenance {
            averaged_steps: steps,
            scores: Vec::new(),
            sha256: [(files::WEIGHTS.to_owned(), sha256)].into(),
            ..self.provenance(latest)?
        };
        Ok(Mean { weights, provenance })
    }

    /// Makes `mean` the weights in the run directory, until the next best checkpoint is saved or a resumed
    /// run puts its best checkpoint there again.
    ///
    /// # Errors
    /// Fails if a file cannot be written; the previous weights then stay.
    pub fn serve(&self, mean: &Mean) -> Result<()> {
        let Some(&latest) = mean.provenance.averaged_steps.last() else {
            return Err(Error::model(self.dir(), "it has no checkpoint to average"));
        };
        // The mean of weights that never changed is what they are.
        let (names, sum) = self.frozen(latest)?.unzip();
        let names: Vec<String> = names.unwrap_or_default();
        let trained = || mean.weights.iter().filter(|weight| !names.contains(&weight.name));
        let mut provenance = mean.provenance.clone();
        if let Some(sum) = sum {
            let sha256 = weights::sha256(trained()).map_err(Error::io("read", self.dir()))?;
            provenance.sha256.extend([(files::WEIGHTS.into(), sha256), (files::FROZEN.into(), sum)]);
        }
        versioned_weights::replace(self.dir(), &provenance, &|path| weights::write(path, trained()))
    }
}
