//! `attentive serve`: glossaries, by the API of DeepL.

use std::fs;
use std::net::SocketAddr;

use attentive::server::{Limits, ServeConfig};
use serde_json::{Value, json};

use crate::run::Folder;
use crate::support::http::{Connection, Reply, get, post, post_form, post_with};
use crate::support::serving::{Running, config, until};

const PATH: &str = "/v2/glossaries";

fn draft(entries: &str) -> Value {
    json!({"name": "terms", "source_lang": "EN", "target_lang": "DE", "entries": entries, "entries_format": "tsv"})
}

/// The identifier of a new glossary.
fn create(address: SocketAddr, entries: &str) -> String {
    let created = post(address, PATH, &draft(entries)).expect(201);
    created["glossary_id"].as_str().unwrap().to_owned()
}

/// The head of the response to a request with a key, which may be empty.
fn ask(address: SocketAddr, method: &str, path: &str, key: &str) -> Reply {
    let mut connection = Connection::open(address);
    let header = format!("Authorization: DeepL-Auth-Key {key}\r\n");
    connection.ask(method, path, if key.is_empty() { "" } else { &header }, "");
    connection.head().unwrap()
}

fn translate(address: SocketAddr, text: &[&str], more: &Value) -> Reply {
    let mut asked = json!({"text": text, "source_lang": "EN", "target_lang": "DE"});
    let fields = more.as_object().unwrap().clone();
    asked.as_object_mut().unwrap().extend(fields);
    post(address, "/v2/translate", &asked)
}

/// The translations in a response.
fn texts(reply: &Reply) -> Vec<String> {
    let found = reply.expect(200)["translations"].clone();
    let found = found.as_array().unwrap().iter();
    let found = found.map(|one| one["text"].as_str().unwrap().to_owned());
    found.collect()
}

#[test]
fn glossaries_come_and_go() {
    let server = Running::start(config());
    let address = server.address;
    let made = post(address, PATH, &draft("1 2\t3\n\n4\t 5 6 ")).expect(201);
    let id = made["glossary_id"].as_str().unwrap();
    for (field, value) in [
        ("name", json!("terms")),
        ("ready", json!(true)),
        ("source_lang", json!("en")),
        ("target_lang", json!("de")),
        ("entry_count", json!(2)),
    ] {
        assert_eq!(made[field], value, "{made}");
    }
    let created = made["creation_time"].as_str().unwrap();
    assert!(created.starts_with("20") && created.contains('T') && created.ends_with('Z'));
    let form = "name=two&source_lang=en-GB&target_lang=de&entries_format=csv&entries=%221,5%22,2,en,de";
    let second = post_form(address, PATH, form).expect(201);
    assert_eq!(get(address, PATH).expect(200), json!({"glossaries": [made, second]}));
    let path = format!("{PATH}/{id}");
    assert_eq!(get(address, &path).expect(200), made);
    let entries = get(address, &format!("{path}/entries"));
    assert_eq!((entries.status, entries.body.as_str()), (200, "1 2\t3\n4\t5 6"));
    let kind = entries.header("content-type").unwrap();
    assert!(kind.starts_with("text/tab-separated-values"), "{kind}");
    let second = second["glossary_id"].as_str().unwrap();
    assert_eq!(get(address, &format!("{PATH}/{second}/entries")).body, "1,5\t2");
    let pairs = get(address, "/v2/glossary-language-pairs").expect(200);
    let pair = |source| json!({"source_lang": source, "target_lang": "de"});
    assert_eq!(pairs, json!({"supported_languages": [pair("en"), pair("fr")]}));
    assert_eq!(ask(address, "DELETE", &path, "").status, 204);
    assert_eq!(ask(address, "DELETE", &path, "").status, 404);
    for path in [path.clone(), format!("{path}/entries")] {
        let found = get(address, &path).expect(404);
        assert!(found["message"].as_str().unwrap().contains("no such glossary"));
    }
    let left = get(address, PATH).expect(200);
    assert_eq!(left["glossaries"].as_array().unwrap().len(), 1);
    assert_eq!(translate(address, &["4"], &json!({"glossary_id": id})).status, 404);
}

