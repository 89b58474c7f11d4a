//! The configuration file of a command.

use std::path::{Path, PathBuf};

use attentive::config::{Config, Draft};
use attentive::error::Result;

use super::message;

/// The configuration file, and settings that override it.
#[derive(clap::Args)]
pub(super) struct ConfigurationArgs {
    /// Configuration file (TOML).
    #[arg(value_name = "CONFIG.toml")]
    pub(super) config: PathBuf,
    /// Override a key of the configuration, as in `train.batch_tokens=2048`; may be repeated.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
}

impl ConfigurationArgs {
    /// Reads the file. [`message::renamed`] prints the notes about it.
    pub(super) fn draft(&self) -> Result<Draft> {
        self.draft_of(&self.config)
    }

    /// Reads `file` instead of the given one.
    pub(super) fn draft_of(&self, file: &Path) -> Result<Draft> {
        Draft::load(file, &self.set)
    }

    /// Reads the whole configuration, and prints a note for each renamed key.
    pub(super) fn resolved(&self) -> Result<Config> {
        let draft = self.draft()?;
        message::renamed(&draft);
        let known = draft.known(None)?;
        draft.resolve(&known)
    }
}
