//! The checkpoints of a training run.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use attentive_base::error::{Error, Result};
use attentive_base::regular_file;
use attentive_config::BestBy;
use attentive_data::Position;
use attentive_model::engine::Precision;
use attentive_model::model::Parameter;
use serde::{Deserialize, Serialize};

use super::atomic::ContentWriter;
use super::weights::{self, NamedTensor};
use super::{
    Choice, Provenance, SafetensorsFile, atomic, files, read_json, step_folder, to_json, versioned_weights,
};

pub(super) const STATE: &str = "state.json";
pub(super) const OPTIMIZER: &str = "optimizer.safetensors";

/// Everything that a run needs to resume exactly, besides weights and optimizer state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrainingState<P> {
    /// Updates done.
    pub step: u64,
    /// The position of the next batch.
    pub position: Position,
    /// The precision of matrix products and the instructions so far.
    pub products: MatmulBackend,
    /// True if this checkpoint exists only because a run whose final model is an average
    /// (`train.average_last`) was stopped. The next checkpoint replaces it, so that the average does not
    /// depend on how often the run was stopped. Other runs keep such a checkpoint like any other.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub provisional: bool,
    /// The trainer's own state: schedule, best result, patience.
    pub progress: P,
}

/// The precision of matrix products, and what computes them. On another machine or device the last bits may
/// differ, so resuming there is not exact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MatmulBackend {
    /// The precision.
    pub matmul: Precision,
    /// The CPU instructions used, or the hardware that computed in place of the CPU.
    pub instructions: String,
}

impl fmt::Display for MatmulBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} products with {}", self.matmul, self.instructions)
    }
}

/// The folder `checkpoints/` of a run directory, with one folder per checkpoint and the pointers `last` and
/// `best`.
#[derive(Clone, Debug)]
pub struct Run {
    dir: PathBuf,
}

/// A checkpoint to write.
#[derive(Debug)]
pub struct Snapshot<'a, P> {
    /// Update, position and the trainer's state.
    pub state: &'a TrainingState<P>,
    pub weights: &'a [Parameter],
    /// The names of the weights that the run leaves unchanged. They are written once.
    pub frozen: &'a BTreeSet<String>,
    /// The optimizer's tensors.
    pub optimizer: &'a [NamedTensor<'a>],
    /// The origin of the weights.
    pub provenance: &'a Provenance,
}

impl<P> Snapshot<'_, P> {
    /// The weights that are frozen or not.
    fn weights(&self, is_frozen: bool) -> impl Iterator<Item = &Parameter> {
        self.weights.iter().filter(move |weight| self.frozen.contains(&weight.name) == is_frozen)
    }

    /// True if exactly its frozen weights are in the file `path`.
    fn are_frozen_in(&self, path: &Path) -> bool {
        let shapes = self.weights(true).map(|weight| (weight.name.clone(), weight.shape.clone()));
        let shapes: Vec<_> = shapes.collect();
        SafetensorsFile::open(path, None).is_ok_and(|file| file.check(&shapes).is_ok())
    }

    /// Returns the checksums of its files, including `state`; that of the frozen weights may be `known`.
    fn sha256(&self, state: &[u8], known: Option<String>) -> io::Result<BTreeMap<String, String>>
    where
        P: Sync,
    {
        let trained = || weights::sha256(self.weights(false));
        let (trained, optimizer) = rayon::join(trained, || weights::sha256(self.optimizer));
        let sums = [(files::WEIGHTS, trained?), (OPTIMIZER, optimizer?), (STATE, weights::sha256_of(state))];
        let mut sums = BTreeMap::from(sums.map(|(name, sum)| (name.to_owned(), sum)));
        if !self.frozen.is_empty() {
            let frozen = known.map_or_else(|| weights::sha256(self.weights(true)), Ok)?;
            sums.insert(files::FROZEN.to_owned(), frozen);
        }
        Ok(sums)
    }
}

impl Run {
    /// Returns the run in directory `dir`.
    pub fn new(dir: &Path) -> Self {
        Self { dir: dir.to_path_buf() }
    }

