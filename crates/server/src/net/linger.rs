//! Reading the unused rest of bodies.
//!
//! A connection that is closed while its client is still sending is reset, and the client may lose the
//! response: it sees a broken pipe instead of the message that its body is too large. Therefore the part of a
//! body that a handler has not read is read and dropped, within limits (as RFC 9112, section 9.6,
//! recommends).

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::body::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::header::{EXPECT, HeaderMap};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// The maximum number of bytes that are dropped.
const MAX_DROPPED_BYTES: usize = 64 << 20;

/// The maximum time for all of them.
const MAX_DURATION: Duration = Duration::from_secs(30);

/// The maximum time without any.
const STALL: Duration = Duration::from_secs(2);

/// The maximum number of bodies whose rest is read at the same time. Others wait, so that a flood of them
/// does not delay anything else.
const AT_ONCE: usize = 16;

/// Limits how many bodies are read to their end at the same time.
#[derive(Clone)]
pub(super) struct Turns(Arc<Semaphore>);

impl Default for Turns {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(AT_ONCE)))
    }
}

/// The body of a request.
pub(super) struct Lingering {
    /// The body, until its end or an error.
    body: Option<Incoming>,
    /// True if the client sends the body in any case, without waiting to be asked.
    is_sent: bool,
    /// The time at which data last arrived.
    heard: Instant,
    turns: Turns,
}

impl Lingering {
    /// Creates the body of a request with these headers. The body of a client that waits to be asked for it
    /// is not read to its end.
    pub(super) fn new(headers: &HeaderMap, body: Incoming, turns: Turns) -> Self {
        Self { body: Some(body), is_sent: !headers.contains_key(EXPECT), heard: Instant::now(), turns }
    }
}

impl Body for Lingering {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let this = self.get_mut();
        let Some(body) = &mut this.body else {
            return Poll::Ready(None);
        };
        let frame = Pin::new(body).poll_frame(context);
        match &frame {
            Poll::Ready(Some(Ok(_))) => this.heard = Instant::now(),
            Poll::Ready(_) => this.body = None,
            Poll::Pending => {}
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        let none = || SizeHint::with_exact(0);
        self.body.as_ref().map_or_else(none, Body::size_hint)
    }
}

impl Drop for Lingering {
    fn drop(&mut self) {
        let rest = self.body.take().filter(|body| !body.is_end_stream());
        // A client that has stopped sending is reading.
        let is_sent = self.is_sent && self.heard.elapsed() < STALL;
        if let (true, Some(rest), Ok(runtime)) = (is_sent, rest, Handle::try_current()) {
            runtime.spawn(timeout(MAX_DURATION, discard(rest, self.turns.clone())));
        }
    }
}

/// Reads `body` to its end, within the limits.
async fn discard(mut body: Incoming, Turns(turns): Turns) {
    let mut left = MAX_DROPPED_BYTES;
    let Ok(_turn) = turns.acquire().await else {
        return;
    };
    while let Ok(Some(Ok(frame))) = timeout(STALL, body.frame()).await {
        let len = frame.data_ref().map_or(0, Bytes::len);
        match left.checked_sub(len) {
            Some(fewer) => left = fewer,
            None => return,
        }
    }
}
