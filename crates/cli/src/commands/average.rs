//! `attentive average`: averages a run's latest checkpoints into a new model.

use std::path::PathBuf;

use attentive_base::error::Result;
use attentive_checkpoint::{self as checkpoint, AverageSelection, Choice};

use crate::message;

const EXAMPLES: &str = "\
Examples:
  attentive average runs/multi30k --last 10 --output runs/multi30k-average
  attentive average runs/multi30k --checkpoint 4000,5000,best --output runs/multi30k-average
  attentive translate runs/multi30k-average < in.en";

/// Average the weights of a run's checkpoints into a new model.
///
/// The average of the last checkpoints often translates better than any one of them. A run keeps
/// `train.keep_last` checkpoints. With `train.average_last` set, `attentive train` averages them itself when
/// it ends.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Run directory that `attentive train` wrote.
    #[arg(value_name = "RUN")]
    run: PathBuf,
    /// Number of latest checkpoints to average.
    #[arg(long, value_name = "N", default_value_t = 10)]
    last: usize,
    /// Average these checkpoints instead: numbers of updates, `last` or `best`, separated by commas.
    #[arg(long, value_name = "N|last|best", value_delimiter = ',', conflicts_with = "last")]
    checkpoint: Vec<Choice>,
    /// Model directory to write; it must not exist yet.
    #[arg(long, short, value_name = "DIR")]
    output: PathBuf,
}

pub(super) fn run(args: &Args) -> Result<()> {
    let which = if args.checkpoint.is_empty() {
        AverageSelection::Last(args.last)
    } else {
        AverageSelection::These(args.checkpoint.clone())
    };
    let steps = checkpoint::average(&args.run, &which, &args.output)?;
    let steps: Vec<String> = steps.iter().map(u64::to_string).collect();
    message::note(format!(
        "`{}` is the average of the checkpoints of updates {}",
        args.output.display(),
        steps.join(", ")
    ));
    Ok(())
}
