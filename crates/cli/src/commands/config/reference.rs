//! `attentive config reference`: all keys of a configuration.

use attentive_base::error::Result;
use attentive_config as config;

use crate::output::OutputWriter;

const EXAMPLES: &str = "\
Examples:
  attentive config reference | less
  attentive config reference > docs/configuration.md";

/// Print a description of every key, as Markdown.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {}

pub(super) fn run(_: &Args) -> Result<()> {
    let mut out = OutputWriter::stdout();
    out.line(config::reference().trim_end())?;
    out.flush()
}
