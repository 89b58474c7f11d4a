//! The tasks whose answer is one object for each text.

use std::iter::zip;

use attentive_base::error::Result;
use attentive_config::Task;
use serde::{Serialize, Serializer};

use super::{Classified, Embedded, Filled, Pipeline, Tagged};

/// A task whose answer is one object for each text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextTask {
    /// The likeliest tokens for each gap, and how many of them.
    Fill(usize),
    /// A tag for each token.
    Tag,
    /// The likeliest labels, and how many of them.
    Classify(usize),
    /// A vector.
    Embed,
}

/// An answer. As JSON, it is the same object in the commands' `--json`, from the server and in Python.
#[derive(Clone, Debug)]
pub enum TextAnswer<'a> {
    /// A text with gaps, and the filled text.
    Fill(&'a str, Filled),
    /// Tokens and tags.
    Tag(Tagged),
    /// A text and its labels.
    Classify(&'a str, Classified),
    /// A text and its vector.
    Embed(&'a str, Embedded),
}

/// The fields of an answer, after those with the text.
#[derive(Serialize)]
struct Fields<'a, T> {
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(flatten)]
    answer: &'a T,
}

impl Serialize for TextAnswer<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            Self::Fill(input, answer) => {
                Fields { input: Some(input), text: None, answer }.serialize(serializer)
            }
            Self::Tag(answer) => answer.serialize(serializer),
            Self::Classify(text, answer) => {
                Fields { input: None, text: Some(text), answer }.serialize(serializer)
            }
            Self::Embed(text, answer) => {
                Fields { input: None, text: Some(text), answer }.serialize(serializer)
            }
        }
    }
}

impl TextTask {
    /// True if `pipeline` has a model for this task.
    pub fn fits(self, pipeline: &Pipeline) -> bool {
        match self {
            Self::Fill(_) => pipeline.config().model.family.task() == Task::Fill,
            Self::Tag => pipeline.config().model.family.task() == Task::Tag,
            Self::Classify(_) => pipeline.config().model.family.task() == Task::Classify,
            Self::Embed => pipeline.require_encoder().is_ok(),
        }
    }

    /// What a model that fits can do, for messages.
    pub fn what(self) -> &'static str {
        match self {
            Self::Fill(_) => "fill gaps",
            Self::Tag => "tag tokens",
            Self::Classify(_) => "classify texts",
            Self::Embed => "embed texts",
        }
    }

    /// The answers about `texts`, the first of which is number `first`.
    ///
    /// # Errors
    /// The errors of [`Pipeline::fill`], [`Pipeline::tag`], [`Pipeline::classify`] and [`Pipeline::embed`].
    pub fn answers<'a, L: AsRef<str> + Sync>(
        self,
        pipeline: &Pipeline,
        first: usize,
        texts: &'a [L],
    ) -> Result<Vec<TextAnswer<'a>>> {
        let own = || texts.iter().map(AsRef::as_ref);
        Ok(match self {
            Self::Fill(count) => {
                let is_only = first == 1 && texts.len() == 1;
                let fill = |(number, text)| match pipeline.fill(text, count) {
                    Ok(filled) => Ok(TextAnswer::Fill(text, filled)),
                    Err(error) if is_only => Err(error),
                    Err(error) => Err(error.about(format_args!("text {number}"))),
                };
                return (first..).zip(own()).map(fill).collect();
            }
            Self::Tag => pipeline.tag(first, texts)?.into_iter().map(TextAnswer::Tag).collect(),
            Self::Classify(count) => {
                let found = pipeline.classify(first, texts, count)?;
                zip(own(), found).map(|(text, found)| TextAnswer::Classify(text, found)).collect()
            }
            Self::Embed => {
                let found = pipeline.embed(first, texts)?;
                zip(own(), found).map(|(text, found)| TextAnswer::Embed(text, found)).collect()
            }
        })
    }
}
