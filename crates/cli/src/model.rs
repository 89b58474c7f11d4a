//! The model that a command uses.

use std::path::PathBuf;

use attentive_base::error::Result;
use attentive_checkpoint::{Choice, Run};

/// Places an option behind the more frequent ones of a command.
pub(super) const LAST: usize = 900;

/// A model directory, and which weights of it.
#[derive(clap::Args)]
pub(super) struct ModelArgs {
    /// Model directory, or the folder of a checkpoint (`RUN/checkpoints/step-N`).
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    /// Checkpoint of a run to use: the number of its update, `last`, `best` or `best-METRIC`
    /// [default: the weights in the run directory].
    #[arg(long, value_name = "N|last|best", display_order = LAST)]
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

    /// Whether a checkpoint was chosen.
    pub(super) fn has_checkpoint(&self) -> bool {
        self.checkpoint.is_some()
    }

    /// The directory as it was given.
    pub(super) fn given(&self) -> &PathBuf {
        &self.model
    }
}
