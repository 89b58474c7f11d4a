//! Models over HTTP: the server behind `attentive serve`.
//!
//! One process answers clients of LibreTranslate, DeepL and OpenAI (completions, chat and embeddings), and
//! has its own API for everything that the models can do. `/openapi.json` describes all of them.
//!
//! All resources are bounded ([`Limits`]): a request that exceeds a limit is refused immediately, with an
//! error in the format of its API. Sentences of all clients are decoded together, and clients take turns (see
//! [`attentive_pipeline::service`]). If a client disconnects, its jobs are canceled.

#![cfg_attr(not(feature = "network"), allow(dead_code, reason = "what only a server with a network needs"))]

mod api;
mod config;
mod embedded;
mod http;
mod language;
mod limits;
mod log;
mod metrics;
#[cfg(feature = "network")]
mod net;
mod problem;
mod router;
#[cfg(feature = "network")]
mod server;
mod state;
mod work;

pub use config::{DEFAULT_ADDRESS, ServeConfig, ServedModel};
pub use embedded::{EmbeddedEvent, EmbeddedServer, ResponsePart};
pub use language::{Language, TranslationDirection};
pub use limits::Limits;
pub use log::Log;
#[cfg(feature = "network")]
pub use server::{Control, Server};
