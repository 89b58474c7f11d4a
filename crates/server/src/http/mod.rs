//! What all APIs share of HTTP: who asks, bodies and their fields, streams of events.

pub(crate) mod asked;
pub(crate) mod auth;
pub(crate) mod body;
pub(crate) mod fields;
pub(crate) mod hosts;
pub(crate) mod multipart;
pub(crate) mod objects;
pub(crate) mod origin;
pub(crate) mod sse;
pub(crate) mod upload;
pub(crate) mod values;
pub(crate) mod visit;
pub(crate) mod wording;
