//! Heads of requests as they were sent.
//!
//! A request with both `Content-Length` and `Transfer-Encoding` is how a request is smuggled past a proxy (RFC 9112, section
//! 11.2). hyper takes the latter, hides the former and closes the connection; such requests are refused here instead.

use std::sync::{Arc, Mutex, PoisonError};

use hyper::Request;
use hyper::header::{CONTENT_LENGTH, TRANSFER_ENCODING};

use super::HEAD;

/// The bytes of a connection's current head.
#[derive(Clone, Debug, Default)]
pub(super) struct Heads(Arc<Mutex<Recorded>>);

#[derive(Debug, Default)]
struct Recorded {
    bytes: Vec<u8>,
    /// Whether a head has been read whose response has not begun.
    answering: bool,
}

impl Heads {
    /// Records what was read, unless it belongs to a body.
    pub(super) fn read(&self, bytes: &[u8]) {
        let mut recorded = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !recorded.answering {
            let room = HEAD.saturating_sub(recorded.bytes.len());
            let kept = &bytes[..bytes.len().min(room)];
            recorded.bytes.extend_from_slice(kept);
        }
    }

    /// A response has begun: what is read next belongs to another request.
    pub(super) fn written(&self) {
        let mut recorded = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        recorded.answering = false;
    }

    /// Whether the length of `request`, whose head was just read, has one meaning.
    pub(super) fn is_clear<B>(&self, request: &Request<B>) -> bool {
        let mut recorded = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        recorded.answering = true;
        let bytes = std::mem::take(&mut recorded.bytes);
        !request.headers().contains_key(TRANSFER_ENCODING) || !names_length(&bytes)
    }
}

/// Whether the first head in `bytes` has a `Content-Length`.
fn names_length(bytes: &[u8]) -> bool {
    let lines = bytes.split(|&byte| byte == b'\n').skip(1);
    let lines = lines.map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let mut names = lines
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.split(|&byte| byte == b':').next());
    names.any(|name| name.eq_ignore_ascii_case(CONTENT_LENGTH.as_str().as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_clear(head: &[u8], chunked: bool) -> bool {
        let heads = Heads::default();
        heads.read(&head[..10]);
        heads.read(&head[10..]);
        let mut request = Request::new(());
        if chunked {
            let chunked = "chunked".parse().unwrap();
            request.headers_mut().insert(TRANSFER_ENCODING, chunked);
        }
        heads.is_clear(&request)
    }

    #[test]
    fn two_lengths_are_found_in_the_head_only() {
        let both =
            b"POST / HTTP/1.1\r\nContent-length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
        assert!(!is_clear(both, true));
        assert!(is_clear(both, false));
        let one = b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n16\r\nContent-Length: 3\r\n\r\n\r\n0\r\n\r\n";
        assert!(is_clear(one, true));
    }

    #[test]
    fn bodies_are_not_recorded() {
        let heads = Heads::default();
        heads.read(b"GET / HTTP/1.1\r\n\r\n");
        assert!(heads.is_clear(&Request::new(())));
        heads.read(b"body");
        assert!(heads.0.lock().unwrap().bytes.is_empty());
        heads.written();
        heads.read(&vec![b'x'; 2 * HEAD]);
        assert_eq!(heads.0.lock().unwrap().bytes.len(), HEAD);
    }
}
