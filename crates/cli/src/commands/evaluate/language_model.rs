//! Evaluation of a causal language model.

use attentive_base::count::count;
use attentive_base::error::Result;
use attentive_evaluate::{TextEvaluation, language_model};
use attentive_pipeline::Pipeline;

use super::Args;
use crate::{input, message};

pub(super) fn run(args: &Args, pipeline: &Pipeline) -> Result<()> {
    args.refuse_translation("generate")?;
    let lines = match &args.text {
        Some(text) => input::read_lines(text)?,
        None => {
            let corpus = args.corpus(pipeline.config())?;
            let texts = corpus.tgt_texts();
            let lines = texts.into_iter().flat_map(str::lines);
            lines.map(str::to_owned).collect()
        }
    };
    let evaluation = language_model(pipeline, &lines)?;
    let TextEvaluation {
        perplexity,
        bits_per_character,
        token_accuracy,
        tokens,
        characters,
        unknown_tokens,
        skipped_lines,
        seconds,
    } = evaluation;
    if unknown_tokens > 0 {
        message::warning(format_args!(
            "{unknown_tokens} of {} not in the model's vocabulary; evaluated as `<unk>`",
            count(tokens as usize, "token")
        ));
    }
    if skipped_lines > 0 {
        message::warning(format_args!("skipped {} too long for the model", count(skipped_lines, "line")));
    }
    let lines = [
        format!("perplexity = {perplexity:.3}"),
        format!("bits per character = {bits_per_character:.3}"),
        format!("token accuracy = {:.2} %", 100.0 * token_accuracy),
        format!(
            "{}, {} in {seconds:.1} s",
            count(tokens as usize, "token"),
            count(characters as usize, "character")
        ),
    ];
    args.print(&evaluation, &lines)
}
