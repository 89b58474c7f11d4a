//! Flags for an existing run directory.

use attentive_train::Existing;

/// `--resume` or `--force`; the default is to refuse.
#[derive(clap::Args)]
pub(super) struct ExistingArgs {
    /// Resume the run in the output directory from its last checkpoint.
    #[arg(long, conflicts_with = "force")]
    resume: bool,
    /// Delete the run in the output directory and start over.
    #[arg(long)]
    force: bool,
}

impl ExistingArgs {
    /// The policy for an existing run directory.
    pub(super) fn choice(&self) -> Existing {
        match (self.resume, self.force) {
            (true, _) => Existing::Resume,
            (_, true) => Existing::Force,
            _ => Existing::Refuse,
        }
    }
}
