//! The state that all handlers share.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, PoisonError, RwLock};

use attentive_base::count::{are, count, number};
use attentive_base::error::Result;
use attentive_pipeline::service::Client;
use hyper::HeaderMap;

use crate::config::ServeConfig;
use crate::http::auth::{ApiKeys, key_of};
use crate::http::hosts::Hosts;
use crate::http::visit::Visit;
use crate::metrics::Metrics;
use crate::problem::{Problem, ProblemKind};
use crate::state::documents::Documents;
use crate::state::glossaries::Glossaries;
use crate::state::models::{Models, Replaced};
use crate::state::phase::Phase;
use crate::state::shares::Shares;
use crate::work::thread_pool::FairThreadPool;
use crate::work::threading::Threading;

/// The shared state.
pub(crate) type SharedApp = Arc<App>;

/// The number of explanations that are computed at once, one for each client: they take much memory.
const EXPLANATIONS: usize = 2;

/// The number of bodies that are parsed at once, one for each client: until an error is found, they may take
/// many times the memory of their text.
const PARSED: usize = 2;

/// A server without its network.
pub(crate) struct App {
    pub(crate) config: ServeConfig,
    threading: Threading,
    pub(crate) models: Models,
    /// The keys of the clients; without keys, every client is accepted.
    keys: RwLock<Option<ApiKeys>>,
    pub(crate) metrics: Metrics,
    pub(crate) phase: Arc<Phase>,
    /// The threads that read requests and write answers.
    pub(crate) pool: FairThreadPool,
    /// The threads that parse large bodies.
    pub(crate) parsing: FairThreadPool,
    /// The threads that compute explanations.
    pub(crate) explanations: FairThreadPool,
    /// The total number of characters of all texts so far.
    pub(crate) characters: AtomicU64,
    /// The names by which requests may call the server.
    pub(crate) hosts: Hosts,
    pub(crate) glossaries: Glossaries,
    pub(crate) documents: Documents,
    /// The number of bytes of the bodies of all requests in progress.
    pub(crate) bodies: Arc<Shares>,
    /// The number of characters of all requests in progress.
    pub(crate) carried: Arc<Shares>,
}

impl App {
    /// Creates the state of a server at `address`.
    ///
    /// # Errors
    /// The errors of the configuration and of the file of keys.
    pub(crate) fn new(config: ServeConfig, address: SocketAddr, threading: Threading) -> Result<SharedApp> {
        config.check()?;
        let [bodies, each] = config.limits.all_bodies();
        let [characters, of_client] = config.limits.all_characters();
        let keys = config.api_key_file.as_deref().map(ApiKeys::read).transpose()?;
        Ok(Arc::new(Self {
            models: Models::default(),
            keys: RwLock::new(keys),
            metrics: Metrics::default(),
            phase: Phase::new(),
            pool: FairThreadPool::new(FairThreadPool::default_permits(), &threading),
            parsing: FairThreadPool::new(PARSED, &threading),
            explanations: FairThreadPool::new(EXPLANATIONS, &threading),
            characters: AtomicU64::new(0),
            hosts: Hosts::new(&config.allowed_hosts, &config.listen, address),
            glossaries: Glossaries::new(),
            documents: Documents::new(),
            bodies: Shares::new(bodies, each),
            carried: Shares::new(characters, of_client),
            config,
            threading,
        }))
    }

    /// Reloads keys, then models. If a key is unusable, nothing changes; if a model is, the models stay as
    /// they were.
    ///
    /// # Errors
    /// The errors of [`ApiKeys::read`] and [`Models::load`].
    pub(crate) fn reload(&self) -> Result<()> {
        let keys = self.config.api_key_file.as_deref().map(ApiKeys::read).transpose()?;
        // A key is revoked at once, whatever becomes of the models.
        if let Some(keys) = &keys {
            let clients = keys.clients();
            self.documents.keep_those_of(&clients);
            self.glossaries.keep_those_of(clients);
        }
        *self.keys.write().unwrap_or_else(PoisonError::into_inner) = keys;
        self.load_models()
    }

    /// Loads the models, which take the places of the previous ones once these are unused.
    ///
    /// # Errors
    /// The errors of [`Models::load`].
    pub(crate) fn load_models(&self) -> Result<()> {
        self.models.load(&self.config, &self.threading).map(Replaced::retire)
    }

    /// Returns true if requests need a key.
    pub(crate) fn needs_key(&self) -> bool {
        let keys = self.keys.read().unwrap_or_else(PoisonError::into_inner);
        keys.is_some()
    }

    /// Identifies the client by the key in `headers`, or else by `key`; without keys, by its address.
    ///
    /// # Errors
    /// A [`Problem`] if a key is needed and is missing or unknown.
    pub(crate) fn client(
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

    /// The owner of what `client` stores here: the client if it has a key; without keys, all clients
    /// together.
    pub(crate) fn owner(&self, client: Client) -> Client {
        if self.needs_key() { client } else { Client(0) }
    }

    /// Counts the characters of `texts`.
    ///
    /// # Errors
    /// A [`Problem`] for too many texts or characters.
    pub(crate) fn admit(&self, visit: &Visit, field: &str, texts: &[impl AsRef<str>]) -> Result<(), Problem> {
        self.admit_with(visit, field, texts, &[])
    }

    /// Counts the characters of `texts` and of the other strings of a request, before any of them is copied.
    ///
    /// # Errors
    /// A [`Problem`] for too many texts, strings of another field, or characters in total.
    pub(crate) fn admit_with<T: AsRef<str>>(
        &self,
        visit: &Visit,
        field: &str,
        texts: &[T],
        others: &[Strings<'_>],
    ) -> Result<(), Problem> {
        let limits = &self.config.limits;
        let too_large = |field: &str, problem: String| Problem {
            field: Some(field.to_owned()),
            ..Problem::new(ProblemKind::TooLarge, problem)
        };
        let (found, most) = (texts.len(), limits.most_texts());
        if found > most {
            let found = count(found, "text");
            let problem = format!("the request has {found}; {}", at_most(most));
            return Err(too_large(field, problem));
        }
        for Strings { field, strings, most } in others {
            let found = strings.len();
            if found > *most {
                let found = count(found, "string");
                let problem = format!("`{field}` has {found}; {}", at_most(*most));
                return Err(too_large(field, problem));
            }
        }
        let characters = |text: &str| text.chars().count();
        let of_texts: usize = texts.iter().map(|text| characters(text.as_ref())).sum();
        let strings = others.iter().flat_map(|other| other.strings);
        let of_others: usize = strings.map(|text| characters(text)).sum();
        let (found, most) = (of_texts + of_others, limits.characters);
        if found > most {
            let found = count(found, "character");
            let problem = format!("the request has {found}; {}", at_most(most));
            return Err(too_large(field, problem));
        }
        visit.carried.grow(found)?;
        self.characters.fetch_add(of_texts as u64, Relaxed);
        if self.config.log_text {
            for text in texts {
                tracing::info!(text = text.as_ref(), "text");
            }
        }
        Ok(())
    }
}

/// Says how many are allowed, in an error about a number of things.
pub(crate) fn at_most(most: usize) -> String {
    format!("at most {} {} allowed", number(most as u64), are(most))
}

/// Strings of a request other than its texts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Strings<'a> {
    pub(crate) field: &'static str,
    pub(crate) strings: &'a [String],
    /// The maximum number of these strings.
    pub(crate) most: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_allowed_and_two_are() {
        assert_eq!(at_most(1), "at most 1 is allowed");
        assert_eq!(at_most(2), "at most 2 are allowed");
    }
}
