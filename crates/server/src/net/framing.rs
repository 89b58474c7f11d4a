//! The boundaries of the requests of a connection.
//!
//! A request with both `Content-Length` and `Transfer-Encoding` can be used to smuggle another request past a
//! proxy (RFC 9112, section 11.2). hyper uses the latter, hides the former and closes the connection; such
//! requests are refused here instead. For this purpose, the heads are parsed a second time, as they arrive.

use std::collections::VecDeque;
use std::mem;
use std::sync::{Arc, Mutex, PoisonError};

use hyper::Request;
use hyper::header::{CONTENT_LENGTH, TRANSFER_ENCODING};

use super::HEAD;

/// The maximum number of heads that may arrive before their requests are examined.
const MOST_HEADS: usize = 1000;

/// The state of the heads of a connection.
#[derive(Clone, Debug, Default)]
pub(super) struct Heads(Arc<Mutex<Framing>>);

impl Heads {
    /// Parses bytes that were read from the connection.
    pub(super) fn read(&self, bytes: &[u8]) {
        let mut framing = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        framing.read(bytes);
    }

    /// Returns true if the length of `request`, the next one of the connection, is unambiguous. A chunked
    /// request whose head could not be parsed is not trusted.
    pub(super) fn is_clear<B>(&self, request: &Request<B>) -> bool {
        let mut framing = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let in_chunks = request.headers().contains_key(TRANSFER_ENCODING);
        let head = framing.heads.pop_front();
        let head = head.filter(|head| head.in_chunks == in_chunks);
        if head.is_none() {
            framing.place = Place::Lost;
            framing.heads.clear();
        }
        !in_chunks || head.is_some_and(|head| head.length.is_none())
    }
}

/// The position in a sequence of requests.
#[derive(Debug, Default)]
struct Framing {
    place: Place,
    /// The current line so far; empty within data.
    line: Vec<u8>,
    /// The heads whose requests have not been examined yet.
    heads: VecDeque<Head>,
}

/// The parts of a head that determine the length of the body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Head {
    /// True once the first line has been read.
    has_begun: bool,
    length: Option<u64>,
    in_chunks: bool,
}

/// The next element of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// A line of a head.
    Head(Head),
    /// A body, with the number of bytes left.
    Body(u64),
    ChunkSize,
    /// A chunk, with the number of bytes left.
    Chunk(u64),
    /// The end of the line after a chunk.
    ChunkEnd,
    /// A line after the last chunk.
    Trailer,
    /// Input that cannot be parsed.
    Lost,
}

impl Default for Place {
    fn default() -> Self {
        Self::Head(Head::default())
    }
}

impl Framing {
    fn read(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            bytes = match self.place {
                Place::Lost => return,
                Place::Body(left) | Place::Chunk(left) => self.skip(bytes, left),
                _ => self.extend_line(bytes),
            };
        }
    }

    /// Skips data of which `left` bytes are left. Returns the remaining input.
    fn skip<'b>(&mut self, bytes: &'b [u8], left: u64) -> &'b [u8] {
        let count = left.min(bytes.len() as u64);
        let left = left - count;
        self.place = match self.place {
            Place::Chunk(_) if left == 0 => Place::ChunkEnd,
            Place::Chunk(_) => Place::Chunk(left),
            _ if left == 0 => Place::default(),
            _ => Place::Body(left),
        };
        &bytes[count as usize..]
    }

    /// Reads up to the end of the current line. Returns the remaining input.
    fn extend_line<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        let end = bytes.iter().position(|&byte| byte == b'\n');
        let (part, rest) = bytes.split_at(end.map_or(bytes.len(), |end| end + 1));
        if self.line.len() + part.len() > HEAD {
            // hyper refuses such a line.
            self.place = Place::Lost;
            return &[];
        }
        self.line.extend_from_slice(part);
        if end.is_some() {
            let mut line = mem::take(&mut self.line);
            line.pop();
            let has_cr = line.pop_if(|last| *last == b'\r').is_some();
            self.place = match self.place {
                // hyper accepts a line feed as the end of a line of a head, but requires both characters in
                // chunks.
                Place::Head(_) => self.after(&line),
                _ if has_cr => self.after(&line),
                _ => Place::Lost,
            };
        }
        rest
    }

    /// The position after a line.
    fn after(&mut self, line: &[u8]) -> Place {
        match self.place {
            Place::Head(_) if line.is_empty() && self.heads.len() == MOST_HEADS => Place::Lost,
            Place::Head(head) if line.is_empty() && head.has_begun => {
                self.heads.push_back(head);
                head.body()
            }
            // Empty lines may precede a head.
            Place::Head(head) if line.is_empty() => Place::Head(head),
            Place::Head(head) => head.with(line).map_or(Place::Lost, Place::Head),
            Place::ChunkSize => match chunk_size(line) {
                Some(0) => Place::Trailer,
                Some(size) => Place::Chunk(size),
                None => Place::Lost,
            },
            Place::ChunkEnd if line.is_empty() => Place::ChunkSize,
            Place::Trailer if line.is_empty() => Place::default(),
            Place::Trailer => Place::Trailer,
            Place::ChunkEnd | Place::Body(_) | Place::Chunk(_) | Place::Lost => Place::Lost,
        }
    }
}

