//! `attentive quantize`: stores a model in fewer bits.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use attentive_base::count::{count, number};
use attentive_base::error::{Error, Result};
use attentive_checkpoint::{self as checkpoint, StoredNumbers};
use attentive_config::Float;
use attentive_decode::{SearchOptions, Strategy};
use attentive_evaluate::quantize::{Change, QuantizeOptions, Report, ShortlistCost, Test, quantize};
use attentive_metrics::{Bootstrap, DEFAULT_SEED, Paired};
use attentive_model::engine::Precision;
use attentive_pipeline::TranslateOptions;
use clap::ValueEnum;
use indicatif::DecimalBytes;

use crate::input;
use crate::message;
use crate::model::ModelArgs;
use crate::output::OutputWriter;
use crate::precision;
use crate::search::SearchArgs;

const EXAMPLES: &str = "\
Examples:
  attentive quantize runs/multi30k --precision int8 --output runs/multi30k-int8
  attentive quantize runs/multi30k --precision int8 --output runs/multi30k-int8 --src test.en --ref test.de
  attentive quantize runs/multi30k --precision int8 --output small --src test.en --ref test.de --max-drop 0.3 --beam-width 1
  attentive quantize runs/multi30k --precision int8 --output small --src test.en --ref test.de --shortlist train.en train.de
  attentive translate runs/multi30k-int8 < in.en
  attentive quantize gpt2 --precision int8 --output gpt2-int8

The new directory is used like any other model directory, but cannot be trained further. It holds the weights \
(`packed.safetensors`), which are memory-mapped instead of read and converted, and, with a test set, the report \
(`report.json`). The test set is translated with the model's own generation settings, unless options change them; the new model \
keeps its own. Use a few hundred sentences that the model was not trained on; with fewer, the intervals are wide.
  The weights are read one matrix after the other, so quantizing takes about the RAM of the new model and of its largest matrix in f32; with a test set, that of \
the original model. A test set measures translators only; `attentive evaluate` measures other models, before and after; of language models with their weights rounded, but not the \
activations.
  Sums of 8-bit integers are exact, so int8 translations are the same on every CPU.

Shortlist:
  With `--shortlist`, the new model searches only among the tokens that are likely translations of the source tokens, and the \
most frequent ones. This saves most of the time of the output layer, and changes a translation if its best token is not among \
them. The first part of the report compares the original model with the quantized model and its shortlist; the second part, \
the quantized model without and with its shortlist. `attentive translate --no-shortlist` searches among all tokens. The file `shortlist.safetensors` also fits the original model: copy it to that directory to use it in f32.";

/// Store a model in fewer bits, and measure the effect on translations.
///
/// Any model of text can be quantized. With `--src` and `--ref`, both models translate a test set. The quantization report shows sizes, times,
/// BLEU and chrF with 95 % intervals (paired bootstrap resampling), and how many lines change.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    model: ModelArgs,
    /// Number type of the new weights. `f32` changes no number: the weights are stored in the order in which
    /// they are used, so that a large model starts at once.
    #[arg(long, value_name = "TYPE", value_parser = precision::one_of(&[Precision::Int8, Precision::Bf16, Precision::F32]))]
    precision: Precision,
    /// Number type in which the new model keeps keys and values of attention [default: that of the original
    /// model, usually f32].
    #[arg(long, value_name = "TYPE")]
    cache_precision: Option<Float>,
    /// Model directory to write; it must not exist yet.
    #[arg(long, short, value_name = "DIR")]
    output: PathBuf,
    /// Source sentences of a test set, one per line; without a test set, nothing is measured.
    #[arg(long, value_name = "FILE", requires = "references")]
    src: Option<PathBuf>,
    /// References of the test set, one per line; repeat for additional references.
    #[arg(long = "ref", value_name = "FILE", requires = "src")]
    references: Vec<PathBuf>,
    /// Write nothing if BLEU falls by more than this on the test set [default: no limit].
    #[arg(long, value_name = "BLEU", requires = "src")]
    max_drop: Option<f64>,
    /// Learn a shortlist from parallel text, such as the training data: sentences and their translations, one
    /// per line each.
    #[arg(long, num_args = 2, value_names = ["SRC", "TGT"])]
    shortlist: Option<Vec<PathBuf>>,
    /// Print the report as JSON.
    #[arg(long)]
    json: bool,
    /// Number of bootstrap resamples.
    #[arg(long, value_name = "N", default_value = "1000", requires = "src")]
    resamples: NonZeroUsize,
    #[command(flatten)]
    search: SearchArgs,
}

pub(super) fn run(args: &Args) -> Result<()> {
    let test_lines = match &args.src {
        Some(src) => Some(input::read_aligned(src, &args.references)?),
        None => None,
    };
    let shortlist = match args.shortlist.as_deref() {
        Some([src, tgt]) => {
            let (src, mut tgt) = input::read_aligned(src, std::slice::from_ref(tgt))?;
            Some((src, tgt.swap_remove(0)))
        }
        _ => None,
    };
    let options = QuantizeOptions {
        shortlist: shortlist.as_ref().map(|(src, tgt)| [&src[..], &tgt[..]]),
        precision: args.precision,
        cache_precision: args.cache_precision,
        bootstrap: Bootstrap { resamples: args.resamples, seed: DEFAULT_SEED },
        max_drop: args.max_drop,
        search: search(args)?,
    };
    let test = test_lines.as_ref().map(|(src, references)| Test { src, references });
    let quantized = quantize(&args.model.dir()?, &args.output, test, &options)?;
    let mut out = OutputWriter::stdout();
    match (&quantized.report, args.json) {
        (Some(report), true) => out.json(report)?,
        (Some(report), false) => show(report, &mut out)?,
        (None, true) => out.json(&quantized)?,
        (None, false) => {
            show_rows(sizes(quantized.original, quantized.precision, quantized.bytes), &mut out)?;
            message::note(
                "nothing was measured; `--src` and `--ref` give a test set on which both models are compared",
            );
        }
    }
    out.flush()
}

