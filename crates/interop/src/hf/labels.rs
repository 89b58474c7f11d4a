//! The heads of encoders: masked language models, text classifiers and taggers of words.

use std::collections::BTreeMap;
use std::path::Path;

use attentive_base::count::count;
use attentive_base::error::Result;
use attentive_config::SpecialNames;
use attentive_text::Tokenizer;
use serde_json::{Value, json};

use super::sentences::SentencePooling;
use crate::keys::UnreadKeys;
use crate::tensors::Tensors;

/// Keys of all kinds of models that only give the meaning of labels or name the head of a model.
pub(super) const KEYS: &[&str] = &[
    "_num_labels",
    "architectures",
    "finetuning_task",
    "id2label",
    "label2id",
    "num_labels",
    "problem_type",
];

/// The weights of classifiers; the kind of model determines which of them it has.
const CLASSIFIERS: [&str; 2] = ["classifier.weight", "classifier.out_proj.weight"];
/// The suffix of the names of text classifiers.
const OF_TEXTS: &str = "ForSequenceClassification";
const OF_WORDS: &str = "ForTokenClassification";
/// The special tokens of a vocabulary of labels, which follow the labels.
const SPECIAL: [&str; 4] = ["<pad>", "<unk>", "<s>", "</s>"];

/// The head of an encoder.
#[derive(Debug, PartialEq)]
pub(super) enum EncoderHead {
    /// Predicts masked tokens.
    Masked,
    /// A label for each text.
    Texts(Vec<String>),
    /// A label for each word.
    Words(Vec<String>),
    /// No head.
    None,
}

/// The names of a linear classifier `$classifier`, and of the layer before it, as sources of our head. Our
/// label vocabularies have four additional special tokens, which are never predicted.
macro_rules! names_of_labels {
    ($classifier:literal $(, $layer:literal)?) => {{
        use crate::recipe::SourcePattern::{Extended, Same};
        &[
            $(("head.layer", Same($layer)),)?
            (
                "head.weight",
                Extended(&Extended(&Extended(&Extended(
                    &Same(concat!($classifier, ".weight")), 0.0), 0.0), 0.0), 0.0),
            ),
            (
                "head.bias",
                Extended(&Extended(&Extended(&Extended(
                    &Same(concat!($classifier, ".bias")), -20.0), -20.0), -20.0), -20.0),
            ),
        ]
    }};
}
pub(super) use names_of_labels;

impl EncoderHead {
    /// Determines the head of the model with these `keys` and `tensors` in `dir`. It predicts masked tokens
    /// if there is a tensor `masked`. The head in a directory of Sentence Transformers is not used.
    pub(super) fn of(keys: &mut UnreadKeys, dir: &Path, tensors: &Tensors, masked: &str) -> Result<Self> {
        if SentencePooling::is_in(dir) {
            return Ok(Self::None);
        }
        let classifier = CLASSIFIERS.into_iter().find(|name| tensors.has(name));
        let Some(classifier) = classifier else {
            return Ok(if tensors.has(masked) { Self::Masked } else { Self::None });
        };
        let classes: Vec<String> = keys.peek("architectures")?.unwrap_or_default();
        let is_named = |end: &str| classes.iter().any(|name| name.ends_with(end));
        let has_layer = classifier != CLASSIFIERS[0]
            || tensors.has("pre_classifier.weight")
            || tensors.names().any(|name| name.ends_with("pooler.dense.weight"));
        let n = tensors.shape(classifier)?.first().copied().unwrap_or(0);
        if is_named(OF_TEXTS) || classes.is_empty() && has_layer {
            let labels = labels(keys, n)?;
            only_one(keys, n)?;
            return Ok(Self::Texts(labels));
        }
        if is_named(OF_WORDS) || classes.is_empty() {
            let labels = labels(keys, n)?;
            if let Some(label) = labels.iter().find(|label| label.contains(char::is_whitespace)) {
                let problem = format!(
                    "the label `{label}` of words has a blank, but blanks separate labels in the output"
                );
                return Err(keys.problem(problem));
            }
            return Ok(Self::Words(labels));
        }
        Err(keys.refuse("architectures", &json!(classes)))
    }

    /// The labels, if there are any.
    pub(super) fn into_labels(self) -> Option<Vec<String>> {
        match self {
            Self::Texts(labels) | Self::Words(labels) => Some(labels),
            Self::Masked | Self::None => None,
        }
    }
}

/// Refuses models that predict a number, or several labels for a text.
fn only_one(keys: &mut UnreadKeys, n: usize) -> Result<()> {
    if n < 2 {
        return Err(keys.problem("its head gives a number, not a label; such models are not supported"));
    }
    keys.only("problem_type", "single_label_classification")
}

/// The names of the `n` labels.
fn labels(keys: &mut UnreadKeys, n: usize) -> Result<Vec<String>> {
    let names: BTreeMap<String, String> = keys.or("id2label", BTreeMap::new())?;
    let name = |number: usize| match names.get(&number.to_string()) {
        Some(name) => Some(name.clone()),
        None if names.is_empty() => Some(format!("LABEL_{number}")),
        None => None,
    };
    let labels: Option<Vec<String>> = (0..n).map(name).collect();
    let Some(labels) = labels.filter(|_| names.is_empty() || names.len() == n) else {
        let named = count(names.len(), "label");
        return Err(keys.problem(format!("`id2label` names {named}, but the head has {n}")));
    };
    let mut sorted: Vec<&str> = labels.iter().map(String::as_str).chain(SPECIAL).collect();
    sorted.sort_unstable();
    match sorted.windows(2).find(|two| two[0] == two[1]) {
        None => Ok(labels),
        Some(two) => Err(keys.problem(format!("`id2label` has the label `{}` twice", two[0]))),
    }
}

/// The vocabulary of `labels`, each of which is one token, however it is spelled.
pub(super) fn tokenizer(labels: &[String]) -> std::result::Result<Tokenizer, String> {
    let tokens = labels.iter().map(String::as_str).chain(SPECIAL);
    let ids: serde_json::Map<String, Value> =
        (0..).zip(tokens).map(|(id, token): (u32, _)| (token.to_owned(), id.into())).collect();
    let special = |(id, token): (usize, &str)| {
        json!({
            "id": id, "content": token, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false,
            "special": true,
        })
    };
    let added: Vec<Value> = (labels.len()..).zip(SPECIAL).map(special).collect();
    let file = json!({
        "version": "1.0",
        "added_tokens": added,
        "normalizer": null,
        "pre_tokenizer": null,
        "post_processor": null,
        "decoder": null,
        "model": {"type": "WordLevel", "vocab": ids, "unk_token": "<unk>"},
    });
    let file = format!("{file:#}\n");
    Tokenizer::from_json(file.into_bytes(), &SpecialNames::default())
}
