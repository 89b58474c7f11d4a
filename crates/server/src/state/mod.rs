//! What a server keeps between requests.

pub(crate) mod app;
pub(crate) mod documents;
pub(crate) mod glossaries;
pub(crate) mod models;
pub(crate) mod phase;
pub(crate) mod shares;
pub(crate) mod stamp;
