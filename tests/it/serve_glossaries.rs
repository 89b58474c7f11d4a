//! `attentive serve`: glossaries, by the API of DeepL.

use std::fs;
use std::net::SocketAddr;

use attentive::server::{Limits, ServeConfig, ServedModel};
use serde_json::{Value, json};

use crate::run::Folder;
use crate::support::http::{Connection, Reply, get, post, post_form, post_with};
use crate::support::serving::{Running, config, until};
use crate::support::toy;

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

/// A server with the model of the tiny language as `en-de`.
fn with_toy() -> (Folder, Running) {
    let folder = toy::trained();
    let models = vec![ServedModel::new("en-de", folder.path("toy"))];
    let server = Running::start(ServeConfig { models, ..config() });
    (folder, server)
}

#[test]
fn terms_take_their_places_in_the_sentences_that_have_them() {
    let (_folder, server) = with_toy();
    let address = server.address;
    let sources = [
        "The dog sees the cat.",
        "The dog hears the bird. The cat likes the old dog.",
        "The child sees the horse.",
        "<p>The <b>dog</b> sees the cat.</p>",
    ];
    let plain = texts(&translate(address, &sources, &json!({})));
    let id = create(address, "dog\tPudel\nold dog\tgreise Pudel");
    let of_glossary = json!({"glossary_id": id});
    let reply = translate(address, &sources[..3], &of_glossary);
    let expected = [
        "Das Pudel sieht das Katze.",
        "Das Pudel hört das Vogel. Das Katze mag das greise Pudel.",
        &plain[2],
    ];
    assert_eq!(texts(&reply), expected);
    assert_eq!(reply.header("x-warnings"), None);
    let markup = json!({"glossary_id": id, "tag_handling": "html"});
    let html = &texts(&translate(address, &sources[3..], &markup))[0];
    assert_eq!(html, "<p>Das <b>Pudel</b> sieht das Katze.</p>");
    // A language with a region has the same terms.
    let regional = json!({"glossary_id": id, "source_lang": "en-US"});
    assert_eq!(texts(&translate(address, &sources[..1], &regional)), expected[..1]);
    let none = json!({"glossary_id": ""});
    assert_eq!(texts(&translate(address, &sources, &none)), plain);
}

#[test]
fn terms_of_a_request_take_their_places() {
    let (_folder, server) = with_toy();
    let address = server.address;
    let terms = json!({"dog": "Pudel", "cat": "Kater", "bird": "Quex"});
    let text = "The dog sees the cat. The bird hears the dog.";
    let asked = json!({"text": [text, "The horse sees the child."], "terms": terms});
    let expected = "Das Pudel sieht das Kater. Das Vogel hört das Pudel.";
    let found = post(address, "/api/translate", &asked).expect(200);
    assert_eq!(found["results"][0]["translations"][0]["text"], expected);
    assert_eq!(found["results"][1]["translations"][0]["text"], "Das Pferd sieht das Kind.");
    let warnings = found["results"][0]["warnings"].as_array().unwrap();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].as_str().unwrap().contains("the term `Quex` cannot be written"), "{warnings:?}");
    let mut stream = asked;
    stream["stream"] = true.into();
    let events = post(address, "/api/translate", &stream);
    assert!(events.body.contains(expected), "{}", events.body);
    let file = json!({"name": "a.md", "text": "# The dog sees the cat.\n", "terms": terms});
    let found = post(address, "/api/translate_file", &file).expect(200);
    assert_eq!(found["text"], "# Das Pudel sieht das Kater.\n");
    for (more, words) in [
        (json!({"terms": {"a": "b"}, "prefix": "Das"}), "`terms` are not possible with `prefix`"),
        (json!({"terms": {" ": "b"}}), "nothing as its source term"),
        (json!({"terms": {"a b": "c", "a  b": "d"}}), "a second translation"),
    ] {
        let mut asked = json!({"text": "The dog sees the cat."});
        asked.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let found = post(address, "/api/translate", &asked).expect(422);
        assert!(found.to_string().contains(words), "{found}");
    }
}

#[test]
fn terms_that_have_no_place_are_warnings() {
    let (_folder, server) = with_toy();
    let address = server.address;
    let long = "Pudel ".repeat(60);
    let id = create(address, &format!("dog\tQuex\ncat\tKater\nbird\t{long}"));
    let of_glossary = json!({"glossary_id": id});
    let sources = ["The dog sees the cat.", "The cat sees the dog."];
    let reply = translate(address, &sources, &of_glossary);
    assert_eq!(texts(&reply), ["Das Hund sieht das Kater.", "Das Kater sieht das Hund."]);
    let warnings = reply.header("x-warnings").unwrap_or_default().to_owned();
    let words = "left out: the term `Quex` cannot be written";
    assert_eq!(warnings.matches(words).count(), 1, "{warnings}");
    let reply = translate(address, &["The bird sees the horse."], &of_glossary);
    assert_eq!(texts(&reply), ["Das Vogel sieht das Pferd."]);
    let warnings = reply.header("x-warnings").unwrap_or_default();
    assert!(warnings.contains("the term `Pudel Pudel"), "{warnings}");
}

