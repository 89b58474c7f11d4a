//! Finds the checkpoint to resume from, even if files are damaged or lost.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use attentive_base::error::{Error, Result};
use attentive_base::regular_file;
use attentive_config::BestBy;

use super::run::{OPTIMIZER, STATE};
use super::safetensors_file::check_sha256;
use super::{
    Choice, Provenance, Run, SafetensorsFile, StoredWeights, TrainingState, atomic::copy, files, read_json,
    versioned_weights, weights,
};

/// The checkpoint to resume from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResumePoint {
    /// Its update.
    pub step: u64,
    /// The problem with a later checkpoint, or with the pointer to it, if this is not the latest one saved.
    pub warning: Option<String>,
}

impl Run {
    /// Returns the checkpoint to resume from: the last one if it is intact, otherwise the newest intact one.
    /// `None` if nothing was saved yet.
    ///
    /// # Errors
    /// [`Error::Model`] if there are checkpoints but none is intact.
    pub fn resume_point(&self) -> Result<Option<ResumePoint>> {
        let mut steps = self.folders()?;
        let last = self.last();
        let problem = match &last {
            Ok(Some(step)) => match self.check(*step) {
                Ok(()) => {
                    return Ok(Some(ResumePoint { step: *step, warning: None }));
                }
                Err(error) => error.to_string(),
            },
            Ok(None) if steps.is_empty() => return Ok(None),
            Ok(None) => format!(
                "`{}` does not record the last checkpoint",
                self.dir().join(files::CHECKPOINTS).display()
            ),
            Err(error) => error.to_string(),
        };
        steps.retain(|&step| !matches!(last, Ok(Some(last)) if last == step));
        let whole = steps.into_iter().rev().find(|&step| self.check(step).is_ok());
        let Some(step) = whole else {
            return Err(Error::Model {
                path: self.dir().join(files::CHECKPOINTS),
                problem: format!("no checkpoint is intact: {problem}"),
                hint: Some("start the run again".into()),
            });
        };
        Ok(Some(ResumePoint {
            step,
            warning: Some(format!("{problem}; resuming from the newest intact checkpoint, of update {step}")),
        }))
    }

    /// Refuses the checkpoint at `step` if one of its files is missing or, according to its checksum (where
    /// known), damaged.
    fn check(&self, step: u64) -> Result<()> {
        let folder = self.folder(step);
        let provenance = self.provenance(step)?;
        for name in [files::WEIGHTS, files::FROZEN, OPTIMIZER] {
            let sha256 = provenance.sha256_of(name);
            if sha256.is_some() || name != files::FROZEN {
                let file = SafetensorsFile::open(&folder.join(name), sha256)?;
                sha256.map_or(Ok(()), |_| file.digest().map(drop))?;
            }
        }
        let path = folder.join(STATE);
        let state: TrainingState<serde::de::IgnoredAny> = read_json(&path)?;
        if state.step != step {
            let problem = format!("expected the state after update {step}, found {}", state.step);
            return Err(Error::model(&path, problem));
        }
        match provenance.sha256_of(STATE) {
            Some(expected) => check_file(&path, expected),
            None => Ok(()),
        }
    }

    /// Completes what a kill during [`Run::save`] may have left undone, and applies a fallback to an earlier
    /// checkpoint: updates the pointers `last` and `best`, puts the weights of the best checkpoint (or of the
    /// last one if there is no best) into the run directory, and deletes checkpoints after `last`. Returns a
    /// warning for each deleted checkpoint that was intact, and for each best one that is lost.
    ///
    /// # Errors
    /// Fails if a file cannot be written or removed, or if the last checkpoint is damaged.
    pub fn mend(&self, best: &BTreeMap<Choice, u64>, last: u64) -> Result<Vec<String>> {
        self.point_to_last(last)?;
        let mut warnings = self.delete_after(last)?;
        let digest = |step| self.weights(step).and_then(StoredWeights::digest);
        let mut found = BTreeMap::new();
        for role in [Choice::Best].into_iter().chain(BestBy::ALL.map(Choice::BestBy)) {
            let intact = best.get(&role).and_then(|&step| match digest(step) {
                Ok(sha256) => Some((step, sha256)),
                Err(error) => {
                    warnings.push(lost(role, step, &error));
                    None
                }
            });
            self.point_to_best(role, intact.as_ref().map(|(step, _)| *step))?;
            found.extend(intact.map(|intact| (role, intact)));
        }
        let (step, sha256) = match found.remove(&Choice::Best) {
            Some(best) => best,
            None => (last, digest(last)?),
        };
        let provenance = self.provenance(step)?.of_weights();
        let is_current = versioned_weights::read(self.dir(), StoredWeights::digest)
            .is_ok_and(|(current, found)| current.of_weights() == provenance && found == sha256);
        if !is_current {
            let folder = self.folder(step);
            if provenance.sha256_of(files::FROZEN).is_some() {
                self.share_frozen(&folder)?;
            }
            let weights = folder.join(files::WEIGHTS);
            versioned_weights::replace(self.dir(), &provenance, &|path| copy(&weights, path))?;
        }
        Ok(warnings)
    }

    /// Deletes the checkpoints after update `last`, since the run may never save these updates again. Returns
    /// a warning for each that was intact.
    fn delete_after(&self, last: u64) -> Result<Vec<String>> {
        let mut warnings = Vec::new();
        for step in self.folders()?.into_iter().filter(|&step| step > last) {
            if self.check(step).is_ok() {
                warnings.push(format!(
                    "the checkpoint of update {step} is deleted: the run resumes from update {last}, the \
                     last one that it finished saving"
                ));
            }
            let folder = self.folder(step);
            fs::remove_dir_all(&folder).map_err(Error::io("remove", &folder))?;
        }
        Ok(warnings)
    }

    /// Returns the provenance of the weights in the run directory, or else of the newest checkpoint whose
    /// provenance can be read.
    ///
    /// # Errors
    /// Fails with the error of the run directory's provenance if no checkpoint's provenance can be read
    /// either.
    pub fn origin(&self) -> Result<Provenance> {
        let current = read_json(&self.dir().join(files::PROVENANCE));
        current.or_else(|error| {
            let mut steps = self.folders()?.into_iter().rev();
            let found = steps.find_map(|step| self.provenance(step).ok());
            found.ok_or(error)
        })
    }

    /// Opens the stored weights of the checkpoint at `step`.
    ///
    /// # Errors
    /// Fails if the file is missing, or damaged as far as its header shows.
    pub fn weights(&self, step: u64) -> Result<StoredWeights> {
        let (folder, provenance) = (self.folder(step), self.provenance(step)?);
        StoredWeights::open(&folder.join(files::WEIGHTS), &folder, &provenance)
    }

    /// The provenance of the checkpoint at `step`.
    pub(super) fn provenance(&self, step: u64) -> Result<Provenance> {
        read_json(&self.folder(step).join(files::PROVENANCE))
    }
}

fn check_file(path: &Path, sha256: &str) -> Result<()> {
    let bytes = regular_file::read_whole(path).map_err(Error::io("read", path))?;
    check_sha256(path, &weights::sha256_of(&bytes), sha256)
}

/// The warning about the best checkpoint, that of update `step`, that cannot be read.
fn lost(role: Choice, step: u64, error: &Error) -> String {
    let (by, instead) = match role {
        Choice::BestBy(criterion) => (format!(" by `{}`", criterion.name()), "there is none"),
        _ => (String::new(), "the run directory holds the latest weights"),
    };
    format!(
        "the best checkpoint{by}, of update {step}, is lost ({error}); {instead} until a validation gives a \
         better result"
    )
}
