//! The mean of the weights of several checkpoints (*Attention Is All You Need*, section 6.1).

use std::fs;
use std::path::Path;

use super::{
    Lock, Provenance, Run, architecture, atomic, files, load_recipe, recipe_files, require_trained,
    served, shapes, to_json, weights,
};
use crate::architecture::Architecture;
use crate::error::{Error, Result};
use crate::model::Parameter;

/// Writes the mean of the `last` latest checkpoints of the run directory `run` to the new model directory `out`, and
/// returns their updates. The directory appears with all its files or not at all.
///
/// # Errors
/// Fewer than `last` checkpoints, a damaged one, or an `out` that exists or that another process is writing.
pub fn average(run: &Path, last: usize, out: &Path) -> Result<Vec<u64>> {
    if out.exists() {
        return Err(Error::usage(
            format!("`{}` exists already", out.display()),
            "choose another directory for the mean",
        ));
    }
    require_trained(run)?;
    let (config, tokenizers) = load_recipe(run)?;
    let checkpoints = Run::new(run);
    let steps = checkpoints.regular_steps()?;
    if last == 0 || last > steps.len() {
        return Err(Error::usage(
            format!(
                "asked for the last {last} checkpoints; `{}` has {}",
                run.display(),
                steps.len()
            ),
            "average fewer, or train with a larger `train.keep_last`",
        ));
    }
    let mean = checkpoints.mean(last, &architecture(&config, &tokenizers))?;
    let recipe = recipe_files(&config, &tokenizers);
    write(out, recipe, &mean.provenance, &mean.weights)?;
    Ok(mean.provenance.averaged_steps)
}

/// The mean of the weights of several checkpoints, summed in `f64`.
#[derive(Debug)]
pub struct Mean {
    /// The weights, in the order of the architecture's parameters.
    pub weights: Vec<Parameter>,
    /// The provenance of the latest checkpoint, without scores, and with the updates of all.
    pub provenance: Provenance,
}

impl Run {
    /// The mean of the `last` latest checkpoints, or of all if there are fewer.
    ///
    /// # Errors
    /// A run without checkpoints; a checkpoint that is damaged or of another architecture.
    pub fn mean(&self, last: usize, architecture: &Architecture) -> Result<Mean> {
        let mut steps = self.regular_steps()?;
        steps.drain(..steps.len().saturating_sub(last));
        let Some(&latest) = steps.last() else {
            return Err(Error::model(self.dir(), "it has no checkpoint to average"));
        };
        let expected = shapes(architecture);
        let mut sums: Vec<Vec<f64>> = vec![Vec::new(); expected.len()];
        for &step in &steps {
            self.weights(step)?.read_each(&expected, |place, values| {
                let sum = &mut sums[place];
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
        Ok(Mean {
            weights,
            provenance,
        })
    }

    /// Serves `mean` as the run directory's weights, until the next best checkpoint is saved or a resumed run serves
    /// its best checkpoint again.
    ///
    /// # Errors
    /// A file that cannot be written; the previously served weights then stay.
    pub fn serve(&self, mean: &Mean) -> Result<()> {
        served::replace(self.dir(), &mean.provenance, &|path| {
            weights::write(path, &mean.weights)
        })
    }
}

fn write(
    out: &Path,
    mut texts: Vec<(&'static str, Vec<u8>)>,
    provenance: &Provenance,
    mean: &[Parameter],
) -> Result<()> {
    texts.push((files::PROVENANCE, to_json(provenance)?));
    let texts: Vec<(&str, Box<atomic::Content<'_>>)> = texts
        .iter()
        .map(|(name, text)| {
            let write = move |path: &Path| fs::write(path, text);
            (*name, Box::new(write) as Box<atomic::Content<'_>>)
        })
        .collect();
    let mut contents: Vec<(&str, &atomic::Content<'_>)> = texts
        .iter()
        .map(|(name, write)| (*name, &**write))
        .collect();
    let write_mean = |path: &Path| weights::write(path, mean);
    contents.push((files::WEIGHTS, &write_mean));
    let temporary = atomic::temporary(out);
    let _lock = Lock::by_file(&temporary.with_added_extension("lock"), out)?;
    atomic::write_folder(out, &contents)
}
