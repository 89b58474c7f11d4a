//! Copies of models.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use attentive_base::error::{Error, Result};

use super::atomic::ContentWriter;
use super::{LoadedModel, LoadedWeights, Provenance, files, load, weights, write_model, write_shortlist};

/// Writes the model in the model directory `model`, or in the folder `model` of a checkpoint, to the new
/// model directory `out`: without the checkpoints and the log of a run. The directory appears with all its
/// files or not at all.
///
/// # Errors
/// The errors of [`load`]; [`Error::Usage`] if `out` exists; [`Error::Io`] if it cannot be written.
pub fn copy(model: &Path, out: &Path) -> Result<()> {
    if out.exists() {
        return Err(Error::usage(
            format!("`{}` already exists", out.display()),
            "choose another directory for the copy",
        ));
    }
    let LoadedModel { config, tokenizers, weights, shortlist, provenance, .. } = load(model)?;
    let write_weights = |path: &Path| match &weights {
        LoadedWeights::Dense(weights) => weights::write(path, weights),
        LoadedWeights::Packed(_) => fs::copy(model.join(files::PACKED), path).map(drop),
    };
    let (name, sha256) = match &weights {
        LoadedWeights::Dense(weights) => {
            (files::WEIGHTS, Some(weights::sha256(weights).map_err(Error::io("read", model))?))
        }
        LoadedWeights::Packed(_) => {
            let sha256 = provenance.sha256_of(files::PACKED);
            (files::PACKED, sha256.map(str::to_owned))
        }
    };
    let write_shortlist = |path: &Path| match &shortlist {
        Some(shortlist) => write_shortlist(shortlist, &mut fs::File::create(path)?),
        None => Ok(()),
    };
    let report = model.join(files::REPORT);
    let copy_report = |path: &Path| fs::copy(&report, path).map(drop);
    let mut others: Vec<(&str, &ContentWriter<'_>)> = vec![(name, &write_weights)];
    if shortlist.is_some() {
        others.push((files::SHORTLIST, &write_shortlist));
    }
    if report.exists() {
        others.push((files::REPORT, &copy_report));
    }
    let sha256: BTreeMap<String, String> = sha256.map(|sum| (name.to_owned(), sum)).into_iter().collect();
    let provenance = || Provenance { sha256: sha256.clone(), ..provenance.clone() };
    write_model(out, &config, &tokenizers, &others, &provenance)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::MappedWeights;

    #[test]
    fn a_copy_is_the_same_model() {
        let folder = tempfile::tempdir().expect("tempdir");
        for (number, name) in ["average", "transformer-post"].iter().enumerate() {
            let model = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
                .join("../../tests/fixtures/runs")
                .join(name)
                .join("run");
            let out = folder.path().join(number.to_string());
            copy(&model, &out).expect("copy");
            let [before, after] = [&*model, &out].map(|dir| load(dir).expect("load"));
            assert_eq!((before.config, before.shortlist), (after.config, after.shortlist));
            assert_eq!(before.provenance.data, after.provenance.data);
            let [LoadedWeights::Dense(before), LoadedWeights::Dense(after)] = [before.weights, after.weights]
            else {
                panic!("weights in f32")
            };
            let mapped = MappedWeights::open(&model).expect("map");
            assert_eq!(mapped.len(), before.len());
            for (index, (before, after)) in before.iter().zip(&after).enumerate() {
                assert_eq!((&before.name, &before.values), (&after.name, &after.values));
                assert_eq!(*mapped.values(index), *before.values);
            }
            let error = copy(&model, &out).expect_err("it exists");
            assert_eq!(error.exit_code(), 2, "{error}");
        }
    }
}
