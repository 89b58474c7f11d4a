//! What all handlers share.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, PoisonError, RwLock};

use hyper::HeaderMap;
use tokio::task::spawn_blocking;

use super::auth::{Keys, key_of};
use super::config::ServeConfig;
use super::metrics::Metrics;
use super::models::Models;
use super::phase::Phase;
use super::problem::{Kind, Problem};
use super::visit::Visit;
use crate::error::Result;
use crate::pipeline::service::Client;

/// What all handlers share.
pub(super) type Shared = Arc<App>;

/// A server without its network.
pub(super) struct App {
    pub(super) config: ServeConfig,
    pub(super) models: Models,
    /// Without keys everybody is welcome.
    keys: RwLock<Option<Keys>>,
    pub(super) metrics: Metrics,
    pub(super) phase: Arc<Phase>,
    /// Characters of all texts so far.
    pub(super) characters: AtomicU64,
}

impl App {
    /// # Errors
    /// Those of the configuration and of the file of keys.
    pub(super) fn new(config: ServeConfig) -> Result<Shared> {
        config.check()?;
        let keys = config.api_key_file.as_deref().map(Keys::read).transpose()?;
        Ok(Arc::new(Self {
            models: Models::default(),
            keys: RwLock::new(keys),
            metrics: Metrics::new(),
            phase: Phase::new(),
            characters: AtomicU64::new(0),
            config,
        }))
    }

    /// Reads keys and models again; if any of them is unusable, everything stays as it is.
    ///
    /// # Errors
    /// Those of [`Keys::read`] and [`Models::load`].
    pub(super) fn reload(&self) -> Result<()> {
        let keys = self
            .config
            .api_key_file
            .as_deref()
            .map(Keys::read)
            .transpose()?;
        self.models.load(&self.config)?;
        *self.keys.write().unwrap_or_else(PoisonError::into_inner) = keys;
        Ok(())
    }

    /// Whether requests need a key.
    pub(super) fn needs_key(&self) -> bool {
        let keys = self.keys.read().unwrap_or_else(PoisonError::into_inner);
        keys.is_some()
    }

    /// Who asks: whoever has the key in `headers`, or else `key`; without keys, whoever is at the address.
    ///
    /// # Errors
    /// A [`Problem`] if a key is needed and is missing or unknown.
    pub(super) fn client(
        &self,
        headers: &HeaderMap,
        key: Option<&str>,
        visit: &Visit,
    ) -> Result<Client, Problem> {
        let keys = self.keys.read().unwrap_or_else(PoisonError::into_inner);
        match &*keys {
            None => Ok(visit.peer),
            Some(keys) => keys.client(key_of(headers).or(key)),
        }
    }

    /// Counts the characters of `texts`.
    ///
    /// # Errors
    /// A [`Problem`] for too many texts or characters.
    pub(super) fn admit(&self, field: &str, texts: &[impl AsRef<str>]) -> Result<(), Problem> {
        self.admit_with(field, texts, &[])
    }

    /// Counts the characters of `texts` and of whatever else a request says about them, before any of it is copied.
    ///
    /// # Errors
    /// A [`Problem`] for too many texts, strings of another field, or characters in all.
    pub(super) fn admit_with(
        &self,
        field: &str,
        texts: &[impl AsRef<str>],
        others: &[Strings<'_>],
    ) -> Result<(), Problem> {
        let limits = &self.config.limits;
        let too_large = |field: &str, problem: String| Problem {
            field: Some(field.to_owned()),
            ..Problem::new(Kind::TooLarge, problem)
        };
        let (found, most) = (texts.len(), limits.most_texts());
        if found > most {
            let problem = format!("{found} texts; a request has at most {most}");
            return Err(too_large(field, problem));
        }
        for Strings {
            field,
            strings,
            most,
        } in others
        {
            let found = strings.len();
            if found > *most {
                let problem = format!("{found} strings; `{field}` has at most {most}");
                return Err(too_large(field, problem));
            }
        }
        let characters = |text: &str| text.chars().count();
        let of_texts: usize = texts.iter().map(|text| characters(text.as_ref())).sum();
        let strings = others.iter().flat_map(|other| other.strings);
        let of_others: usize = strings.map(|text| characters(text)).sum();
        let (found, most) = (of_texts + of_others, limits.characters);
        if found > most {
            let problem = format!("{found} characters; a request has at most {most}");
            return Err(too_large(field, problem));
        }
        self.characters.fetch_add(of_texts as u64, Relaxed);
        if self.config.log_text {
            for text in texts {
                tracing::info!(text = text.as_ref(), "text");
            }
        }
        Ok(())
    }
}

/// Strings of a request beside its texts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Strings<'a> {
    pub(super) field: &'static str,
    pub(super) strings: &'a [String],
    /// The most of them that are allowed.
    pub(super) most: usize,
}

/// Does what takes long, such as reading a long text, beside the server's own threads.
///
/// # Errors
/// A [`Problem`] of `work`, or if it panics.
pub(super) async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let failed = |_| {
        Err(Problem::new(
            Kind::Internal,
            "the request could not be read",
        ))
    };
    spawn_blocking(work).await.unwrap_or_else(failed)
}
