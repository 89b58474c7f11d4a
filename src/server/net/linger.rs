//! Bodies that are read to their end even if nobody wants them.
//!
//! A connection that is closed while its client still sends is reset, and the client may lose the response to that: it sees a
//! broken pipe where the response says that its body is too large. Therefore what a handler leaves of a body is read and
//! dropped, within bounds (as RFC 9112, section 9.6, recommends).

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

/// The most bytes that are dropped.
const MOST: usize = 64 << 20;

/// The longest time for all of them.
const LONGEST: Duration = Duration::from_secs(30);

/// The longest time without any.
const STALL: Duration = Duration::from_secs(2);

/// Bodies whose rest is read at the same time. Others wait, so that a flood of them keeps nobody waiting for anything else.
const AT_ONCE: usize = 16;

/// Turns to read the rest of a body.
#[derive(Clone)]
pub(super) struct Turns(Arc<Semaphore>);

impl Default for Turns {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(AT_ONCE)))
    }
}

/// The body of a request.
pub(super) struct Lingering {
    /// Until its end or an error.
    body: Option<Incoming>,
    /// Whether the client sends it in any case.
    is_sent: bool,
    /// When something has come of it.
    heard: Instant,
    turns: Turns,
}

impl Lingering {
    /// The body of a request with these headers. A client that waits to be told to send its body does not send it in vain.
    pub(super) fn new(headers: &HeaderMap, body: Incoming, turns: Turns) -> Self {
        Self {
            body: Some(body),
            is_sent: !headers.contains_key(EXPECT),
            heard: Instant::now(),
            turns,
        }
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
        // Whoever has stopped to send reads.
        let is_sent = self.is_sent && self.heard.elapsed() < STALL;
        if let (true, Some(rest), Ok(runtime)) = (is_sent, rest, Handle::try_current()) {
            runtime.spawn(timeout(LONGEST, discard(rest, self.turns.clone())));
        }
    }
}

/// Reads `body` to its end, as far as the bounds allow.
async fn discard(mut body: Incoming, Turns(turns): Turns) {
    let mut left = MOST;
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
