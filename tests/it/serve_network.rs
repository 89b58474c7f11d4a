//! `attentive serve`: limits, broken and hostile clients.

use std::time::Duration;

use attentive::server::{Limits, ServeConfig};
use serde_json::json;

use crate::support::http::{Connection, Reply, get, post, post_with};
use crate::support::serving::{Running, config, until};

fn limited(limits: Limits) -> ServeConfig {
    ServeConfig { limits, threads: 1, ..config() }
}

/// The response to `bytes`.
fn raw(server: &Running, bytes: impl AsRef<[u8]>) -> Option<Reply> {
    let mut connection = Connection::open(server.address);
    connection.send(bytes);
    connection.reply()
}

/// A body that keeps the language model busy until its client goes away.
fn endless(stream: bool) -> String {
    json!({"prompt": "the", "max_new_tokens": 100_000_000, "stream": stream}).to_string()
}

fn endlessly() -> Limits {
    Limits { new_tokens: 1_000_000_000, timeout: Duration::from_secs(600), ..Limits::default() }
}

const JSON: &str = "Content-Type: application/json\r\n";

#[test]
fn large_bodies_are_refused_before_they_are_read() {
    let limits = Limits { body: 1000, ..Limits::default() };
    let server = Running::start(limited(limits));
    let head = "POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    // Nothing of the body is sent, so an answer means that it is not waited for.
    let declared = format!("{head}Content-Length: 100000000\r\n\r\n");
    assert_eq!(raw(&server, declared).unwrap().status, 413);
    let chunked = format!("{head}Transfer-Encoding: chunked\r\n\r\n400\r\n{}\r\n", "x".repeat(0x400));
    assert_eq!(raw(&server, chunked).unwrap().status, 413);
    let absurd = format!("{head}Content-Length: 99999999999999999999999999\r\n\r\n");
    assert!(raw(&server, absurd).is_none_or(|reply| [400, 413].contains(&reply.status)));
    let small = json!({"q": "1", "source": "en", "target": "de"});
    assert_eq!(post(server.address, "/translate", &small).status, 200);
}

#[test]
fn what_is_not_json_is_refused_in_each_apis_way() {
    let server = Running::start(config());
    let deep = "[".repeat(100_000);
    for (path, field) in [
        ("/translate", "/error"),
        ("/v2/translate", "/message"),
        ("/v1/completions", "/error/message"),
        ("/api/translate", "/error/message"),
    ] {
        for body in ["{", "", "nonsense", &deep, "\u{FEFF}{}", "{} {}"] {
            let reply = post_with(server.address, path, "", body);
            assert!([400, 422].contains(&reply.status), "{path} {reply:?}");
            assert!(reply.json().pointer(field).unwrap().is_string(), "{path} {reply:?}");
        }
        let mut connection = Connection::open(server.address);
        let head = format!("POST {path} HTTP/1.1\r\nHost: localhost\r\n{JSON}Content-Length: 8\r\n\r\n");
        connection.send([head.as_bytes(), b"{\"q\":\"\xff\""].concat());
        let reply = connection.reply().unwrap();
        assert!(reply.status == 400 && reply.body.contains("UTF-8"), "{path} {reply:?}");
        let reply = post_with(server.address, path, "Content-Type: text/plain\r\n", "{}");
        assert_eq!(reply.status, 415, "{path} {reply:?}");
        assert_eq!(get(server.address, path).status, 405, "{path}");
    }
    assert_eq!(
        get(server.address, "/nothing").expect(404)["error"],
        "there is no such path; `/openapi.json` lists all paths"
    );
}

#[test]
fn slow_heads_and_bodies_are_cut_off() {
    let limits = Limits {
        head_timeout: Duration::from_millis(300),
        stall_timeout: Duration::from_millis(300),
        ..Limits::default()
    };
    let server = Running::start(limited(limits));
    let mut connections: Vec<_> = (0..50).map(|_| Connection::open(server.address)).collect();
    for connection in &mut connections {
        connection.send("GET /livez HTTP/1.1\r\nX-Slow: ");
    }
    for connection in &mut connections {
        assert!(connection.is_closed());
    }
    // A connection that is kept alive does not stay for ever.
    let mut idle = Connection::open(server.address);
    idle.ask("GET", "/livez", "", "");
    assert_eq!(idle.reply().unwrap().status, 200);
    assert!(idle.is_closed());
    let body = format!("POST /translate HTTP/1.1\r\nHost: localhost\r\n{JSON}Content-Length: 100\r\n\r\n{{");
    let reply = raw(&server, body).unwrap();
    assert!(reply.status == 503 && reply.header("retry-after").is_some(), "{reply:?}");
    assert_eq!(get(server.address, "/livez").status, 200);
}

#[test]
fn one_connection_too_many_is_told() {
    let limits = Limits { connections: 3, ..Limits::default() };
    let server = Running::start(limited(limits));
    let place = || {
        let mut connection = Connection::open(server.address);
        connection.ask("GET", "/livez", "", "");
        // One that is too many is closed after the answer.
        let reply = connection.reply()?;
        (reply.header("connection") != Some("close")).then_some(connection)
    };
    // Those that asked whether the server is ready are still being closed.
    let mut open = Vec::new();
    until("three places", || {
        open.extend(place());
        open.len() == 3
    });
    let small = json!({"q": "1", "source": "en", "target": "de"});
    let reply = post(server.address, "/translate", &small);
    assert!(reply.status == 503 && reply.header("retry-after").is_some(), "{reply:?}");
    assert!(reply.json()["error"].is_string(), "{reply:?}");
    assert_eq!(reply.header("connection"), Some("close"));
    assert!(server.metric("attentive_connections_refused_total", "") >= 1.0);
    // Operators are answered, as often as they ask.
    for path in ["/livez", "/readyz", "/health", "/metrics"].repeat(50) {
        assert_eq!(get(server.address, path).status, 200, "{path}");
    }
    open.pop();
    until("another place", || place().is_some());
}

