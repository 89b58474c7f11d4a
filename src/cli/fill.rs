//! `attentive fill`: tokens for the gaps of a text.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use attentive::error::Result;
use attentive::pipeline::{Filled, Guess, Pipeline};
use attentive::text::Joint;
use serde::Serialize;

use super::input::Lines;
use super::output::Output;

const EXAMPLES: &str = "\
Examples:
  attentive fill runs/multi30k-mlm 'Ein <mask> fährt auf einem Fahrrad.'
  attentive fill runs/multi30k-mlm 'Ein <mask> fährt auf einem <mask>.' --top 3 --json
  attentive fill runs/multi30k-mlm < texts.de

Output:
  The text with the likeliest token in each gap; below it, for each gap, lines of three columns with tabs between them: \
the number of the gap, counted from 1; the probability; and the token. `##` before a token says that it goes on where the \
word before it stands. Each gap is one token, and is filled as if all others were still open.";

/// Find the likeliest tokens for each `<mask>` in a text.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The model directory.
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    /// A text with `<mask>` in place of each token to be found [default: the lines of standard input].
    #[arg(value_name = "TEXT")]
    text: Option<String>,
    /// How many tokens to show for each gap.
    #[arg(long, short = 'k', value_name = "K", default_value = "5")]
    top: NonZeroUsize,
    /// Print JSON, one object a text.
    #[arg(long)]
    json: bool,
}

/// A filled text as JSON.
#[derive(Serialize)]
struct Answer<'a> {
    text: &'a str,
    gaps: Vec<Vec<Token>>,
}

/// A guess as JSON.
#[derive(Serialize)]
struct Token {
    token: String,
    probability: f64,
}

pub(super) fn run(args: &Args) -> Result<()> {
    let pipeline = Pipeline::load(&args.model)?;
    let mut out = Output::stdout();
    if let Some(text) = &args.text {
        let filled = pipeline.fill(text, args.top.get())?;
        write(&filled, args.json, &mut out)?;
        return out.flush();
    }
    let mut input = Lines::open(None)?;
    while let Some(lines) = input.next_chunk(1)? {
        for text in lines.iter().filter(|text| !text.trim().is_empty()) {
            let filled = pipeline.fill(text, args.top.get())?;
            write(&filled, args.json, &mut out)?;
            out.flush()?;
        }
    }
    Ok(())
}

fn write(filled: &Filled, json: bool, out: &mut Output) -> Result<()> {
    if json {
        let token = |guess: &Guess| Token {
            token: readable(guess),
            probability: guess.probability,
        };
        let gaps = filled.gaps.iter();
        return out.json_line(&Answer {
            text: &filled.text,
            gaps: gaps.map(|gap| gap.iter().map(token).collect()).collect(),
        });
    }
    out.line(&filled.text)?;
    for (number, gap) in (1..).zip(&filled.gaps) {
        for guess in gap {
            let (probability, token) = (guess.probability, readable(guess));
            out.line(format_args!("{number}\t{probability:.4}\t{token}"))?;
        }
    }
    Ok(())
}

fn readable(guess: &Guess) -> String {
    match guess.joint {
        Joint::None => format!("##{}", guess.text),
        Joint::Blank | Joint::Plain => guess.text.clone(),
    }
}
