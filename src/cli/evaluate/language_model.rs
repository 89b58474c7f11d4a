//! A causal language model on a text.

use attentive::error::Result;
use attentive::evaluate::{TextEvaluation, language_model};
use attentive::pipeline::Pipeline;

use super::super::{input, message};
use super::Args;

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
            "{unknown_tokens} of {tokens} tokens are not in the model's vocabulary; `<unk>` was predicted in their place"
        ));
    }
    if skipped_lines > 0 {
        message::warning(format_args!(
            "{skipped_lines} lines are too long for the model and were left out"
        ));
    }
    let lines = [
        format!("perplexity = {perplexity:.3}"),
        format!("bits per character = {bits_per_character:.3}"),
        format!("token accuracy = {:.2} %", 100.0 * token_accuracy),
        format!("{tokens} tokens, {characters} characters in {seconds:.1} s"),
    ];
    args.print(&evaluation, &lines)
}
