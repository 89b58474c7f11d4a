//! `attentive serve`: bodies that nobody wants, what clients share, and requests that come from elsewhere.

use std::iter;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, sleep};
use std::time::Duration;

use attentive::server::{Limits, ServeConfig};
use serde_json::{Value, json};

use crate::support::http::{Connection, get, post, post_with};
use crate::support::serving::{Running, config, until};

const JSON: &str = "Content-Type: application/json\r\n";

fn limited(limits: Limits) -> ServeConfig {
    ServeConfig { limits, threads: 1, ..config() }
}

fn head(path: &str, headers: &str) -> String {
    format!("POST {path} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n")
}

/// A body, or a piece of one, in chunks.
fn chunks(body: &str, size: usize) -> String {
    let chunks = body.as_bytes().chunks(size).map(|chunk| {
        let text = String::from_utf8_lossy(chunk);
        format!("{:x}\r\n{text}\r\n", chunk.len())
    });
    chunks.collect()
}

/// More than all buffers between a client and the server hold.
fn large() -> String {
    "x".repeat(32 << 20)
}

#[test]
fn clients_that_send_before_they_read_see_what_is_wrong() {
    let server = Running::start(config());
    let large = large();
    let length = format!("Content-Length: {}\r\n", large.len());
    let declared = |path: &str, headers: &str| head(path, &format!("{headers}{length}"));
    let chunked = head("/translate", &format!("{JSON}Transfer-Encoding: chunked\r\n"));
    for (what, head, status) in [
        ("too large", declared("/translate", JSON), 413),
        ("too large", declared("/api/translate", JSON), 413),
        ("of another type", declared("/api/fill", "Content-Type: text/csv\r\n"), 415),
        ("of no type", declared("/api/embed", ""), 415),
        ("for no path", declared("/nothing", JSON), 404),
    ] {
        let mut connection = Connection::open(server.address);
        assert!(connection.send(&head) && connection.send(&large), "{what}: {head}");
        assert_eq!(connection.reply().unwrap().status, status, "{what}: {head}");
        // The connection is as good as new.
        connection.ask("GET", "/livez", "", "");
        assert_eq!(connection.reply().unwrap().status, 200, "{what}: {head}");
    }
    let mut connection = Connection::open(server.address);
    let body = chunks(&large, 1 << 20) + "0\r\n\r\n";
    assert!(connection.send(&chunked) && connection.send(body));
    assert_eq!(connection.reply().unwrap().status, 413);
}

#[test]
fn not_even_a_rest_is_read_for_ever() {
    let server = Running::start(config());
    let mut connection = Connection::open(server.address);
    connection.send(head("/translate", &format!("{JSON}Content-Length: 1000000000000\r\n")));
    let large = large();
    // 64 MiB are dropped; the system's buffers hold some more.
    let sent = (0..100).take_while(|_| connection.send(&large)).count();
    assert!((2..10).contains(&sent), "{sent} times 32 MiB");
    // A client that asks first is not made to send.
    let mut polite = Connection::open(server.address);
    let expect = format!("{JSON}Expect: 100-continue\r\nContent-Length: 10000000\r\n");
    polite.send(head("/translate", &expect));
    assert_eq!(polite.reply().unwrap().status, 413);
    assert!(polite.is_closed());
}

#[test]
fn bodies_are_bounded_together() {
    let limits = Limits { body: 1 << 20, bodies: Some(4 << 20), ..Limits::default() };
    let server = Running::start(limited(limits));
    let piece = "x".repeat(1000 << 10);
    let unfinished = || {
        let mut connection = Connection::open(server.address);
        let length = format!("{JSON}Content-Length: {}\r\n", 1 << 20);
        connection.send(head("/translate", &length) + &piece);
        connection
    };
    // Three fit into a client's share.
    let mut waiting: Vec<_> = (0..5).map(|_| unfinished()).collect();
    until("taken", || {
        waiting.retain_mut(|connection| !connection.is_refused(429));
        waiting.len() <= 3
    });
    // What is small needs no share.
    let small = json!({"q": "1", "source": "en", "target": "de"});
    assert_eq!(post(server.address, "/translate", &small).status, 200);
    waiting.clear();
    let long = json!({"q": " ".repeat(1000 << 10), "source": "en", "target": "de"});
    until("free", || post(server.address, "/translate", &long).status != 429);
    // What was answered counts no more.
    for _ in 0..8 {
        until("free again", || post(server.address, "/translate", &long).status != 429);
    }
}

