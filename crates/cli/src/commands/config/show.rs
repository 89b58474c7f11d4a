//! `attentive config show`: a resolved configuration with the origin of each value.

use std::path::{Path, PathBuf};

use attentive_base::error::{Error, Result};
use attentive_checkpoint::files;
use attentive_config::Config;

use crate::configuration::ConfigurationArgs;
use crate::message;
use crate::output::OutputWriter;

const EXAMPLES: &str = "\
Examples:
  attentive config show configs/multi30k.toml
  attentive config show configs/multi30k.toml --set model.norm_position=pre
  attentive config show domain.toml --set model.from=runs/multi30k
  attentive config show configs/multi30k.toml --resume runs/multi30k > resolved.toml
  attentive config show runs/multi30k

Comments name the origin of each value: a line of the file, `--set`, the default, a default that depends on other keys, the base \
model of `model.from`, or the resumed run. Keys without effect are listed at the end. The output is a configuration file itself.

The configuration of a model, given by its directory or by the file `config.toml` in it, is shown as all commands that use the \
model read it: a key that it lacks has the default of the version that stored it.";

/// Check a configuration file, or that of a model, and print every value with its origin.
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
    let stored = stored(&args.configuration.config)?;
    let (config, origins) = match (stored, &args.resume) {
        (Some(file), None) => args.configuration.draft_of(&file)?.resolve_stored()?,
        (Some(_), Some(_)) if args.configuration.config.is_dir() => {
            return Err(Error::usage(
                "`--resume` needs a configuration file, found a directory",
                "give the file with which the run is resumed, or leave out `--resume`",
            ));
        }
        (_, resumed) => {
            let draft = args.configuration.draft()?;
            if let Some(run) = resumed {
                check_run(run)?;
            }
            let known = draft.known(resumed.as_deref())?;
            draft.resolve_with_origins(&known)?
        }
    };
    let text = config.to_toml_with_origins(&origins);
    let mut out = OutputWriter::stdout();
    out.line(message::with_flags(text).trim_end())?;
    out.flush()
}

/// The configuration file of a model, if `path` is that or the directory of a model.
///
/// # Errors
/// [`Error::Usage`] if `path` is another directory.
fn stored(path: &Path) -> Result<Option<PathBuf>> {
    if path.is_dir() {
        let file = Config::home(path).join(files::CONFIG);
        return if file.is_file() {
            Ok(Some(file))
        } else {
            Err(Error::usage(
                format!("`{}` is a directory without `{}`", path.display(), files::CONFIG),
                "give a configuration file or a model directory",
            ))
        };
    }
    let others = [files::PROVENANCE, files::WEIGHTS, files::PACKED, files::CHECKPOINTS];
    let is_stored = path.file_name().is_some_and(|name| name == files::CONFIG)
        && others.iter().any(|name| path.with_file_name(name).exists());
    Ok(is_stored.then(|| path.to_path_buf()))
}

/// Refuses a directory that is no run, and a run whose configuration is damaged.
fn check_run(run: &Path) -> Result<()> {
    let stored = run.join(files::CONFIG);
    if !stored.is_file() {
        return Err(Error::usage(
            format!("`{}` is not a run: it has no `{}`", run.display(), files::CONFIG),
            "give the directory that `attentive train` wrote, or leave out `--resume`",
        ));
    }
    Config::load_stored(&stored).map(drop)
}
