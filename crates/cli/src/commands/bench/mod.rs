//! `attentive bench`: what this machine can do, and how much of it training and translation use.

mod ceilings;
mod decoding;
mod training;
mod workload;

use std::cell::LazyCell;

use attentive_base::error::{Error, Result};
use attentive_config::TrainDevice;
use attentive_kernels::threads::Threads;
use attentive_model::engine::Precision;
use clap::ValueEnum;
use serde::Serialize;

use self::ceilings::Ceilings;
use self::workload::{Workload, workloads};
use crate::device::warn_of_software;
use crate::message;
use crate::output::OutputWriter;
use crate::precision::one_of;
use crate::table::aligned;

const EXAMPLES: &str = "\
Examples:
  attentive bench                                         everything: two minutes on two cores
  attentive bench --only ceilings
  attentive bench --only training --model small --precision bf16 --steps 10
  attentive bench --only translation --model tiny --precision int8 --json
  attentive bench --only training --model small --length 32 --length 256
  attentive bench --device gpu                            training and translation on a GPU
  attentive bench --device gpu --quick                    the same with little work, for GPUs in software

The models have random weights, and the sentences random tokens, 32 on both sides: Transformers with encoder and decoder, tiny \
(4 + 4 layers of width 128, 10,000 tokens), small (3 + 3, 256, 8000), base (6 + 6, 512, 32,000) and d1024 (6 + 6, 1024, \
32,000), which takes 5 GB; and lstm, with an LSTM in \
both directions and one with additive attention (256, 8000), of which only training is measured.

A ceiling is the fastest of thirty runs: multiply-adds in registers, with the instructions that the products use, two operations \
each; and bytes per second, read in a loop over 256 KiB per thread (L2 cache) or 512 MiB (RAM), or copied in RAM.
  The share of training is the operations of its matrix products, forward and backward, over those that the ceiling allows in \
the time of the whole update.
  The bound of translation is the least time for its products with weights: for each decoding step the operations at the ceiling or \
reading all weights of the decoder once, whichever takes longer; and the operations of the encoder. The share is the bound over \
the time.
  For a GPU, the times of operations are those in which the host records them and waits for results.

Run it on an idle machine. `ATTENTIVE_ISA` limits the instructions.";

/// Measure this machine, and training and translation as shares of what it can do.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Model to measure; may be repeated [default: all, but `d1024` only on a GPU and
    /// without `--quick`].
    #[arg(long = "model", value_name = "NAME", value_parser = ["tiny", "small", "base", "d1024", "lstm"])]
    models: Vec<String>,
    /// Number type of the matrix products, on a GPU of the weights; may be repeated [default: all; training
    /// has no int8, and on a GPU no bf16].
    #[arg(long = "precision", value_name = "TYPE", value_parser = one_of(&Precision::ALL))]
    precisions: Vec<Precision>,
    /// Measure only this; may be repeated [default: everything].
    #[arg(long, value_name = "PART")]
    only: Vec<Measured>,
    /// Tokens of a sentence, on both sides; may be repeated. A batch has as many tokens as with the default
    /// [default: 32].
    #[arg(long = "length", value_name = "N", value_parser = clap::value_parser!(u64).range(1..=4096))]
    lengths: Vec<u64>,
    /// Updates of training to measure, after one that is not [default: 6, or 1 with `--quick`].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    steps: Option<u64>,
    /// Measure everything with a few sentences of 4 tokens, only to see that it works: the speeds say
    /// nothing.
    #[arg(long, conflicts_with = "lengths")]
    quick: bool,
    /// Device, as in `attentive train`. On a GPU, training in f32 and translation with weights in f32 and
    /// bf16 are measured.
    #[arg(long, value_name = "DEVICE", default_value = "cpu")]
    device: TrainDevice,
    /// Print one JSON object for each measurement.
    #[arg(long)]
    json: bool,
}

/// What is measured.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Measured {
    /// Multiply-adds and bytes, on one thread and on all
    Ceilings,
    /// Updates
    Training,
    /// Greedy search and beam search, in batches and sentence by sentence
    Translation,
}

impl Args {
    fn measures(&self, part: Measured) -> bool {
        let is_possible = part != Measured::Ceilings || !self.device.is_gpu();
        is_possible && (self.only.is_empty() || self.only.contains(&part))
    }

    fn precisions(&self) -> Vec<Precision> {
        match (self.precisions.is_empty(), self.device) {
            (true, TrainDevice::Cpu) => Precision::ALL.to_vec(),
            (true, TrainDevice::Gpu(_)) => vec![Precision::F32, Precision::Bf16],
            (false, _) => self.precisions.clone(),
        }
    }

    /// The precisions in which the device trains.
    fn trained_precisions(&self) -> Vec<Precision> {
        let trains = |precision: &Precision| match precision {
            Precision::F32 => true,
            Precision::Bf16 => !self.device.is_gpu(),
            Precision::Int8 => false,
        };
        self.precisions().into_iter().filter(trains).collect()
    }

