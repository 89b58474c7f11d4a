//! Warnings about text that the vocabulary cannot spell.

use attentive_config::{Config, Task, TokenizerKind};
use attentive_data::{EncodeStats, TokenCounts};
use attentive_text::Tokenizers;

use crate::report::{Event, Observer};

/// The share of unknown tokens up to which there is no warning.
const USUAL: f64 = 0.01;
/// The same for a vocabulary of words, which never has all of them.
const USUAL_WORDS: f64 = 0.2;

/// Warns about each side of the corpus called `what` with too many unknown tokens.
pub(super) fn warn(
    what: &str,
    encoded: EncodeStats,
    config: &Config,
    tokenizers: &Tokenizers,
    observer: &mut dyn Observer,
) {
    let (src, tgt) = match config.model.family.task() {
        Task::Translate => ("source tokens", "target tokens"),
        Task::Tag | Task::Classify | Task::Generate | Task::Fill | Task::Embed => ("tokens", "tokens"),
    };
    let sides = [(src, encoded.src, tokenizers.src()), (tgt, encoded.tgt, tokenizers.tgt())];
    for (side, counts, tokenizer) in sides {
        let unk = tokenizer.token(tokenizer.special().unk);
        let unk = unk.unwrap_or_default();
        if let Some(warning) = warning(side, counts, config, &unk) {
            observer.on(&Event::Warning(&format!("{what}: {warning}")));
        }
    }
}

/// A warning, if the share of unknown tokens in `counts` is too large.
fn warning(side: &str, counts: TokenCounts, config: &Config, unk: &str) -> Option<String> {
    let settings = &config.tokenizer;
    let is_of_words = settings.kind == TokenizerKind::Word;
    let share = counts.unknown_share();
    if share <= if is_of_words { USUAL_WORDS } else { USUAL } {
        return None;
    }
    let (vocabulary, advice) = match (&config.model.from, &settings.from) {
        (Some(model), _) => (
            format!("the vocabulary of `{}`", model.display()),
            "check the language and the direction of the data; a vocabulary for other text needs a new \
             model, without `model.from`",
        ),
        (None, Some(tokenizer)) => (
            format!("the vocabulary of `{}`", tokenizer.display()),
            "check the language of the data, or learn a vocabulary from them, without `tokenizer.from`",
        ),
        (None, None) if is_of_words => (
            "the vocabulary".into(),
            "raise `tokenizer.vocab_size`, lower `tokenizer.min_frequency`, or learn subwords \
             (`tokenizer.kind = \"bpe\"`)",
        ),
        (None, None) => (
            "the vocabulary".into(),
            "check the languages of the training and validation data, lower `tokenizer.min_frequency`, or \
             raise `tokenizer.vocab_size`",
        ),
    };
    let percent = 100.0 * share;
    let digits = if percent < 10.0 { 1 } else { 0 };
    Some(format!("{percent:.digits$} % of the {side} are `{unk}`: {vocabulary} cannot spell them; {advice}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_many_unknown_tokens_are_warned_of() {
        let said = |unknown, set: fn(&mut Config)| {
            let mut config = Config::default();
            set(&mut config);
            let counts = TokenCounts { tokens: 1000, unknown };
            warning("source tokens", counts, &config, "<unk>").unwrap_or_default()
        };
        let base: fn(&mut Config) = |config| config.model.from = Some("models/en-de".into());
        assert_eq!(said(10, base), "");
        let expected =
            "1.1 % of the source tokens are `<unk>`: the vocabulary of `models/en-de` cannot spell them; ";
        assert!(said(11, base).starts_with(expected), "{}", said(11, base));
        assert!(said(384, base).starts_with("38 % of the source tokens"));
        let given: fn(&mut Config) = |config| config.tokenizer.from = Some("my.model".into());
        assert!(said(20, given).contains("the vocabulary of `my.model`"));
        let words: fn(&mut Config) = |config| config.tokenizer.kind = TokenizerKind::Word;
        assert_eq!(said(200, words), "");
        assert!(said(201, words).contains("learn subwords"));
        assert!(said(20, |_| {}).contains("lower `tokenizer.min_frequency`"));
    }
}
