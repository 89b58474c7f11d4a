//! Clients that send no more.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::sleep;

/// The time for which requests of a client that sends no more are worked on without anything being written.
const PATIENCE: Duration = Duration::from_secs(5);

/// What has happened on a connection. A client that has closed its side of it may still read (`nc -N`), or may have gone: TCP
/// does not tell before something is written.
#[derive(Clone, Debug, Default)]
pub(super) struct Progress(Arc<State>);

#[derive(Debug, Default)]
struct State {
    /// The number of writes.
    written: AtomicU64,
    /// Notified at the end of what the client sends.
    ended: Notify,
}

impl Progress {
    /// Something was written.
    pub(super) fn written(&self) {
        self.0.written.fetch_add(1, Relaxed);
    }

    /// The client sends no more.
    pub(super) fn ended(&self) {
        self.0.ended.notify_one();
    }

    /// Waits until the client has probably left: it sends no more, and nothing was written to it for some time.
    pub(super) async fn left(&self) {
        self.0.ended.notified().await;
        loop {
            let before = self.0.written.load(Relaxed);
            sleep(PATIENCE).await;
            if self.0.written.load(Relaxed) == before {
                return;
            }
        }
    }
}
