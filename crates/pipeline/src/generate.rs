//! Text generation.

use std::ops::ControlFlow;
use std::sync::Arc;

use attentive_base::batch::TokenId;
use attentive_base::error::{Error, Result};
use attentive_base::interrupt::Interrupt;
use attentive_decode::{Ending, SampleOptions, TextRules, continue_text};
use attentive_text::Detokenizer;

use super::stop::StopStrings;
use super::{Pipeline, Prompt};

/// Options for continuing a text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GenerateOptions {
    /// The sampling options.
    pub sample: SampleOptions,
    /// Stop strings: the text ends before the first one that appears.
    pub stop: Arc<[String]>,
}

impl GenerateOptions {
    /// Refuses invalid options.
    ///
    /// # Errors
    /// [`Error::Usage`] for an empty stop string, and the errors of [`SampleOptions::check`].
    pub fn check(&self) -> Result<()> {
        if self.stop.iter().any(String::is_empty) {
            return Err(Error::usage(
                "an empty stop string would end every text immediately",
                "use stop strings of at least one character, or none",
            ));
        }
        self.sample.check()
    }
}

/// A continuation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generation {
    /// The text after the prompt.
    pub text: String,
    /// The sampled tokens, including the tokens of a stop string but not `</s>`.
    pub tokens: Vec<TokenId>,
    /// The reason why the text ended; [`Ending::Stopped`] means a stop string.
    pub ending: Ending,
}

impl Pipeline {
    /// Continues `prompt`, passing the text to `on_text` piece by piece, in whole characters, as soon as it
    /// is final.
    ///
    /// The same options give the same text. See [`continue_text`] for how a text ends and how texts longer
    /// than the model's context are handled.
    ///
    /// # Errors
    /// [`Error::Usage`] for invalid options; [`Error::Data`] if the model's outputs become NaN or infinite,
    /// after passing on everything sampled before; any error that `on_text` returns.
    pub fn generate(
        &self,
        prompt: &Prompt,
        options: &GenerateOptions,
        on_text: &mut dyn FnMut(&str) -> Result<()>,
    ) -> Result<Generation> {
        options.check()?;
        let mut partial = PartialGeneration::new(self, prompt, options)?;
        let mut give = |piece: String| {
            if piece.is_empty() { Ok(()) } else { on_text(&piece) }
        };
        let rules = self.text_rules()?;
        let drawn = self.computing(|| {
            continue_text(self.stepper(), &prompt.ids, rules, &options.sample, |token| {
                Interrupt::check()?;
                match partial.push(token)? {
                    ControlFlow::Continue(piece) => give(piece).map(ControlFlow::Continue),
                    ControlFlow::Break(piece) => give(piece).map(ControlFlow::Break),
                }
            })
        })?;
        let (piece, generation) = partial.finish(drawn.ending);
        give(piece)?;
        generation
    }
}

impl Pipeline {
    /// The rules that hold for all texts of a language model.
    ///
    /// # Errors
    /// The errors of [`attentive_text::Tokenizers::contract`]; a loaded model never causes them.
    pub(super) fn text_rules(&self) -> Result<TextRules> {
        let units = self.config.data.units;
        let special = self.tokenizers.tgt().special();
        Ok(TextRules {
            units,
            ends: self.tokenizers.ends(&self.config.model)?,
            pad: special.pad,
            never: self.tokenizers.never_in_texts(&self.config.model, units)?,
        })
    }
}

/// A continuation that is being generated.
#[derive(Debug)]
pub(super) struct PartialGeneration<'a> {
    detokenizer: Detokenizer<'a>,
    stop: StopStrings,
    text: String,
    tokens: Vec<TokenId>,
}

impl<'a> PartialGeneration<'a> {
    /// Starts a continuation of `prompt`.
    ///
    /// # Errors
    /// Those of [`attentive_text::Tokenizer::decode`].
    pub(super) fn new(pipeline: &'a Pipeline, prompt: &Prompt, options: &GenerateOptions) -> Result<Self> {
        Ok(Self {
            detokenizer: Detokenizer::after(pipeline.tokenizers.tgt(), &prompt.ids)?,
            stop: StopStrings::new(Arc::clone(&options.stop)),
            text: String::new(),
            tokens: Vec::new(),
        })
    }

    /// Adds `token` and returns the text that it adds, which may be empty; breaks at a stop string.
    ///
    /// # Errors
    /// Those of [`attentive_text::Tokenizer::decode`].
    pub(super) fn push(&mut self, token: TokenId) -> Result<ControlFlow<String, String>> {
        self.tokens.push(token);
        let passed = self.stop.push(&self.detokenizer.push(token)?);
        let (ControlFlow::Continue(piece) | ControlFlow::Break(piece)) = &passed;
        self.text.push_str(piece);
        Ok(passed)
    }