#[test]
fn glossaries_of_several_languages_come_and_go() {
    const PATH: &str = "/v3/glossaries";
    let server = Running::start(config());
    let address = server.address;
    let dictionary = |source: &str, entries: &str| json!({"source_lang": source, "target_lang": "de", "entries": entries, "entries_format": "tsv"});
    let draft =
        json!({"name": "both", "dictionaries": [dictionary("en", "1\t2"), dictionary("FR", "3\t4\n5\t6")]});
    let made = post(address, PATH, &draft).expect(201);
    let counted = |source: &str, count: usize| json!({"source_lang": source, "target_lang": "de", "entry_count": count});
    assert_eq!(made["dictionaries"], json!([counted("en", 1), counted("fr", 2)]));
    let id = made["glossary_id"].as_str().unwrap();
    let path = format!("{PATH}/{id}");
    assert_eq!(get(address, PATH).expect(200), json!({"glossaries": [made]}));
    assert_eq!(get(address, &path).expect(200), made);
    let entries = |source: &str| get(address, &format!("{path}/entries?source_lang={source}&target_lang=de"));
    let mut expected = dictionary("fr", "3\t4\n5\t6");
    assert_eq!(entries("fr").expect(200), json!({"dictionaries": [expected]}));
    assert_eq!(entries("de").status, 404);
    let send = |method: &str, path: &str, body: &Value| {
        let mut connection = Connection::open(address);
        connection.ask(method, path, "Content-Type: application/json\r\n", &body.to_string());
        connection.reply().unwrap()
    };
    // Entries are added, and replace those for the same terms.
    let more = json!({"name": "other", "dictionaries": [dictionary("fr", "5\t7\n8\t9")]});
    let changed = send("PATCH", &path, &more).expect(200);
    assert_eq!((&changed["name"], &changed["dictionaries"][1]), (&json!("other"), &counted("fr", 3)));
    expected["entries"] = "5\t7\n8\t9\n3\t4".into();
    assert_eq!(entries("fr").expect(200), json!({"dictionaries": [expected]}));
    let dictionaries = format!("{path}/dictionaries");
    assert_eq!(send("PUT", &dictionaries, &dictionary("fr", "1\t1")).expect(200), counted("fr", 1));
    // It serves texts of each of its languages, and version 2 knows glossaries of one pair.
    for source in ["EN", "FR"] {
        let asked = json!({"text": ["1 2"], "source_lang": source, "target_lang": "DE", "glossary_id": id});
        assert_eq!(post(address, "/v2/translate", &asked).status, 200);
    }
    assert_eq!(get(address, "/v2/glossaries").expect(200), json!({"glossaries": []}));
    let found = get(address, &format!("/v2/glossaries/{id}")).expect(404);
    assert!(found.to_string().contains("/v3/glossaries"), "{found}");
    let of = |source: &str| format!("{dictionaries}?source_lang={source}&target_lang=de");
    assert_eq!(ask(address, "DELETE", &of("fr"), "").status, 204);
    assert_eq!(ask(address, "DELETE", &of("fr"), "").status, 404);
    let one = get(address, &format!("/v2/glossaries/{id}")).expect(200);
    assert_eq!((&one["name"], &one["entry_count"]), (&json!("other"), &json!(1)));
    assert_eq!(ask(address, "DELETE", &path, "").status, 204);
    assert_eq!(get(address, &path).status, 404);
    // Without dictionaries, and as DeepL's client for Node sends them.
    for empty in [json!({"name": "x", "dictionaries": []}), json!({"name": "x"})] {
        assert_eq!(post(address, PATH, &empty).expect(201)["dictionaries"], json!([]));
    }
    let field = |at: usize, source: &str, entries: &str| {
        let one = format!("dictionaries[{at}]");
        format!(
            "&{one}.source_lang={source}&{one}.target_lang=de&{one}.entries={entries}&{one}.entries_format=tsv"
        )
    };
    let form = format!("name=form{}{}", field(0, "en", "1%092"), field(1, "fr", "3%094%0A5%096"));
    assert_eq!(post_form(address, PATH, &form).expect(201)["dictionaries"], made["dictionaries"]);
    for (wrong, words) in [
        (
            json!({"name": "x", "dictionaries": [dictionary("en", "1\t2"), dictionary("en", "1\t2")]}),
            "two dictionaries",
        ),
        (json!({"name": "x", "dictionaries": [dictionary("de", "1\t2")]}), "language pair"),
    ] {
        let found = post(address, PATH, &wrong).expect(400);
        assert!(found["message"].as_str().unwrap().contains(words), "{found}");
    }
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
