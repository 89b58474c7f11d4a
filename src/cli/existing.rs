//! What to do with a run directory that exists, as flags.

use attentive::train::Existing;

/// `--resume` or `--force`; refusing is the default.
#[derive(clap::Args)]
pub(super) struct ExistingArgs {
    /// Go on with the run that is in the directory.
    #[arg(long, conflicts_with = "force")]
    resume: bool,
    /// Delete the run that is in the directory and start anew.
    #[arg(long)]
    force: bool,
}

impl ExistingArgs {
    /// The choice.
    pub(super) fn choice(&self) -> Existing {
        match (self.resume, self.force) {
            (true, _) => Existing::Resume,
            (_, true) => Existing::Force,
            _ => Existing::Refuse,
        }
    }
}