#[test]
fn explanations_of_a_client_are_computed_one_after_the_other() {
    let limits = Limits { batch: 1, new_tokens: 100_000_000, ..Limits::default() };
    let server = Running::start(limited(limits));
    // The only worker of the model is busy until its client leaves.
    let endless = json!({"prompt": "the", "max_new_tokens": 100_000_000, "stream": true});
    let mut stream = Connection::open(server.address);
    stream.ask("POST", "/api/generate", JSON, &endless.to_string());
    assert_eq!(stream.head().unwrap().status, 200);
    let asked = json!({"model": "lm", "text": "the dog"}).to_string();
    let mut explained: Vec<_> = (0..5)
        .map(|_| {
            let mut connection = Connection::open(server.address);
            connection.ask("POST", "/api/explain", JSON, &asked);
            connection
        })
        .collect();
    let waiting = || server.metric("attentive_queue_jobs", "lm");
    until("all there", || server.metric("attentive_requests_in_progress", "") >= 6.0);
    until("one in turn", || waiting() > 0.0);
    for _ in 0..50 {
        assert!(waiting() <= 1.0, "{} are in the queue", waiting());
        sleep(Duration::from_millis(4));
    }
    drop(stream);
    for connection in &mut explained {
        assert_eq!(connection.reply().unwrap().status, 200);
    }
}

#[test]
fn what_never_fits_is_too_large() {
    let limits = Limits { body: 4000, bodies: Some(4000), ..Limits::default() };
    let server = Running::start(limited(limits));
    let asked = |text: &str| json!({"model": "lm", "text": text});
    post(server.address, "/api/explain", &asked("the")).expect(200);
    let refused = post(server.address, "/api/explain", &asked("the dog runs over")).expect(413);
    let error = refused["error"].to_string();
    assert!(error.contains("more RAM than a client may use"), "{error}");
    assert!(error.contains("`limits.bodies`"), "{error}");
}

#[test]
fn no_client_fills_the_queue() {
    let limits = Limits { batch: 1, queue: 8, texts: Some(4), new_tokens: 100_000_000, ..Limits::default() };
    let server = Running::start(ServeConfig { listen: "[::]:0".into(), ..limited(limits) });
    let endless = json!({"prompt": "the", "max_new_tokens": 100_000_000, "stream": true});
    let ask = |host: &str| {
        let address = format!("{host}:{}", server.address.port());
        let mut connection = Connection::open(address.parse().unwrap());
        connection.ask("POST", "/api/generate", JSON, &endless.to_string());
        connection
    };
    let accepted = |host: &str| {
        let mut connection = ask(host);
        assert_eq!(connection.head().unwrap().status, 200);
        connection
    };
    let refused = |host: &str, words: &str| {
        let reply = ask(host).reply().unwrap();
        assert_eq!(reply.header("retry-after"), Some("1"));
        let message = reply.expect(429)["error"]["message"].to_string();
        assert!(message.contains(words), "{message}");
    };
    let (ours, other) = ("127.0.0.1", "[::1]");
    let mut streams = vec![accepted(ours)];
    until("begun", || server.metric("attentive_running_jobs", "lm") >= 1.0);
    // Three quarters of the queue.
    streams.extend((0..6).map(|_| accepted(ours)));
    refused(ours, "you already have 6 jobs waiting");
    streams.extend((0..2).map(|_| accepted(other)));
    refused(other, "the model's queue is full: 8 jobs wait");
}

#[test]
fn what_was_translated_is_aligned_even_if_the_queue_is_full() {
    let limits = Limits { batch: 1, queue: 2, ..Limits::default() };
    let server = Running::start(limited(limits));
    let asked = |more: Value| {
        let mut asked = json!({"model": "en-de", "text": "1 2 3"});
        let fields = more.as_object().unwrap().clone();
        asked.as_object_mut().unwrap().extend(fields);
        asked
    };
    let (plain, aligned) = (asked(json!({})), asked(json!({"alignments": true, "stream": true})));
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                while !over.load(Relaxed) {
                    post(server.address, "/api/translate", &plain);
                }
            });
        }
        let streams = iter::repeat_with(|| post(server.address, "/api/translate", &aligned));
        let accepted = streams.filter(|reply| reply.status == 200).take(30);
        let cut_off = accepted.filter(|reply| !reply.body.contains("event: done"));
        let cut_off: Vec<_> = cut_off.map(|reply| reply.body).collect();
        over.store(true, Relaxed);
        assert!(cut_off.is_empty(), "{} of 30: {}", cut_off.len(), cut_off[0]);
    });
}

