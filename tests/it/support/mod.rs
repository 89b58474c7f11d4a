//! What tests of the server and of the documents need.

pub(crate) mod help;
pub(crate) mod http;
pub(crate) mod markdown;
pub(crate) mod pages;
pub(crate) mod process;
pub(crate) mod serving;
pub(crate) mod shell;
pub(crate) mod toy;
