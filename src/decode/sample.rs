//! Sampling a continuation token by token.

use std::ops::ControlFlow;

use serde::Serialize;

use crate::batch::{Padded, TokenId};
use crate::config::Units;
use crate::error::{Error, Result};
use crate::model::{Stepper, largest, values};
use crate::random::Random;
use crate::text::SpecialTokens;

/// Sample number `n` is drawn from this stream of the seed plus `n`.
const FIRST_STREAM: u64 = 0x7361_6d70_6c65_0000;

/// Options of sampling.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SampleOptions {
    /// Divisor of the logits; values below 1 favour likely tokens. 0 for greedy decoding.
    pub temperature: f64,
    /// Number of most likely tokens to draw from (Fan et al. 2018); 0 for all.
    pub top_k: usize,
    /// Nucleus sampling (Holtzman et al. 2020): draws from the smallest set of top tokens whose probabilities sum to this,
    /// among those left by `top_k`; 1 for all.
    pub top_p: f64,
    /// Seed; the same seed gives the same samples.
    pub seed: u64,
    /// Number of the sample, which does not depend on other samples of the seed.
    pub number: u64,
    /// Maximum number of tokens to draw.
    pub max_new_tokens: usize,
}

impl Default for SampleOptions {
    /// A temperature of 0.8.
    fn default() -> Self {
        Self {
            temperature: 0.8,
            top_k: 0,
            top_p: 1.0,
            seed: 0,
            number: 0,
            max_new_tokens: 500,
        }
    }
}

impl SampleOptions {
    /// Refuses invalid options.
    ///
    /// # Errors
    /// [`Error::Usage`] for a negative or infinite temperature, a `top_p` that is not above 0 and at most 1, or 0 tokens.
    pub fn check(&self) -> Result<()> {
        let Self {
            temperature, top_p, ..
        } = *self;
        if !(temperature >= 0.0 && temperature.is_finite()) {
            return Err(Error::usage(
                format!("cannot sample at a temperature of {temperature}"),
                "use a finite number, 0 or more: 0 always picks the most likely token, 1 samples from the model's distribution",
            ));
        }
        if !(top_p > 0.0 && top_p <= 1.0) {
            return Err(Error::usage(
                format!("cannot sample from a share of {top_p} of the probability"),
                "`SampleOptions::top_p` must be above 0 and at most 1, which keeps all tokens",
            ));
        }
        if self.max_new_tokens == 0 {
            return Err(Error::usage(
                "cannot generate 0 new tokens",
                "ask for at least 1 token",
            ));
        }
        Ok(())
    }
}

/// The reason why a text ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
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

/// The result of [`sample`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drawn {
    /// The new tokens, without `</s>`.
    pub tokens: Vec<TokenId>,
    /// The reason why the text ended; `None` if all logits were NaN, that is, if the model is damaged.
    pub ending: Option<Ending>,
}

/// Draws tokens that continue `text`, passing each to `on_token`, which may ask to stop.
///
/// Special tokens other than `</s>` are never drawn. Lines end with `</s>`, or when the model's context is full. Streams never
/// end: `</s>` is not drawn, and when the context is full, the model restarts with its last half, read from position 0 on as
/// in training.
///
/// # Errors
/// Those of `on_token`.
///
/// # Panics
/// If `text` is empty or longer than the model's context.
pub fn sample<S: Stepper>(
    model: &S,
    text: &[TokenId],
    units: Units,
    special: SpecialTokens,
    options: &SampleOptions,
    mut on_token: impl FnMut(TokenId) -> Result<ControlFlow<()>>,
) -> Result<Drawn> {
    let (mut context, mut logits) = Context::open(model, text, units);
    let mut sampler = Sampler::new(options, special, units);
    let mut tokens = Vec::new();
    let ending = loop {
        let token = match sampler.draw(logits) {
            Some(token) if token == special.eos => break Some(Ending::EndOfText),
            Some(token) => token,
            None => break None,
        };
        tokens.push(token);
        if on_token(token)?.is_break() {
            break Some(Ending::Stopped);
        }
        if tokens.len() >= options.max_new_tokens {
            break Some(Ending::MaxNewTokens);
        }
        logits = match context.push(token) {
            Some(logits) => logits,
            None => break Some(Ending::ContextFull),
        };
    };
    Ok(Drawn { tokens, ending })
}