    /// Returns the run directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Writes a checkpoint, makes it the last one, and gives it the roles `better`; then deletes all but the
    /// `keep_last` latest ones and the best. A provisional checkpoint does not count.
    ///
    /// Afterwards, the run directory holds the weights of the best checkpoint, or of this one if there is no
    /// best. Returns the checkpoint's folder.
    ///
    /// # Errors
    /// Fails if a file cannot be written; the previous state then remains intact.
    pub fn save<P: Serialize + Sync>(
        &self,
        snapshot: &Snapshot<'_, P>,
        better: &[Choice],
        keep_last: usize,
    ) -> Result<PathBuf> {
        let step = snapshot.state.step;
        let folder = step_folder(&self.dir, step);
        let state = to_json(snapshot.state)?;
        // Frozen weights are those of the last checkpoint, if there was one.
        let shared = self.dir.join(files::FROZEN);
        let known = self.frozen_sum().filter(|_| snapshot.are_frozen_in(&shared));
        let has_shared = known.is_some();
        let provenance = Provenance {
            sha256: snapshot.sha256(&state, known).map_err(Error::io("write", &folder))?,
            ..snapshot.provenance.clone()
        };
        let provenance_json = to_json(&provenance)?;
        if folder.exists() {
            // Left by a run that stopped before it could point to this checkpoint, or damaged later; the new
            // one is equivalent.
            fs::remove_dir_all(&folder).map_err(Error::io("remove", &folder))?;
        }
        let checkpoints = self.dir.join(files::CHECKPOINTS);
        fs::create_dir_all(&checkpoints).map_err(Error::io("create", &checkpoints))?;
        let write_frozen = |path: &Path| {
            if has_shared {
                atomic::link(&shared, path)
            } else {
                weights::write(path, snapshot.weights(true))
            }
        };
        let contents: [(&str, &ContentWriter<'_>); 5] = [
            (files::FROZEN, &write_frozen),
            (files::WEIGHTS, &|path| weights::write(path, snapshot.weights(false))),
            (OPTIMIZER, &|path| weights::write(path, snapshot.optimizer)),
            (STATE, &|path| fs::write(path, &state)),
            (files::PROVENANCE, &|path| fs::write(path, &provenance_json)),
        ];
        let unneeded = usize::from(snapshot.frozen.is_empty());
        atomic::write_folder(&folder, &contents[unneeded..])?;
        if !snapshot.frozen.is_empty() && !has_shared {
            self.share_frozen(&folder)?;
        }
        for role in [Choice::Last].iter().chain(better) {
            self.point(*role, step)?;
        }
        if better.contains(&Choice::Best) || self.best()?.is_none() {
            versioned_weights::replace(&self.dir, &provenance.of_weights(), &|path| {
                weights::write(path, snapshot.weights(false))
            })?;
        }
        self.prune(keep_last)?;
        Ok(folder)
    }

    /// The checksum of the frozen weights in the run directory, if its provenance has it.
    fn frozen_sum(&self) -> Option<String> {
        let provenance: Provenance = read_json(&self.dir.join(files::PROVENANCE)).ok()?;
        provenance.sha256_of(files::FROZEN).map(str::to_owned)
    }

    /// Makes the frozen weights of the checkpoint in `folder` those of the run directory, too.
    pub(super) fn share_frozen(&self, folder: &Path) -> Result<()> {
        let (from, to) = (folder.join(files::FROZEN), self.dir.join(files::FROZEN));
        let temporary = atomic::temporary(&to);
        let remove = || {
            fs::remove_file(&temporary).or_else(|error| match error.kind() {
                io::ErrorKind::NotFound => Ok(()),
                _ => Err(error),
            })
        };
        let shared = remove()
            .map_err(Error::io("remove", &temporary))
            .and_then(|()| atomic::write_with(&to, &|path| atomic::link(&from, path)));
        // Renaming a name of a file to another name of the same file does nothing.
        shared.and(remove().map_err(Error::io("remove", &temporary)))
    }

    /// The names of the frozen weights in the run directory, and their checksum, if the checkpoint at `step`
    /// has them.
    pub(super) fn frozen(&self, step: u64) -> Result<Option<(Vec<String>, String)>> {
        let provenance = self.provenance(step)?;
        let Some(sha256) = provenance.sha256_of(files::FROZEN) else {
            return Ok(None);
        };
        let file = SafetensorsFile::open(&self.dir.join(files::FROZEN), Some(sha256))?;
        Ok(Some((file.names().map(str::to_owned).collect(), sha256.to_owned())))
    }

    /// Returns the update of the latest checkpoint.
    pub fn last(&self) -> Result<Option<u64>> {
        self.follow(Choice::Last)
    }

    /// Returns the update of the best checkpoint.
    pub fn best(&self) -> Result<Option<u64>> {
        self.follow(Choice::Best)
    }

    /// Returns the updates of the best checkpoints by those of `train.keep_best_by`.
    pub fn best_by(&self) -> Result<BTreeMap<BestBy, u64>> {
        let all = BestBy::ALL.into_iter();
        all.filter_map(|by| Some(self.follow(Choice::BestBy(by)).transpose()?.map(|step| (by, step))))
            .collect()
    }

    /// Returns the folder of the checkpoint at `step`.
    pub fn folder(&self, step: u64) -> PathBuf {
        step_folder(&self.dir, step)
    }

    /// Reads the state of the checkpoint at `step`.
    pub fn state<P: serde::de::DeserializeOwned>(&self, step: u64) -> Result<TrainingState<P>> {
        read_json(&self.folder(step).join(STATE))
    }

    /// Reads the optimizer's tensors of the checkpoint at `step`.
    pub fn optimizer(&self, step: u64, expected: &[(String, Vec<usize>)]) -> Result<Vec<Parameter>> {
        let provenance = self.provenance(step)?;
        let path = self.folder(step).join(OPTIMIZER);
        SafetensorsFile::open(&path, provenance.sha256_of(OPTIMIZER))?.parameters(expected)
    }

    /// Returns the updates of all complete checkpoints, in order.
    pub fn steps(&self) -> Result<Vec<u64>> {
        let mut steps = self.folders()?;
        // A folder beyond `last` belongs to an unfinished save.
        let last = self.last()?;
        steps.retain(|&step| last.is_none_or(|last| step <= last));
        Ok(steps)
    }

    /// Returns the updates of the checkpoints to average: all of [`Run::steps`] but the provisional ones,
    /// unless it is the last one.
    pub(super) fn regular_steps(&self) -> Result<Vec<u64>> {
        let (mut steps, last) = (self.steps()?, self.last()?);
        steps.retain(|&step| Some(step) == last || !self.is_provisional(step));
        Ok(steps)
    }

    /// The updates of all checkpoint folders, in order.
    pub(super) fn folders(&self) -> Result<Vec<u64>> {
        let folder = self.dir.join(files::CHECKPOINTS);
        let entries = match fs::read_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(Error::io("read", &folder))?,
        };
        let step = |entry: fs::DirEntry| {
            let name = entry.file_name();
            name.to_str()?.strip_prefix("step-")?.parse().ok()
        };
        let mut steps: Vec<u64> = entries.flatten().filter_map(step).collect();
        steps.sort_unstable();
        Ok(steps)
    }

