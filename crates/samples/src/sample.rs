//! Untrained models with tokenizers.

use attentive_config::{Config, Family, Task, TokenizerConfig, TokenizerKind, Units};
use attentive_model::model::Model;
use attentive_text::{self as text, Masks, Tokenizers};

use crate::variants;

/// The words of the vocabularies of [`Sample::with`].
pub const WORDS: [&str; 12] =
    ["a", "dog", "runs", "over", "the", "green", "field", "and", "barks", "at", "two", "cats"];

/// The models of [`Sample::with`].
const SMALL: &str = "d_model = 16, d_ff = 32, n_heads = 2, n_encoder_layers = 1, n_decoder_layers = 2, \
                     max_len = 24, recurrent = { d_hidden = 16 }";

/// The labels of its taggers and classifiers.
pub const TAGS: [&str; 3] = ["NOUN", "VERB", "OTHER"];

/// The text behind the vocabulary of [`Sample::language_model`].
pub const TEXT: &str = "Ein Hund rennt\nüber das grüne Feld\nund bellt zwei Katzen an.\n";

/// A tiny untrained model and all that is needed to use it.
pub struct Sample {
    /// Its configuration.
    pub config: Config,
    pub tokenizers: Tokenizers,
    pub model: Model,
}

impl Sample {
    /// A model of `family`.
    pub fn of(family: Family) -> Self {
        Self::with(&format!("family = '{family}'"))
    }

    /// A Transformer with these changes to `[model]`, in TOML on one line.
    pub fn with(changes: &str) -> Self {
        let mut config = tokenized(TokenizerKind::Word, 17);
        config.model = variants::read(SMALL, changes);
        config.decode.beam_width = 3;
        let (tokenizer, words, tags) = (&config.tokenizer, [WORDS.join(" ")], [TAGS.join(" ")]);
        let task = config.model.family.task();
        let tokenizers = match (task, config.model.family.d_input()) {
            (Task::Tag, None) | (Task::Classify, _) => text::learn_tagged(tokenizer, &words, &tags),
            (Task::Tag, _) => text::learn_tagged(tokenizer, &[], &tags),
            (Task::Fill, _) => text::learn(tokenizer, Masks::With, &[], &words),
            _ => text::learn(tokenizer, Masks::Without, &words, &words),
        };
        Self::untrained(config, tokenizers.unwrap())
    }

    /// A causal language model with a context of 24 tokens.
    pub fn small_language_model(kind: TokenizerKind, units: Units) -> Self {
        let mut config = tokenized(kind, 60);
        config.data.units = units;
        config.model = variants::read(SMALL, "family = 'decoder_only'");
        Self::language_model(config)
    }

    /// A causal language model with the configuration `config`.
    pub fn language_model(config: Config) -> Self {
        let corpus = match config.data.units {
            Units::Lines => TEXT.lines().map(str::to_owned).collect(),
            Units::Stream => vec![TEXT.to_owned()],
        };
        let tokenizers = text::learn(&config.tokenizer, Masks::Without, &[], &corpus);
        Self::untrained(config, tokenizers.unwrap())
    }

    /// The same model with NaN in the parameter `name`, from element `first` on.
    pub fn damaged(self, name: &str, first: usize) -> Self {
        let mut named = self.model.parameters().iter();
        let parameter = named.find(|parameter| parameter.name() == name);
        let parameter = parameter.unwrap_or_else(|| panic!("no parameter `{name}`"));
        parameter.change(|values| values[first..].fill(f32::NAN));
        self
    }

    fn untrained(config: Config, tokenizers: Tokenizers) -> Self {
        let (src, tgt) = (tokenizers.src().vocab_size(), tokenizers.tgt().vocab_size());
        let model = Model::new(&config.model.architecture(src, tgt), config.model.init, 7);
        Self { config, tokenizers, model }
    }
}

fn tokenized(kind: TokenizerKind, vocab_size: usize) -> Config {
    Config {
        tokenizer: TokenizerConfig { kind, vocab_size, min_frequency: 1, ..TokenizerConfig::default() },
        ..Config::default()
    }
}