impl Head {
    /// The head with another line; `None` if its length is not a number, or there are several.
    fn with(mut self, line: &[u8]) -> Option<Self> {
        let has_begun = mem::replace(&mut self.has_begun, true);
        let colon = line.iter().position(|&byte| byte == b':');
        let (Some(colon), true) = (colon, has_begun) else {
            return Some(self);
        };
        let (name, value) = (&line[..colon], &line[colon + 1..]);
        let is = |header: &hyper::header::HeaderName| name.eq_ignore_ascii_case(header.as_str().as_bytes());
        if is(&TRANSFER_ENCODING) {
            self.in_chunks = true;
        }
        if is(&CONTENT_LENGTH) {
            let digits = str::from_utf8(value).ok()?.trim();
            let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit());
            let length = is_plain.then(|| digits.parse().ok())??;
            if self.length.is_some_and(|earlier| earlier != length) {
                return None;
            }
            self.length = Some(length);
        }
        Some(self)
    }

    /// The element that follows the head.
    fn body(self) -> Place {
        match (self.in_chunks, self.length) {
            (true, _) => Place::ChunkSize,
            (false, Some(length)) if length > 0 => Place::Body(length),
            (false, _) => Place::default(),
        }
    }
}

/// The size of the chunk that begins with this line.
fn chunk_size(line: &[u8]) -> Option<u64> {
    let digits = line.split(|&byte| byte == b';').next()?;
    let digits = str::from_utf8(digits).ok()?.trim();
    let is_plain = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_plain.then(|| u64::from_str_radix(digits, 16).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: &[u8] = b"GET /livez HTTP/1.1\r\nHost: a\r\n\r\n";
    const BOTH: &[u8] =
        b"POST / HTTP/1.1\r\nContent-length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
    const LONG: &[u8] = b"POST / HTTP/1.1\nHost: a\nContent-Length: 19\n\nTransfer-Encoding:\n";
    const CHUNKS: &[u8] = b"\r\nPOST / HTTP/1.1\r\nTransfer-Encoding: \
                            chunked\r\n\r\n15;a=b\r\nContent-Length: 3\r\n\r\n\r\n0\r\nContent-Length: \
                            1\r\n\r\n";

    fn request(in_chunks: bool) -> Request<()> {
        let mut request = Request::new(());
        if in_chunks {
            let chunked = "chunked".parse().unwrap();
            request.headers_mut().insert(TRANSFER_ENCODING, chunked);
        }
        request
    }

    /// Returns true for each chunked request with these bytes that is unambiguous.
    fn are_clear(bytes: &[u8], pieces: usize, count: usize) -> Vec<bool> {
        let heads = Heads::default();
        bytes.chunks(pieces).for_each(|piece| heads.read(piece));
        (0..count).map(|_| heads.is_clear(&request(true))).collect()
    }

    #[test]
    fn two_lengths_are_found_wherever_the_head_is() {
        for pieces in [1, 7, 1000] {
            assert_eq!(are_clear(BOTH, pieces, 1), [false]);
            assert_eq!(are_clear(CHUNKS, pieces, 1), [true]);
            let many = [PLAIN, CHUNKS, LONG, CHUNKS, BOTH].concat();
            let heads = Heads::default();
            many.chunks(pieces).for_each(|piece| heads.read(piece));
            let is_clear = |in_chunks| heads.is_clear(&request(in_chunks));
            let found = [false, true, false, true, true].map(is_clear);
            assert_eq!(found, [true, true, true, true, false]);
            assert!(!is_clear(true), "there is no sixth");
        }
    }

    #[test]
    fn requests_that_are_not_in_chunks_are_always_clear() {
        let heads = Heads::default();
        heads.read(LONG);
        assert!(heads.is_clear(&request(false)));
    }

    #[test]
    fn what_cannot_be_followed_is_not_trusted() {
        let long = [&b"GET / HTTP/1.1\r\nX: "[..], &vec![b'x'; HEAD]].concat();
        let two = b"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n";
        let sign = b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n";
        let size = b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n+1\r\n";
        for lost in [&long[..], two, sign] {
            assert_eq!(are_clear(&[lost, CHUNKS].concat(), 1000, 1), [false]);
        }
        assert_eq!(are_clear(&[size, CHUNKS].concat(), 1000, 2), [true, false]);
        // Lines of chunks that end without a carriage return, after which hyper continues.
        for odd in [&b"0\r\n\nX\r\n\r\n"[..], b"0\r\nA: b\n\nGET / HTTP/1.1\r\n\r\n"] {
            let start = b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
            let bytes = [&start[..], odd, BOTH].concat();
            assert_eq!(are_clear(&bytes, 1000, 2), [true, false]);
        }
        // More requests than can be recorded.
        let many = [PLAIN.repeat(MOST_HEADS + 1), CHUNKS.to_vec()].concat();
        let heads = Heads::default();
        heads.read(&many);
        (0..=MOST_HEADS).for_each(|_| assert!(heads.is_clear(&request(false))));
        assert!(!heads.is_clear(&request(true)));
        let heads = Heads::default();
        heads.read(&long);
        assert!(heads.0.lock().unwrap().line.len() <= HEAD);
    }
}