    fn prune(&self, keep_last: usize) -> Result<()> {
        let last = self.last()?;
        let best: Vec<u64> = self.best()?.into_iter().chain(self.best_by()?.into_values()).collect();
        let mut steps = self.steps()?;
        steps.retain(|step| !best.contains(step));
        let (provisional, steps): (Vec<u64>, Vec<u64>) =
            steps.into_iter().partition(|&step| self.is_provisional(step));
        let surplus = steps.len().saturating_sub(keep_last.max(1));
        let unwanted = steps[..surplus].iter().chain(&provisional);
        for &step in unwanted.filter(|&&step| Some(step) != last) {
            let folder = self.folder(step);
            fs::remove_dir_all(&folder).map_err(Error::io("remove", &folder))?;
        }
        Ok(())
    }

    fn is_provisional(&self, step: u64) -> bool {
        let state: Result<TrainingState<serde::de::IgnoredAny>> = self.state(step);
        state.is_ok_and(|state| state.provisional)
    }

    /// Makes `step` the last checkpoint.
    pub(super) fn point_to_last(&self, step: u64) -> Result<()> {
        match self.last() {
            Ok(Some(last)) if last == step => Ok(()),
            _ => self.point(Choice::Last, step),
        }
    }

    /// Gives the checkpoint `step` the `role`, or removes the pointer.
    pub(super) fn point_to_best(&self, role: Choice, step: Option<u64>) -> Result<()> {
        let path = self.pointer(role);
        match (step, self.follow(role)) {
            (Some(step), Ok(Some(best))) if best == step => Ok(()),
            (Some(step), _) => self.point(role, step),
            (None, Ok(None)) => Ok(()),
            (None, _) => fs::remove_file(&path).map_err(Error::io("remove", &path)),
        }
    }

    /// The small file that holds the number of the update of the checkpoint with this role.
    fn pointer(&self, role: Choice) -> PathBuf {
        self.dir.join(files::CHECKPOINTS).join(role.to_string())
    }

    fn point(&self, role: Choice, step: u64) -> Result<()> {
        atomic::write_file(&self.pointer(role), format!("{step}\n").as_bytes())
    }

    fn follow(&self, role: Choice) -> Result<Option<u64>> {
        let path = self.pointer(role);
        if !path.exists() {
            return Ok(None);
        }
        let bytes = regular_file::read_whole(&path).map_err(Error::io("read", &path))?;
        let text = String::from_utf8_lossy(&bytes);
        match text.trim().parse() {
            Ok(step) => Ok(Some(step)),
            Err(_) => {
                let found: String = text.trim().chars().take(20).collect();
                let problem = format!("expected an update number, found {found:?}");
                Err(Error::model(&path, problem))
            }
        }
    }
}