    /// The updates to measure.
    fn steps(&self) -> u64 {
        self.steps.unwrap_or(if self.quick { 1 } else { 6 })
    }

    /// Refuses what a GPU does not do.
    fn check(&self) -> Result<()> {
        let on_cpu = self.only.contains(&Measured::Ceilings) || self.precisions.contains(&Precision::Int8);
        if self.device.is_gpu() && on_cpu {
            return Err(Error::usage(
                "on a GPU, only training in f32 and translation with weights in f32 or bf16 are measured",
                "leave `--precision int8` and `--only ceilings` out",
            ));
        }
        Ok(())
    }

    fn workloads(&self) -> Vec<Workload> {
        let wanted = |known: &Workload| {
            if self.models.is_empty() {
                !known.is_large || self.device.is_gpu() && !self.quick
            } else {
                self.models.contains(&known.name)
            }
        };
        let wanted = workloads().into_iter().filter(wanted);
        if self.quick {
            return wanted.map(Workload::quick).collect();
        }
        if self.lengths.is_empty() {
            return wanted.collect();
        }
        let of_length = |workload: &Workload, &length| workload.clone().with_length(length as usize);
        wanted
            .flat_map(|workload| self.lengths.iter().map(move |length| of_length(&workload, length)))
            .collect()
    }
}

pub(super) fn run(args: &Args) -> Result<()> {
    args.check()?;
    let trained = args.trained_precisions();
    if args.only.contains(&Measured::Training) && trained.is_empty() {
        return Err(match args.device {
            TrainDevice::Cpu => {
                Error::usage("training has no int8", "use `--precision f32` or `--precision bf16`")
            }
            TrainDevice::Gpu(_) => {
                Error::usage("training on a GPU has no bf16", "use `--precision f32`, or measure translation")
            }
        });
    }
    let workloads = args.workloads();
    let translates = args.measures(Measured::Translation) && workloads.iter().any(Workload::is_translated);
    let trains = args.measures(Measured::Training) && !trained.is_empty();
    if !trains && !translates && !args.measures(Measured::Ceilings) {
        return Err(Error::usage(
            "of these models, nothing is measured in this precision",
            "lstm is only trained; training has no int8, and on a GPU no bf16",
        ));
    }
    if trains || translates {
        warn_of_software(attentive_pipeline::device::open(args.device, None)?);
    }
    if args.quick {
        message::note("the speeds of so little work say nothing about those of real work");
    }
    let mut report = Report::new(args.json);
    let ceilings = LazyCell::new(Ceilings::measure);
    if args.measures(Measured::Ceilings) {
        report.table(&*ceilings, || (ceilings.title(), ceilings.rows()))?;
    }
    if args.measures(Measured::Training) {
        for workload in &workloads {
            for &precision in &trained {
                let found = training::measure(workload, precision, args.steps(), args.device)?;
                report.table(&found, || found.table(|| ceilings.operations(precision)))?;
            }
        }
    }
    if args.measures(Measured::Translation) {
        for workload in workloads.iter().filter(|one| one.is_translated()) {
            for precision in args.precisions() {
                let model = decoding::BenchmarkModel::new(workload, precision, args.device)?;
                for setting in decoding::settings(args.device, args.quick) {
                    let found = model.measure(setting, || ceilings.operations(precision))?;
                    report.table(&found, || (found.title(), found.rows()))?;
                }
            }
        }
    }
    report.out.flush()
}

/// Prints each measurement as soon as it is made.
struct Report {
    out: OutputWriter,
    json: bool,
    is_first: bool,
}

impl Report {
    fn new(json: bool) -> Self {
        Self { out: OutputWriter::stdout(), json, is_first: true }
    }

    /// Prints `found`, as JSON or as a table with a title.
    fn table(
        &mut self,
        found: &impl Serialize,
        table: impl FnOnce() -> (String, Vec<Vec<String>>),
    ) -> Result<()> {
        if self.json {
            let line = serde_json::to_string(found).expect("a measurement is JSON");
            self.out.line(&line)?;
            return self.out.flush();
        }
        if !std::mem::replace(&mut self.is_first, false) {
            self.out.line("")?;
        }
        let (title, rows) = table();
        self.out.line(&title)?;
        for line in aligned(&rows) {
            self.out.line(&line)?;
        }
        self.out.flush()
    }
}

/// Cells of a row.
fn row<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.map(String::from).to_vec()
}

/// The number of threads, for titles.
fn threads() -> String {
    attentive_base::count::count(Threads::current().count(), "thread")
}

/// A part of a whole, in percent.
fn percent(part: f64, whole: f64) -> String {
    format!("{:.1} %", 100.0 * part / whole)
}

/// Billions of something, with as many digits as are of use.
fn billions(number: f64) -> String {
    format!("{:.1}", number / 1e9)
}
