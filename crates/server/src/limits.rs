//! Limits on the concurrent work of a server.

#[cfg(test)]
mod tests;

use std::fmt::Display;
use std::time::Duration;

use attentive_base::error::{Error, Result};
use attentive_config::MAX_BEAM_WIDTH;
use attentive_decode::SearchBounds;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

/// Any limit on a number of things above this is a mistake.
const MANY: usize = 1_000_000;

/// Any limit on tokens or characters above this is a mistake.
const MAX_TOKENS: usize = 1_000_000_000;

/// The maximum values of the limits on the bytes of a body, and of all bodies.
const MAX_BODY_BYTES: [usize; 2] = [
    1 << 30,
    match 1_usize.checked_shl(36) {
        Some(most) => most,
        // The amount that a 32-bit machine can address.
        None => usize::MAX,
    },
];

/// The maximum number of hypotheses of a thread.
const MAX_BATCH: usize = 4096;

/// The maximum time: 31 years.
const MAX_SECONDS: u64 = 1_000_000_000;

/// The number of bytes of all bodies in RAM, unless a single one may be of a comparable size.
const BODIES: usize = 64 << 20;

/// The number of characters of all requests in progress, unless a single one may have a comparable number.
const CHARACTERS: usize = 3_000_000;

/// The number of texts of a request, unless the queue is shorter.
const TEXTS: usize = 2048;

