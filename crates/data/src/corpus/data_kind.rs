//! The kinds of corpora.

use attentive_config::{Config, Task, Units};

/// The kind of data in the lines of a corpus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataKind {
    /// Sentences and their translations.
    Translations,
    /// Tokens with one tag each.
    TaggedTokens,
    /// Vectors of this width with one tag each.
    TaggedVectors(usize),
    /// Texts with one label each.
    Labeled,
    /// Texts, one per line.
    Lines,
    /// One continuous text.
    Stream,
}

impl DataKind {
    /// Returns the kind of corpora on which a model of this configuration is trained.
    pub fn of(config: &Config) -> Self {
        match (config.model.family.task(), config.model.family.d_input()) {
            (Task::Translate, _) => Self::Translations,
            (Task::Tag, None) => Self::TaggedTokens,
            (Task::Tag, Some(width)) => Self::TaggedVectors(width),
            (Task::Classify, _) => Self::Labeled,
            (Task::Generate | Task::Fill | Task::Embed, _) => match config.data.units {
                Units::Lines => Self::Lines,
                Units::Stream => Self::Stream,
            },
        }
    }

    /// The name used in messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Translations => "pairs of sentences",
            Self::TaggedTokens => "tokens with tags",
            Self::TaggedVectors(_) => "vectors with tags",
            Self::Labeled => "texts with labels",
            Self::Lines => "lines of text",
            Self::Stream => "a text",
        }
    }
}