/// The text that the model has read, and its state.
struct Context<'a, S: Stepper> {
    model: &'a S,
    state: S::State,
    window: Vec<TokenId>,
    units: Units,
}

impl<'a, S: Stepper> Context<'a, S> {
    /// Reads `text` and returns the logits of the next token.
    fn open(model: &'a S, text: &[TokenId], units: Units) -> (Self, Vec<f32>) {
        let (given, room) = (text.len(), model.max_len());
        assert!(
            (1..=room).contains(&given),
            "a text of {given} tokens in a context of {room}"
        );
        let mut context = Self {
            model,
            state: start(model),
            window: Vec::with_capacity(room),
            units,
        };
        let logits = context.read(text);
        (context, logits)
    }

    /// Reads one more token and returns the logits of the next, unless the context is full.
    fn push(&mut self, token: TokenId) -> Option<Vec<f32>> {
        let room = self.model.max_len();
        if self.window.len() < room {
            return Some(self.read(&[token]));
        }
        match self.units {
            Units::Lines => None,
            Units::Stream => {
                self.window.push(token);
                let kept = self.window.split_off(self.window.len() - room.div_ceil(2));
                self.window.clear();
                self.state = start(self.model);
                Some(self.read(&kept))
            }
        }
    }

    fn read(&mut self, tokens: &[TokenId]) -> Vec<f32> {
        self.window.extend(tokens);
        let tokens = Padded::single(tokens);
        let last = self.model.read(&tokens, &mut self.state);
        values(self.model.logits(last))
    }
}

/// The state of a model before it reads a text.
fn start<S: Stepper>(model: &S) -> S::State {
    let mut state = model.start();
    model.admit(&Padded::empty(1), &mut state);
    state
}

/// Draws tokens from logits.
struct Sampler {
    options: SampleOptions,
    barred: Vec<TokenId>,
    random: Random,
}

impl Sampler {
    fn new(options: &SampleOptions, special: SpecialTokens, units: Units) -> Self {
        let is_barred = |id: &TokenId| *id != special.eos || units == Units::Stream;
        Self {
            options: *options,
            barred: special.ids().filter(is_barred).collect(),
            random: Random::new(options.seed, FIRST_STREAM.wrapping_add(options.number)),
        }
    }

    /// Draws a token from `logits`; `None` if all are NaN.
    fn draw(&mut self, logits: Vec<f32>) -> Option<TokenId> {
        let SampleOptions {
            temperature,
            top_k,
            top_p,
            ..
        } = self.options;
        let count = match (temperature, top_k) {
            (0.0, _) => 1,
            (_, 0) => logits.len(),
            (_, k) => k.min(logits.len()),
        };
        let candidates = largest(&logits, count, &self.barred);
        let &(top, likeliest) = candidates.first()?;
        if count == 1 {
            return Some(likeliest);
        }
        let weights: Vec<f64> = candidates
            .iter()
            .map(|&(logit, _)| ((f64::from(logit) - f64::from(top)) / temperature).exp())
            .collect();
        let nucleus = reaching(&weights, top_p * weights.iter().sum::<f64>());
        let total: f64 = weights[..nucleus].iter().sum();
        let chosen = reaching(&weights[..nucleus], self.random.uniform() * total);
        Some(candidates[chosen - 1].1)
    }
}

/// The number of leading `weights` needed to reach `sum`: at least one, and all if rounding keeps them below it.
fn reaching(weights: &[f64], sum: f64) -> usize {
    let sums = weights.iter().scan(0.0, |sum, weight| {
        *sum += weight;
        Some(*sum)
    });
    let before = sums.take_while(|&reached| reached < sum).count();
    (before + 1).min(weights.len())
}

#[cfg(test)]
mod tests;
