//! Bodies that are read to their end even if nobody wants them.
//!
//! A connection that is closed while its client still sends is reset, and the client may lose the response to that: it sees a
//! broken pipe where the response says that its body is too large. Therefore what a handler leaves of a body is read and
//! dropped, within bounds (as RFC 9112, section 9.6, recommends).

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::header::{EXPECT, HeaderMap};
use tokio::runtime::Handle;
use tokio::time::timeout;

/// The most bytes that are dropped.
const MOST: usize = 64 << 20;

/// The longest time for all of them.
const LONGEST: Duration = Duration::from_secs(30);

/// The longest time without any.
const STALL: Duration = Duration::from_secs(5);

/// The body of a request.
pub(super) struct Lingering {
    /// Until its end or an error.
    body: Option<Incoming>,
    /// Whether the client sends it in any case.
    is_sent: bool,
}

impl Lingering {
    /// The body of a request with these headers. A client that waits to be told to send its body does not send it in vain.
    pub(super) fn new(headers: &HeaderMap, body: Incoming) -> Self {
        Self {
            body: Some(body),
            is_sent: !headers.contains_key(EXPECT),
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
        if matches!(frame, Poll::Ready(None | Some(Err(_)))) {
            this.body = None;
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
        if let (true, Some(rest), Ok(runtime)) = (self.is_sent, rest, Handle::try_current()) {
            runtime.spawn(timeout(LONGEST, discard(rest)));
        }
    }
}

/// Reads `body` to its end, as far as the bounds allow.
async fn discard(mut body: Incoming) {
    let mut left = MOST;
    while let Ok(Some(Ok(frame))) = timeout(STALL, body.frame()).await {
        let len = frame.data_ref().map_or(0, Bytes::len);
        match left.checked_sub(len) {
            Some(fewer) => left = fewer,
            None => return,
        }
    }
}
