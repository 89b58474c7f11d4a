//! The checkpoints of a training run.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{Provenance, atomic, files, read_json, step_folder, to_json, weights};
use crate::config::Matmul;
use crate::data::Position;
use crate::error::{Error, Result};
use crate::model::Parameter;

const STATE: &str = "state.json";
const OPTIMIZER: &str = "optimizer.safetensors";

/// Pointers to checkpoints: small files with a step's number.
const LAST: &str = "last";
const BEST: &str = "best";

/// All that a run needs to go on as if it had never stopped, besides weights and optimiser.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrainingState<P> {
    /// Updates done.
    pub step: u64,
    /// The batch that comes next.
    pub position: Position,
    /// How linear maps multiplied up to here; checkpoints of older versions do not say.
    #[serde(default)]
    pub products: Option<Products>,
    /// What the trainer keeps beside it: schedule, best result, patience.
    pub progress: P,
}

/// How linear maps multiply on a machine. On another one the last bits may differ, so that resuming there is not exact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Products {
    /// The precision, `auto` resolved.
    pub matmul: Matmul,
    /// The CPU's instructions.
    pub instructions: String,
}

impl fmt::Display for Products {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let precision = match self.matmul {
            Matmul::Bf16 => "bf16",
            Matmul::F32 | Matmul::Auto => "f32",
        };
        write!(f, "{precision} products by {}", self.instructions)
    }
}

/// The folder `checkpoints/` of a run directory: one folder a checkpoint, and the pointers `last` and `best`.
#[derive(Clone, Debug)]
pub struct Run {
    dir: PathBuf,
}

/// A checkpoint to write.
#[derive(Debug)]
pub struct Snapshot<'a, P> {
    /// Step, position and the trainer's own.
    pub state: &'a TrainingState<P>,
    /// The weights.
    pub weights: &'a [Parameter],
    /// The optimiser's tensors.
    pub optimizer: &'a [&'a Parameter],
    /// Where the weights come from.
    pub provenance: &'a Provenance,
}

impl Run {
    /// The run in directory `dir`.
    pub fn new(dir: &Path) -> Self {
        Self {
            dir: dir.to_path_buf(),
        }
    }

    /// The run directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Writes a checkpoint, makes it `last`, and `best` if `best`; then deletes all but the `keep_last` latest and the best.
    ///
    /// The servable weights of the run directory become those of the best checkpoint, or of this one while there is no
    /// best. Gives the checkpoint's folder.
    pub fn save<P: Serialize>(
        &self,
        snapshot: &Snapshot<'_, P>,
        best: bool,
        keep_last: usize,
    ) -> Result<PathBuf> {
        let step = snapshot.state.step;
        let folder = step_folder(&self.dir, step);
        let provenance = to_json(snapshot.provenance)?;
        let state = to_json(snapshot.state)?;
        if folder.exists() {
            // Left by a run that stopped before it could point to this checkpoint; ours holds the same.
            fs::remove_dir_all(&folder).map_err(Error::io("remove", &folder))?;
        }
        let checkpoints = self.dir.join(files::CHECKPOINTS);
        fs::create_dir_all(&checkpoints).map_err(Error::io("create", &checkpoints))?;
        atomic::write_folder(
            &folder,
            &[
                (files::WEIGHTS, &|path| {
                    weights::write(path, snapshot.weights)
                }),
                (OPTIMIZER, &|path| {
                    weights::write(path, snapshot.optimizer.iter().copied())
                }),
                (STATE, &|path| fs::write(path, &state)),
                (files::PROVENANCE, &|path| fs::write(path, &provenance)),
            ],
        )?;
        self.point(LAST, step)?;
        if best {
            self.point(BEST, step)?;
        }
        if best || self.best()?.is_none() {
            atomic::write_file(&self.dir.join(files::PROVENANCE), &provenance)?;
            atomic::write_with(&self.dir.join(files::WEIGHTS), &|path| {
                weights::write(path, snapshot.weights)
            })?;
        }
        self.prune(keep_last)?;
        Ok(folder)
    }

