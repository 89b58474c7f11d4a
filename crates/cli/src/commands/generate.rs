//! `attentive generate`: continues a text with a language model.

use std::num::NonZeroU64;

use attentive_base::error::Result;
use attentive_config::Units;
use attentive_decode::{SampleOptions, SamplingChanges};
use attentive_pipeline::{GenerateOptions, GenerationAnswer, Pipeline, Prompt};
use serde::Serialize;

use crate::device::{DecodingDeviceArgs, warn_of_software};
use crate::input;
use crate::message::{self, as_option};
use crate::model::ModelArgs;
use crate::output::OutputWriter;
use crate::precision::{CacheArgs, PrecisionArgs};

const EXAMPLES: &str = "\
Examples:
  attentive generate runs/shakespeare --prompt 'ROMEO:'
  echo 'ROMEO:' | attentive generate runs/shakespeare
  attentive generate runs/shakespeare --prompt 'ROMEO:' --stop $'\\n\\n' --temperature 1
  attentive generate runs/shakespeare --n-best 3 --top-k 20 --max-new-tokens 200
  attentive generate runs/stories --prompt 'Once upon a time' --greedy
  attentive generate runs/stories --n-best 100 --seed 7 --json | jq -r .text

Output:
  The prompt and its continuation, written as they are generated. A model trained on lines (`data.units`) starts every sample \
on a new line; samples of a model trained on a stream are separated by a line of three dashes. With `--json`, each sample is \
one object per line: its number `sample`, `prompt`, `text` without the prompt, the new `tokens`, the `ending`: `end_of_text`, \
`stopped` (by a stop string), `max_new_tokens` or `context_full`, and `warnings` about the prompt.";

/// Generate text with a language model, from a prompt or from nothing.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    model: ModelArgs,
    /// Text to continue [default: standard input without its last line break; nothing if that is a terminal].
    /// Without text, a model trained on lines starts a new line, and a model trained on a stream continues
    /// after a line break.
    #[arg(long, value_name = "TEXT")]
    prompt: Option<String>,
    /// Maximum number of new tokens of each sample.
    #[arg(long, value_name = "N", default_value_t = SampleOptions::default().max_new_tokens)]
    max_new_tokens: usize,
    /// Number of texts to generate, each an independent sample.
    #[arg(long, value_name = "N", default_value = "1")]
    n_best: NonZeroU64,
    /// Always take the most likely token; same as a temperature of 0.
    #[arg(long, conflicts_with_all = ["temperature", "top_k", "top_p", "epsilon"])]
    greedy: bool,
    /// End a sample before this string; may be repeated.
    #[arg(long, value_name = "STR")]
    stop: Vec<String>,
    /// Write one JSON object per sample.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    precision: PrecisionArgs,
    #[command(flatten)]
    cache: CacheArgs,
    #[command(flatten)]
    device: DecodingDeviceArgs,
    #[command(flatten)]
    sampling: SamplingChanges,
}

/// A sample as JSON.
#[derive(Serialize)]
struct Sample {
    sample: u64,
    #[serde(flatten)]
    answer: GenerationAnswer,
}

impl Args {
    /// The options of sample `number`.
    fn options(&self, number: u64) -> GenerateOptions {
        let mut sampling = self.sampling.apply(SampleOptions::default().sampling);
        if self.greedy {
            sampling.temperature = 0.0;
        }
        GenerateOptions {
            sample: SampleOptions { sampling, number, max_new_tokens: self.max_new_tokens },
            stop: self.stop.clone().into(),
        }
    }
}

pub(super) fn run(args: &Args) -> Result<()> {
    args.options(0).check().map_err(as_option)?;
    let pipeline = args.precision.load(&args.model.dir()?, args.device.device)?;
    warn_of_software(pipeline.device());
    let pipeline = args.cache.applied(pipeline)?;
    let prompt = match &args.prompt {
        Some(text) => pipeline.prompt(text)?,
        None => pipeline.prompt(&input::prompt()?)?,
    };
    message::warnings(prompt.warnings());
    let mut out = OutputWriter::stdout();
    for number in 0..args.n_best.get() {
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

/// Writes the text as it is generated, each piece at once.
fn write_text(
    pipeline: &Pipeline,
    prompt: &Prompt,
    options: &GenerateOptions,
    out: &mut OutputWriter,
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
    out: &mut OutputWriter,
) -> Result<()> {
    let generation = pipeline.generate(prompt, options, &mut |_| Ok(()))?;
    let answer = GenerationAnswer::new(pipeline, prompt, generation);
    out.json_line(&Sample { sample: options.sample.number, answer })?;
    out.flush()
}