#[test]
fn terms_are_met_in_the_sentences_that_have_them() {
    let server = Running::start(config());
    let address = server.address;
    let sources = ["1 2 3 4", "5 6 7. 8 9 1", "22 3", "<p>4 5 6</p>"];
    let plain = texts(&translate(address, &sources, &json!({})));
    let id = create(address, "2 3\t0 0 0\n8\t9 0 9\n6\t7 0 7");
    let of_glossary = json!({"glossary_id": id});
    let reply = translate(address, &sources, &of_glossary);
    let found = texts(&reply);
    let warnings = reply.header("x-warnings").unwrap_or_default();
    for words in ["lacks", "left out"] {
        assert!(!warnings.contains(words), "{warnings}");
    }
    for (n, phrase) in [(0, "0 0 0"), (1, "9 0 9"), (1, "7 0 7"), (3, "7 0 7")] {
        assert!(!plain[n].contains(phrase), "{plain:?}");
        assert!(found[n].contains(phrase), "{found:?}");
    }
    // Each sentence has terms of its own, and one without any is as it was.
    assert_eq!(found[1].matches("9 0 9").count(), 1, "{found:?}");
    assert_eq!(found[2], plain[2]);
    let markup = json!({"glossary_id": id, "tag_handling": "html"});
    let html = &texts(&translate(address, &["<p>4 <b>5</b> 6</p>"], &markup))[0];
    assert!(html.starts_with("<p>") && html.contains("<b>"), "{html}");
    // A language with a region has the same terms.
    let regional = json!({"glossary_id": id, "source_lang": "en-US"});
    assert_eq!(texts(&translate(address, &sources[..1], &regional)), found[..1]);
    let none = json!({"glossary_id": ""});
    assert_eq!(texts(&translate(address, &sources, &none)), plain);
}

#[test]
fn terms_that_cannot_be_met_are_warnings() {
    let server = Running::start(config());
    let address = server.address;
    let long = "9 ".repeat(60);
    let id = create(address, &format!("1\tdog\n2\t0 0 0\n3\t{long}"));
    let of_glossary = json!({"glossary_id": id});
    let warned = |reply: &Reply| reply.header("x-warnings").unwrap_or_default().to_owned();
    let reply = translate(address, &["1 2", "2 1"], &of_glossary);
    let found = texts(&reply);
    assert!(found.iter().all(|one| one.contains("0 0 0")), "{found:?}");
    let warnings = warned(&reply);
    let words = "left out: the phrase `dog` cannot be written";
    assert_eq!(warnings.matches(words).count(), 1, "{warnings}");
    let reply = translate(address, &["3 4", "2"], &of_glossary);
    let found = texts(&reply);
    assert_eq!(found[0], texts(&translate(address, &["3 4"], &json!({})))[0]);
    assert!(found[1].contains("0 0 0"), "{found:?}");
    let warnings = warned(&reply);
    assert!(warnings.contains("left out: the phrases are too long"), "{warnings}");
}

#[test]
fn glossaries_belong_to_keys() {
    let folder = Folder::new();
    folder.write("keys", "one\ntwo\n");
    let server = Running::start(ServeConfig { api_key_file: Some(folder.path("keys")), ..config() });
    let address = server.address;
    let header = |key: &str| format!("Authorization: DeepL-Auth-Key {key}\r\n");
    let body = draft("1\t2").to_string();
    assert_eq!(post_with(address, PATH, "", &body).status, 403);
    let made = post_with(address, PATH, &header("one"), &body).expect(201);
    let id = made["glossary_id"].as_str().unwrap();
    let path = format!("{PATH}/{id}");
    let status = |method: &str, path: &str, key: &str| ask(address, method, path, key).status;
    for path in [PATH, &path, &format!("{path}/entries"), "/v2/glossary-language-pairs"] {
        assert_eq!(status("GET", path, ""), 403, "{path}");
        assert_eq!(status("GET", path, "one"), 200, "{path}");
    }
    assert_eq!(status("GET", &path, "two"), 404);
    assert_eq!(status("GET", &format!("{path}/entries"), "two"), 404);
    assert_eq!(status("DELETE", &path, "two"), 404);
    let asked = json!({"text": ["1"], "source_lang": "EN", "target_lang": "DE", "glossary_id": id});
    let translate = |key: &str| post_with(address, "/v2/translate", &header(key), &asked.to_string()).status;
    assert_eq!((translate("one"), translate("two")), (200, 404));
    // Reading keys and models again keeps them.
    fs::write(folder.path("keys"), "one\nthree\n").unwrap();
    server.control.reload();
    until("read again", || status("GET", PATH, "three") == 200);
    assert_eq!(status("GET", &path, "one"), 200);
    assert_eq!(status("DELETE", &path, "one"), 204);
    assert_eq!(status("GET", &path, "one"), 404);
}