    /// Completes what a kill between the steps of [`Run::save`] may have left undone: makes `best` the best checkpoint,
    /// and its weights, or those of `last`, the servable ones.
    pub fn mend(&self, best: Option<u64>, last: u64) -> Result<()> {
        if let Some(best) = best.filter(|&step| self.folder(step).is_dir()) {
            self.point(BEST, best)?;
        }
        let served = self.folder(self.best()?.unwrap_or(last));
        for name in [files::PROVENANCE, files::WEIGHTS] {
            let path = served.join(name);
            let content = fs::read(&path).map_err(Error::io("read", &path))?;
            let target = self.dir.join(name);
            if fs::read(&target).is_ok_and(|served| served == content) {
                continue;
            }
            atomic::write_file(&target, &content)?;
        }
        Ok(())
    }

    /// The update of the latest checkpoint.
    pub fn last(&self) -> Result<Option<u64>> {
        self.follow(LAST)
    }

    /// The update of the best checkpoint.
    pub fn best(&self) -> Result<Option<u64>> {
        self.follow(BEST)
    }

    /// The folder of the checkpoint at `step`.
    pub fn folder(&self, step: u64) -> PathBuf {
        step_folder(&self.dir, step)
    }

    /// The state of the checkpoint at `step`.
    pub fn state<P: serde::de::DeserializeOwned>(&self, step: u64) -> Result<TrainingState<P>> {
        read_json(&self.folder(step).join(STATE))
    }

    /// The optimiser's tensors of the checkpoint at `step`.
    pub fn optimizer(
        &self,
        step: u64,
        expected: &[(String, Vec<usize>)],
    ) -> Result<Vec<Parameter>> {
        weights::read(&self.folder(step).join(OPTIMIZER), expected)
    }

    /// The updates of all whole checkpoints, in order.
    pub fn steps(&self) -> Result<Vec<u64>> {
        let folder = self.dir.join(files::CHECKPOINTS);
        let entries = fs::read_dir(&folder).map_err(Error::io("read", &folder))?;
        let mut steps: Vec<u64> = entries
            .flatten()
            .filter_map(|entry| {
                entry
                    .file_name()
                    .to_str()?
                    .strip_prefix("step-")?
                    .parse()
                    .ok()
            })
            .collect();
        // A folder beyond `last` is of a save that was never finished.
        let last = self.last()?;
        steps.retain(|&step| last.is_none_or(|last| step <= last));
        steps.sort_unstable();
        Ok(steps)
    }

    fn prune(&self, keep_last: usize) -> Result<()> {
        let (last, best) = (self.last()?, self.best()?);
        let steps: Vec<u64> = self
            .steps()?
            .into_iter()
            .filter(|&step| Some(step) != best)
            .collect();
        let surplus = steps.len().saturating_sub(keep_last.max(1));
        for &step in steps[..surplus].iter().filter(|&&step| Some(step) != last) {
            let folder = self.folder(step);
            fs::remove_dir_all(&folder).map_err(Error::io("remove", &folder))?;
        }
        Ok(())
    }

    fn point(&self, name: &str, step: u64) -> Result<()> {
        let path = self.dir.join(files::CHECKPOINTS).join(name);
        atomic::write_file(&path, format!("{step}\n").as_bytes())
    }

    fn follow(&self, name: &str) -> Result<Option<u64>> {
        let path = self.dir.join(files::CHECKPOINTS).join(name);
        if !path.exists() {
            return Ok(None);
        }
        let text = fs::read_to_string(&path).map_err(Error::io("read", &path))?;
        match text.trim().parse() {
            Ok(step) => Ok(Some(step)),
            Err(_) => Err(Error::model(
                &path,
                format!("expected an update's number, found {:?}", text.trim()),
            )),
        }
    }
}
