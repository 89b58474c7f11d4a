//! The mean of several checkpoints' weights (as in *Attention Is All You Need*, section 6.1).

use std::path::Path;

use super::{
    Provenance, Run, atomic, files, load_recipe, read_json, shapes, to_json, weights, write_recipe,
};
use crate::error::{Error, Result};
use crate::model::Parameter;

/// Writes to the new model directory `out` the mean of the `last` latest checkpoints of run directory `run`, and gives
/// their updates.
///
/// # Errors
/// Fewer checkpoints than `last`, a damaged one, an `out` that exists.
pub fn average(run: &Path, last: usize, out: &Path) -> Result<Vec<u64>> {
    if out.exists() {
        return Err(Error::usage(
            format!("`{}` exists already", out.display()),
            "take another directory for the mean",
        ));
    }
    let (config, tokenizers) = load_recipe(run)?;
    let checkpoints = Run::new(run);
    let steps = checkpoints.steps()?;
    if last == 0 || last > steps.len() {
        return Err(Error::usage(
            format!(
                "asked for the last {last} checkpoints; `{}` has {}",
                run.display(),
                steps.len()
            ),
            "set `train.keep_last` to as many as are to be averaged, or average fewer",
        ));
    }
    let steps = steps[steps.len() - last..].to_vec();
    let (src, tgt) = (tokenizers.src().vocab_size(), tokenizers.tgt().vocab_size());
    let expected = shapes(&config.model.architecture(src, tgt));

    let mut sums: Vec<Vec<f64>> = expected
        .iter()
        .map(|(_, shape)| vec![0.0; shape.iter().product()])
        .collect();
    for &step in &steps {
        let stored = weights::read(&checkpoints.folder(step).join(files::WEIGHTS), &expected)?;
        for (sum, parameter) in sums.iter_mut().zip(&stored) {
            sum.iter_mut()
                .zip(&parameter.values)
                .for_each(|(sum, &value)| *sum += f64::from(value));
        }
    }
    let mean: Vec<Parameter> = expected
        .into_iter()
        .zip(sums)
        .map(|((name, shape), sum)| Parameter {
            name,
            shape,
            values: sum
                .into_iter()
                .map(|sum| (sum / last as f64) as f32)
                .collect(),
        })
        .collect();

    let latest: Provenance =
        read_json(&checkpoints.folder(steps[last - 1]).join(files::PROVENANCE))?;
    let provenance = Provenance {
        averaged_steps: steps.clone(),
        scores: Vec::new(),
        ..latest
    };
    write_recipe(out, &config, &tokenizers)?;
    atomic::write_file(&out.join(files::PROVENANCE), &to_json(&provenance)?)?;
    atomic::write_with(&out.join(files::WEIGHTS), &|path| {
        weights::write(path, &mean)
    })?;
    Ok(steps)
}