    /// Returns the rest of the text and the whole continuation; `ending` comes from [`continue_text`].
    ///
    /// # Errors
    /// [`Error::Data`] if the model is damaged, and those of [`attentive_text::Tokenizer::decode`].
    pub(super) fn finish(self, ending: Option<Ending>) -> (String, Result<Generation>) {
        let Self { detokenizer, mut stop, mut text, tokens } = self;
        let (rest, ending) = match ending {
            Some(Ending::Stopped) => (String::new(), ending),
            _ => match detokenizer.finish().map(|rest| stop.push(&rest)) {
                Ok(ControlFlow::Continue(piece)) => (piece + &stop.finish(), ending),
                Ok(ControlFlow::Break(piece)) => (piece, Some(Ending::Stopped)),
                Err(error) => return (String::new(), Err(error)),
            },
        };
        text.push_str(&rest);
        let damaged = || Error::damaged_model("the model gives no probability to any next token");
        let generation = ending.ok_or_else(damaged).map(|ending| Generation { text, tokens, ending });
        (rest, generation)
    }
}

#[cfg(test)]
mod tests {
    use attentive_config::{Positions, TokenizerKind, Units};
    use attentive_samples::Sample;

    use super::*;
    use crate::tests::{pipeline, untrained_language_model};

    fn options(seed: u64) -> GenerateOptions {
        let mut sample = SampleOptions { max_new_tokens: 60, ..SampleOptions::default() };
        sample.sampling.seed = seed;
        sample.sampling.temperature = 1.5;
        GenerateOptions { sample, ..GenerateOptions::default() }
    }

    /// The continuation, checked against its pieces.
    fn run(pipeline: &Pipeline, prompt: &str, options: &GenerateOptions) -> Generation {
        let prompt = pipeline.prompt(prompt).unwrap();
        let mut pieces = Vec::new();
        let mut on_text = |piece: &str| {
            pieces.push(piece.to_owned());
            Ok(())
        };
        let generation = pipeline.generate(&prompt, options, &mut on_text).unwrap();
        assert_eq!(pieces.concat(), generation.text);
        assert!(pieces.iter().all(|piece| !piece.is_empty()));
        generation
    }

    #[test]
    fn the_pieces_are_the_text_of_all_tokens() {
        let kinds = [TokenizerKind::Bpe, TokenizerKind::Unigram, TokenizerKind::Word, TokenizerKind::Char];
        for kind in kinds {
            for units in [Units::Lines, Units::Stream] {
                let pipeline = untrained_language_model(kind, units);
                let tokenizer = pipeline.tokenizers.tgt();
                for seed in 0..5 {
                    let prompt = pipeline.prompt("Ein Hund").unwrap();
                    let generation = run(&pipeline, "Ein Hund", &options(seed));
                    let all = [prompt.ids.clone(), generation.tokens.clone()].concat();
                    let whole = tokenizer.decode(&all).unwrap();
                    assert_eq!(prompt.text().to_owned() + &generation.text, whole);
                    let limit = match units {
                        Units::Lines => 24 + 1 - prompt.ids.len(),
                        Units::Stream => 60,
                    };
                    assert!(generation.tokens.len() <= limit);
                    let ending = generation.ending;
                    assert_eq!(ending == Ending::MaxNewTokens, units == Units::Stream);
                }
            }
        }
    }

    #[test]
    fn a_stop_string_ends_the_text_before_it() {
        let pipeline = untrained_language_model(TokenizerKind::Char, Units::Stream);
        let free = run(&pipeline, "Hund", &options(3));
        let characters: Vec<char> = free.text.chars().collect();
        for start in [0, 10, 40] {
            let stop: String = characters[start..start + 3].iter().collect();
            let expected = free.text.split(&stop).next().unwrap();
            let options = GenerateOptions { stop: ["never".into(), stop].into(), ..options(3) };
            let stopped = run(&pipeline, "Hund", &options);
            assert_eq!((&*stopped.text, stopped.ending), (expected, Ending::Stopped));
            assert_eq!(stopped.tokens.len(), expected.chars().count() + 3);
        }
    }

    #[test]
    fn damage_is_reported_after_the_valid_text() {
        let mut config = untrained_language_model(TokenizerKind::Char, Units::Stream).config;
        config.model.positions = Positions::Learned;
        let whole = pipeline(Sample::language_model(config.clone()));
        let mut options = options(3);
        options.sample.max_new_tokens = 5;
        let written = run(&whole, "Hund", &options).text;
        // The fifth new token is the first one read at a damaged position: number 8.
        let broken = Sample::language_model(config).damaged("tgt.positions.learned", 8 * 16);
        let broken = pipeline(broken);
        // A possible beginning of a stop string is passed on as well.
        options.sample.max_new_tokens = 60;
        options.stop = [written.chars().last().unwrap().to_string() + "\u{1}"].into();
        let mut text = String::new();
        let mut on_text = |piece: &str| {
            text += piece;
            Ok(())
        };
        let prompt = broken.prompt("Hund").unwrap();
        let error = broken.generate(&prompt, &options, &mut on_text);
        let error = error.unwrap_err();
        assert_eq!(text, written);
        assert!(error.to_string().contains("NaN or infinite"), "{error}");
        assert!(error.exit_code() == 1 && error.hint().is_some(), "{error}");
    }

    #[test]
    fn an_empty_stop_string_is_refused() {
        let stream = untrained_language_model(TokenizerKind::Char, Units::Stream);
        let empty = GenerateOptions { stop: [String::new()].into(), ..options(1) };
        let prompt = stream.prompt("a").unwrap();
        let error = stream.generate(&prompt, &empty, &mut |_| Ok(())).unwrap_err();
        assert_eq!(error.exit_code(), 2);
    }
}
