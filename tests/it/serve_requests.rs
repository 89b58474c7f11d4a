//! `attentive serve`: requests that would take all of the memory or of the time.

use std::time::Duration;

use attentive::server::{Limits, ServeConfig};
use serde_json::{Value, json};

use crate::support::http::{Connection, get, post, post_with};
use crate::support::serving::{Running, config, until};

fn limited(limits: Limits) -> ServeConfig {
    ServeConfig { limits, ..config() }
}

/// Room for the largest texts.
fn roomy() -> Limits {
    Limits {
        characters: 4 << 20,
        in_progress: Some(12 << 20),
        timeout: Duration::from_secs(600),
        ..Limits::default()
    }
}

fn is_alive(server: &Running) {
    assert_eq!(get(server.address, "/readyz").status, 200);
    let small = json!({"q": "the", "source": "en", "target": "de"});
    assert_eq!(post(server.address, "/translate", &small).status, 200);
}

#[test]
fn one_tag_with_many_attributes_is_read() {
    let server = Running::start(limited(roomy()));
    for count in [5000, 200_000] {
        let html = format!("<a {}>the</a>", "x=\"y\" ".repeat(count));
        let asked = json!({"q": html, "source": "en", "target": "de", "format": "html"});
        let reply = post(server.address, "/translate", &asked).expect(200);
        let text = reply["translatedText"].as_str().unwrap();
        assert_eq!(text.matches("x=\"y\"").count(), count);
    }
    let html = format!("<a {}>the</a>", "x=\"y\" ".repeat(5000));
    let asked = json!({"text": [html], "source_lang": "EN", "target_lang": "DE", "tag_handling": "html"});
    post(server.address, "/v2/translate", &asked).expect(200);
    is_alive(&server);
}

#[test]
fn bodies_of_one_kind_are_answered() {
    let server = Running::start(config());
    let most = Limits::default().body;
    let deep = |open: &str| open.repeat((most - 100) / open.len());
    for body in [
        deep("["),
        deep("{\"q\":"),
        deep("{\"text\":["),
        format!("{{\"q\":[{}\"\"]", deep("\"\",")),
        format!("{{\"q\":\"{}", deep("\\u0061")),
        format!("{{\"q\":{}", deep("1")),
        format!("{{\"{}", deep("q")),
        deep(" "),
    ] {
        for path in ["/translate", "/v2/translate", "/api/translate", "/v1/completions"] {
            let status = post_with(server.address, path, "", &body).status;
            assert!((400..500).contains(&status), "{path} {status}");
        }
    }
    let form = "Content-Type: application/x-www-form-urlencoded\r\n";
    for body in [deep("q=&"), deep("%"), deep("&"), format!("q={}", deep("%61"))] {
        let status = post_with(server.address, "/translate", form, &body).status;
        assert!((400..500).contains(&status), "{status}");
    }
    for part in ["a", "漢", " ", "\u{301}", "the "] {
        let asked = json!({"q": part.repeat(400_000 / part.chars().count())});
        post(server.address, "/detect", &asked).expect(200);
    }
    is_alive(&server);
}

