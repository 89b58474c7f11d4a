//! The command line. `commands` has a file or folder for each command, which only combines parts of the
//! library; the other modules are what commands share.

mod cleanup;
mod commands;
mod configuration;
mod corpus_files;
mod destination;
mod device;
mod ensemble;
mod examples;
mod existing;
mod fingerprint;
mod input;
mod languages;
mod lines;
mod mbr;
mod message;
mod model;
mod names;
mod output;
mod precision;
mod progress;
mod samples;
mod sampling;
mod search;
mod table;
mod threads;
mod tips;
mod translation_ram;
mod translator;
mod working;

use std::ffi::OsString;
use std::num::{NonZeroU32, NonZeroUsize};
use std::process::ExitCode;
use std::time::Duration;

use attentive_base::error::{Error, Result};
use attentive_processes::Processes;
use clap::Parser;

use self::commands::Command;

const EXAMPLES: &str = "\
Examples:
  attentive demo                                      train and try a small model in minutes
  attentive train my.toml                             train on your own text, as my.toml describes
  attentive import opus-mt-en-de -o models/en-de      convert a model of another tool
  attentive translate models/en-de < in.en > out.de   translate
  attentive score out.de ref.de                       BLEU, chrF and TER
  attentive serve en-de=models/en-de                  answer HTTP requests

`attentive COMMAND --help` describes a command, with examples.";

/// The exit code of a command that did what it was asked to.
const SUCCESS: u8 = 0;

/// Train, evaluate, run and explain sequence models from raw text.
#[derive(Parser)]
#[command(name = "attentive", version, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Number of compute threads; results do not depend on it [default: one per logical CPU].
    #[arg(long, value_name = "N", global = true, display_order = model::LAST + 1)]
    threads: Option<NonZeroUsize>,
    /// Under MPI, end all processes if the others wait this long for one of them.
    #[arg(
        long,
        value_name = "SECONDS",
        global = true,
        display_order = model::LAST + 2,
        default_value = "300",
        hide = cfg!(not(feature = "mpi"))
    )]
    process_timeout: NonZeroU32,
}

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    ExitCode::from(run(std::env::args_os()))
}

/// Parses a command line, which begins with the name of the program, runs the command, and returns the exit
/// code. A process can do this once, since the command may set up its threads and handle its signals.
///
/// If the reader of standard output closes it early, as `head` does, the program exits silently with success.
/// A request for help and a mistake in the command line end the process.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let words = || arguments.iter().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>();
    let Cli { command, threads, process_timeout } =
        Cli::try_parse_from(&arguments).unwrap_or_else(|error| tips::added(error, &words()).exit());
    let timeout = Duration::from_secs(process_timeout.get().into());
    let processes = match Processes::launched(timeout, message::error) {
        Ok(processes) => processes,
        Err(error) => {
            message::error(&error);
            return error.exit_code();
        }
    };
    let ready = instructions().and_then(|()| threads::choose(threads, command.works_from_one_thread()));
    match ready.and_then(|threads| command.run(threads, &processes)) {
        Ok(()) => SUCCESS,
        Err(error) if output::is_closed(&error) => SUCCESS,
        Err(error) => {
            processes.fail(&error, message::error);
            error.exit_code()
        }
    }
}

/// Refuses an unknown limit on the instruction sets, which the kernels would ignore.
fn instructions() -> Result<()> {
    let limit = attentive_kernels::instruction_set::limit();
    let hint = "unset it to use all that the CPU has";
    limit.map(drop).map_err(|error| Error::usage(error.to_string(), hint))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_declarations_are_consistent() {
        super::Cli::command().debug_assert();
    }
}
