//! Copies of models.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

use attentive_base::error::{Error, Result};
use attentive_config::Config;

use super::atomic::ContentWriter;
use super::{
    Description, Provenance, SafetensorsFile, StoredWeights, describe, files, packed_file, versioned_weights,
    write_model,
};

/// Writes the model in the model directory `model`, or in the folder `model` of a checkpoint, to the new
/// model directory `out`: without the checkpoints and the log of a run. The directory appears with all its
/// files or not at all.
///
/// # Errors
/// The errors of [`describe`]; a damaged file of weights; [`Error::Usage`] if `out` exists; [`Error::Io`] if it cannot be written.
pub fn copy(model: &Path, out: &Path) -> Result<()> {
    if out.exists() {
        return Err(Error::usage(
            format!("`{}` already exists", out.display()),
            "choose another directory for the copy",
        ));
    }
    let Description { config, tokenizers, provenance, .. } = describe(model)?;
    let sources: Vec<(&str, PathBuf, Option<String>)> = match packed_file(model) {
        Some(path) => {
            vec![(files::PACKED, path, provenance.sha256_of(files::PACKED).map(str::to_owned))]
        }
        None => {
            let digests = |stored: StoredWeights| {
                let digest = |(name, file): (&'static str, SafetensorsFile)| {
                    let path = file.path().to_path_buf();
                    Ok((name, path, Some(file.digest()?)))
                };
                stored.into_files().map(digest).collect()
            };
            versioned_weights::read(model, digests)?.1
        }
    };
    let copies = sources.iter().map(|(_, source, sha256)| {
        move |path: &Path| {
            fs::copy(source, path)?;
            let copied = SafetensorsFile::open(path, sha256.as_deref()).and_then(SafetensorsFile::digest);
            copied.map(drop).map_err(io::Error::other)
        }
    });
    let copies: Vec<_> = copies.collect();
    let shortlist = Config::home(model).join(files::SHORTLIST);
    let copy_shortlist = |path: &Path| fs::copy(&shortlist, path).map(drop);
    let report = model.join(files::REPORT);
    let copy_report = |path: &Path| fs::copy(&report, path).map(drop);
    let weights = sources.iter().zip(&copies);
    let mut others: Vec<(&str, &ContentWriter<'_>)> =
        weights.map(|((name, ..), copy)| (*name, copy as &ContentWriter<'_>)).collect();
    if shortlist.exists() {
        others.push((files::SHORTLIST, &copy_shortlist));
    }
    if report.exists() {
        others.push((files::REPORT, &copy_report));
    }
    let sums = sources.iter().filter_map(|(name, _, sha256)| Some(((*name).to_owned(), sha256.clone()?)));
    let sha256: BTreeMap<String, String> = sums.collect();
    let provenance = || Provenance { sha256: sha256.clone(), ..provenance.clone() };
    write_model(out, &config, &tokenizers, &others, &provenance)
}

#[cfg(test)]
mod tests {
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
