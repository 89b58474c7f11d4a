//! `attentive synthesize`: translates text into a corpus to train on.

use std::path::PathBuf;

use attentive_base::count::count;
use attentive_base::error::{Error, Result};
use attentive_data::first_lines;
use attentive_distill::{Synthesis, SynthesisChoice, SynthesisCounts, SynthesisFiles, SynthesisOptions};
use attentive_metrics::Utility;
use attentive_processes::Processes;

use crate::fingerprint::fingerprint;
use crate::input::DASH;
use crate::message;
use crate::model::ModelArgs;
use crate::output::{refuse_other_format, same_output};
use crate::translator::TranslatorArgs;
use crate::working::Working;

const EXAMPLES: &str = "\
Examples:
  attentive synthesize runs/en-de text.en --output forward.tsv
  attentive synthesize runs/de-en text.de --backward --output back.tsv --beam-width 1
  attentive synthesize runs/en-de train.en --beam-width 8 --n-best 8 --closest chrf --references train.de --output near.tsv
  attentive synthesize runs/en-de text.en --sample --epsilon 0.02 --mbr chrf --candidates 32 --output mbr.tsv
  mpirun -n 4 attentive synthesize runs/en-de text.en --output forward.tsv

Each line of the output has a source, a target and the score of the translation, separated by tabs. A configuration reads it \
as `{ tsv = \"back.tsv\", columns = [1, 2], tag = \"<bt>\" }`: the `tag` marks sources that are translations, if it is one of \
`tokenizer.symbols`, and a `weight` in a list of corpora says how often each is seen.
  The text is translated in parts, which are kept in a folder beside the output, `OUTPUT.parts`, until all are done. To continue \
after a stop or a crash, repeat the command: the result is the same as without. Lines that are blank or too long for the model, \
empty translations, and those that were cut off at the length limit give no pairs; their numbers are shown.";

/// So many lines show their languages.
const TRIED: usize = 100;

/// Translate text into a corpus to train on: back-translation, distillation.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    model: ModelArgs,
    /// Text to translate, one sentence per line; also compressed.
    #[arg(value_name = "TEXT")]
    text: PathBuf,
    /// Corpus to write, as tab-separated text.
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
    /// Make the translations the sources, and the lines of the text their targets (back-translation).
    #[arg(long)]
    backward: bool,
    /// Of the translations of each line, write the one that is closest to its reference by this metric.
    #[arg(long, value_name = "METRIC", requires = "references", conflicts_with = "mbr")]
    closest: Option<Utility>,
    /// Translations by people, one for each line of the text.
    #[arg(long, value_name = "FILE", requires = "closest")]
    references: Option<PathBuf>,
    #[command(flatten)]
    translator: TranslatorArgs,
}

pub(super) fn run(args: &Args, processes: &Processes) -> Result<()> {
    if args.output.as_os_str() == DASH {
        return Err(Error::usage("`--output` cannot be standard output", "name a file"));
    }
    refuse_other_format(&args.output)?;
    let mut read = std::iter::once(&args.text).chain(&args.references);
    if let Some(input) = read.find(|input| same_output(input, &args.output)) {
        let problem =
            format!("the output `{}` is also the input `{}`", args.output.display(), input.display());
        return Err(Error::usage(problem, "write to another file"));
    }
    let doing = "the model was loaded";
    let dir = processes.agree(doing, args.model.dir())?;
    let loaded = args.translator.load(&dir, processes).and_then(|pipeline| {
        let translate = args.translator.options(&pipeline)?;
        Ok((pipeline, translate))
    });
    let (pipeline, translate) = processes.agree(doing, loaded)?;
    if args.closest.is_some() && args.translator.n_best.get() < 2 {
        return Err(Error::usage(
            "`--closest` has nothing to choose from: there is one translation of each line",
            "add `--n-best 8 --beam-width 8`",
        ));
    }
    let choice = args.closest.map_or(SynthesisChoice::All, SynthesisChoice::ClosestTo);
    let options = SynthesisOptions { translate, choice, backward: args.backward };
    let models = std::iter::once(&dir).chain(args.translator.others());
    let models: Vec<String> = models.map(|dir| fingerprint(dir)).collect();
    let identity =
        format!("{}{}, {}", models.join("\n"), pipeline.stepper().numbers(), args.translator.identity());
    processes.require_same("the model", &identity)?;
    let files = SynthesisFiles {
        text: &args.text,
        references: args.references.as_deref(),
        output: &args.output,
        counts: None,
    };
    let synthesis = Synthesis::open(files, options, &identity, processes)?;
    if processes.is_first() {
        message::warnings(pipeline.warning_of_languages(&first_lines(&args.text, TRIED)?)?.as_slice());
    }
    processes.limit_waits();
    let _working = processes.is_first().then(|| Working::shown(&pipeline, Some(synthesis.n_left(processes))));
    let counts = synthesis.run(&pipeline, processes)?;
    if processes.is_first() {
        message::note(summary(counts, args));
    }
    Ok(())
}

fn summary(counts: SynthesisCounts, args: &Args) -> String {
    let SynthesisCounts { lines, pairs, blank, too_long, empty, cut_off } = counts;
    let left_out = [
        (blank, "line", "blank"),
        (too_long, "line", "too long for the model"),
        (empty, "translation", "empty"),
        (cut_off, "translation", "cut off at the length limit"),
    ];
    let left_out = left_out.into_iter().filter(|(n, ..)| *n > 0);
    let left_out: Vec<String> = left_out
        .map(|(n, noun, why)| format!("{} {} {why}", count(n, noun), if n == 1 { "is" } else { "are" }))
        .collect();
    let why = if left_out.is_empty() { String::new() } else { format!(" ({})", left_out.join(", ")) };
    let (pairs, lines) = (count(pairs, "pair"), count(lines, "line"));
    format!("{pairs} of {lines}{why}; the corpus is in `{}`", args.output.display())
}
