//! `attentive train`: trains a model from a configuration.

mod profile;

use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

use attentive_base::count::{count, number};
use attentive_base::error::{Error, Result};
use attentive_base::interrupt::Interrupt;
use attentive_config::KnownConfigs;
use attentive_processes::Processes;
use attentive_train::report::Silent;
use attentive_train::{self as train, Existing, RunOptions, StopReason, Summary};

use crate::configuration::{self, ConfigurationArgs};
use crate::device::DeviceArgs;
use crate::existing::ExistingArgs;
use crate::message;
use crate::progress::ProgressDisplay;

const EXAMPLES: &str = "\
Examples:
  attentive train my.toml
  attentive train my.toml --resume
  attentive train runs/my --resume                             # the same run, by its directory
  attentive train my.toml --profile
  attentive train my.toml --device gpu                         # on a GPU; `attentive devices` lists them
  attentive train my.toml --set train.max_steps=500 --set data.train.src=my.en --output runs/try
  attentive train my.toml --set tokenizer.from=my.model        # a SentencePiece model or a tokenizer.json
  attentive train domain.toml --set model.from=runs/multi30k --set 'model.freeze=[\"encoder.*\"]'

Ctrl-C saves a checkpoint and stops; `--resume` continues as if the run had never stopped. The directory of the run may \
take the place of the configuration; the paths of its data start at the working directory, as when it began.
  With `model.from`, training starts from another model (fine-tuning): a directory that `attentive train` or `attentive \
import` wrote, with its weights, tokenizer and network.";

/// Train a model from a configuration file.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    configuration: ConfigurationArgs,
    /// Directory to write the model to [default: `runs/NAME` for `NAME.toml`].
    #[arg(long, short, value_name = "DIR")]
    output: Option<PathBuf>,
    #[command(flatten)]
    existing: ExistingArgs,
    #[command(flatten)]
    device: DeviceArgs,
    /// Train for N updates (20 without a number), show where time and RAM go, and save nothing.
    #[arg(
        long,
        value_name = "N",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "20",
        conflicts_with_all = ["output", "resume", "force"]
    )]
    profile: Option<NonZeroU64>,
}

pub(super) fn run(args: &Args, processes: &Processes) -> Result<()> {
    if let Some(updates) = args.profile {
        processes.require_alone("`--profile`")?;
        let draft = args.configuration.draft_with(args.device.as_override())?;
        let config = configuration::whole(draft)?;
        return profile::run(&config, updates.get());
    }
    let existing = args.existing.choice();
    let run = args.configuration.run().filter(|_| existing == Existing::Resume);
    let read = || {
        let out = out(args, run)?;
        let draft = match run {
            None => args.configuration.draft_with(args.device.as_override())?,
            Some(_) => args.configuration.draft_of_run(args.device.as_override())?,
        };
        Ok((draft, out))
    };
    let (draft, out) = processes.agree("the configuration was read", read())?;
    let resumed = (existing == Existing::Resume).then_some(out.as_path());
    let known = processes.value_of_first("the model of `model.from` was read", || match run {
        None => draft.known(resumed),
        Some(_) => Ok(KnownConfigs::default()),
    })?;
    let config = match run {
        None => draft.resolve(&known),
        Some(_) => draft.resolve_stored().map(|(config, _)| config),
    };
    let config = processes.agree("the configuration was read", config)?;
    let options =
        RunOptions { out, existing, interrupt: Interrupt::install()?, processes: processes.clone() };
    if !processes.is_first() {
        return train::train(&config, &options, &mut Silent).map(drop);
    }
    let summary = train::train(&config, &options, &mut ProgressDisplay::new())?;
    message::note(sentence(&summary));
    Ok(())
}

/// The directory of the run.
fn out(args: &Args, run: Option<&Path>) -> Result<PathBuf> {
    match (&args.output, run) {
        (None, None) => default_out(&args.configuration.config),
        (None, Some(run)) => Ok(run.to_owned()),
        (Some(out), None) => Ok(out.clone()),
        (Some(_), Some(run)) => Err(Error::usage(
            format!("`{}` is the run to resume, which stays in its directory", run.display()),
            "leave out `--output`, or name a TOML file to start another run",
        )),
    }
}

/// `runs/` and the configuration's file name without its extension.
fn default_out(config: &Path) -> Result<PathBuf> {
    match config.file_stem() {
        Some(name) => Ok(Path::new("runs").join(name)),
        None => Err(Error::usage(
            format!("`{}` has no file name to name the run after", config.display()),
            "name the directory with `--output`",
        )),
    }
}

/// A sentence about the finished run.
fn sentence(summary: &Summary) -> String {
    let Summary { step, resumed_at, seconds, best, path, stopped, exchange, .. } = summary;
    let why = match stopped {
        StopReason::MaxSteps => "",
        StopReason::MaxEpochs => " (`train.max_epochs` reached)",
        StopReason::Patience => " (stopped early: no improvement in `train.patience` validations)",
    };
    let best = best.as_ref().map_or(String::new(), |best| {
        let scores = [("BLEU", best.bleu), ("chrF", best.chrf), ("script", best.script)];
        let scores = scores.into_iter().filter_map(|(name, score)| Some(format!(", {name} {:.2}", score?)));
        let scores: String = scores.collect();
        format!("; best validation at update {}: loss {:.3}{scores}", number(best.step), best.loss)
    });
    let exchange = exchange.map_or(String::new(), |exchange| {
        format!(", of which process 0 of {} spent {:.1} s in exchanges", exchange.processes, exchange.seconds)
    });
    let since = resumed_at
        .map_or(String::new(), |before| format!(", {} since resuming", number(step.saturating_sub(before))));
    format!(
        "{}{since} in {seconds:.0} s{exchange}{why}{best}; the model is in `{}`",
        count(*step as usize, "update"),
        path.display()
    )
}
