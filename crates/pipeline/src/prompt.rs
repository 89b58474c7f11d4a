//! Prompts: texts to continue.

use attentive_base::batch::TokenId;
use attentive_base::error::{Error, Result};
use attentive_config::{Task, Units};
use attentive_data::is_control;

use super::tokenized_line::TokenizedLine;
use super::{Pipeline, Warning};

/// A text to continue, encoded for the model. Created by [`Pipeline::prompt`] and
/// [`Pipeline::prompt_tokens`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompt {
    text: String,
    pub(super) ids: Vec<TokenId>,
    pub(super) warnings: Vec<Warning>,
}

impl Prompt {
    /// Returns the text to continue: the given text, without trailing blanks that the tokenizer drops.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Problems with the text.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }
}

impl Pipeline {
    /// Prepares a text to continue.
    ///
    /// Control characters are read as blanks, with a warning. For a model of lines, the text begins a new
    /// line, and may be empty. A model of a stream reads no start token, so an empty text is replaced by
    /// `model.decoder_start_token`, or else by a line break.
    ///
    /// # Errors
    /// [`Error::Usage`] for a text longer than the model's context, an empty text for a model without a line
    /// break in its vocabulary, and a model that does not generate text.
    pub fn prompt(&self, text: &str) -> Result<Prompt> {
        self.require(Task::Generate)?;
        let tokenizer = self.tokenizers.tgt();
        let special = tokenizer.special();
        let controls = TokenizedLine::controls(text.chars().filter(|&c| is_control(c)).count());
        let text = &text.replace(is_control, " ");
        let read = tokenizer.encode(text)?;
        let unknown = read.iter().filter(|&&id| id == special.unk).count();
        let unknown = Warning::of_unknown(unknown, read.len());
        let kept =
            if tokenizer.decode(&read)?.ends_with(char::is_whitespace) { text } else { text.trim_end() };
        let warnings = controls.into_iter().chain(unknown).collect();
        self.begun(kept.to_owned(), read, warnings)
    }

    /// Prepares a prompt of exactly these `tokens`, spelled as in the vocabulary. For a model of lines, the
    /// start token may be included or left out.
    ///
    /// # Errors
    /// [`Error::Data`] for a token that is not in the vocabulary and for special tokens, naming them;
    /// [`Error::Usage`] as for [`Pipeline::prompt`].
    pub fn prompt_tokens(&self, tokens: &[String]) -> Result<Prompt> {
        self.require(Task::Generate)?;
        let ids = self.continuable(tokens)?;
        self.begun(self.tokenizers.tgt().decode(&ids)?, ids, Vec::new())
    }

    /// The ids of `tokens`, which a text may contain, without the start token.
    pub fn continuable(&self, tokens: &[String]) -> Result<Vec<TokenId>> {
        let tokenizer = self.tokenizers.tgt();
        let special = tokenizer.special();
        let mut ids = tokenizer.ids(tokens)?;
        let lines = self.config.data.units == Units::Lines;
        if lines && ids.first() == Some(&special.start) {
            ids.remove(0);
        }
        let inside = |id: TokenId| special.contains(id) && id != special.unk;
        match ids.iter().find(|id| inside(**id)) {
            None => Ok(ids),
            Some(&id) => Err(Error::data(
                format!("`{}` is never part of a text", tokenizer.token(id).unwrap_or_default()),
                "leave it out",
            )),
        }
    }

    /// The prompt with the tokens `read`.
    fn begun(&self, text: String, read: Vec<TokenId>, warnings: Vec<Warning>) -> Result<Prompt> {
        let start = self.tokenizers.tgt().special().start;
        let ids = match self.config.data.units {
            Units::Lines => [&[start], &*read].concat(),
            Units::Stream if read.is_empty() => vec![self.empty_text()?],
            Units::Stream => read,
        };
        let room = self.architecture.max_len;
        if ids.len() > room {
            return Err(Error::usage(
                format!(
                    "the prompt is too long: it has {} tokens, but the model's context holds {room}",
                    ids.len()
                ),
                "use only the end of it",
            ));
        }
        Ok(Prompt { text, ids, warnings })
    }

