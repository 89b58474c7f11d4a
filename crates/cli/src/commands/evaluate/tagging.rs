//! Evaluation of a tagger.

use attentive_base::count::count;
use attentive_base::error::Result;
use attentive_evaluate::{self as evaluate, TaggingEvaluation};
use attentive_pipeline::Pipeline;

use super::{Args, percentage};

pub(super) fn run(args: &Args, pipeline: &Pipeline) -> Result<()> {
    args.refuse_translation("tag")?;
    let corpus = args.corpus(pipeline.config())?;
    let evaluation = evaluate::tagging(pipeline, &corpus)?;
    args.print(&evaluation, &lines(&evaluation))
}

fn lines(evaluation: &TaggingEvaluation) -> Vec<String> {
    let TaggingEvaluation { accuracy, exact_match, by_tag, seconds } = evaluation;
    let mut lines = vec![
        format!("accuracy = {}", percentage(accuracy)),
        format!("exact match = {}", percentage(exact_match)),
    ];
    let width = by_tag.keys().map(|tag| tag.chars().count()).max();
    let width = width.unwrap_or(0);
    lines.extend(by_tag.iter().map(|(tag, accuracy)| format!("  {tag:<width$}  {}", percentage(accuracy))));
    let sequences = count(exact_match.total as usize, "sequence");
    lines.push(format!("{sequences} in {seconds:.1} s"));
    lines
}
