//! `attentive generate`: a language model continues a text.

use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;

use attentive::config::Units;
use attentive::decode::{Ending, SampleOptions};
use attentive::error::Result;
use attentive::pipeline::{GenerateOptions, Pipeline, Prompt};
use serde::Serialize;

use super::message;
use super::output::Output;

const EXAMPLES: &str = "\
Examples:
  attentive generate runs/shakespeare --prompt 'ROMEO:'
  attentive generate runs/shakespeare --prompt 'ROMEO:' --stop $'\\n\\n' --temperature 1
  attentive generate runs/shakespeare --samples 3 --top-k 20 --max-new-tokens 200
  attentive generate runs/stories --prompt 'Once upon a time' --greedy
  attentive generate runs/stories --samples 100 --seed 7 --json | jq -r .text

Output:
  The prompt and its continuation, as it comes. A model of lines begins every sample in a line of its own; samples of a \
model of one stream are divided by a line of three dashes. With `--json` there is an object a line for each sample: its \
number, `prompt`, `text` without the prompt, the number of new `tokens`, and the `ending`: `end_of_text`, `stopped` (by \
a stop string), `max_new_tokens`, or `context_full`.";

/// Continue a text, or begin one, with a language model.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The model directory.
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    /// The text to continue; without it a model of lines begins a line, and a model of a stream goes on behind a line
    /// break.
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "",
        hide_default_value = true
    )]
    prompt: String,
    /// How many samples to draw.
    #[arg(long, value_name = "N", default_value = "1")]
    samples: NonZeroU64,
    /// How random to be: 1 for the model's own distribution, less for more likely text, 0 for the likeliest token
    /// every time.
    #[arg(long, value_name = "T", default_value_t = SampleOptions::default().temperature, allow_negative_numbers = true)]
    temperature: f64,
    /// Draw among the K likeliest tokens alone [default: all].
    #[arg(long, value_name = "K")]
    top_k: Option<NonZeroUsize>,
    /// Draw among the likeliest tokens that have probability P together alone [default: 1, which is all].
    #[arg(long, value_name = "P", allow_negative_numbers = true)]
    top_p: Option<f64>,
    /// Always take the likeliest token; the same as a temperature of 0.
    #[arg(long, conflicts_with_all = ["temperature", "top_k", "top_p"])]
    greedy: bool,
    /// Seeds the samples: the same seed draws the same text.
    #[arg(long, value_name = "S", default_value_t = SampleOptions::default().seed)]
    seed: u64,
    /// At most N new tokens a sample.
    #[arg(long, value_name = "N", default_value_t = SampleOptions::default().max_new_tokens)]
    max_new_tokens: usize,
    /// End a sample before this string; may be given several times.
    #[arg(long, value_name = "STR")]
    stop: Vec<String>,
    /// Print JSON lines.
    #[arg(long)]
    json: bool,
}

/// A sample as JSON.
#[derive(Serialize)]
struct Sample<'a> {
    sample: u64,
    prompt: &'a str,
    text: &'a str,
    tokens: usize,
    ending: Ending,
}

impl Args {
    /// The options of sample `number`.
    fn options(&self, number: u64) -> GenerateOptions {
        let defaults = SampleOptions::default();
        GenerateOptions {
            sample: SampleOptions {
                temperature: if self.greedy { 0.0 } else { self.temperature },
                top_k: self.top_k.map_or(defaults.top_k, NonZeroUsize::get),
                top_p: self.top_p.unwrap_or(defaults.top_p),
                seed: self.seed,
                number,
                max_new_tokens: self.max_new_tokens,
            },
            stop: self.stop.clone(),
        }
    }
}

pub(super) fn run(args: &Args) -> Result<()> {
    args.options(0).check()?;
    let pipeline = Pipeline::load(&args.model)?;
    let prompt = pipeline.prompt(&args.prompt)?;
    message::warnings(prompt.warnings());
    let mut out = Output::stdout();
    for number in 0..args.samples.get() {
        let options = args.options(number);
        if args.json {
            write_json(&pipeline, &prompt, &options, &mut out)?;
        } else {
            if number > 0 && pipeline.config().data.units == Units::Stream {
                out.line("---")?;
            }
            write_text(&pipeline, &prompt, &options, &mut out)?;
        }
    }
    Ok(())
}

/// The text as it comes, each piece at once.
fn write_text(
    pipeline: &Pipeline,
    prompt: &Prompt,
    options: &GenerateOptions,
    out: &mut Output,
) -> Result<()> {
    out.text(prompt.text())?;
    out.flush()?;
    pipeline.generate(prompt, options, &mut |piece| {
        out.text(piece)?;
        out.flush()
    })?;
    out.line("")?;
    out.flush()
}

fn write_json(
    pipeline: &Pipeline,
    prompt: &Prompt,
    options: &GenerateOptions,
    out: &mut Output,
) -> Result<()> {
    let generation = pipeline.generate(prompt, options, &mut |_| Ok(()))?;
    out.json_line(&Sample {
        sample: options.sample.number,
        prompt: prompt.text(),
        text: &generation.text,
        tokens: generation.tokens.len(),
        ending: generation.ending,
    })?;
    out.flush()
}
