//! `attentive serve`: requests whose end a proxy might see elsewhere, so that a request hidden behind them
//! would be answered as one of its own (RFC 9112, section 11.2).

use crate::support::http::Connection;
use crate::support::serving::{Running, config};

const BODY: &str = r#"{"q": "1", "source": "en", "target": "de"}"#;
const HIDDEN: &str = "GET /hidden HTTP/1.1\r\nHost: localhost\r\n\r\n";
const CHUNKED: &str = "Transfer-Encoding: chunked";

/// A request to translate with these `lines` in its head and this body.
fn request(lines: &[&str], body: &str) -> String {
    let head = ["POST /translate HTTP/1.1", "Host: localhost", "Content-Type: application/json"];
    let lines: Vec<&str> = head.iter().chain(lines).copied().collect();
    format!("{}\r\n\r\n{body}", lines.join("\r\n"))
}

/// The text to translate in a chunk, and behind it the hidden request.
fn chunks() -> String {
    format!("{:x}\r\n{BODY}\r\n0\r\n\r\n{HIDDEN}", BODY.len())
}

/// The statuses of all responses to `bytes`, until the server closes the connection.
fn statuses(server: &Running, bytes: &str) -> Vec<u16> {
    let said = Connection::open(server.address).last_words(bytes.as_bytes());
    let responses = said.split("HTTP/1.1 ").skip(1);
    responses.map(|response| response[..3].parse().unwrap()).collect()
}

/// Requests that are refused or not understood, after which the connection is closed.
#[test]
fn requests_without_a_clear_end_close_the_connection() {
    let server = Running::start(config());
    let chunks = chunks();
    let length = format!("Content-Length: {}", chunks.len());
    let with = |lines: &[&str]| request(lines, &chunks);
    let in_chunks = |body: &str| request(&[CHUNKED], &format!("{body}{HIDDEN}"));
    let old = |text: String| text.replacen("HTTP/1.1", "HTTP/1.0", 1);
    for (what, bytes, status) in [
        ("two lengths", with(&["Content-Length: 5", &length]), 400),
        ("a list of lengths", with(&[&format!("Content-Length: 5, {}", chunks.len())]), 400),
        ("a list of equal lengths", with(&["Content-Length: 5, 5"]), 400),
        ("two lengths between blanks", with(&["Content-Length: 5 5"]), 400),
        ("a length with a sign", with(&["Content-Length: +5"]), 400),
        ("a negative length", with(&["Content-Length: -1"]), 400),
        ("a length in hexadecimal", with(&["Content-Length: 0x5"]), 400),
        ("a length of 2^64 + 5", with(&["Content-Length: 18446744073709551621"]), 400),
        ("no length", with(&["Content-Length: "]), 400),
        ("a blank before the colon of a length", with(&["Content-Length : 4"]), 400),
        ("a length on a continued line", with(&["X-A: b", " Content-Length: 4"]), 400),
        ("chunked, twice", with(&[CHUNKED, CHUNKED, &length]), 400),
        ("chunked, chunked", with(&["Transfer-Encoding: chunked, chunked"]), 400),
        ("chunked, identity", with(&["Transfer-Encoding: chunked, identity", &length]), 400),
        ("gzip, chunked", with(&["Transfer-Encoding: gzip, chunked"]), 400),
        ("chunked and a comma", with(&["Transfer-Encoding: chunked,"]), 400),
        ("an unknown coding", with(&["Transfer-Encoding: xchunked", &length]), 400),
        ("a coding in quotes", with(&["Transfer-Encoding: \"chunked\"", &length]), 400),
        ("a blank before the colon", with(&["Transfer-Encoding : chunked", &length]), 400),
        ("a folded line", with(&["Transfer-Encoding:\r\n chunked", &length]), 400),
        ("a vertical tab", with(&["Transfer-Encoding: \x0bchunked", &length]), 400),
        ("a NUL in a line", with(&["X-A: a\x00b", &length]), 400),
        ("a carriage return in a line", with(&["X-A: a\rTransfer-Encoding: chunked", &length]), 400),
        ("chunks in HTTP/1.0", old(with(&[CHUNKED, &length])), 400),
        ("chunks in HTTP/1.0 without a length", old(with(&[CHUNKED])), 400),
        ("a size with a sign", in_chunks("+0\r\n\r\n"), 400),
        ("a negative size", in_chunks("-0\r\n\r\n"), 400),
        ("a size that is too long", in_chunks(&format!("{}\r\n\r\n", "f".repeat(17))), 400),
        ("a size in 0x", in_chunks("0x0\r\n\r\n"), 400),
        ("no size", in_chunks("\r\n\r\n"), 400),
        ("a size behind a blank", in_chunks(" 0\r\n\r\n"), 400),
        ("a chunk that ends wrongly", in_chunks("1\r\nxx\r\n0\r\n\r\n"), 400),
        ("a chunk without its end", in_chunks("1\r\nx0\r\n\r\n"), 400),
        ("a size without a carriage return", in_chunks("0\n\r\n"), 400),
        ("a line feed in an extension", in_chunks("0;a\n\r\n\r\n"), 400),
    ] {
        assert_eq!(statuses(&server, &bytes), [status], "{what}");
    }
    assert_eq!(statuses(&server, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), [0; 0], "HTTP/2 by prior knowledge");
    for (what, long) in [
        ("a long extension", format!("0;{}\r\n\r\n", "a".repeat(1 << 20))),
        ("long trailers", format!("0\r\n{}\r\n", "a: b\r\n".repeat(1 << 17))),
    ] {
        // The response may be lost, since the connection is closed while the client still sends.
        let found = statuses(&server, &in_chunks(&long));
        assert!(found.is_empty() || found == [400], "{what}: {found:?}");
    }
}

