//! Texts that are continued together.

use std::ops::ControlFlow;

use attentive_base::batch::{Padded, TokenId};
use attentive_config::Units;

use super::{Ending, SampleOptions, Sampler};
use crate::Stepper;

/// Texts that are continued together, each by one token per step. They are added and removed between any two
/// steps, and none influences another. Each has a key, by which the caller identifies it.
#[derive(Debug)]
pub struct TextDecoding<'a, S: Stepper, K> {
    model: &'a S,
    rules: TextRules,
    state: S::State,
    /// The texts in the state, in the order of their rows.
    active: Vec<Active<K>>,
    /// Texts that the next step reads from their beginning.
    new: Vec<Active<K>>,
    /// Results that [`TextDecoding::advance`] will return.
    ended: Vec<(K, Option<Ending>)>,
}

/// The rules that hold for all texts of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextRules {
    /// The units of the model's training texts: lines or a stream.
    pub units: Units,
    /// The tokens that end a text.
    pub ends: Vec<TokenId>,
    /// The token that pads rows to equal length.
    pub pad: TokenId,
    /// Tokens that are never drawn.
    pub never: Vec<TokenId>,
}

/// A text that is being continued.
#[derive(Debug)]
struct Active<K> {
    key: K,
    sampler: Sampler,
    /// The tokens that the model has read.
    window: Vec<TokenId>,
    /// The tokens that the model reads next.
    unread: Vec<TokenId>,
    /// The number of tokens that may still be drawn.
    room: usize,
}

/// The way in which a text continues.
enum Next {
    Read,
    Restart,
    End(Option<Ending>),
}

impl<'a, S: Stepper, K> TextDecoding<'a, S, K> {
    /// Creates a set of texts, empty at first.
    pub fn new(model: &'a S, rules: TextRules) -> Self {
        Self { state: model.start(), model, rules, active: Vec::new(), new: Vec::new(), ended: Vec::new() }
    }

    /// Returns the number of texts.
    pub fn len(&self) -> usize {
        self.active.len() + self.new.len()
    }

    /// True if there are no texts.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds a text, which the next step begins.
    ///
    /// # Panics
    /// Panics if `text` is empty or longer than the model's context.
    pub fn add(&mut self, key: K, text: &[TokenId], options: &SampleOptions) {
        let (given, room) = (text.len(), self.model.max_len());
        assert!((1..=room).contains(&given), "a text of {given} tokens in a context of {room}");
        self.new.push(Active {
            key,
            sampler: Sampler::new(options, &self.rules),
            window: Vec::with_capacity(room),
            unread: text.to_vec(),
            room: options.max_new_tokens,
        });
    }

    /// Drops the texts for whose keys `keep` returns false.
    pub fn retain(&mut self, mut keep: impl FnMut(&K) -> bool) {
        self.new.retain(|new| keep(&new.key));
        let kept: Vec<usize> = (0..self.active.len()).filter(|&row| keep(&self.active[row].key)).collect();
        if kept.len() < self.active.len() {
            let mut row = 0;
            self.active.retain(|_| {
                row += 1;
                kept.binary_search(&(row - 1)).is_ok()
            });
            self.model.select(&kept, &mut self.state);
        }
    }

    /// Returns the keys of all texts, which are dropped: after a step in which the device of the model
    /// failed, those of the texts that took part in it too.
    pub fn into_keys(self) -> impl Iterator<Item = K> {
        let ended = self.ended.into_iter().map(|(key, _)| key);
        let texts = self.active.into_iter().chain(self.new);
        texts.map(|text| text.key).chain(ended)
    }

    /// Draws the next token of each text and passes it to `on_token`, which may end the text. Returns the
    /// texts that have ended, with the reason; `None` if all logits were NaN, that is, if the model is
    /// damaged.
    pub fn advance(
        &mut self,
        mut on_token: impl FnMut(&mut K, TokenId) -> ControlFlow<()>,
    ) -> Vec<(K, Option<Ending>)> {
        if !self.new.is_empty() {
            (self.model).admit(&Padded::empty(self.new.len()), &mut self.state);
            self.active.append(&mut self.new);
        }
        if self.active.is_empty() {
            return Vec::new();
        }
        let unread: Vec<&[TokenId]> = self.active.iter().map(|text| &*text.unread).collect();
        let unread = Padded::new(&unread, self.rules.pad);
        let last = self.model.read(&unread, &mut self.state);
        let logits = self.model.logits(last);
        let mut rows = Vec::new();
        let texts = std::mem::take(&mut self.active).into_iter().enumerate();
        for ((row, mut text), logits) in texts.zip(logits.rows()) {
            match self.next(&mut text, logits, &mut on_token) {
                Next::Read => {
                    rows.push(row);
                    self.active.push(text);
                }
                Next::Restart => self.new.push(text),
                Next::End(ending) => self.ended.push((text.key, ending)),
            }
        }
        self.model.select(&rows, &mut self.state);
        std::mem::take(&mut self.ended)
    }

    /// Draws the next token of `text`.
    fn next(
        &self,
        text: &mut Active<K>,
        logits: &[f32],
        mut on_token: impl FnMut(&mut K, TokenId) -> ControlFlow<()>,
    ) -> Next {
        text.window.append(&mut text.unread);
        let token = match text.sampler.draw(logits) {
            Some(token) if self.rules.ends.contains(&token) => {
                return Next::End(Some(Ending::EndOfText));
            }
            Some(token) => token,
            None => return Next::End(None),
        };
        text.room -= 1;
        if on_token(&mut text.key, token).is_break() {
            return Next::End(Some(Ending::Stopped));
        }
        if text.room == 0 {
            return Next::End(Some(Ending::MaxNewTokens));
        }
        text.unread.push(token);
        let context = self.model.max_len();
        match self.rules.units {
            _ if text.window.len() < context => Next::Read,
            Units::Lines => Next::End(Some(Ending::ContextFull)),
            Units::Stream => {
                text.window.append(&mut text.unread);
                let kept = text.window.len() - context.div_ceil(2);
                text.unread = text.window.split_off(kept);
                text.window.clear();
                Next::Restart
            }
        }
    }
}
