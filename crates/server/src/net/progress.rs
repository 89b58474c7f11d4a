//! Clients that send no more.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::time::sleep;

/// The time for which a request of a client that sends no more is worked on without anything being written.
const PATIENCE: Duration = Duration::from_secs(5);

/// What has happened on a connection.
#[derive(Clone, Debug, Default)]
pub(super) struct Progress(Arc<State>);

#[derive(Debug, Default)]
struct State {
    /// The number of writes.
    written: AtomicU64,
    /// Notified when a request begins.
    asked: Notify,
}

impl Progress {
    /// A request begins.
    pub(super) fn asked(&self) {
        self.0.asked.notify_one();
    }

    /// Something was written.
    pub(super) fn written(&self) {
        self.0.written.fetch_add(1, Relaxed);
    }

    /// Waits until the client of `stream` has probably left during a request. A client that has closed its side of the connection
    /// may still read (`nc -N`), or may have gone: TCP does not tell before something is written. Between requests, hyper ends the
    /// connection itself.
    pub(super) async fn left(&self, stream: &TcpStream) {
        loop {
            self.0.asked.notified().await;
            loop {
                match stream.peek(&mut [0]).await {
                    Ok(0) if self.stands_still().await => return,
                    Ok(0) => {}
                    // The next request is already there.
                    Ok(_) => break,
                    Err(_) => return,
                }
            }
        }
    }

    /// Waits for some time; true if nothing was written meanwhile.
    async fn stands_still(&self) -> bool {
        let before = self.0.written.load(Relaxed);
        sleep(PATIENCE).await;
        self.0.written.load(Relaxed) == before
    }
}
