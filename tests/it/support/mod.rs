//! What tests of the server need.

pub(crate) mod http;
pub(crate) mod process;
pub(crate) mod serving;
