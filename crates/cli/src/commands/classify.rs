//! `attentive classify`: predicts a label for each text.

use std::num::NonZeroUsize;

use attentive_base::error::Result;
use attentive_config::{Task, TrainDevice};
use attentive_pipeline::{LabelScore, TextAnswer};

use crate::input::InputLines;
use crate::lines::{LINES_PER_CHUNK, LinesArgs};
use crate::message;
use crate::precision::PrecisionArgs;

const EXAMPLES: &str = "\
Examples:
  attentive classify runs/classifier-grammar in.txt --output out.labels
  echo 'does the dog see a cat?' | attentive classify runs/classifier-grammar
  attentive classify runs/classifier-grammar in.txt --top 3
  attentive classify runs/classifier-grammar in.txt --json

Input and output:
  Each input line is a text, each output line its label; a blank line gives an empty line. With `--top`, each line holds the \
most likely labels, each followed by its probability, separated by tabs. With `--json`, each line is an object with `text`, \
`label` (`null` for a blank line), `labels`, a list of objects with `label` and `probability`, and `warnings`. The probabilities of all \
labels of the model sum to 1.
  A labeled file (`label TAB text`) is not an input, since its labels would be read as text: `attentive evaluate MODEL --tsv \
FILE` measures the model with it, and `cut -f2 FILE` writes its texts.";

/// Predict a label for each text with a classifier.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    lines: LinesArgs,
    #[command(flatten)]
    precision: PrecisionArgs,
    /// Write the N most likely labels of each text with their probabilities.
    #[arg(long, short = 'k', value_name = "N")]
    top: Option<NonZeroUsize>,
    /// Write one JSON object per line, with the probabilities of the N most likely labels [default: all].
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> Result<()> {
    let dir = args.lines.model.dir()?;
    let pipeline = args.precision.load(&dir, TrainDevice::Cpu)?;
    pipeline.require(Task::Classify)?;
    let (mut input, mut out) = args.lines.open(&dir)?;
    let count = match (args.top, args.json) {
        (Some(top), _) => top.get(),
        (None, true) => usize::MAX,
        (None, false) => 1,
    };
    let mut known = Some(pipeline.tokenizers().tgt().labels());
    loop {
        let first_line = input.count() + 1;
        let Some(lines) = input.next_chunk(LINES_PER_CHUNK)? else {
            return out.finish().map(drop);
        };
        if let Some(labels) = &known
            && let Some(warning) = labeled(&input, first_line, &lines, labels)
        {
            message::warning(warning);
            known = None;
        }
        let classified = pipeline.classify(first_line, &lines, count)?;
        for (text, found) in lines.iter().zip(classified) {
            message::warnings(&found.warnings);
            if args.json {
                out.json_line(&TextAnswer::Classify(text, found))?;
            } else if args.top.is_some() {
                let columns: Vec<String> = found.labels.iter().map(column).collect();
                out.line(columns.join("\t"))?;
            } else {
                out.line(found.labels.first().map_or("", |best| &best.label))?;
            }
        }
        out.flush()?;
    }
}

/// A warning about the first of these lines that begins with one of the labels and a tab, as in a labeled
/// file.
fn labeled(input: &InputLines, first_line: usize, lines: &[String], labels: &[String]) -> Option<String> {
    let label = |line: &String| {
        let (label, _) = line.split_once('\t')?;
        labels.iter().find(|known| *known == label.trim())
    };
    let mut found = (first_line..).zip(lines.iter().map(label));
    let (line, label) = found.find_map(|(line, label)| Some((line, label?)))?;
    Some(format!(
        "`{}`, line {line}: the label `{label}` before the tab is read as a part of the text: use `attentive \
         evaluate MODEL --tsv FILE` to measure a model with a labeled file, and `cut -f2 FILE` to classify \
         its texts",
        input.path().display()
    ))
}

/// A label and its probability, separated by a tab.
fn column(LabelScore { label, probability }: &LabelScore) -> String {
    format!("{label}\t{probability:.4}")
}
