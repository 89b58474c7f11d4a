//! The command line, with one file per command, each of which only combines parts of the library.

mod average;
mod bench;
mod classify;
mod cleanup;
mod compare;
mod completions;
mod config;
mod configuration;
mod demo;
mod destination;
mod device;
mod devices;
mod embed;
mod ensemble;
mod evaluate;
mod examples;
mod existing;
mod explain;
mod export;
mod fill;
mod fingerprint;
mod generate;
mod import;
mod info;
mod input;
mod languages;
mod lines;
mod man;
mod message;
mod model;
mod names;
mod output;
mod plot;
mod precision;
mod prepare;
mod profile;
mod progress;
mod quantize;
mod rescore;
mod samples;
mod score;
mod search;
#[cfg(feature = "server")]
mod serve;
mod table;
mod tag;
mod threads;
mod tips;
mod train;
mod translate;
mod working;

use std::ffi::OsString;
use std::num::{NonZeroU32, NonZeroUsize};
use std::process::ExitCode;
use std::time::Duration;

use attentive_base::error::{Error, Result};
use attentive_processes::Processes;
use clap::{Parser, Subcommand};

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

#[derive(Subcommand)]
enum Command {
    Demo(demo::Args),
    Train(train::Args),
    Prepare(prepare::Args),
    Translate(translate::Args),
    Generate(generate::Args),
    Tag(tag::Args),
    Classify(classify::Args),
    Fill(fill::Args),
    Embed(embed::Args),
    Evaluate(evaluate::Args),
    Compare(compare::Args),
    Score(score::Args),
    Rescore(rescore::Args),
    Explain(explain::Args),
    Average(average::Args),
    Quantize(quantize::Args),
    Import(import::Args),
    Export(export::Args),
    Plot(plot::Args),
    Info(info::Args),
    Bench(bench::Args),
    Devices(devices::Args),
    Config(config::Args),
    #[cfg(feature = "server")]
    Serve(serve::Args),
    Completions(completions::Args),
    Man(man::Args),
}

impl Command {
    /// True if all work is called from the thread of the command, in short pieces.
    fn works_from_one_thread(&self) -> bool {
        matches!(self, Self::Train(_) | Self::Demo(_) | Self::Bench(_))
    }

    #[cfg_attr(
        not(feature = "server"),
        expect(unused_variables, reason = "only a server has threads of its own")
    )]
    fn run(&self, threads: Option<NonZeroUsize>, processes: &Processes) -> Result<()> {
        if !matches!(self, Self::Train(_) | Self::Translate(_) | Self::Evaluate(_)) {
            processes.require_alone("this command")?;
        }
        match self {
            Self::Demo(args) => demo::run(args),
            Self::Train(args) => train::run(args, processes),
            Self::Prepare(args) => prepare::run(args),
            Self::Translate(args) => translate::run(args, processes),
            Self::Generate(args) => generate::run(args),
            Self::Tag(args) => tag::run(args),
            Self::Classify(args) => classify::run(args),
            Self::Fill(args) => fill::run(args),
            Self::Embed(args) => embed::run(args),
            Self::Evaluate(args) => evaluate::run(args, processes),
            Self::Compare(args) => compare::run(args),
            Self::Score(args) => score::run(args),
            Self::Rescore(args) => rescore::run(args),
            Self::Explain(args) => explain::run(args),
            Self::Average(args) => average::run(args),
            Self::Quantize(args) => quantize::run(args),
            Self::Import(args) => import::run(args),
            Self::Export(args) => export::run(args),
            Self::Plot(args) => plot::run(args),
            Self::Info(args) => info::run(args),
            Self::Bench(args) => bench::run(args),
            Self::Devices(args) => devices::run(args),
            Self::Config(args) => config::run(args),
            #[cfg(feature = "server")]
            Self::Serve(args) => serve::run(args, threads),
            Self::Completions(args) => completions::run(args),
            Self::Man(args) => man::run(args),
        }
    }
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
