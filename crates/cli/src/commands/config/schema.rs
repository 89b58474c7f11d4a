//! `attentive config schema`: the JSON Schema of configurations.

use attentive_base::error::Result;
use attentive_config::Config;

use crate::output::OutputWriter;

const EXAMPLES: &str = "\
Examples:
  attentive config schema > attentive.schema.json

Editors that use Taplo, such as Visual Studio Code with the extension Even Better TOML, complete and check a configuration whose
first line is
  #:schema ./attentive.schema.json
The path is relative to the configuration.";

/// Print the JSON Schema of configuration files, for editors.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {}

pub(super) fn run(_: &Args) -> Result<()> {
    let mut out = OutputWriter::stdout();
    out.line(format_args!("{:#}", Config::json_schema()))?;
    out.flush()
}
