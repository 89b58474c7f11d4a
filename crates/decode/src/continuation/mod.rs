//! Random continuations of texts, token by token.

mod text_decoding;

use std::ops::ControlFlow;

use attentive_base::batch::TokenId;
use attentive_base::error::{Error, Result};
use attentive_base::random::Random;
use schemars::JsonSchema;
use serde::Serialize;

pub use text_decoding::{TextDecoding, TextRules};

use crate::{Sampling, Stepper};

/// Sample number `n` is drawn from this stream of the seed plus `n`.
const FIRST_STREAM: u64 = 0x7361_6d70_6c65_0000;

/// Options for continuing a text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SampleOptions {
    /// The distribution from which tokens are drawn.
    pub sampling: Sampling,
    /// Number of the sample. A sample does not depend on the other samples of the same seed.
    pub number: u64,
    /// Maximum number of tokens to draw.
    pub max_new_tokens: usize,
}

impl Default for SampleOptions {
    /// The default is a temperature of 0.8.
    fn default() -> Self {
        Self {
            sampling: Sampling { temperature: 0.8, ..Sampling::default() },
            number: 0,
            max_new_tokens: 500,
        }
    }
}

impl SampleOptions {
    /// Refuses invalid options.
    ///
    /// # Errors
    /// [`Error::Usage`] for 0 tokens; any error of [`Sampling::check`].
    pub fn check(&self) -> Result<()> {
        if self.max_new_tokens == 0 {
            return Err(Error::usage("cannot generate 0 new tokens", "choose at least 1 token"));
        }
        self.sampling.check()
    }
}

/// The reason why a text ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// The model drew `</s>`.
    EndOfText,
    /// The callback asked to stop.
    Stopped,
    /// [`SampleOptions::max_new_tokens`] were drawn.
    MaxNewTokens,
    /// The model's context is full.
    ContextFull,
}

/// The result of [`continue_text`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampledText {
    /// The new tokens, without `</s>`.
    pub tokens: Vec<TokenId>,
    /// The reason why the text ended; `None` if all logits were NaN, that is, if the model is damaged.
    pub ending: Option<Ending>,
}

/// Draws tokens that continue `text`, passing each to `on_token`, which may ask to stop.
///
/// A text of a model of lines ends with `</s>`, or when the model's context is full. A text of a model of a
/// stream ends only if `</s>` may be drawn; when the context is full, the model restarts with its last half,
/// read from position 0 on as in training.
///
/// # Errors
/// Any error of `on_token`.
///
/// # Panics
/// Panics if `text` is empty or longer than the model's context, or if `options.max_new_tokens` is 0.
pub fn continue_text<S: Stepper>(
    model: &S,
    text: &[TokenId],
    rules: TextRules,
    options: &SampleOptions,
    mut on_token: impl FnMut(TokenId) -> Result<ControlFlow<()>>,
) -> Result<SampledText> {
    let mut texts = TextDecoding::new(model, rules);
    texts.add((), text, options);
    let (mut tokens, mut failed) = (Vec::new(), None);
    loop {
        let ended = texts.advance(|(), token| {
            tokens.push(token);
            on_token(token).unwrap_or_else(|error| {
                failed = Some(error);
                ControlFlow::Break(())
            })
        });
        if let Some(error) = failed {
            return Err(error);
        }
        if let Some(((), ending)) = ended.into_iter().next() {
            return Ok(SampledText { tokens, ending });
        }
    }
}

/// Draws the tokens of a text.
#[derive(Debug)]
pub(super) struct Sampler {
    sampling: Sampling,
    barred: Vec<TokenId>,
    random: Random,
}

impl Sampler {
    pub(super) fn new(options: &SampleOptions, rules: &TextRules) -> Self {
        let stream = FIRST_STREAM.wrapping_add(options.number);
        Self {
            sampling: options.sampling,
            barred: rules.never.clone(),
            random: Random::new(options.sampling.seed, stream),
        }
    }

    /// Draws a token from a row of logits; `None` if all are NaN.
    pub(super) fn draw(&mut self, row: &[f32]) -> Option<TokenId> {
        let uniform = self.random.uniform();
        self.sampling.draw(row, &self.barred, uniform)
    }
}

#[cfg(test)]
mod tests;
