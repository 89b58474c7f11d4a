//! `attentive serve`: requests that do not say clearly what they are, keys that are revoked, pairs that a
//! model does not have.

use std::fs;
use std::path::Path;

use attentive::server::{Language, ServeConfig, ServedModel, Server, TranslationDirection};
use serde_json::{Value, json};

use crate::run::Folder;
use crate::support::http::{Connection, Reply, get, post, post_with};
use crate::support::process::{Process, copy, with_run};
use crate::support::serving::{Running, config, fixture, metric, until};

const BODY: &str = r#"{"q": "1", "source": "en", "target": "de"}"#;

/// The status of a request to translate with these lines in its head.
fn status(server: &Running, version: &str, lines: &str, body: &str) -> u16 {
    let mut connection = Connection::open(server.address);
    connection.send(format!(
        "POST /translate HTTP/{version}\r\nContent-Type: application/json\r\nConnection: \
         close\r\n{lines}\r\n{body}"
    ));
    connection.reply().unwrap().status
}

#[test]
fn a_transfer_is_encoded_in_chunks_or_not_at_all() {
    let server = Running::start(config());
    let chunks = format!("{:x}\r\n{BODY}\r\n0\r\n\r\n", BODY.len());
    let encoded = |lines: &str| status(&server, "1.1", &format!("Host: localhost\r\n{lines}"), &chunks);
    for encoding in ["chunked", "CHUNKED", " chunked "] {
        assert_eq!(encoded(&format!("Transfer-Encoding:{encoding}\r\n")), 200, "{encoding}");
    }
    for encoding in [
        "gzip, chunked",
        "identity, chunked",
        "chunked, chunked",
        "chunked, gzip",
        "identity",
        "gzip",
        "xchunked",
        "\"chunked\"",
        "chunked;q=1",
        "\x0bchunked",
        "",
    ] {
        assert_eq!(encoded(&format!("Transfer-Encoding: {encoding}\r\n")), 400, "{encoding}");
    }
    assert_eq!(encoded("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"), 400);
}

#[test]
fn a_request_names_its_host_once() {
    let server = Running::start(config());
    let length = format!("Content-Length: {}\r\n", BODY.len());
    let named = |version: &str, lines: &str| status(&server, version, &format!("{lines}{length}"), BODY);
    for host in ["localhost", "LocalHost:8080", "127.0.0.1:65535", "[::1]:80", "a.localhost"] {
        assert_eq!(named("1.1", &format!("Host: {host}\r\n")), 200, "{host}");
    }
    for host in
        ["", "[::1].evil.example", "localhost:99999", "localhost:x", "localhost@evil.example", "a b", "[::1"]
    {
        assert_eq!(named("1.1", &format!("Host: {host}\r\n")), 400, "{host}");
    }
    assert_eq!(named("1.1", "Host: evil.example\r\n"), 421);
    assert_eq!(named("1.1", ""), 400);
    assert_eq!(named("1.1", "Host: localhost\r\nHost: localhost\r\n"), 400);
    // Older than the header.
    assert_eq!(named("1.0", ""), 200);
}

#[test]
fn a_client_that_sends_no_more_is_answered() {
    let server = Running::start(config());
    for path in ["/livez", "/api/models"] {
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        let answer = Connection::open(server.address).last_words(request.as_bytes());
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{path}: {answer}");
    }
    let long = json!({"q": vec!["1 2 3 4 5 6 7 8 9"; 64], "source": "en", "target": "de"}).to_string();
    let head = format!(
        "POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: \
         {}\r\n\r\n",
        long.len()
    );
    let answer = Connection::open(server.address).last_words((head + &long).as_bytes());
    // It may take so long that the server asks whether the client is still there.
    let answer = answer.trim_start_matches("HTTP/1.1 100 Continue\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("]}"), "{answer}");
}

