//! The tokenizer that the configuration names, instead of one that is learned.

use attentive_base::error::{Error, Result};
use attentive_config::{Config, Task, Vocabulary};
use attentive_interop as interop;
use attentive_text::{Masks, Tokenizers, learn_labels};

/// The tokenizers of `tokenizer.from`, if it is set. The tokenizer of labels is always learned, from
/// `labels`.
///
/// # Errors
/// The errors of [`interop::tokenizers`]; [`Error::Config`] if there is one tokenizer where two are needed,
/// or two where one is needed.
pub(super) fn tokenizers(
    config: &Config,
    labels: impl FnOnce() -> Vec<String>,
) -> Result<Option<Tokenizers>> {
    let settings = &config.tokenizer;
    let Some(from) = &settings.from else {
        return Ok(None);
    };
    let task = config.model.family.task();
    let masks = match task {
        Task::Fill => Masks::With,
        _ => Masks::Without,
    };
    let found = interop::tokenizers(from, &settings.special, masks)?;
    let is_one = matches!(found, Tokenizers::Shared(_));
    let tokenizers = match (task, found) {
        (Task::Classify, Tokenizers::Shared(src)) => {
            Tokenizers::Separate { src, tgt: learn_labels(settings, &labels())? }
        }
        (Task::Translate, found) if is_one == (settings.vocabulary == Vocabulary::Shared) => found,
        (Task::Generate | Task::Fill, found) if is_one => found,
        _ => {
            let (there, needed) = if is_one {
                ("one tokenizer", "two tokenizers, since `tokenizer.vocabulary` is `separate`")
            } else {
                ("two tokenizers", "one tokenizer for all texts")
            };
            return Err(Error::Config {
                key: "tokenizer.from".into(),
                expected: needed.into(),
                found: format!("{there} in `{}`", from.display()),
                hint: Some(
                    "set `tokenizer.vocabulary` to `shared` if both sides of a translation share a \
                     tokenizer, and to `separate` if not"
                        .into(),
                ),
            });
        }
    };
    tokenizers.for_model(&config.model).map(Some)
}