#[test]
fn wrong_glossaries_are_refused() {
    let server = Running::start(config());
    let address = server.address;
    let refuse = |changes: Value, status: u16, words: &str| {
        let mut asked = draft("1\t2");
        let changes = changes.as_object().unwrap().clone();
        asked.as_object_mut().unwrap().extend(changes);
        let found = post(address, PATH, &asked).expect(status);
        let message = found["message"].as_str().unwrap();
        assert!(message.contains(words), "{message}");
    };
    refuse(json!({"name": " "}), 400, "name");
    refuse(json!({"name": "x".repeat(1025)}), 400, "1024 bytes");
    refuse(json!({"name": null}), 400, "name");
    refuse(json!({"entries": ""}), 400, "entries");
    refuse(json!({"entries": "1\t2\n3"}), 400, "line 2 has 0 tabs");
    refuse(json!({"entries": "1\t2\n1\t3"}), 400, "line 2 has a second translation");
    refuse(json!({"entries_format": "xlsx"}), 400, "entries_format");
    refuse(json!({"entries_format": "csv"}), 400, "line 1 has 1 field instead");
    refuse(json!({"source_lang": "?"}), 400, "source_lang");
    refuse(json!({"target_lang": "FR"}), 400, "language pair");
    let many: String = (0..10_001).map(|n| format!("{n}\t1\n")).collect();
    refuse(json!({"entries": many}), 413, "10001 entries");
    let large = format!("1\t{}", "2".repeat(1 << 20));
    refuse(json!({"entries": large}), 413, "1048576 bytes");
    assert_eq!(get(address, PATH).expect(200), json!({"glossaries": []}));
    let id = create(address, "1\t2");
    let refuse = |more: Value, status: u16, words: &str| {
        let found = translate(address, &["1"], &more).expect(status);
        let message = found["message"].as_str().unwrap();
        assert!(message.contains(words), "{message}");
    };
    refuse(json!({"glossary_id": "none"}), 404, "no such glossary");
    refuse(json!({"glossary_id": id, "source_lang": null}), 400, "source_lang");
    refuse(json!({"glossary_id": id, "source_lang": "FR"}), 400, "en to de");
}

#[test]
fn glossaries_are_bounded() {
    let limits = Limits { phrases: 2, characters: 40, ..Limits::default() };
    let server = Running::start(ServeConfig { limits, ..config() });
    let address = server.address;
    let long = "7 ".repeat(15);
    let id = create(address, &format!("1\t2\n2\t3\n3\t4\n4\t5 {long}\n5\t6 {long}"));
    let of_glossary = json!({"glossary_id": id});
    let refuse = |texts: &[&str], words: &str| {
        let found = translate(address, texts, &of_glossary).expect(413);
        let message = found["message"].as_str().unwrap();
        assert!(message.contains(words), "{message}");
    };
    refuse(&["1 2 3"], "3 terms of the glossary; at most 2 are allowed");
    refuse(&["4", "5"], "the terms of the glossary in the texts have more than 40 characters");
    // Sentences with the same terms share them.
    assert_eq!(translate(address, &["4", "4"], &of_glossary).status, 200);
    assert_eq!(translate(address, &["1 2", "3"], &of_glossary).status, 200);
    for _ in 1..100 {
        create(address, "1\t2");
    }
    let full = post(address, PATH, &draft("1\t2")).expect(456);
    let message = full["message"].as_str().unwrap();
    assert!(message.contains("100 glossaries"), "{message}");
    assert_eq!(ask(address, "DELETE", &format!("{PATH}/{id}"), "").status, 204);
    create(address, "1\t2");
}
