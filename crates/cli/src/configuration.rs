//! The configuration file of a command.

use std::path::{Path, PathBuf};

use attentive_base::error::{Error, Result};
use attentive_checkpoint::files;
use attentive_config::{Config, ConfigDraft};

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
    /// Reads the file.
    pub(super) fn draft(&self) -> Result<ConfigDraft> {
        self.draft_of(&self.config)
    }

    /// [`ConfigurationArgs::draft`] with another override, which prevails over the others.
    pub(super) fn draft_with(&self, further: Option<String>) -> Result<ConfigDraft> {
        let overrides: Vec<String> = self.set.iter().cloned().chain(further).collect();
        read(&self.config, &overrides)
    }

    /// [`ConfigurationArgs::draft_with`] for the configuration of a run.
    pub(super) fn draft_of_run(&self, further: Option<String>) -> Result<ConfigDraft> {
        let overrides: Vec<String> = self.set.iter().cloned().chain(further).collect();
        read(&self.config.join(files::CONFIG), &overrides)
    }

    /// The run that is given in place of a file, by its directory.
    pub(super) fn run(&self) -> Option<&Path> {
        Some(&*self.config).filter(|dir| is_run(dir))
    }

    /// Reads `file` instead of the given one.
    pub(super) fn draft_of(&self, file: &Path) -> Result<ConfigDraft> {
        read(file, &self.set)
    }

    /// Reads the whole configuration.
    pub(super) fn resolved(&self) -> Result<Config> {
        whole(self.draft()?)
    }
}

fn read(file: &Path, overrides: &[String]) -> Result<ConfigDraft> {
    ConfigDraft::load(file, overrides).map_err(|error| explained(error, file))
}

/// The whole configuration.
pub(super) fn whole(draft: ConfigDraft) -> Result<Config> {
    let known = draft.known(None)?;
    draft.resolve(&known)
}

/// `error` with a hint if `file`, which could not be read as a configuration, is a directory or another kind
/// of file.
fn explained(error: Error, file: &Path) -> Error {
    let hint = if file.is_dir() {
        of_directory(file)
    } else if file.exists() && file.extension().is_none_or(|extension| extension != "toml") {
        "configurations are TOML files, which name the files of data; `attentive config new --family \
         transformer -o my.toml` writes one to start from, and docs/coming-from.md maps the settings of \
         other programs"
            .into()
    } else {
        return error;
    };
    let (problem, hint) = (error.to_string(), Some(hint));
    match error {
        Error::Toml { .. } => Error::Usage { problem, hint },
        Error::Io { .. } | Error::Data { .. } => Error::Data { problem, hint },
        other => other,
    }
}

/// True for a directory with checkpoints, from which a run goes on.
fn is_run(dir: &Path) -> bool {
    dir.join(files::CONFIG).is_file() && dir.join(files::CHECKPOINTS).is_dir()
}

/// What to write in place of the directory `dir`.
fn of_directory(dir: &Path) -> String {
    let shown = dir.display();
    if is_run(dir) {
        return format!(
            "`attentive train {shown} --resume` continues the run there; `attentive train {shown}/config.toml --force \
             --output {shown}` starts it over"
        );
    }
    if dir.join(files::CONFIG).is_file() {
        return format!(
            "it has no checkpoints from which a run could go on; to train a model further, start a new run with \
             `model.from=\"{shown}\"`"
        );
    }
    "name a TOML file; `attentive config new --family transformer -o my.toml` writes one to start from".into()
}
