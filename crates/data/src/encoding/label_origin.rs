//! Known labels and tags.

use std::path::Path;

use attentive_base::batch::{IGNORE, TokenId};
use attentive_text::Tokenizer;

use crate::corpus::item::{Item, NumberedItem};

/// The most known labels that a message lists.
const LISTED: usize = 10;

/// Where the labels or tags of a vocabulary come from.
#[derive(Clone, Copy, Debug)]
pub enum LabelOrigin<'a> {
    /// The training data, of whose labels a vocabulary of at most this size was learned.
    Learned(usize),
    /// The model in this directory, from which training starts.
    Model(&'a Path),
}

impl LabelOrigin<'_> {
    /// Describes a tag or label of `entry` that is not in the vocabulary of `tokenizer`, if there is one;
    /// `ids` are the tags or labels as tokens.
    pub(crate) fn check(
        self,
        ids: &[TokenId],
        entry: &NumberedItem,
        tokenizer: &Tokenizer,
    ) -> Result<(), String> {
        let (what, names) = match &entry.item {
            Item::Tagged { tags, .. } => ("tag", tags.as_slice()),
            Item::Labeled { label, .. } => ("label", std::slice::from_ref(label)),
            Item::Translation { .. } | Item::Text(_) => return Ok(()),
        };
        let unk = tokenizer.special().unk;
        let ids = ids.iter().filter(|&&id| id != IGNORE);
        match ids.zip(names).find(|(id, _)| **id == unk) {
            None => Ok(()),
            Some((_, name)) => Err(format!("unknown {what} `{name}`: {}", self.reason(what, tokenizer))),
        }
    }

    /// The reason why a label, or what it is called, is not in the vocabulary.
    fn reason(self, what: &str, tokenizer: &Tokenizer) -> String {
        let labels = listed(&tokenizer.labels());
        match self {
            Self::Learned(most) if tokenizer.vocab_size() >= most => {
                format!("`tokenizer.vocab_size` = {most} has room only for the {what}s {labels}; raise it")
            }
            Self::Learned(_) => {
                format!("the training data (without held-out lines) have only the {what}s {labels}")
            }
            Self::Model(dir) => format!(
                "the base model `{}` has only the {what}s {labels}; a new {what} needs a new model trained \
                 on all the data",
                dir.display()
            ),
        }
    }
}

/// The first labels, and the number of the others.
fn listed(labels: &[String]) -> String {
    let quoted: Vec<String> = labels.iter().take(LISTED).map(|label| format!("`{label}`")).collect();
    let first = quoted.join(", ");
    match labels.len().saturating_sub(LISTED) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}