#[test]
fn what_a_request_says_about_its_texts_is_counted() {
    let server = Running::start(config());
    let texts = vec!["the"; 1000];
    let strings = |count: usize, text: &str| vec![text.to_owned(); count];
    let refused = |path: &str, asked: Value, field: &str| {
        let reply = post(server.address, path, &asked).expect(413);
        let error = &reply["error"];
        let found = error.get("field").or(error.get("param"));
        assert_eq!(found.unwrap(), field, "{reply}");
    };
    for phrases in [strings(257, "the"), strings(100_000, "")] {
        let asked = json!({"model": "en-de", "text": texts, "phrases": phrases});
        refused("/api/translate", asked, "phrases");
    }
    let long = "the ".repeat(130_000);
    let asked = json!({"model": "en-de", "text": texts, "prefix": long});
    refused("/api/translate", asked, "text");
    let asked = json!({"model": "en-de", "text": texts, "phrases": [long]});
    refused("/api/translate", asked, "text");
    let asked = json!({"model": "en-de", "text": texts, "prefix_tokens": strings(200_001, "")});
    refused("/api/translate", asked, "prefix_tokens");
    let asked = json!({"model": "lm", "prompt": "the", "stop": strings(17, "x")});
    refused("/api/generate", asked, "stop");
    let asked = json!({"model": "lm", "prompt": "the", "stop": strings(5, "x")});
    refused("/v1/completions", asked, "stop");
    let asked = json!({"prompt": vec!["the"; 300], "max_tokens": 1, "n": 7});
    refused("/v1/completions", asked, "n");
    let asked = json!({"model": "lm", "prompt": "the", "max_tokens": 9, "stop": [long]});
    refused("/v1/completions", asked, "prompt");
    // What is allowed is done.
    let asked = json!({"model": "en-de", "text": ["1"], "phrases": strings(256, "2")});
    post(server.address, "/api/translate", &asked).expect(200);
    for stop in [strings(16, "zzz"), strings(16, &"e".repeat(30_000))] {
        let asked = json!({"model": "lm", "prompt": "the", "max_new_tokens": 3, "stop": stop});
        post(server.address, "/api/generate", &asked).expect(200);
    }
    let asked = json!({"model": "en-de", "text": texts, "phrases": ["the ".repeat(100_000)]});
    let reply = post(server.address, "/api/translate", &asked).body;
    assert!(reply.contains("left out: the phrase `the the"));
}

#[test]
fn guesses_are_counted_before_they_are_made() {
    let server = Running::start(config());
    let text = "<mask> ".repeat(300);
    let asked = json!({"model": "mlm", "text": [text, text], "count": 1000});
    let reply = post(server.address, "/api/fill", &asked).expect(413);
    assert!(reply["error"]["message"].as_str().unwrap().contains("600000"), "{reply}");
}

#[test]
fn a_client_that_leaves_takes_its_texts_along() {
    let server = Running::start(ServeConfig { threads: 1, ..limited(roomy()) });
    let texts = vec!["the <mask>"; 2048];
    let asked = json!({"model": "mlm", "text": texts}).to_string();
    let mut client = Connection::open(server.address);
    client.ask("POST", "/api/fill", "Content-Type: application/json\r\n", &asked);
    let labels = "model=\"mlm\"";
    until("begun", || server.metric("attentive_running_jobs", labels) > 0.0);
    drop(client);
    until("ended", || {
        let waiting = server.metric("attentive_queue_jobs", labels);
        waiting + server.metric("attentive_running_jobs", labels) == 0.0
    });
    is_alive(&server);
}

#[test]
fn results_of_many_chunks_are_in_order() {
    let server = Running::start(config());
    let texts: Vec<String> = (0..700).map(|number| format!("{} <mask> {number}", number % 7)).collect();
    let all = post(server.address, "/api/fill", &json!({"model": "mlm", "text": texts, "count": 1}));
    let all = all.expect(200);
    for number in [0, 1, 350, 699] {
        let one = json!({"model": "mlm", "text": texts[number], "count": 1});
        let mut one = post(server.address, "/api/fill", &one).expect(200);
        assert_eq!(one.as_object_mut().unwrap().remove("model").unwrap(), "mlm");
        assert_eq!(all["results"][number], one);
    }
    let long = "the dog \u{1} runs ".repeat(3000);
    let tags = post(server.address, "/api/tag", &json!({"text": long})).expect(200);
    assert_eq!(tags["tags"].as_array().unwrap().len(), 9000);
    assert_eq!(tags["warnings"].as_array().unwrap().len(), 2, "{}", tags["warnings"]);
    let asked = json!({"model": "en-de", "text": vec!["the dog runs"; 300], "alignments": true});
    let aligned = post(server.address, "/api/translate", &asked).expect(200);
    for result in aligned["results"].as_array().unwrap() {
        assert_eq!(*result, aligned["results"][0]);
    }
}

