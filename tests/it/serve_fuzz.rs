//! `attentive serve`: requests damaged at random are answered or refused, without a panic, which would be a
//! status of 500.
//!
//! Cases are reproducible from their numbers; `ATTENTIVE_FUZZ_CASES` sets how many there are, and
//! `ATTENTIVE_FUZZ_FIRST` the first one.

use std::env;
use std::time::Duration;

use attentive::server::{Limits, ServeConfig};

use crate::fuzz::mutation::mutated;
use crate::support::http::{Connection, get};
use crate::support::serving::{Running, config};

const USUAL_CASES: u64 = 1500;

/// Requests that are answered: the path, the type of the body and the body.
const REQUESTS: [(&str, &str, &str); 12] = [
    (
        "/translate",
        "application/json",
        r#"{"q": ["1 2", "<b>3</b> 4"], "source": "auto", "target": "de", "format": "html", "alternatives": 2}"#,
    ),
    (
        "/translate",
        "application/x-www-form-urlencoded",
        "q=1+2%C3%A4&q=3&source=en&target=de&alternatives=1&api_key=",
    ),
    ("/detect", "application/json", r#"{"q": "Ein Hund läuft."}"#),
    (
        "/v2/translate",
        "application/json",
        r#"{"text": ["1 <i>2</i>"], "source_lang": "EN", "target_lang": "DE", "tag_handling": "xml"}"#,
    ),
    (
        "/v2/translate",
        "application/x-www-form-urlencoded",
        "text=1&text=2&target_lang=de&source_lang=en&show_billed_characters=1",
    ),
    (
        "/v1/completions",
        "application/json",
        r#"{"prompt": ["the", "a"], "max_tokens": 3, "stop": ["e"], "stream": true, "top_p": 0.9, "n": 2}"#,
    ),
    (
        "/v1/embeddings",
        "application/json",
        r#"{"model": "mlm", "input": "the dog", "encoding_format": "base64"}"#,
    ),
    (
        "/api/translate",
        "application/json",
        r#"{"model": "en-de", "text": "1 2 3", "beam_width": 3, "n_best": 2, "prefix": "1", "phrases": ["2"], "alignments": true}"#,
    ),
    (
        "/api/translate",
        "application/json",
        r#"{"model": "en-de", "text": ["1"], "sampling": {"seed": 1, "top_k": 3}, "max_new_tokens": 5, "stream": true}"#,
    ),
    (
        "/api/generate",
        "application/json",
        r#"{"prompt_tokens": ["t", "h"], "temperature": 0.5, "top_k": 3, "max_new_tokens": 5, "stop": ["x"]}"#,
    ),
    ("/api/fill", "application/json", r#"{"text": "the <mask> sees", "count": 2}"#),
    ("/api/explain", "application/json", r#"{"model": "en-de", "text": "1 2", "target_tokens": ["2", "1"]}"#),
];

fn number(name: &str, usual: u64) -> u64 {
    env::var(name).map_or(usual, |value| value.parse().unwrap())
}

#[test]
fn damaged_requests_do_no_harm() {
    let limits = Limits { new_tokens: 100, timeout: Duration::from_secs(5), ..Limits::default() };
    let server = Running::start(ServeConfig { limits, ..config() });
    let first = number("ATTENTIVE_FUZZ_FIRST", 0);
    let mut connection = Connection::open(server.address);
    for case in first..first + number("ATTENTIVE_FUZZ_CASES", USUAL_CASES) {
        let (path, kind, body) = REQUESTS[case as usize % REQUESTS.len()];
        let head = |length: usize| {
            format!(
                "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\nContent-Length: \
                 {length}\r\n\r\n"
            )
        };
        // A damaged body in a sound request, and a request damaged anywhere, after which nothing is certain.
        let damaged = mutated(body.as_bytes(), case);
        connection.send([head(damaged.len()).as_bytes(), &damaged].concat());
        let reply = connection.reply();
        let reply = reply.unwrap_or_else(|| panic!("case {case}: no answer"));
        assert!(reply.status != 500, "case {case}: {reply:?}");
        if reply.header("connection") == Some("close") {
            connection = Connection::open(server.address);
        }
        let whole = head(body.len()) + body;
        let answer = Connection::open(server.address).last_words(&mutated(whole.as_bytes(), case));
        assert!(!answer.contains(" 500 "), "case {case}: {answer}");
    }
    assert_eq!(get(server.address, "/readyz").status, 200);
}
