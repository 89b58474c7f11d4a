//! Classification: a label for each text.

use attentive_base::batch::TokenId;
use attentive_base::error::{Error, Result};
use attentive_base::interrupt::Interrupt;
use attentive_config::Task;
use attentive_data::Example;
use attentive_decode::{NextToken, likeliest};
use attentive_model::nn::Pass;
use attentive_tape::Value;
use attentive_text::{SpecialTokens, Tokenizer};
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use super::batches::batches;
use super::tokenized_line::TokenizedLine;
use super::{Pipeline, Warning};

/// The labels of a text.
#[derive(Clone, Debug, PartialEq)]
pub struct Classified {
    /// The requested labels, most likely first; empty for a blank line.
    pub labels: Vec<LabelScore>,
    /// Problems with the line.
    pub warnings: Vec<Warning>,
    /// True if the text is too long for the model, which has read only its beginning.
    pub is_cut: bool,
}

impl Serialize for Classified {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Classified", 3)?;
        fields.serialize_field("label", &self.labels.first().map(|best| &best.label))?;
        fields.serialize_field("labels", &self.labels)?;
        fields.serialize_field("warnings", &self.warnings)?;
        fields.end()
    }
}

/// A label and its probability.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LabelScore {
    pub label: String,
    /// The probability of the label, from 0 to 1; special tokens are excluded from the sum.
    pub probability: f64,
}

impl Pipeline {
    /// Returns the `count` most likely labels of each line; the first line has the number `first_line`.
    ///
    /// Control characters are read as blanks, and only the beginning of a line that is too long for the model
    /// is read; both cause warnings.
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
        let sources = TokenizedLine::read_all(first_line, lines, |line| TokenizedLine::read(line, self))?;
        let examples = (0..).zip(&sources);
        let examples = examples
            .filter(|(_, source)| !source.ids.is_empty())
            .map(|(line, source)| Example::tokens(source.ids.clone(), line))
            .collect();
        let mut labels = vec![Vec::new(); lines.len()];
        for batch in batches(examples, self.tokenizers.src().special(), None)? {
            Interrupt::check()?;
            let logits = self.model().forward(&batch, &Pass::inference());
            let found = likeliest_labels(logits, count, self.tokenizers.tgt())?;
            for (&line, best) in batch.lines.iter().zip(found) {
                labels[line] = best;
            }
        }
        let answers = labels.into_iter().zip(sources);
        Ok(answers
            .map(|(labels, source)| Classified { labels, warnings: source.warnings, is_cut: source.is_cut })
            .collect())
    }
}

/// The `count` most likely labels of each row of `logits`, `[rows, labels]`, most likely first.
///
/// # Errors
/// [`Error::Data`] if all logits of a row are NaN.
pub(super) fn likeliest_labels(
    logits: Value,
    count: usize,
    tokenizer: &Tokenizer,
) -> Result<Vec<Vec<LabelScore>>> {
    let [_, classes] = logits.shape();
    ranked_labels(logits, classes, tokenizer.special())
        .map(|ranked| Ok(scores(&ranked?, count, tokenizer)))
        .collect()
}

/// The `count` most likely labels of each row of `logits`, `[rows, labels]`, as tokens, most likely first: at
/// least one, or [`Error::Data`] if all logits of the row are NaN.
pub(super) fn ranked_labels(
    logits: Value,
    count: usize,
    special: SpecialTokens,
) -> impl Iterator<Item = Result<Vec<NextToken>>> {
    let no_labels: Vec<TokenId> = special.ids().collect();
    let rows = likeliest(logits, count, &no_labels).into_iter();
    rows.map(|ranked| {
        if ranked.is_empty() {
            Err(Error::damaged_model("the model gives no probability to any label"))
        } else {
            Ok(ranked)
        }
    })
}

/// The first `count` of the labels in `ranked`, with probabilities that sum to 1 over all of them.
fn scores(ranked: &[NextToken], count: usize, tokenizer: &Tokenizer) -> Vec<LabelScore> {
    let best = ranked.first().map_or(0.0, |best| best.log_prob);
    let weight = |label: &NextToken| (label.log_prob - best).exp();
    let total: f64 = ranked.iter().map(weight).sum();
    let score = |label: &NextToken| LabelScore {
        label: tokenizer.token(label.token).unwrap_or_default(),
        probability: weight(label) / total,
    };
    ranked.iter().take(count).map(score).collect()
}
