//! `attentive config`: starts, shows and describes configurations.

mod new;
mod reference;
mod schema;
mod show;

use attentive_base::error::Result;
use clap::Subcommand;

const EXAMPLES: &str = "\
Examples:
  attentive config new --family transformer -o my.toml
  attentive config show my.toml
  attentive config schema > attentive.schema.json

docs/configuration.md describes every key.";

/// Write, check and describe configuration files.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    New(new::Args),
    Show(show::Args),
    Schema(schema::Args),
    Reference(reference::Args),
}

pub(super) fn run(args: &Args) -> Result<()> {
    match &args.command {
        Command::New(args) => new::run(args),
        Command::Show(args) => show::run(args),
        Command::Schema(args) => schema::run(args),
        Command::Reference(args) => reference::run(args),
    }
}