#[test]
fn a_full_queue_refuses_in_each_apis_way() {
    let limits = Limits { queue: 2, batch: 1, ..endlessly() };
    let server = Running::start(limited(limits));
    let address = server.address;
    let mut busy: Vec<_> = (0..3).map(|_| Connection::open(address)).collect();
    for (number, connection) in busy.iter_mut().enumerate() {
        connection.ask("POST", "/api/generate", JSON, &endless(true));
        let waiting = number.saturating_sub(1) as f64;
        until("busy", || {
            server.metric("attentive_running_jobs", "lm") + server.metric("attentive_queue_jobs", "lm")
                >= waiting + 1.0
        });
    }
    until("full", || server.metric("attentive_queue_jobs", "lm") >= 2.0);
    let reply = post(address, "/v1/completions", &json!({"prompt": "the"}));
    assert_eq!(reply.header("retry-after"), Some("1"));
    assert_eq!(reply.expect(429)["error"]["code"], "rate_limit_exceeded");
    let error = post(address, "/api/generate", &json!({"prompt": "the"})).expect(429);
    assert_eq!(error["error"]["code"], "busy");
    // Other models have queues of their own; a list that is longer than the queue has no place in it.
    let asked = json!({"q": ["1", "2", "3"], "source": "en", "target": "de"});
    assert!(post(address, "/translate", &asked).expect(413)["error"].is_string());
    assert_eq!(post(address, "/translate", &json!({"q": "1", "source": "en", "target": "de"})).status, 200);
    drop(busy);
    until("free", || server.metric("attentive_running_jobs", "lm") == 0.0);
    assert_eq!(post(address, "/v1/completions", &json!({"prompt": "the"})).status, 200);
}

#[test]
fn clients_that_go_away_free_their_places() {
    let server = Running::start(limited(endlessly()));
    for stream in [true, false] {
        let mut gone: Vec<_> = (0..8).map(|_| Connection::open(server.address)).collect();
        for connection in &mut gone {
            connection.ask("POST", "/api/generate", JSON, &endless(stream));
        }
        if stream {
            for connection in &mut gone {
                assert_eq!(connection.head().unwrap().status, 200);
                connection.chunk().unwrap();
            }
        }
        until("running", || server.metric("attentive_requests_in_progress", "") >= 8.0);
        drop(gone);
        until("all gone", || server.metric("attentive_requests_in_progress", "") == 0.0);
        until("all free", || {
            server.metric("attentive_running_jobs", "") + server.metric("attentive_queue_jobs", "") == 0.0
        });
    }
    assert_eq!(server.metric("attentive_requests_abandoned_total", "own"), 16.0);
    assert_eq!(server.metric("attentive_requests_total", "499"), 8.0);
}

/// A client that still reads is waited for, one that has gone is not, wherever its body was cut into packets.
#[test]
fn clients_that_send_no_more_are_told_from_those_that_are_gone() {
    let server = Running::start(limited(Limits { timeout: Duration::from_secs(10), ..endlessly() }));
    let body = endless(false);
    let head = format!(
        "POST /api/generate HTTP/1.1\r\nHost: localhost\r\n{JSON}Content-Length: {}\r\n\r\n",
        body.len()
    );
    let answer = Connection::open(server.address).last_words((head.clone() + &body).as_bytes());
    // Its time is over before its text is.
    assert!(answer.contains("HTTP/1.1 503 "), "{answer}");
    assert!(answer.starts_with("HTTP/1.1 100 Continue\r\n\r\n"), "{answer}");
    for cut in [0, 1, body.len() / 2] {
        let mut gone = Connection::open(server.address);
        gone.send(&head);
        until("running", || server.metric("attentive_requests_in_progress", "") == 1.0);
        gone.send(&body[..cut]);
        gone.send(&body[cut..]);
        until("decoding", || server.metric("attentive_running_jobs", "lm") == 1.0);
        drop(gone);
        until("gone", || server.metric("attentive_requests_in_progress", "") == 0.0);
    }
    assert_eq!(server.metric("attentive_requests_total", "499"), 3.0);
}

#[test]
fn readers_that_stop_reading_are_cut_off() {
    let limits = Limits { stall_timeout: Duration::from_millis(200), ..endlessly() };
    let server = Running::start(limited(limits));
    let mut connection = Connection::open(server.address);
    // Ten texts fill the buffers of the system soon, also on a slow machine.
    let endless = json!({"prompt": "the", "max_tokens": 100_000_000, "n": 10, "stream": true});
    connection.ask("POST", "/v1/completions", JSON, &endless.to_string());
    assert_eq!(connection.head().unwrap().status, 200);
    until("given up", || server.metric("attentive_requests_abandoned_total", "openai") == 1.0);
    until("free", || server.metric("attentive_running_jobs", "lm") == 0.0);
}

#[test]
fn requests_end_in_time() {
    let limits = Limits { timeout: Duration::from_millis(400), ..endlessly() };
    let server = Running::start(limited(limits));
    let reply = post_with(server.address, "/api/generate", "", &endless(false));
    assert_eq!(reply.header("retry-after"), Some("5"));
    assert_eq!(reply.expect(503)["error"]["code"], "timeout");
    let reply = post_with(server.address, "/api/generate", "", &endless(true));
    assert!(reply.status == 200 && reply.body.contains("event: error"), "{}", reply.body.len());
    assert!(!reply.body.contains("event: done"));
    until("free", || server.metric("attentive_running_jobs", "lm") == 0.0);
}