/// The first rows of the table: number types and sizes.
fn sizes(
    original: StoredNumbers,
    precision: Precision,
    Change { before, after }: Change<u64>,
) -> [(&'static str, String, String, String); 2] {
    let smaller = before as f64 / after.max(1) as f64;
    let smaller = if smaller > 1.0 { format!("{smaller:.1} × smaller") } else { String::new() };
    [
        ("weights", original.to_string(), precision.to_string(), String::new()),
        ("size", DecimalBytes(before).to_string(), DecimalBytes(after).to_string(), smaller),
    ]
}

/// The search options of the measurement, unless they are the model's own.
fn search(args: &Args) -> Result<Option<TranslateOptions>> {
    if args.search == SearchArgs::default() {
        return Ok(None);
    }
    if args.src.is_none() {
        return Err(Error::usage(
            "search options have no effect without a test set",
            "give `--src` and `--ref`, or omit the search options",
        ));
    }
    let model = checkpoint::describe(&args.model.dir()?)?;
    args.search.options(&model.config, 1, None).map(Some)
}

/// Describes the search options in words.
fn in_words(search: &SearchOptions) -> String {
    let formula = search.length_penalty_formula.to_possible_value();
    let formula = formula.map_or_else(String::new, |value| value.get_name().to_owned());
    match search.strategy {
        Strategy::Greedy { .. } => "greedy".into(),
        Strategy::Beam { width, .. } => {
            format!("beam width {width}, length penalty {} ({formula})", search.length_penalty)
        }
        Strategy::Sample { .. } => "sampling".into(),
    }
}

fn show(report: &Report, out: &mut OutputWriter) -> Result<()> {
    let Report {
        precision,
        original,
        cache_precision,
        instructions,
        threads,
        lines,
        changed_lines,
        bytes,
        seconds,
        bleu,
        chrf,
        shortlist,
        search,
        ..
    } = report;
    let rate = |seconds: f64| format!("{:.1} lines/s", *lines as f64 / seconds.max(1e-9));
    let faster = seconds.before / seconds.after.max(1e-9);
    if shortlist.is_some() {
        out.line(header(&original.to_string(), &with_shortlist(*precision)))?;
    }
    show_rows(sizes(*original, *precision, *bytes), out)?;
    let Change { before, after } = cache_precision;
    if [*before, *after] != [Float::F32; 2] {
        let row = ("cache", before.to_string(), after.to_string(), String::new());
        show_rows([row], out)?;
    }
    let rows = [
        ("speed", rate(seconds.before), rate(seconds.after), format!("{faster:.1} × as fast")),
        score("BLEU", &bleu.paired),
        score("chrF2", &chrf.paired),
    ];
    show_rows(rows, out)?;
    out.line(format_args!("{:<9}{} of {}", "changed", number(*changed_lines as u64), count(*lines, "line")))?;
    out.line(format_args!("{:<9}{instructions}, threads: {threads}", "CPU"))?;
    out.line(format_args!("{:<9}{}", "search", in_words(search)))?;
    match shortlist {
        Some(cost) => show_shortlist(cost, *precision, *lines, out),
        None => Ok(()),
    }
}

/// Shows the quantized model without its shortlist and with it.
fn show_shortlist(
    cost: &ShortlistCost,
    precision: Precision,
    lines: usize,
    out: &mut OutputWriter,
) -> Result<()> {
    let rate = |seconds: f64| format!("{:.1} lines/s", lines as f64 / seconds.max(1e-9));
    let Change { before, after } = cost.seconds;
    let faster = before / after.max(1e-9);
    let rows = [
        (
            "tokens",
            cost.vocabulary.to_string(),
            format!("{:.1}", cost.candidates),
            "candidates of a line, on average".to_owned(),
        ),
        ("speed", rate(before), rate(after), format!("{faster:.1} × as fast")),
        score("BLEU", &cost.bleu.paired),
        score("chrF2", &cost.chrf.paired),
    ];
    let size = DecimalBytes(cost.bytes);
    out.line(format_args!("\neffect of the shortlist ({size}):"))?;
    out.line(header(&precision.to_string(), &with_shortlist(precision)))?;
    show_rows(rows, out)?;
    let changed = cost.changed_lines;
    let lines = count(lines, "line");
    out.line(format_args!("{:<9}{changed} of {lines}", "changed"))
}

/// The name of the quantized model with its shortlist, as a column.
fn with_shortlist(precision: Precision) -> String {
    format!("{precision} with shortlist")
}

/// The headings of both columns of a table.
fn header(before: &str, after: &str) -> String {
    format!("{:<9}{before:<16}{after}", "")
}

/// The rows of a table: a name, before, after, and the change.
fn show_rows<const N: usize>(
    rows: [(&str, String, String, String); N],
    out: &mut OutputWriter,
) -> Result<()> {
    for (name, before, after, change) in rows {
        let line = format!("{name:<9}{before:<16}{after:<16}{change}");
        out.line(line.trim_end())?;
    }
    Ok(())
}

/// A row of the table: both scores, and their difference with its interval.
fn score(name: &'static str, paired: &Paired) -> (&'static str, String, String, String) {
    let (of, difference) = (|value: f64| format!("{value:.2}"), paired.difference);
    let change = format!(
        "{:+.2} (95 % interval {:+.2} to {:+.2}, p = {:.3})",
        difference.value, difference.interval.lower, difference.interval.upper, difference.p_value
    );
    (name, of(paired.baseline.value), of(paired.system.value), change)
}
