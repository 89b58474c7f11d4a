//! Clients that send no more.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use hyper::Version;
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::time::sleep;

/// The time after which it is tried whether a client that sends no more still reads.
const PAUSE: Duration = Duration::from_secs(2);

/// An interim response, which says nothing: each client of HTTP/1.1 must be able to skip it (RFC 9110,
/// section 15.2).
const INTERIM: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// The requests of a connection.
#[derive(Clone, Debug, Default)]
pub(super) struct ConnectionProgress(Arc<State>);

#[derive(Debug, Default)]
struct State {
    /// The number of requests that have no response yet.
    unanswered: AtomicUsize,
    /// True if the last client that asked knows interim responses.
    knows_interim: AtomicBool,
    /// Notified when a request begins.
    asked: Notify,
}

impl ConnectionProgress {
    /// A request begins.
    pub(super) fn asked(&self, version: Version) {
        self.0.unanswered.fetch_add(1, Relaxed);
        self.0.knows_interim.store(version >= Version::HTTP_11, Relaxed);
        self.0.asked.notify_one();
    }

    /// The response to a request begins.
    pub(super) fn answered(&self) {
        self.0.unanswered.fetch_sub(1, Relaxed);
    }

    /// Waits until the client of `stream` has left during a request. A client that has closed its side of the
    /// connection may still read (`nc -N`), or may have gone: TCP tells only when something is written.
    /// Between requests, and once a response has begun, hyper notices that itself.
    pub(super) async fn left(&self, stream: &TcpStream) {
        loop {
            self.0.asked.notified().await;
            while self.works() {
                match stream.peek(&mut [0]).await {
                    Ok(0) => {
                        sleep(PAUSE).await;
                        if self.works() && !self.is_there(stream) {
                            return;
                        }
                    }
                    // The body, or the next request, which hyper has not read yet.
                    Ok(_) => sleep(PAUSE).await,
                    Err(_) => return,
                }
            }
        }
    }

    fn works(&self) -> bool {
        self.0.unanswered.load(Relaxed) > 0
    }

    /// Whether something can be written to a client that sends no more: not if it has answered to what was
    /// written before that it is gone. Nothing is sent to a client of HTTP/1.0, which counts as gone.
    fn is_there(&self, stream: &TcpStream) -> bool {
        let is_full = |error: io::Error| error.kind() == io::ErrorKind::WouldBlock;
        self.0.knows_interim.load(Relaxed) && stream.try_write(INTERIM).map_or_else(is_full, |_| true)
    }
}
