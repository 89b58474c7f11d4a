//! `attentive config show`: a resolved configuration with the origin of each value.

use std::path::{Path, PathBuf};

use attentive::checkpoint::files;
use attentive::config::Config;
use attentive::error::{Error, Result};

use super::super::configuration::ConfigurationArgs;
use super::super::message;
use super::super::output::Output;

const EXAMPLES: &str = "\
Examples:
  attentive config show configs/multi30k.toml
  attentive config show configs/multi30k.toml --set model.norm_position=pre
  attentive config show domain.toml --set model.from=runs/multi30k
  attentive config show configs/multi30k.toml --resume runs/multi30k > resolved.toml

Comments name the origin of each value: a line of the file, `--set`, the default, a default that depends on other keys, the base \
model of `model.from`, or the resumed run. Keys without effect are listed at the end. The output is a configuration file itself.";

/// Check a configuration file and print every value with its origin.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    configuration: ConfigurationArgs,
    /// Show the configuration with which `attentive train --resume` would continue this run.
    #[arg(long, value_name = "RUN")]
    resume: Option<PathBuf>,
}

pub(super) fn run(args: &Args) -> Result<()> {
    let draft = args.configuration.draft()?;
    message::renamed(&draft);
    if let Some(run) = &args.resume {
        check_run(run)?;
    }
    let known = draft.known(args.resume.as_deref())?;
    let (config, origins) = draft.resolve_with_origins(&known)?;
    let text = config.to_toml_with_origins(&origins);
    let mut out = Output::stdout();
    out.line(message::with_flags(text).trim_end())?;
    out.flush()
}

/// Refuses a directory that is no run, and a run whose configuration is damaged.
fn check_run(run: &Path) -> Result<()> {
    let stored = run.join(files::CONFIG);
    if !stored.is_file() {
        return Err(Error::usage(
            format!(
                "`{}` is not a run: it has no `{}`",
                run.display(),
                files::CONFIG
            ),
            "give the directory that `attentive train` wrote, or leave out `--resume`",
        ));
    }
    Config::load_stored(&stored).map(drop)
}