#[test]
fn a_long_text_finds_a_place_in_a_short_queue() {
    let limits = Limits { queue: 4, ..Limits::default() };
    let server = Running::start(limited(limits));
    let asked = json!({"text": "the dog ".repeat(4000)});
    let found = post(server.address, "/api/tag", &asked).expect(200);
    assert_eq!(found["tags"].as_array().unwrap().len(), 8000);
}

#[test]
fn requests_in_progress_are_counted_together() {
    let server = Running::start(limited(Limits {
        characters: 12,
        in_progress: Some(16),
        new_tokens: 1_000_000_000,
        ..roomy()
    }));
    let endless = json!({"prompt": "the", "max_new_tokens": 100_000_000, "stream": true});
    let mut first = Connection::open(server.address);
    let kind = "Content-Type: application/json\r\n";
    first.ask("POST", "/api/generate", kind, &endless.to_string());
    assert_eq!(first.head().unwrap().status, 200);
    let asked = json!({"q": "the dog runs", "source": "en", "target": "de"});
    let refused = post(server.address, "/translate", &asked);
    assert_eq!(refused.status, 429);
    assert_eq!(refused.header("retry-after"), Some("1"));
    // Nobody takes all of the room: 3 and 9 characters are three quarters of it.
    for (text, status) in [("1 2 3 4 5", 200), ("1 2 3 4 56", 429)] {
        let asked = json!({"q": text, "source": "en", "target": "de"});
        let reply = post(server.address, "/translate", &asked);
        assert_eq!(reply.status, status, "{text}");
    }
    drop(first);
    // The largest request fits if it is alone.
    until("there is room", || post(server.address, "/translate", &asked).status == 200);
}

#[test]
fn limits_hold_for_every_api() {
    let server = Running::start(limited(Limits { stop: 2, tokens: 18, ..Limits::default() }));
    let user = |text: &str| json!([{"role": "user", "content": text}]);
    let both = |count: usize| {
        let text = vec!["1 2 3"; 2 * count].join("\n");
        let stop = vec!["x"; count];
        [
            ("/translate", json!({"q": text, "source": "en", "target": "de"})),
            ("/v2/translate", json!({"text": [text], "source_lang": "EN", "target_lang": "DE"})),
            ("/api/translate", json!({"model": "en-de", "text": text})),
            ("/v1/chat/completions", json!({"model": "en-de", "messages": user(&text)})),
            (
                "/v1/chat/completions",
                json!({"model": "lm", "messages": user("a"), "max_tokens": 1, "stop": stop}),
            ),
            ("/v1/completions", json!({"prompt": "the", "max_tokens": 1, "stop": stop})),
            ("/api/generate", json!({"prompt": "the", "max_new_tokens": 1, "stop": stop})),
        ]
    };
    for (count, status) in [(2, 200), (4, 413)] {
        for (path, asked) in both(count) {
            let reply = post(server.address, path, &asked);
            assert_eq!(reply.status, status, "{path} {asked} {reply:?}");
        }
    }
    // The tokens of all prompts count, of which the model reads 24 at most.
    let chat = |text: &str| json!({"model": "lm", "messages": user(text), "max_tokens": 1});
    let complete = |count| json!({"prompt": vec!["the dog"; count], "max_tokens": 1});
    let generate = |count| json!({"prompt": "the dog".repeat(count), "max_new_tokens": 1});
    for (path, asked, status) in [
        ("/v1/chat/completions", chat("a"), 200),
        ("/v1/chat/completions", chat("dog"), 413),
        ("/v1/completions", complete(2), 200),
        ("/v1/completions", complete(3), 413),
        ("/api/generate", generate(2), 200),
        ("/api/generate", generate(3), 413),
    ] {
        let reply = post(server.address, path, &asked);
        assert_eq!(reply.status, status, "{path} {asked} {reply:?}");
    }
}