#[test]
fn an_address_has_a_share_of_the_connections() {
    let limits = Limits { connections: 8, connections_per_address: Some(4), ..Limits::default() };
    let server = Running::start(ServeConfig { listen: "[::]:0".into(), ..limited(limits) });
    let open = |host: &str| {
        let address = format!("{host}:{}", server.address.port());
        let mut connection = Connection::open(address.parse().unwrap());
        connection.ask("GET", "/languages", "", "");
        connection.reply().filter(|reply| reply.status == 200)?;
        Some(connection)
    };
    let mut ours = Vec::new();
    until("a whole share", || {
        ours.extend(open("127.0.0.1"));
        ours.len() == 4
    });
    assert!(open("127.0.0.1").is_none());
    assert!(open("[::1]").is_some(), "another address has a share of its own");
    ours.pop();
    until("another place", || open("127.0.0.1").is_some());
}

#[test]
fn a_crowd_does_not_keep_operators_out() {
    let limits = Limits { connections: 4, head_timeout: Duration::from_secs(60), ..Limits::default() };
    let server = Running::start(limited(limits));
    // Connections that say nothing, within the limit and far beyond.
    let silent: Vec<_> = (0..150).map(|_| Connection::open(server.address)).collect();
    for _ in 0..20 {
        assert_eq!(get(server.address, "/livez").status, 200);
        assert_eq!(get(server.address, "/health").status, 200);
    }
    drop(silent);
    let small = json!({"q": "1", "source": "en", "target": "de"});
    until("places", || post(server.address, "/translate", &small).status == 200);
}

#[test]
fn other_sites_cannot_ask() {
    let server = Running::start(config());
    let asked = |host: &str| {
        let mut connection = Connection::open(server.address);
        connection.send(format!("GET /api/models HTTP/1.1\r\n{host}\r\n"));
        connection.reply().unwrap()
    };
    for host in ["Host: localhost:1\r\n", "Host: 127.0.0.1\r\n", "Host: [::1]:80\r\n"] {
        assert_eq!(asked(host).status, 200, "{host}");
    }
    assert_eq!(asked("").status, 400);
    let error = asked("Host: rebound.example.com\r\n").expect(421);
    assert_eq!(error["error"]["code"], "unknown_host");
    let named = ServeConfig { allowed_hosts: vec!["rebound.example.com".into()], ..config() };
    let named = Running::start(named);
    let mut connection = Connection::open(named.address);
    connection.send("GET /api/models HTTP/1.1\r\nHost: rebound.example.com\r\n\r\n");
    assert_eq!(connection.reply().unwrap().status, 200);
    // Bodies that a page may send to other sites without asking them.
    let body = json!({"text": "1"}).to_string();
    for path in ["/api/translate", "/api/generate", "/api/explain"] {
        for kind in ["", "Content-Type: text/plain\r\n", "Content-Type: application/jsonp\r\n"] {
            let mut connection = Connection::open(server.address);
            connection.ask("POST", path, kind, &body);
            assert_eq!(connection.reply().unwrap().status, 415, "{path} {kind}");
        }
    }
    let charset = "Content-Type: Application/JSON; charset=utf-8\r\n";
    let reply = post_with(server.address, "/api/translate", charset, r#"{"text": "1", "model": "en-de"}"#);
    assert_eq!(reply.status, 200);
}

#[test]
fn compressed_bodies_are_refused() {
    let server = Running::start(config());
    let body = json!({"q": "1", "source": "en", "target": "de"}).to_string();
    for path in ["/translate", "/v2/translate", "/v1/completions", "/api/translate"] {
        let reply = post_with(server.address, path, "Content-Encoding: gzip\r\n", &body);
        assert_eq!(reply.status, 415, "{path}");
        assert!(reply.body.contains("compressed"), "{path} {reply:?}");
    }
    let reply = post_with(server.address, "/translate", "Content-Encoding: identity\r\n", &body);
    assert_eq!(reply.status, 200);
}