/// hyper reads a request with both lengths by its chunks, as RFC 9112 says, and closes the connection, so
/// that what a proxy takes for the next request is never read.
#[test]
fn requests_with_both_lengths_are_the_last_of_their_connection() {
    let server = Running::start(config());
    let chunks = chunks();
    let length = format!("Content-Length: {}", chunks.len());
    let first = "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n";
    for (what, lines) in [
        ("a length and chunks", [&length, CHUNKED]),
        ("chunks and a length", [CHUNKED, &length]),
        ("a short length and chunks", ["Content-Length: 4", CHUNKED]),
        ("chunks and no number", [CHUNKED, "Content-Length: x"]),
        ("a length and chunks behind a tab", [&length, "Transfer-Encoding:\tchunked"]),
        ("a length and chunks behind a line feed", [&length, "X: y\nTransfer-Encoding: chunked"]),
    ] {
        let bytes = request(&lines, &chunks);
        assert_eq!(statuses(&server, &bytes), [200], "{what}");
        assert_eq!(statuses(&server, &format!("{first}{bytes}")), [200, 200], "{what}, second");
    }
}

/// Requests that end where everybody sees their end; what follows is a request of its own.
#[test]
fn requests_with_a_clear_end_are_followed_by_others() {
    let server = Running::start(config());
    let lines = format!("Content-Length: {}", BODY.len());
    let behind = format!("{BODY}{HIDDEN}");
    for (what, bytes) in [
        ("chunks", request(&[CHUNKED], &chunks())),
        ("a length", request(&[&lines], &behind)),
        ("the same length twice", request(&[&lines, &lines], &behind)),
        ("a length with a zero before it", request(&[&lines.replace(": ", ": 0")], &behind)),
        ("another name", request(&[&lines, "Transfer_Encoding: chunked"], &behind)),
        ("a length among the trailers", {
            request(&[CHUNKED], &chunks().replace("0\r\n\r\n", "0\r\nContent-Length: 900\r\n\r\n"))
        }),
        ("an extension", request(&[CHUNKED], &chunks().replace("0\r\n\r\n", "0;a=\"b\"\r\n\r\n"))),
    ] {
        assert_eq!(statuses(&server, &bytes), [200, 404], "{what}");
    }
}
