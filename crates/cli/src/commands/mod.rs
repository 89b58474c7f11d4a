//! The commands, one file or folder each.

mod align;
mod average;
mod bench;
mod classify;
mod clean;
mod compare;
mod completions;
mod config;
mod demo;
mod devices;
mod distill;
mod embed;
mod evaluate;
mod explain;
mod export;
mod fill;
mod generate;
mod import;
mod info;
mod man;
mod plot;
mod prepare;
mod quantize;
mod rescore;
mod score;
#[cfg(feature = "server")]
mod serve;
mod synthesize;
mod tag;
mod trace;
mod train;
mod translate;
mod tune;

use std::num::NonZeroUsize;

use attentive_base::error::Result;
use attentive_processes::Processes;
use clap::Subcommand;

#[derive(Subcommand)]
pub(super) enum Command {
    Demo(demo::Args),
    Train(train::Args),
    Clean(clean::Args),
    Prepare(prepare::Args),
    Synthesize(synthesize::Args),
    Distill(distill::Args),
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
    Trace(trace::Args),
    Align(align::Args),
    Average(average::Args),
    Quantize(quantize::Args),
    Tune(tune::Args),
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
    pub(super) fn works_from_one_thread(&self) -> bool {
        matches!(self, Self::Train(_) | Self::Demo(_) | Self::Bench(_))
    }

    #[cfg_attr(
        not(feature = "server"),
        expect(unused_variables, reason = "only a server has threads of its own")
    )]
    pub(super) fn run(&self, threads: Option<NonZeroUsize>, processes: &Processes) -> Result<()> {
        if !matches!(self, Self::Train(_) | Self::Synthesize(_) | Self::Translate(_) | Self::Evaluate(_)) {
            processes.require_alone("this command")?;
        }
        match self {
            Self::Demo(args) => demo::run(args),
            Self::Train(args) => train::run(args, processes),
            Self::Clean(args) => clean::run(args),
            Self::Prepare(args) => prepare::run(args),
            Self::Synthesize(args) => synthesize::run(args, processes),
            Self::Distill(args) => distill::run(args),
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
            Self::Trace(args) => trace::run(args),
            Self::Align(args) => align::run(args),
            Self::Average(args) => average::run(args),
            Self::Quantize(args) => quantize::run(args),
            Self::Tune(args) => tune::run(args),
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
