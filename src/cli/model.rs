//! The model that a command uses.

use std::path::PathBuf;

use attentive::checkpoint::{Choice, Run};
use attentive::error::Result;

/// A model directory, and which weights of it.
#[derive(clap::Args)]
pub(super) struct ModelArgs {
    /// The model directory, or the folder of a checkpoint (`RUN/checkpoints/step-N`).
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    /// Use this checkpoint of a run: the number of its update, `last` or `best` [default: the weights that the run serves].
    #[arg(long, value_name = "N|last|best")]
    checkpoint: Option<Choice>,
}

impl ModelArgs {
    /// The directory to load: the model directory, or the folder of the chosen checkpoint.
    pub(super) fn dir(&self) -> Result<PathBuf> {
        match self.checkpoint {
            None => Ok(self.model.clone()),
            Some(choice) => Run::new(&self.model).choose(choice),
        }
    }

    /// The directory as it was given.
    pub(super) fn given(&self) -> &PathBuf {
        &self.model
    }
}