#[test]
fn problems_are_told_in_the_format_and_the_words_of_each_api() {
    let server = Running::start(config());
    let address = server.address;
    assert!(get(address, "/v2/glossaries/%ff").expect(400)["message"].is_string());
    assert!(get(address, "/v2/glossaries/%ff/entries").expect(400)["message"].is_string());
    assert!(get(address, "/v1/models/%ff").expect(400)["error"]["message"].is_string());
    // Lists in place of objects.
    let messages = json!({"model": "lm", "messages": [["user", "the"]]});
    let options = json!({"model": "lm", "prompt": "the", "stream": true, "stream_options": [true]});
    let sampling = json!({"text": "1", "sampling": [1.0]});
    for (path, body) in [
        ("/translate", json!([1])),
        ("/translate", json!(["1", "en", "de"])),
        ("/api/translate", json!([])),
        ("/api/generate", json!(["the"])),
        ("/v2/translate", json!([1])),
        ("/v1/completions", json!(["lm", "the"])),
        ("/v1/chat/completions", messages),
        ("/v1/completions", options),
        ("/api/translate", sampling),
    ] {
        let reply = post(address, path, &body);
        assert!([400, 422].contains(&reply.status), "{path} {body}: {reply:?}");
        assert!(reply.body.contains("a list, expected an object"), "{path} {body}: {reply:?}");
    }
    // Names of fields, not of the library's options.
    for (path, body, field) in [
        ("/api/generate", json!({"prompt": "the", "top_p": 7}), "`top_p`"),
        ("/v1/completions", json!({"model": "lm", "prompt": "the", "top_p": 7}), "`top_p`"),
        (
            "/api/translate",
            json!({"text": "1", "model": "en-de", "beam_width": 2, "n_best": 3}),
            "`beam_width`",
        ),
    ] {
        let reply = post(address, path, &body);
        assert!([400, 422].contains(&reply.status), "{path}: {reply:?}");
        assert!(reply.body.contains(field) && !reply.body.contains("::"), "{path}: {reply:?}");
    }
}

#[test]
fn a_page_of_another_site_creates_and_deletes_nothing() {
    let server = Running::start(config());
    let form = "name=a&source_lang=en&target_lang=de&entries_format=tsv&entries=1%092";
    let send = |method: &str, path: &str, headers: &str, body: &str| -> Reply {
        let mut connection = Connection::open(server.address);
        connection.ask(method, path, headers, body);
        connection.reply().unwrap()
    };
    let kinds = ["Content-Type: application/x-www-form-urlencoded\r\n", ""];
    let created = send("POST", "/v2/glossaries", kinds[0], form).expect(201);
    let path = format!("/v2/glossaries/{}", created["glossary_id"].as_str().unwrap());
    let foreign = ["Origin: https://evil.example\r\n", "Origin: null\r\n", "Sec-Fetch-Site: cross-site\r\n"];
    for from in foreign {
        for kind in kinds {
            let refused = send("POST", "/v2/glossaries", &format!("{kind}{from}"), form);
            assert!(refused.expect(403)["message"].is_string());
        }
        assert_eq!(send("DELETE", &path, from, "").status, 403);
        let translated =
            send("POST", "/v2/translate", &format!("{}{from}", kinds[0]), "text=1&target_lang=de");
        assert_eq!(translated.status, 403);
    }
    let listed = get(server.address, "/v2/glossaries").expect(200);
    assert_eq!(listed["glossaries"].as_array().unwrap().len(), 1);
    assert_eq!(send("DELETE", &path, "Origin: http://localhost\r\n", "").status, 204);
}

#[test]
fn glossaries_are_released_with_their_keys() {
    let folder = with_run("transformer-post");
    folder.write("keys", "key0\nstays\n");
    let server = Process::start(&folder, "en-de=run --api-key-file keys");
    let create = |key: &str| {
        let headers = format!("Authorization: DeepL-Auth-Key {key}\r\nContent-Type: application/json\r\n");
        let draft = json!({"name": "a", "source_lang": "en", "target_lang": "de", "entries": "1\t2", "entries_format": "tsv"});
        post_with(server.address, "/v2/glossaries", &headers, &draft.to_string()).status
    };
    let count = |key: &str| {
        let mut connection = Connection::open(server.address);
        connection.ask("GET", "/v2/glossaries", &format!("Authorization: DeepL-Auth-Key {key}\r\n"), "");
        let listed = connection.reply().unwrap().expect(200);
        listed["glossaries"].as_array().unwrap().len()
    };
    assert_eq!(create("stays"), 201);
    // Each key fills its share; all keys together would exceed what the server keeps.
    for rotation in 1..=12 {
        let key = format!("key{}", rotation - 1);
        for _ in 0..100 {
            assert_eq!(create(&key), 201, "rotation {rotation}");
        }
        assert_eq!((create(&key), count(&key)), (456, 100));
        folder.write("keys", format!("key{rotation}\nstays\n"));
        server.signal("HUP");
        until("reloaded", || {
            metric(server.address, "attentive_reloads_total", "success") == f64::from(rotation)
        });
        assert_eq!(create(&key), 403);
        assert_eq!((count("stays"), count(&format!("key{rotation}"))), (1, 0));
    }
}

