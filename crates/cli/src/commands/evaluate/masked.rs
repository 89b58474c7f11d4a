//! Evaluation of a masked language model.

use attentive_base::count::count;
use attentive_base::error::Result;
use attentive_evaluate::{self as evaluate, MaskedEvaluation, UnigramBaseline};
use attentive_pipeline::Pipeline;

use super::{Args, percentage};

pub(super) fn run(args: &Args, pipeline: &Pipeline) -> Result<()> {
    args.refuse_translation("fill")?;
    let corpus = args.corpus(pipeline.config())?;
    let evaluation = evaluate::masked(pipeline, &corpus)?;
    args.print(&evaluation, &lines(&evaluation))
}

fn lines(evaluation: &MaskedEvaluation) -> Vec<String> {
    let MaskedEvaluation { accuracy, perplexity, unigram, texts, too_long, seconds } = evaluation;
    let UnigramBaseline { accuracy: most_frequent, perplexity: unigram_perplexity } = unigram;
    let mut lines = vec![
        format!("masked-token accuracy = {}", percentage(accuracy)),
        format!("perplexity = {perplexity:.3}"),
        format!("always the most frequent token = {}", percentage(most_frequent)),
        format!("perplexity of the unigram distribution = {unigram_perplexity:.3}"),
        format!("{} in {seconds:.1} s", count(*texts, "text")),
    ];
    if *too_long > 0 {
        lines.push(format!("skipped {} too long for the model", count(*too_long, "text")));
    }
    lines
}
