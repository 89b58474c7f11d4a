//! What all handlers share.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, PoisonError, RwLock};

use hyper::HeaderMap;
use tokio::task::spawn_blocking;

use super::auth::{Keys, key_of};
use super::config::ServeConfig;
use super::hosts::Hosts;
use super::metrics::Metrics;
use super::models::Models;
use super::phase::Phase;
use super::problem::{Kind, Problem};
use super::shares::Shares;
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
    /// The names by which requests may call the server.
    pub(super) hosts: Hosts,
    /// Bytes of the bodies of all requests in progress.
    pub(super) bodies: Arc<Shares>,
}

impl App {
    /// What a server at `address` shares.
    ///
    /// # Errors
    /// Those of the configuration and of the file of keys.
    pub(super) fn new(config: ServeConfig, address: SocketAddr) -> Result<Shared> {
        config.check()?;
        let [bodies, each] = config.limits.all_bodies();
        let keys = config.api_key_file.as_deref().map(Keys::read).transpose()?;
        Ok(Arc::new(Self {
            models: Models::default(),
            keys: RwLock::new(keys),
            metrics: Metrics::new(),
            phase: Phase::new(),
            characters: AtomicU64::new(0),
            hosts: Hosts::new(&config.allowed_hosts, &config.listen, address),
            bodies: Shares::new(bodies, each),
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
        let limits = &self.config.limits;
        let too_large = |problem: String| Problem {
            field: Some(field.to_owned()),
            ..Problem::new(Kind::TooLarge, problem)
        };
        let (found, most) = (texts.len(), limits.most_texts());
        if found > most {
            return Err(too_large(format!(
                "{found} texts; a request has at most {most}"
            )));
        }
        let counts = texts.iter().map(|text| text.as_ref().chars().count());
        let (found, most) = (counts.sum::<usize>(), limits.characters);
        if found > most {
            return Err(too_large(format!(
                "{found} characters; a request has at most {most}"
            )));
        }
        self.characters.fetch_add(found as u64, Relaxed);
        if self.config.log_text {
            for text in texts {
                tracing::info!(text = text.as_ref(), "text");
            }
        }
        Ok(())
    }
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
