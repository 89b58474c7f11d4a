//! Copies of models.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;

use attentive_base::error::Result;
use attentive_config::Config;

use super::atomic::ContentWriter;
use super::{
    Description, Provenance, SafetensorsFile, atomic, describe, files, packed_file, refuse_existing,
    versioned_weights, write_model,
};

/// Writes the model in the model directory `model`, or in the folder `model` of a checkpoint, to the new
/// model directory `out`: without the checkpoints and the log of a run. The directory appears with all its
/// files or not at all.
///
/// # Errors
/// The errors of [`describe`]; a damaged file of weights; a usage error if `out` exists; an I/O error if
/// it cannot be written.
pub fn copy(model: &Path, out: &Path) -> Result<()> {
    refuse_existing(out)?;
    let Description { config, tokenizers, provenance, .. } = describe(model)?;
    // The files stay as they are when a run replaces them by others of the same names.
    let (provenance, sources) = match packed_file(model) {
        Some(path) => {
            let sha256 = provenance.sha256_of(files::PACKED).map(str::to_owned);
            let file = SafetensorsFile::open(&path, sha256.as_deref())?;
            (provenance, vec![(files::PACKED, file)])
        }
        None => versioned_weights::read(model, |stored| Ok(stored.into_files().collect()))?,
    };
    let sums = RefCell::new(BTreeMap::new());
    let copies = sources.iter().map(|(name, file)| {
        let sums = &sums;
        move |path: &Path| {
            sums.borrow_mut().insert((*name).to_owned(), file.copy(path)?);
            Ok(())
        }
    });
    let copies: Vec<_> = copies.collect();
    let shortlist = Config::home(model).join(files::SHORTLIST);
    let copy_shortlist = |path: &Path| atomic::copy(&shortlist, path);
    let report = model.join(files::REPORT);
    let copy_report = |path: &Path| atomic::copy(&report, path);
    let distillation = Config::home(model).join(files::DISTILLATION);
    let copy_distillation = |path: &Path| atomic::copy(&distillation, path);
    let weights = sources.iter().zip(&copies);
    let mut others: Vec<(&str, &ContentWriter<'_>)> =
        weights.map(|((name, ..), copy)| (*name, copy as &ContentWriter<'_>)).collect();
    if shortlist.exists() {
        others.push((files::SHORTLIST, &copy_shortlist));
    }
    if distillation.exists() {
        others.push((files::DISTILLATION, &copy_distillation));
    }
    if report.exists() {
        others.push((files::REPORT, &copy_report));
    }
    // This is called after the files have been written.
    let provenance = || Provenance { sha256: sums.take(), ..provenance.clone() };
    write_model(out, &config, &tokenizers, &others, &provenance)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::{LoadedWeights, MappedWeights, load};

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
