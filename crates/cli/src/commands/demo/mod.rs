//! `attentive demo`: trains a small model on a generated corpus and tests it.

mod ladder;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use attentive_base::count::count;
use attentive_base::error::Result;
use attentive_base::interrupt::Interrupt;
use attentive_checkpoint::atomic;
use attentive_config::{BuiltinTask, Config, ConfigDraft};
use attentive_data::{self as data, DataKind, builtin};
use attentive_metrics::{Bleu, exact_match};
use attentive_pipeline::Pipeline;
use attentive_processes::Processes;
use attentive_train::report::SampleTranslation;
use attentive_train::{self as train, Existing, RunOptions, Summary};

use crate::device::DeviceArgs;
use crate::existing::ExistingArgs;
use crate::message;
use crate::output::OutputWriter;
use crate::progress::ProgressDisplay;
use crate::samples;

const EXAMPLES: &str = "\
Examples:
  attentive demo
  attentive demo --task reverse
  attentive demo --ladder
  attentive demo --seed 2 --output demo --force";

/// Number of test sentences, none of which occurs in the training data.
const N_TEST: usize = 500;
/// Number of test sentences shown.
const N_SHOWN: usize = 12;

/// Train a small model on a built-in corpus in minutes and test it on unseen sentences.
///
/// It needs no data: the corpus is generated.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Task to learn.
    #[arg(long, value_name = "TASK", default_value = "grammar")]
    task: BuiltinTask,
    /// Train four small models, from a plain RNN to the Transformer, to reverse digits, and compare them:
    /// what gates and attention are good for.
    #[arg(long, conflicts_with = "task")]
    ladder: bool,
    /// Directory to write the model to [default: `attentive-demo-TASK`, or `attentive-demo-ladder`, in the
    /// current directory].
    #[arg(long, short, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Seed of both the corpus and the model [default: the configuration's].
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    #[command(flatten)]
    existing: ExistingArgs,
    #[command(flatten)]
    device: DeviceArgs,
}

/// The name and text of the task's configuration file.
fn recipe(task: BuiltinTask) -> (&'static str, &'static str) {
    match task {
        BuiltinTask::Grammar => ("demo-grammar", include_str!("../../../../../configs/demo-grammar.toml")),
        BuiltinTask::Reverse => ("demo-reverse", include_str!("../../../../../configs/demo-reverse.toml")),
    }
}

pub(super) fn run(args: &Args) -> Result<()> {
    let seed = args.seed.map(|seed| format!("seed={seed}"));
    let overrides: Vec<String> = seed.into_iter().chain(args.device.as_override()).collect();
    if args.ladder {
        let out = args.output.clone().unwrap_or_else(|| "attentive-demo-ladder".into());
        return ladder::run(&out, args.existing.choice(), &overrides, args.seed.unwrap_or(1));
    }
    let (name, text) = recipe(args.task);
    let draft =
        ConfigDraft::parse(text, &Path::new("configs").join(name).with_extension("toml"), &overrides)?;
    let out = args.output.clone().unwrap_or_else(|| format!("attentive-{name}").into());
    let existing = args.existing.choice();
    let resumed = (existing == Existing::Resume).then_some(out.as_path());
    let known = draft.known(resumed)?;
    let config = draft.resolve(&known)?;
    let options =
        RunOptions { out, existing, interrupt: Interrupt::install()?, processes: Processes::alone() };
    message::note(format!("writing the model to `{}`", options.out.display()));
    let summary = train::train(&config, &options, &mut ProgressDisplay::new())?;

    let test = TestSet::unseen(args.task, &config)?;
    test.write(&summary.path)?;
    let pipeline = Pipeline::load(&summary.path)?;
    report(&summary, &test.translate(&pipeline)?)
}

/// Sentences that do not occur in the training data, with their references.
struct TestSet {
    src: Vec<String>,
    tgt: Vec<String>,
}

impl TestSet {
    /// Generates pairs, leaving out the training sources that the configuration generates.
    fn unseen(task: BuiltinTask, config: &Config) -> Result<Self> {
        let train = data::read(
            config.data.training()?,
            DataKind::of(config),
            config.data.dir.as_deref(),
            config.seed,
            &mut data::unwatched,
        )?;
        let entries = train.entries().iter();
        let seen: HashSet<String> = entries.map(|entry| entry.item.input()).collect();
        let examples = builtin::generate_unseen(task, config.seed, N_TEST, &seen);
        let (src, tgt) = examples.into_iter().map(|example| (example.src.text, example.tgt.text)).unzip();
        Ok(Self { src, tgt })
    }

    /// Writes the pairs to the model directory, for `attentive evaluate`.
    fn write(&self, dir: &Path) -> Result<()> {
        for (path, lines) in [(src_file(dir), &self.src), (tgt_file(dir), &self.tgt)] {
            atomic::write_file(&path, (lines.join("\n") + "\n").as_bytes())?;
        }
        Ok(())
    }

    fn translate(&self, pipeline: &Pipeline) -> Result<Vec<SampleTranslation>> {
        let translations = pipeline.translate(&self.src)?;
        let pairs = self.src.iter().zip(&self.tgt).zip(translations);
        let sample = |((src, tgt), translation): ((&String, &String), String)| SampleTranslation {
            src: src.clone(),
            translation,
            reference: tgt.clone(),
        };
        Ok(pairs.map(sample).collect())
    }
}

fn src_file(dir: &Path) -> PathBuf {
    dir.join("test.src")
}

fn tgt_file(dir: &Path) -> PathBuf {
    dir.join("test.tgt")
}

fn report(summary: &Summary, samples: &[SampleTranslation]) -> Result<()> {
    let translations: Vec<&str> = samples.iter().map(|sample| sample.translation.as_str()).collect();
    let references: Vec<&str> = samples.iter().map(|sample| sample.reference.as_str()).collect();
    let exact = exact_match(&translations, &references);
    let bleu = Bleu::default().corpus(&translations, &[references]);

    let mut out = OutputWriter::stdout();
    out.line(format_args!(
        "{} in {:.0} s; results on {N_TEST} unseen sentences:",
        count(summary.step as usize, "update"),
        summary.seconds
    ))?;
    out.line(format_args!(
        "exact match = {:.1} % ({} of {})",
        100.0 * exact.fraction(),
        exact.correct,
        exact.total
    ))?;
    out.line(&bleu)?;
    out.line("")?;
    for sample in samples.iter().take(N_SHOWN) {
        samples::lines(sample).iter().try_for_each(|line| out.line(line))?;
    }
    out.line("\nNow try:")?;
    next_commands(&summary.path, samples)
        .iter()
        .try_for_each(|command| out.line(format_args!("  {command}")))?;
    out.flush()
}

/// Suggested commands for trying the model.
fn next_commands(model: &Path, samples: &[SampleTranslation]) -> Vec<String> {
    let (src, tgt) = (src_file(model), tgt_file(model));
    let (model, src, tgt) = (model.display(), src.display(), tgt.display());
    // Shell quoting: close the quotes, add an escaped apostrophe, and reopen them.
    let sentence = samples.first().map_or(String::new(), |sample| sample.src.replace('\'', r"'\''"));
    vec![
        format!("echo '{sentence}' | attentive translate {model} --beam-width 5 --n-best 5"),
        format!("attentive evaluate {model} --src {src} --ref {tgt}"),
        format!("attentive info {model}"),
    ]
}