/// Limits on the concurrent work of a server. Requests beyond them are refused immediately, so that memory
/// stays bounded. In a configuration file, this is `[limits]`, with times in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// The number of sentences and other jobs that may wait for a model. A client may have three quarters of
    /// them, or one request with as many texts as are allowed if that is more.
    pub queue: usize,
    /// The number of hypotheses that each thread decodes at once.
    pub batch: usize,
    /// The number of bytes of a request's body.
    pub body: usize,
    /// The number of bytes of the bodies of all requests in progress, and of explanations that are computed
    /// or read. A client may have three quarters of them. The default is 64 MiB, or four of the largest
    /// bodies if that is more.
    pub bodies: Option<usize>,
    /// The number of characters of all texts of a request and of its other strings.
    pub characters: usize,
    /// The number of characters of all requests in progress. A client may have three quarters of them, or one
    /// request with as many as are allowed if that is more. The default is 3,000,000, or four of the largest
    /// requests if that is more.
    pub in_progress: Option<usize>,
    /// The number of texts, sentences of long texts, and continuations of a request; at most `queue`. The
    /// default is 2048, or `queue` if that is less.
    pub texts: Option<usize>,
    /// The number of tokens of all texts that a request asks to be translated or continued.
    pub tokens: usize,
    /// The number of phrases that a request may require in every translation.
    pub phrases: usize,
    /// The number of stop strings of a request.
    pub stop: usize,
    /// The number of tokens that a request may ask to be generated.
    pub new_tokens: usize,
    /// The number of alternative translations, or continuations, of a text.
    pub alternatives: usize,
    /// The beam width that a request may ask for; memory and time grow with it.
    pub beam_width: usize,
    pub connections: usize,
    /// The number of connections from one address. The default is three quarters of all.
    pub connections_per_address: Option<usize>,
    /// The time from a request's head to the end of its response.
    #[serde(deserialize_with = "time")]
    pub timeout: Duration,
    /// The time for the head of a request, and for the next request of a connection that is kept alive.
    #[serde(deserialize_with = "time")]
    pub head_timeout: Duration,
    /// The time without progress while a body is read or written.
    #[serde(deserialize_with = "time")]
    pub stall_timeout: Duration,
    /// The time for requests in progress when the server is told to stop.
    #[serde(deserialize_with = "time")]
    pub drain_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            queue: 4096,
            batch: 32,
            body: 2 << 20,
            bodies: None,
            characters: 500_000,
            in_progress: None,
            texts: None,
            tokens: 200_000,
            phrases: 256,
            stop: 16,
            new_tokens: 4096,
            alternatives: 10,
            beam_width: 16,
            connections: 1024,
            connections_per_address: None,
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
        let found = time_of(seconds).filter(|found| *found >= INSTANT);
        self.timeout = found.ok_or_else(|| wrong("timeout", POSITIVE_TIMES, &seconds))?;
        Ok(())
    }

    /// The limits of a search.
    pub(super) fn of_search(&self) -> SearchBounds {
        SearchBounds { beam_width: self.beam_width, n_best: 1 + self.alternatives }
    }

    /// The number of bytes of the bodies of all requests in progress, and of those of one client.
    pub(super) fn all_bodies(&self) -> [usize; 2] {
        let all = self.bodies.unwrap_or(BODIES.max(self.body.saturating_mul(4)));
        [all, most_of(all).max(self.body)]
    }

    /// The number of characters of all requests in progress, and of those of one client.
    pub(super) fn all_characters(&self) -> [usize; 2] {
        let all = self.in_progress.unwrap_or(CHARACTERS.max(self.characters.saturating_mul(4)));
        [all, most_of(all).max(self.characters)]
    }

    /// The number of jobs of one client that may wait for a model: at least as many as a request may have
    /// texts, or the largest requests would always be refused.
    pub(super) fn share_of_queue(&self) -> usize {
        most_of(self.queue).max(self.most_texts())
    }

    /// The number of connections from one address.
    pub(super) fn share_of_connections(&self) -> usize {
        let given = self.connections_per_address;
        given.unwrap_or(most_of(self.connections))
    }

    /// The number of connections beyond the limit, for monitoring.
    pub(super) fn reserve(&self) -> usize {
        (self.connections / 4).clamp(1, 64)
    }

    /// The number of texts of a request: more than the queue holds would never be accepted.
    pub(super) fn most_texts(&self) -> usize {
        self.texts.unwrap_or(TEXTS.min(self.queue))
    }

    /// Refuses limits of 0, with which no request could be answered, and limits that are unreasonably large.
    ///
    /// # Errors
    /// [`Error::Usage`] with the name of the limit.
    pub(super) fn check(&self) -> Result<()> {
        let [body, bodies] = MAX_BODY_BYTES;
        let [all, each] = [self.all_bodies()[0], self.share_of_connections()];
        let characters = self.all_characters()[0];
        for (name, found, most) in [
            ("queue", self.queue, MANY),
            ("batch", self.batch, MAX_BATCH),
            ("body", self.body, body),
            ("bodies", all, bodies),
            ("characters", self.characters, MAX_TOKENS),
            ("in_progress", characters, 4 * MAX_TOKENS),
            ("texts", self.most_texts(), MANY),
            ("tokens", self.tokens, MAX_TOKENS),
            ("phrases", self.phrases, MANY),
            ("stop", self.stop, MANY),
            ("new_tokens", self.new_tokens, MAX_TOKENS),
            ("alternatives", self.alternatives, MAX_BEAM_WIDTH),
            ("beam_width", self.beam_width, MAX_BEAM_WIDTH),
            ("connections", self.connections, MANY),
            ("connections_per_address", each, MANY),
        ] {
            let range = format!("a whole number from 1 to {most}");
            require((1..=most).contains(&found), name, &range, &found)?;
        }
        for (name, found, least, times) in [
            ("timeout", self.timeout, INSTANT, POSITIVE_TIMES),
            ("head_timeout", self.head_timeout, INSTANT, POSITIVE_TIMES),
            ("stall_timeout", self.stall_timeout, INSTANT, POSITIVE_TIMES),
            ("drain_timeout", self.drain_timeout, Duration::ZERO, TIMES),
        ] {
            let fits = (least..=Duration::from_secs(MAX_SECONDS)).contains(&found);
            require(fits, name, times, &found.as_secs_f64())?;
        }
        let expected = "at least `body`, or the largest bodies are always refused";
        require(all >= self.body, "bodies", expected, &all)?;
        let expected = "at least `characters`, or the largest requests are always refused";
        let fits = characters >= self.characters;
        require(fits, "in_progress", expected, &characters)?;
        self.check_texts()
    }

    /// Refuses a number of texts for which the queue has no room.
    fn check_texts(&self) -> Result<()> {
        let Self { queue, .. } = self;
        match self.most_texts() {
            texts if texts > *queue => Err(Error::usage(
                format!("the limit `texts` is {texts}, but the limit `queue` is {queue}"),
                "raise `limits.queue` or lower `limits.texts`, since the texts of a request wait in the \
                 queue together",
            )),
            _ => Ok(()),
        }
    }
}

/// Three quarters of `all`; if there are several, at least one is left over.
fn most_of(all: usize) -> usize {
    all - all / 4
}

/// The shortest time in which anything can be done.
const INSTANT: Duration = Duration::from_nanos(1);

/// What a time is, and a time in which something has to be done.
const TIMES: &str = "a number of seconds from 0 to 1000000000";
const POSITIVE_TIMES: &str = "a positive number of seconds, 1000000000 at most";

/// The time of so many seconds; `None` for a number that is negative, above [`MAX_SECONDS`] or NaN.
fn time_of(seconds: f64) -> Option<Duration> {
    let is_time = (0.0..=MAX_SECONDS as f64).contains(&seconds);
    is_time.then(|| Duration::from_secs_f64(seconds))
}

fn time<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    let seconds = f64::deserialize(from)?;
    let expected = || format!("a time is {seconds}: use {TIMES}");
    time_of(seconds).ok_or_else(|| D::Error::custom(expected()))
}

fn require(fits: bool, name: &str, expected: &str, found: &dyn Display) -> Result<()> {
    if fits { Ok(()) } else { Err(wrong(name, expected, found)) }
}

fn wrong(name: &str, expected: &str, found: &dyn Display) -> Error {
    Error::usage(format!("the limit `{name}` is {found}"), format!("use {expected}"))
}
