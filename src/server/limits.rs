//! How much a server does at once.

use std::time::Duration;

use serde::Deserialize;

use super::config::seconds;
use crate::error::{Error, Result};

/// How much a server does at once. Whatever is over is refused in an instant, so that memory stays bounded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Sentences and other jobs that may wait for a model.
    pub queue: usize,
    /// Hypotheses that each thread decodes at once.
    pub batch: usize,
    /// Bytes of a request's body.
    pub body: usize,
    /// Characters of all texts of a request, and of whatever else it says about them.
    pub characters: usize,
    /// Characters of all requests in progress, unless a single one has more.
    pub in_progress: usize,
    /// Texts, and sentences of long texts, of a request.
    pub texts: usize,
    /// Tokens of all texts of a request.
    pub tokens: usize,
    /// Phrases that a request may demand of every translation.
    pub phrases: usize,
    /// Strings of a request before which texts end.
    pub stop: usize,
    /// Tokens that a request may ask to be generated.
    pub new_tokens: usize,
    /// Alternative translations, or continuations, of a text.
    pub alternatives: usize,
    /// Beam width that a request may ask for: memory and time grow with it.
    pub beam_width: usize,
    /// Connections.
    pub connections: usize,
    /// Time from a request's head to the end of its response.
    pub timeout: Duration,
    /// Time for the head of a request, and for the next request of a connection that is kept alive.
    pub head_timeout: Duration,
    /// Time for any progress of a body that is read or written.
    pub stall_timeout: Duration,
    /// Time for what is in progress when the server is told to stop.
    pub drain_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            queue: 4096,
            batch: 32,
            body: 2 << 20,
            characters: 500_000,
            in_progress: 3_000_000,
            texts: 2048,
            tokens: 200_000,
            phrases: 256,
            stop: 16,
            new_tokens: 4096,
            alternatives: 10,
            beam_width: 16,
            connections: 1024,
            timeout: Duration::from_secs(60),
            head_timeout: Duration::from_secs(20),
            stall_timeout: Duration::from_secs(20),
            drain_timeout: Duration::from_secs(30),
        }
    }
}

impl Limits {
    /// Sets [`Limits::timeout`] to `seconds`.
    ///
    /// # Errors
    /// [`Error::Usage`] for anything but a positive number.
    pub fn set_timeout(&mut self, seconds: f64) -> Result<()> {
        if !(seconds > 0.0 && seconds.is_finite()) {
            let hint = "use a positive number of seconds";
            return Err(Error::usage(format!("a timeout of {seconds}"), hint));
        }
        self.timeout = super::config::seconds(seconds);
        Ok(())
    }

    /// Texts of a request: more than the queue holds would never find a place.
    pub(super) fn most_texts(&self) -> usize {
        self.texts.min(self.queue)
    }

    /// Refuses limits of 0, with which nothing could be served.
    ///
    /// # Errors
    /// [`Error::Usage`] that names the limit.
    pub(super) fn check(&self) -> Result<()> {
        let counts = [
            ("queue", self.queue),
            ("batch", self.batch),
            ("body", self.body),
            ("characters", self.characters),
            ("in_progress", self.in_progress),
            ("texts", self.texts),
            ("tokens", self.tokens),
            ("phrases", self.phrases),
            ("stop", self.stop),
            ("new_tokens", self.new_tokens),
            ("alternatives", self.alternatives),
            ("beam_width", self.beam_width),
            ("connections", self.connections),
        ];
        let times = [
            ("timeout", self.timeout),
            ("head_timeout", self.head_timeout),
            ("stall_timeout", self.stall_timeout),
        ];
        let none = counts
            .iter()
            .filter(|(_, count)| *count == 0)
            .map(|(name, _)| name);
        let never = times
            .iter()
            .filter(|(_, time)| time.is_zero())
            .map(|(name, _)| name);
        match none.chain(never).next() {
            None => Ok(()),
            Some(name) => Err(Error::usage(
                format!("the limit `{name}` is 0, so nothing could be served"),
                "use a positive number",
            )),
        }
    }
}

/// `[limits]` in a configuration file; times are in seconds.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct LimitKeys {
    queue: Option<usize>,
    batch: Option<usize>,
    body: Option<usize>,
    characters: Option<usize>,
    in_progress: Option<usize>,
    texts: Option<usize>,
    tokens: Option<usize>,
    phrases: Option<usize>,
    stop: Option<usize>,
    new_tokens: Option<usize>,
    alternatives: Option<usize>,
    beam_width: Option<usize>,
    connections: Option<usize>,
    timeout: Option<f64>,
    head_timeout: Option<f64>,
    stall_timeout: Option<f64>,
    drain_timeout: Option<f64>,
}

impl LimitKeys {
    /// These limits, or else those of `rest`.
    pub(super) fn over(&self, rest: Limits) -> Limits {
        let time = |given: Option<f64>, rest| given.map_or(rest, seconds);
        Limits {
            queue: self.queue.unwrap_or(rest.queue),
            batch: self.batch.unwrap_or(rest.batch),
            body: self.body.unwrap_or(rest.body),
            characters: self.characters.unwrap_or(rest.characters),
            in_progress: self.in_progress.unwrap_or(rest.in_progress),
            texts: self.texts.unwrap_or(rest.texts),
            tokens: self.tokens.unwrap_or(rest.tokens),
            phrases: self.phrases.unwrap_or(rest.phrases),
            stop: self.stop.unwrap_or(rest.stop),
            new_tokens: self.new_tokens.unwrap_or(rest.new_tokens),
            alternatives: self.alternatives.unwrap_or(rest.alternatives),
            beam_width: self.beam_width.unwrap_or(rest.beam_width),
            connections: self.connections.unwrap_or(rest.connections),
            timeout: time(self.timeout, rest.timeout),
            head_timeout: time(self.head_timeout, rest.head_timeout),
            stall_timeout: time(self.stall_timeout, rest.stall_timeout),
            drain_timeout: time(self.drain_timeout, rest.drain_timeout),
        }
    }
}