    /// The token that replaces an empty text in a stream: the start token, if the model has one, or a line
    /// break.
    fn empty_text(&self) -> Result<TokenId> {
        let tokenizer = self.tokenizers.tgt();
        let decoder = self.config.model.family.decoder();
        if decoder.is_some_and(|decoder| decoder.decoder_start_token.is_some()) {
            return Ok(tokenizer.special().start);
        }
        match tokenizer.encode("\n")?[..] {
            [id] if id != tokenizer.special().unk => Ok(id),
            _ => Err(Error::usage(
                "an empty prompt stands for a line break, which is not in the model's vocabulary",
                "use the beginning of a text as the prompt",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use attentive_config::TokenizerKind;

    use super::*;
    use crate::tests::{untrained, untrained_language_model};

    #[test]
    fn prompts_are_read_like_the_training_data() {
        let lines = untrained_language_model(TokenizerKind::Bpe, Units::Lines);
        let special = lines.tokenizers.tgt().special();
        assert_eq!(lines.prompt("").unwrap().ids, [special.bos]);
        let blank_behind = lines.prompt("Ein Hund ").unwrap();
        assert_eq!(blank_behind.text(), "Ein Hund");
        assert_eq!(blank_behind.ids, lines.prompt("Ein Hund").unwrap().ids);
        assert_eq!(blank_behind.warnings(), []);
        let unknown = lines.prompt("Ein ? Hund").unwrap();
        let warning = unknown.warnings()[0].to_string();
        assert!(warning.starts_with("1 of "), "{warning}");

        let stream = untrained_language_model(TokenizerKind::Char, Units::Stream);
        assert_eq!(stream.prompt("").unwrap().ids, stream.prompt("\n").unwrap().ids);
        assert_eq!(stream.prompt("\n").unwrap().text(), "\n");
        assert_eq!(stream.prompt("Hund ").unwrap().text(), "Hund ");
        assert_eq!(stream.prompt(&"e".repeat(24)).unwrap().ids.len(), 24);
    }

    #[test]
    fn a_prompt_of_tokens_is_continued_exactly() {
        let spelled = |tokens: &[&str]| -> Vec<String> { tokens.iter().map(|&t| t.into()).collect() };
        for units in [Units::Lines, Units::Stream] {
            let pipeline = untrained_language_model(TokenizerKind::Bpe, units);
            let whole = pipeline.prompt("Ein Hund").unwrap();
            let tokens = pipeline.tokenizers.tgt().spelled(&whole.ids);
            assert_eq!(pipeline.prompt_tokens(&tokens).unwrap(), whole);
            // Other tokens for the same text than the tokenizer would use.
            let letters = spelled(&["H", "u", "n", "d"]);
            let prompt = pipeline.prompt_tokens(&letters).unwrap();
            let start = prompt.ids.len() - 4;
            assert_eq!(start, usize::from(units == Units::Lines));
            assert_eq!(pipeline.tokenizers.tgt().spelled(&prompt.ids[start..]), letters);
            assert_eq!(prompt.text(), "Hund");
        }
        let lines = untrained_language_model(TokenizerKind::Bpe, Units::Lines);
        assert_eq!(lines.prompt_tokens(&[]).unwrap(), lines.prompt("").unwrap());
        for wrong in [["H", "xyz"], ["H", "</s>"], ["H", "<s>"]] {
            let error = lines.prompt_tokens(&spelled(&wrong)).unwrap_err();
            assert!(error.to_string().contains(&format!("`{}`", wrong[1])), "{error}");
            assert!(matches!(error, Error::Data { .. }) && error.hint().is_some());
        }
        let error = lines.prompt_tokens(&vec!["H".into(); 24]).unwrap_err();
        assert!(error.to_string().contains("25 tokens"), "{error}");
        assert_eq!(untrained().prompt_tokens(&[]).unwrap_err().exit_code(), 2);
    }

    #[test]
    fn invalid_prompts_are_refused() {
        let refused = |pipeline: &Pipeline, prompt: &str, words: &str| {
            let error = pipeline.prompt(prompt).unwrap_err();
            assert!(error.to_string().contains(words), "{error}");
            assert!(error.exit_code() == 2 && error.hint().is_some(), "{error}");
        };
        let stream = untrained_language_model(TokenizerKind::Char, Units::Stream);
        refused(&stream, &"e".repeat(25), "25 tokens, but the model's context holds 24");
        let lines = untrained_language_model(TokenizerKind::Char, Units::Lines);
        refused(&lines, &"e".repeat(24), "25 tokens");
        let words = untrained_language_model(TokenizerKind::Word, Units::Stream);
        refused(&words, "", "line break");
        refused(&words, " \n ", "line break");
        refused(untrained(), "a dog", "translates");
    }
}
