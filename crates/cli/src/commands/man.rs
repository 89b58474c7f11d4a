//! `attentive man`: writes manual pages.

use std::path::PathBuf;

use attentive_base::error::{Error, Result};
use clap::CommandFactory;

use crate::Cli;

const EXAMPLES: &str = "\
Examples:
  attentive man ~/.local/share/man/man1    then: man attentive-translate";

/// Write a manual page for each command.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Directory for the pages; created if it does not exist.
    #[arg(value_name = "DIR")]
    dir: PathBuf,
}

pub(super) fn run(args: &Args) -> Result<()> {
    let write = || {
        std::fs::create_dir_all(&args.dir)?;
        clap_mangen::generate_to(Cli::command(), &args.dir)
    };
    write().map_err(Error::io("write", &args.dir))
}