/// A folder with the model `m` of the languages `en`, `de` and `fr`, and its files in `f`.
fn multilingual() -> Folder {
    let folder = Folder::new();
    copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/hf/m2m_100"), &folder.path("f"));
    let path = folder.path("f/tokenizer.json");
    let mut file: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    // In place of words.
    for (word, language) in [("w30", "__en__"), ("w31", "__de__"), ("w32", "__fr__")] {
        let id = file["model"]["vocab"].as_object_mut().unwrap().remove(word).unwrap();
        file["model"]["vocab"][language] = id.clone();
        let added = file["added_tokens"].as_array_mut().unwrap();
        let mut token = added[0].clone();
        (token["id"], token["content"]) = (id, language.into());
        added.push(token);
    }
    fs::write(path, file.to_string()).unwrap();
    folder.succeeds("import f --output m --source-lang en --target-lang de");
    folder
}

/// A server of `model`, which is told to translate from `source` into `target`.
fn with_pair(folder: &Folder, model: &str, source: &str, target: &str) -> ServeConfig {
    let language = |code: &str| code.parse::<Language>().unwrap();
    let mut served = ServedModel::new("m", folder.path(model));
    served.direction = Some(TranslationDirection { source: language(source), target: language(target) });
    ServeConfig { models: vec![served], listen: "127.0.0.1:0".into(), threads: 1, ..config() }
}

#[test]
fn a_model_of_many_languages_translates_the_pair_that_it_is_served_with() {
    let folder = multilingual();
    folder.write("in", "w3 w4 w5 w6\n");
    let expected = |source: &str, target: &str| {
        let outcome =
            folder.succeeds(&format!("translate m in --source-lang {source} --target-lang {target}"));
        outcome.stdout.trim_end().to_owned()
    };
    let text = |server: &Running, source: &str, target: &str| {
        let asked = json!({"q": "w3 w4 w5 w6", "source": source, "target": target});
        post(server.address, "/translate", &asked).expect(200)["translatedText"].as_str().unwrap().to_owned()
    };
    for (source, target) in [("en", "de"), ("de", "en"), ("de", "fr")] {
        let server = Running::start(with_pair(&folder, "m", source, target));
        assert_eq!(text(&server, source, target), expected(source, target), "{source}-{target}");
    }
    // Both pairs of one model, at the same time.
    let mut both = with_pair(&folder, "m", "en", "de");
    both.models.push(ServedModel::new("de-fr", folder.path("m")));
    let server = Running::start(both);
    assert_eq!(text(&server, "en", "de"), expected("en", "de"));
    assert_eq!(text(&server, "de", "fr"), expected("de", "fr"));
    // What it does not have.
    for (source, target) in [("xx", "de"), ("en", "xx")] {
        let error = Server::bind(with_pair(&folder, "m", source, target)).unwrap().run().unwrap_err();
        assert_eq!(error.exit_code(), 2, "{error}");
        for words in ["`m`", "no language `xx`"] {
            assert!(error.to_string().contains(words), "{error}");
        }
    }
    // A model of one pair does not tell its languages.
    let plain =
        ServeConfig { models: vec![ServedModel::new("fr-it", fixture("transformer-post"))], ..config() };
    drop(Running::start(plain));
}

#[test]
fn languages_that_are_near_are_named() {
    let folder = multilingual();
    let outcome = folder.run("import f --output n --source-lang eng --target-lang de");
    assert_eq!(outcome.code, Some(2), "{outcome:?}");
    assert!(outcome.stderr.contains("no language `eng`"), "{outcome:?}");
    assert!(outcome.stderr.contains("did you mean __en__?"), "{outcome:?}");
}
