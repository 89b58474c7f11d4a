//! Classification: a label for each text.

use burn::tensor::Tensor;

use super::batches::batches;
use super::source::Source;
use super::{Pipeline, Warning};
use crate::architecture::Task;
use crate::data::Example;
use crate::error::{Error, Result};
use crate::model::{NextToken, likeliest};
use crate::nn::Pass;
use crate::text::Tokenizer;

/// The labels of a text.
#[derive(Clone, Debug, PartialEq)]
pub struct Classified {
    /// The requested labels, most likely first; empty for a blank line.
    pub labels: Vec<LabelScore>,
    /// Problems with the line.
    pub warnings: Vec<Warning>,
}

/// A label and its probability.
#[derive(Clone, Debug, PartialEq)]
pub struct LabelScore {
    /// The label.
    pub label: String,
    /// From 0 to 1, excluding special tokens.
    pub probability: f64,
}

impl Pipeline {
    /// The `count` most likely labels of each line; the first line is number `first_line`.
    ///
    /// Control characters are read as blanks, and only the beginning of a line that is too long for the model is read;
    /// both cause warnings.
    ///
    /// # Errors
    /// [`Error::Usage`] for a model that does not classify texts; [`Error::Data`] if its logits are NaN.
    pub fn classify<L: AsRef<str> + Sync>(
        &self,
        first_line: usize,
        lines: &[L],
        count: usize,
    ) -> Result<Vec<Classified>> {
        self.require(Task::Classify)?;
        let sources = Source::read_all(first_line, lines, |line| Source::read(line, self))?;
        let examples = (0..).zip(&sources);
        let examples = examples
            .filter(|(_, source)| !source.ids.is_empty())
            .map(|(line, source)| Example::tokens(source.ids.clone(), line))
            .collect();
        let mut labels = vec![Vec::new(); lines.len()];
        for batch in batches(examples, self.tokenizers.src().special(), None)? {
            let logits = self.model.forward(&batch, &Pass::inference());
            let found = likeliest_labels(logits, count, self.tokenizers.tgt())?;
            for (&line, best) in batch.lines.iter().zip(found) {
                labels[line] = best;
            }
        }
        let answers = labels.into_iter().zip(sources);
        Ok(answers
            .map(|(labels, source)| Classified {
                labels,
                warnings: source.warnings,
            })
            .collect())
    }
}

/// The `count` most likely labels of each row of `logits`, `[rows, labels]`, most likely first.
///
/// # Errors
/// [`Error::Data`] if all logits of a row are NaN.
pub(super) fn likeliest_labels(
    logits: Tensor<2>,
    count: usize,
    tokenizer: &Tokenizer,
) -> Result<Vec<Vec<LabelScore>>> {
    let special = tokenizer.special();
    let no_labels = [special.pad, special.unk, special.bos, special.eos];
    let [_, classes] = logits.dims();
    let rows = likeliest(logits, classes, &no_labels).into_iter();
    rows.map(|row| scores(&row, count, tokenizer)).collect()
}

/// The first `count` labels of `row`, with probabilities that sum to 1 over all of them.
fn scores(row: &[NextToken], count: usize, tokenizer: &Tokenizer) -> Result<Vec<LabelScore>> {
    let Some(best) = row.first() else {
        let problem = "the model gives no probability to any label";
        return Err(Error::damaged_model(problem));
    };
    let weight = |label: &NextToken| (label.log_prob - best.log_prob).exp();
    let total: f64 = row.iter().map(weight).sum();
    let score = |label: &NextToken| LabelScore {
        label: tokenizer.token(label.token).unwrap_or_default(),
        probability: weight(label) / total,
    };
    Ok(row.iter().take(count).map(score).collect())
}
