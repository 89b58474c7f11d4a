//! Evaluation of a classifier.

use attentive_base::count::count;
use attentive_base::error::Result;
use attentive_evaluate::{self as evaluate, ClassificationEvaluation};
use attentive_metrics::{Confusion, LabelScores};
use attentive_pipeline::Pipeline;

use super::{Args, percentage};
use crate::message;
use crate::table::aligned;

pub(super) fn run(args: &Args, pipeline: &Pipeline) -> Result<()> {
    args.refuse_translation("classify")?;
    let corpus = args.corpus(pipeline.config())?;
    let evaluation = evaluate::classification(pipeline, &corpus)?;
    if evaluation.cut > 0 {
        let (cut, texts) = (evaluation.cut, count(evaluation.accuracy.total as usize, "text"));
        let are = if cut == 1 { "is" } else { "are" };
        message::warning(format_args!(
            "{cut} of {texts} {are} too long for the model: only the beginning was read"
        ));
    }
    args.print(&evaluation, &lines(&evaluation))
}

fn lines(evaluation: &ClassificationEvaluation) -> Vec<String> {
    let ClassificationEvaluation { accuracy, macro_f1, by_label, confusion, seconds, .. } = evaluation;
    let mut lines = vec![
        format!("accuracy = {}", percentage(accuracy)),
        format!("macro F1 = {:.2} %", 100.0 * macro_f1),
        String::new(),
    ];
    let header = ["label", "precision", "recall", "F1", "texts"].map(str::to_owned);
    let row = |(label, scores): (&String, &LabelScores)| {
        let LabelScores { precision, recall, f1, support } = scores;
        let percent = |share: &f64| format!("{:.2} %", 100.0 * share);
        let numbers = [percent(precision), percent(recall), percent(f1)];
        let cells = [label.clone()].into_iter().chain(numbers);
        cells.chain([support.to_string()]).collect()
    };
    let rows = [header.to_vec()].into_iter();
    let rows: Vec<Vec<String>> = rows.chain(by_label.iter().map(row)).collect();
    lines.extend(aligned(&rows));
    lines.push(String::new());
    lines.push("confusion: one row per correct label, one column per predicted label".into());
    lines.extend(aligned(&confusion_rows(confusion)));
    lines.push(String::new());
    let texts = count(accuracy.total as usize, "text");
    lines.push(format!("{texts} in {seconds:.1} s"));
    lines
}

/// The confusion table with its row and column headers.
fn confusion_rows(confusion: &Confusion) -> Vec<Vec<String>> {
    let labels = confusion.labels();
    let names = |first: &str| {
        let labels = labels.iter().map(|&label| label.to_owned());
        [first.to_owned()].into_iter().chain(labels).collect()
    };
    let row = |&right: &&str| {
        let counts = labels.iter().map(|label| confusion.count(right, label));
        let counts = counts.map(|count| count.to_string());
        [right.to_owned()].into_iter().chain(counts).collect()
    };
    let header: Vec<String> = names("");
    [header].into_iter().chain(labels.iter().map(row)).collect()
}
