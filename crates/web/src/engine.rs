//! What the page asks of the server, and what it is told.

use std::path::PathBuf;
use std::time::Duration;

use attentive_base::error::{Error, Result};
use attentive_server::{
    EmbeddedServer, Language, ResponsePart, ServeConfig, ServedModel, TranslationDirection,
};
use axum::body::Body;
use hyper::Request;
use serde::Deserialize;

/// The time for a request. Pages cancel what they no longer want.
const PATIENCE: Duration = Duration::from_secs(24 * 60 * 60);

/// As many texts, sentences and other jobs as a server may allow.
const MANY: usize = 1_000_000;

/// The models that a page loads.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Start {
    models: Vec<Model>,
}

/// A model in the files that the page has put in place.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Model {
    name: String,
    dir: PathBuf,
    /// The codes of the source and the target language; by default those in the name.
    direction: Option<[Language; 2]>,
}

/// The head of a request.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    method: String,
    path: String,
    headers: Vec<(String, String)>,
}

/// A server.
pub(crate) struct WebEngine(EmbeddedServer);

impl WebEngine {
    /// Loads the models that `start` names, in JSON.
    ///
    /// # Errors
    /// Those of [`EmbeddedServer::new`].
    pub(crate) fn new(start: &[u8]) -> Result<Self> {
        let Start { models } = serde_json::from_slice(start).map_err(|error| Error::Usage {
            problem: format!("the description of the models: {error}"),
            hint: None,
        })?;
        let served = models.into_iter().map(|Model { name, dir, direction }| {
            let served = ServedModel::new(name, dir);
            let given = direction.map(|[source, target]| TranslationDirection { source, target });
            ServedModel { direction: given.or(served.direction.clone()), ..served }
        });
        let mut config = ServeConfig::new(served.collect());
        config.threads = 1;
        // The limits protect a server from strangers.
        let limits = &mut config.limits;
        limits.timeout = PATIENCE;
        (limits.queue, limits.texts, limits.body) = (MANY, Some(MANY), 256 << 20);
        (limits.characters, limits.tokens) = (100 * MANY, 100 * MANY);
        EmbeddedServer::new(config).map(Self)
    }

    /// Sends a request, with its `head` in JSON. One that is no HTTP request ends at once.
    pub(crate) fn send(&mut self, number: u32, head: &[u8], body: Vec<u8>) -> Result<(), String> {
        let Head { method, path, headers } =
            serde_json::from_slice(head).map_err(|error| format!("the head of the request: {error}"))?;
        let mut request = Request::builder().method(&*method).uri(path);
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let request = request.body(Body::from(body)).map_err(|error| format!("the request: {error}"))?;
        self.0.send(number.into(), request);
        Ok(())
    }

    /// Cancels a request.
    pub(crate) fn cancel(&mut self, number: u32) {
        self.0.cancel(number.into());
    }

    /// Does some work. The events are written to `out`: for each, the number of its request, 0 for the head,
    /// 1 for a part of the body, 2 for the end or 3 for an early end, and the length of the bytes that follow, all as little-endian
    /// words.
    pub(crate) fn step(&mut self, out: &mut Vec<u8>) {
        for event in self.0.step() {
            let (kind, bytes) = match event.part {
                ResponsePart::Head(status, headers) => {
                    (0, serde_json::to_vec(&(status, headers)).unwrap_or_default().into())
                }
                ResponsePart::Body(bytes) => (1, bytes),
                ResponsePart::End => (2, Default::default()),
                ResponsePart::Failed => (3, Default::default()),
            };
            for word in [event.request as u32, kind, bytes.len() as u32] {
                out.extend(word.to_le_bytes());
            }
            out.extend_from_slice(&bytes);
        }
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.0.is_idle()
    }
}
