//! The work for a request: reading its texts, its jobs at a model, and writing the answers.

pub(crate) mod answers;
pub(crate) mod divided_request;
pub(crate) mod mailbox;
pub(crate) mod texts;
pub(crate) mod thread_pool;
pub(crate) mod threading;
