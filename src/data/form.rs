//! What a corpus consists of.

use crate::config::{Config, Task, Units};

/// What a corpus consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Sentences and their translations.
    Translations,
    /// Tokens, and a tag for each.
    TaggedTokens,
    /// Vectors of this width, and a tag for each.
    TaggedVectors(usize),
    /// Texts, and a label for each.
    Labelled,
    /// Texts, one per line.
    Lines,
    /// One text.
    Stream,
}

impl Form {
    /// What the configured family learns from.
    pub fn of(config: &Config) -> Self {
        match (config.model.family.task(), config.model.recurrent.d_input) {
            (Task::Translate, _) => Self::Translations,
            (Task::Tag, 0) => Self::TaggedTokens,
            (Task::Tag, width) => Self::TaggedVectors(width),
            (Task::Classify, _) => Self::Labelled,
            (Task::Generate | Task::Fill, _) => match config.data.units {
                Units::Lines => Self::Lines,
                Units::Stream => Self::Stream,
            },
        }
    }

    /// What it is called in messages.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Translations => "pairs of sentences",
            Self::TaggedTokens => "tokens with tags",
            Self::TaggedVectors(_) => "vectors with tags",
            Self::Labelled => "texts with labels",
            Self::Lines => "lines of text",
            Self::Stream => "a text",
        }
    }
}
