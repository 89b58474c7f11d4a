//! `attentive fill`: fills the gaps of a text.

use std::num::NonZeroUsize;
use std::path::Path;

use attentive_base::error::{Error, Result};
use attentive_config::{Task, TrainDevice};
use attentive_pipeline::{Filled, Pipeline, TextAnswer, Warning};
use attentive_text::{Joint, MASK};

use crate::input::{self, InputLines};
use crate::message;
use crate::model::ModelArgs;
use crate::output::OutputWriter;
use crate::precision::PrecisionArgs;

const EXAMPLES: &str = "\
Examples:
  attentive fill runs/multi30k-mlm 'Ein <mask> fährt auf einem Fahrrad.'
  attentive fill runs/multi30k-mlm 'Ein <mask> fährt auf einem <mask>.' --top 3 --json
  attentive fill runs/multi30k-mlm < texts.de

Output:
  The text with the most likely token in each gap, followed by the candidates for each gap, one per line in three \
tab-separated columns: the number of the gap, counted from 1; the probability; and the token. `##` before a token means that \
it continues the preceding word. Imported models may spell `<mask>` differently, such as `[MASK]`; both are read. Each gap is \
one token, predicted while all other gaps are still masked. A blank line gives a blank line.
  With `--json`, each text gives one object: `input`; `text`, the filled text; `gaps`, which holds for each gap a list of \
objects with `token`, `joined` (true if the token continues the preceding word), and `probability`; and `warnings`.";

/// Predict the most likely tokens for each `<mask>` in a text.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    model: ModelArgs,
    /// Text with `<mask>` in place of each missing token [default: the lines of standard input].
    #[arg(value_name = "TEXT")]
    text: Option<String>,
    /// Number of tokens to show for each gap.
    #[arg(long, short = 'k', value_name = "K", default_value = "5")]
    top: NonZeroUsize,
    /// Write one JSON object per text.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    precision: PrecisionArgs,
}

pub(super) fn run(args: &Args) -> Result<()> {
    let pipeline = args.precision.load(&args.model.dir()?, TrainDevice::Cpu)?;
    let mut out = OutputWriter::stdout();
    if let Some(text) = &args.text {
        let filled = pipeline.fill(text, args.top.get());
        let filled = filled.map_err(|error| meant_as_file(error, text))?;
        message::warnings(&filled.warnings);
        return write(text, filled, args.json, &mut out);
    }
    pipeline.require(Task::Fill)?;
    let mut input = input::open(None)?;
    while let Some(lines) = input.next_chunk(1)? {
        for text in &lines {
            let filled = fill_line(&pipeline, text, args.top.get(), &input)?;
            write(text, filled, args.json, &mut out)?;
        }
    }
    Ok(())
}

/// Fills the line just read from `input`.
fn fill_line(pipeline: &Pipeline, text: &str, top: usize, input: &InputLines) -> Result<Filled> {
    let place = format!("{}, line {}", input.path().display(), input.count());
    let filled = pipeline.fill(text, top).map_err(|error| error.about(place))?;
    let on_line = |warning: &Warning| warning.clone().on_line(input.count());
    let warnings: Vec<Warning> = filled.warnings.iter().map(on_line).collect();
    message::warnings(&warnings);
    Ok(filled)
}

/// Adds a hint if `text` names an existing file, whose lines the user probably meant.
fn meant_as_file(error: Error, text: &str) -> Error {
    match error {
        Error::Usage { problem, .. } if !text.contains(MASK) && Path::new(text).is_file() => {
            Error::usage(problem, format!("to fill the lines of a file, write `< {text}`"))
        }
        other => other,
    }
}

fn write(input: &str, filled: Filled, json: bool, out: &mut OutputWriter) -> Result<()> {
    if json {
        out.json_line(&TextAnswer::Fill(input, filled))?;
    } else {
        write_text(&filled, out)?;
    }
    out.flush()
}

fn write_text(filled: &Filled, out: &mut OutputWriter) -> Result<()> {
    out.line(&filled.text)?;
    for (number, gap) in (1..).zip(&filled.gaps) {
        for guess in gap {
            let (probability, token) = (guess.probability, &guess.text);
            let mark = match guess.joint {
                Joint::None => "##",
                Joint::Blank | Joint::Plain => "",
            };
            out.line(format_args!("{number}\t{probability:.4}\t{mark}{token}"))?;
        }
    }
    Ok(())
}
