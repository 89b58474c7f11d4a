//! `attentive rescore`: probabilities of given translations.

use std::path::PathBuf;

use attentive_base::batch::TokenId;
use attentive_base::error::Result;
use attentive_pipeline::{RescoredAnswer, SoftAlignment};
use serde::Serialize;

use crate::device::DecodingDeviceArgs;
use crate::ensemble::EnsembleArgs;
use crate::input;
use crate::lines::LINES_PER_CHUNK;
use crate::message;
use crate::model::ModelArgs;
use crate::output::OutputWriter;
use crate::table::blank_separated;

const EXAMPLES: &str = "\
Examples:
  attentive rescore runs/multi30k --src test.en --tgt test.de
  attentive rescore runs/multi30k --src test.en --tgt test.de --token-scores
  attentive rescore runs/a --with runs/b --src test.en --tgt out.de --json | jq .log_prob

Output:
  One line for each pair: the natural log-probability of the translation, a tab, and the number of its tokens, `</s>` \
included. `--token-scores` adds two columns: the tokens, separated by blanks, and the natural log-probability of each, given \
the source and the tokens before it. `--soft-alignments` adds a column with a row of weights for each token, `</s>` included, \
separated by blanks; a row has the attention to each source token, `</s>` included, with commas between them. With `--json`, \
each pair is an object with `line`, `log_prob`, the lists `tokens`, `token_log_probs` and `warnings`, and `soft_alignment`.
  The translation of a blank source is not scored (`NaN`, `null` in JSON); of a translation that is too long for the model, \
only the beginning is. Warnings name such lines.";

/// Compute the log-probabilities that a model gives to existing translations.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    model: ModelArgs,
    /// Source sentences, one per line; `-` for standard input.
    #[arg(long, value_name = "FILE")]
    src: PathBuf,
    /// Translations of them, one per line; `-` for standard input.
    #[arg(long, value_name = "FILE")]
    tgt: PathBuf,
    /// Write to this file instead of standard output.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write one JSON object per pair.
    #[arg(long)]
    json: bool,
    /// Add the tokens of each translation and their log-probabilities.
    #[arg(long)]
    token_scores: bool,
    /// Add how much the prediction of each token attends to each source token, as in Marian's soft
    /// alignments.
    #[arg(long)]
    soft_alignments: bool,
    #[command(flatten)]
    ensemble: EnsembleArgs,
    #[command(flatten)]
    device: DecodingDeviceArgs,
}

/// A pair as JSON.
#[derive(Serialize)]
struct Pair<'a> {
    line: usize,
    #[serde(flatten)]
    answer: &'a RescoredAnswer,
    #[serde(skip_serializing_if = "Option::is_none")]
    soft_alignment: Option<&'a SoftAlignment>,
}

pub(super) fn run(args: &Args) -> Result<()> {
    let dir = args.model.dir()?;
    let pipeline = args.ensemble.load(&dir, args.device.device)?;
    let (src, tgt) = input::read_aligned(&args.src, std::slice::from_ref(&args.tgt))?;
    let inputs = [&args.src, &args.tgt, args.model.given(), &dir].into_iter();
    let inputs = inputs.chain(args.ensemble.models());
    let mut out = OutputWriter::open(args.output.as_deref(), inputs)?;
    let chunks = src.chunks(LINES_PER_CHUNK).zip(tgt[0].chunks(LINES_PER_CHUNK));
    let mut line = 1;
    for (src, tgt) in chunks {
        let all = pipeline.rescore(line, src, tgt)?;
        let pairs: Vec<(&String, &[TokenId])> =
            src.iter().zip(&all).map(|(src, scored)| (src, &scored.tokens[..])).collect();
        let aligned = args.soft_alignments.then(|| pipeline.soft_alignments(&pairs)).transpose()?;
        let mut aligned = aligned.unwrap_or_default().into_iter();
        for scored in all {
            message::warnings(&scored.warnings);
            args.write(line, &RescoredAnswer::new(&pipeline, scored), aligned.next().as_ref(), &mut out)?;
            line += 1;
        }
        out.flush()?;
    }
    out.finish().map(drop)
}

impl Args {
    fn write(
        &self,
        line: usize,
        answer: &RescoredAnswer,
        soft_alignment: Option<&SoftAlignment>,
        out: &mut OutputWriter,
    ) -> Result<()> {
        if self.json {
            return out.json_line(&Pair { line, answer, soft_alignment });
        }
        let mut columns = vec![format!("{:.4}", answer.log_prob), answer.tokens.len().to_string()];
        if self.token_scores {
            columns.push(answer.tokens.join(" "));
            columns.push(blank_separated(&answer.token_log_probs));
        }
        columns.extend(soft_alignment.map(SoftAlignment::to_string));
        out.line(columns.join("\t"))
    }
}
