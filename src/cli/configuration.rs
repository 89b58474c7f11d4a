//! The configuration file of a command.

use std::path::Path;

use attentive::config::{Config, Draft};
use attentive::error::Result;

use super::message;

/// Calls [`Config::load`], and prints a note for each renamed key.
pub(super) fn configuration(path: &Path, overrides: &[String]) -> Result<Config> {
    let draft = Draft::load(path, overrides)?;
    message::renamed(&draft);
    let known = draft.known(None)?;
    draft.resolve(&known)
}
