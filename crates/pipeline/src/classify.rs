//! Classification: a label for each text.

use attentive_base::batch::{Batch, Src, TokenId};
use attentive_base::error::{Error, Result};
use attentive_base::interrupt::Interrupt;
use attentive_config::Task;
use attentive_data::Example;
use attentive_decode::{NextToken, likeliest};
use attentive_model::nn::Pass;
use attentive_tape::Value;
use attentive_text::Tokenizer;
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
            let n_labels = self.architecture().head.n_classes();
            let found = self.ranked_labels(&batch, n_labels)?;
            let found = found.iter().map(|ranked| scores(ranked, count, self.tokenizers.tgt()));
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

impl Pipeline {
    /// The `count` most likely labels of each sequence of `batch`, or of each of their positions, by the
    /// model's head; most likely first, and at least one.
    ///
    /// # Errors
    /// [`Error::Data`] if all logits of a sequence or a position are NaN.
    pub(super) fn ranked_labels(&self, batch: &Batch, count: usize) -> Result<Vec<Vec<NextToken>>> {
        let never: Vec<TokenId> = self.tokenizers.tgt().special().ids().collect();
        let ranked = self.computing(|| {
            Ok(match batch.src() {
                Some(Src::Tokens(tokens)) => self.encoder().likeliest(tokens, |_| true, count, &never),
                Some(Src::Vectors { lengths, .. }) => {
                    let logits = self.model().forward(batch, &Pass::inference());
                    let rows = likeliest(logits, count, &never).into_iter().zip(lengths.mask());
                    rows.filter_map(|(ranked, is_pad)| (!is_pad).then_some(ranked)).collect()
                }
                None => Vec::new(),
            })
        })?;
        ranked.into_iter().map(some_label).collect()
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
    let never: Vec<TokenId> = tokenizer.special().ids().collect();
    let rows = likeliest(logits, classes, &never).into_iter();
    rows.map(|ranked| Ok(scores(&some_label(ranked)?, count, tokenizer))).collect()
}

/// These labels, if there is one.
fn some_label(ranked: Vec<NextToken>) -> Result<Vec<NextToken>> {
    if ranked.is_empty() {
        return Err(Error::damaged_model("the model gives no probability to any label"));
    }
    Ok(ranked)
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
