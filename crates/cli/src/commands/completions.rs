//! `attentive completions`: generates shell completion scripts.

use attentive_base::error::Result;
use clap::CommandFactory;
use clap_complete::Shell;

use crate::Cli;
use crate::output::OutputWriter;

const EXAMPLES: &str = "\
Examples:
  attentive completions bash > ~/.local/share/bash-completion/completions/attentive
  attentive completions zsh > ~/.zfunc/_attentive
  attentive completions fish > ~/.config/fish/completions/attentive.fish";

/// Print a completion script for a shell.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Shell to write the script for.
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

pub(super) fn run(args: &Args) -> Result<()> {
    // Generate into a buffer first: `generate` panics on write errors.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "attentive", &mut script);
    let mut out = OutputWriter::stdout();
    out.line(String::from_utf8_lossy(&script).trim_end())?;
    out.flush()
}
