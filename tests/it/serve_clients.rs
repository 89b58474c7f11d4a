//! `attentive serve`: who may ask, and clients beside each other.

use std::fs;

use attentive::server::{Limits, ServeConfig};
use serde_json::{Map, Value, json};

use crate::run::Folder;
use crate::support::http::{Connection, get, post, post_with};
use crate::support::serving::{Running, config, until};

#[test]
fn keys_are_needed_where_there_are_keys() {
    let folder = Folder::new();
    folder.write("keys", "secret-one\nsecret-two\n");
    let server = Running::start(ServeConfig { api_key_file: Some(folder.path("keys")), ..config() });
    let address = server.address;
    let libre = |key: &str| {
        let asked = json!({"q": "1", "source": "en", "target": "de", "api_key": key});
        post(address, "/translate", &asked).status
    };
    let none = post(address, "/translate", &json!({"q": "1", "source": "en", "target": "de"}));
    assert!(none.expect(400)["error"].is_string());
    assert_eq!((libre("secret-one"), libre("secret-two"), libre("secret")), (200, 200, 403));
    let ask = |path: &str, headers: &str, body: &str| post_with(address, path, headers, body).status;
    let deepl = r#"{"text": ["1"], "target_lang": "DE", "source_lang": "EN"}"#;
    let openai = r#"{"prompt": "the"}"#;
    let own = r#"{"text": "1", "model": "en-de"}"#;
    for (path, body, scheme, missing, wrong) in [
        ("/v2/translate", deepl, "DeepL-Auth-Key", 403, 403),
        ("/v1/completions", openai, "Bearer", 401, 401),
        ("/api/translate", own, "Bearer", 401, 403),
    ] {
        assert_eq!(ask(path, &format!("Authorization: {scheme} secret-one\r\n"), body), 200, "{path}");
        assert_eq!(ask(path, &format!("Authorization: {scheme} wrong\r\n"), body), wrong, "{path}");
        assert_eq!(ask(path, "", body), missing, "{path}");
    }
    assert_eq!(get(address, "/frontend/settings").expect(200)["keyRequired"], true);
    // Keys are read again.
    fs::write(folder.path("keys"), "secret-three\n").unwrap();
    server.control.reload();
    until("read again", || libre("secret-three") == 200);
    assert_eq!(libre("secret-one"), 403);
}

/// The endpoints that need no key: the console, probes, what pages ask before they have a key, requests of
/// browsers before others, and files whose address nobody can guess.
const PUBLIC: [(&str, &str); 11] = [
    ("get", "/"),
    ("get", "/livez"),
    ("get", "/readyz"),
    ("get", "/health"),
    ("get", "/metrics"),
    ("get", "/languages"),
    ("get", "/frontend/settings"),
    ("get", "/download_file/{name}"),
    ("options", "/detect"),
    ("options", "/translate"),
    ("options", "/translate_file"),
];

/// The least value that `schema` allows; `all` describes the whole API.
fn least(schema: &Value, all: &Value) -> Value {
    if let Some(name) = schema["$ref"].as_str() {
        return least(all.pointer(name.trim_start_matches('#')).expect(name), all);
    }
    if let Some(choices) = schema["oneOf"].as_array() {
        let choice = choices.iter().find(|choice| choice["type"] != "null");
        return least(choice.unwrap(), all);
    }
    if let Some(one) = schema["enum"].get(0) {
        return one.clone();
    }
    match schema["type"].as_str().or(schema["type"][0].as_str()) {
        Some("string") => "x".into(),
        Some("integer" | "number") => 1.into(),
        Some("boolean") => true.into(),
        Some("array") => vec![least(&schema["items"], all)].into(),
        _ => {
            let names = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
            let fields = names.map(|name| (name.to_owned(), least(&schema["properties"][name], all)));
            fields.collect::<Map<_, _>>().into()
        }
    }
}

/// The header and the body of a request as `operation` describes it.
fn body(operation: &Value, all: &Value) -> (&'static str, String) {
    let content = &operation["requestBody"]["content"];
    if content["multipart/form-data"].is_object() {
        let part = |name: &str, text: &str| {
            format!("--b\r\nContent-Disposition: form-data; name={name}\r\n\r\n{text}\r\n")
        };
        let target = if operation["tags"][0] == "DeepL" { "target_lang" } else { "target" };
        let parts = part("file; filename=a.txt", "1") + &part(target, "de") + "--b--\r\n";
        return ("Content-Type: multipart/form-data; boundary=b\r\n", parts);
    }
    match &content["application/json"]["schema"] {
        Value::Null => ("", String::new()),
        schema => ("Content-Type: application/json\r\n", least(schema, all).to_string()),
    }
}

#[test]
fn every_endpoint_needs_a_key_unless_it_is_public() {
    let folder = Folder::new();
    folder.write("keys", "secret\n");
    let server = Running::start(ServeConfig { api_key_file: Some(folder.path("keys")), ..config() });
    let all = get(server.address, "/openapi.json").expect(200);
    let mut public = Vec::new();
    for (path, operations) in all["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            let parts = path.split('/').map(|part| if part.starts_with('{') { "x" } else { part });
            let asked = parts.collect::<Vec<_>>().join("/");
            let (kind, body) = body(operation, &all);
            let mut connection = Connection::open(server.address);
            let headers = format!("{kind}Connection: close\r\n");
            connection.ask(&method.to_uppercase(), &asked, &headers, &body);
            let reply = connection.reply().unwrap();
            if PUBLIC.contains(&(method, path)) {
                public.push((method.clone(), path.clone()));
                assert!(![401, 403].contains(&reply.status), "{method} {path}: {reply:?}");
                continue;
            }
            // As each API says it.
            let status = match operation["tags"][0].as_str() {
                Some("LibreTranslate") => 400,
                Some("DeepL") => 403,
                _ => 401,
            };
            assert_eq!(reply.status, status, "{method} {path}: {reply:?}");
            assert!(reply.body.contains("this server needs an API key"), "{method} {path}: {reply:?}");
        }
    }
    assert_eq!(public.len(), PUBLIC.len(), "{public:?}");
}

/// DeepL's older clients have the key among the fields, or in the URL.
#[test]
fn deepl_reads_the_key_wherever_it_is() {
    let folder = Folder::new();
    folder.write("keys", "secret\n");
    let server = Running::start(ServeConfig { api_key_file: Some(folder.path("keys")), ..config() });
    for path in
        ["/v2/usage", "/v2/languages", "/v2/glossaries", "/v3/glossaries", "/v2/glossary-language-pairs"]
    {
        assert_eq!(get(server.address, path).status, 403, "{path}");
        assert_eq!(get(server.address, &format!("{path}?auth_key=wrong")).status, 403, "{path}");
        assert_eq!(get(server.address, &format!("{path}?auth_key=secret")).status, 200, "{path}");
    }
    // A type says nothing of a body that is not there.
    let mut connection = Connection::open(server.address);
    let headers = "Content-Type: text/plain\r\nConnection: close\r\n";
    connection.ask("DELETE", "/v2/glossaries/x?auth_key=secret", headers, "");
    assert_eq!(connection.reply().unwrap().status, 404);
    let asked = serde_json::json!({"name": "g", "auth_key": "secret"});
    assert_eq!(crate::support::http::post(server.address, "/v3/glossaries", &asked).status, 201);
}

#[test]
fn a_long_list_starves_nobody() {
    let folder = Folder::new();
    folder.write("keys", "patient\nquick\n");
    let limits = Limits { batch: 2, ..Limits::default() };
    let server = Running::start(ServeConfig {
        api_key_file: Some(folder.path("keys")),
        limits,
        threads: 1,
        ..config()
    });
    let address = server.address;
    let mut list = Connection::open(address);
    let asked =
        json!({"q": vec!["1 2 3 4 5 6 7 8 9"; 2000], "source": "en", "target": "de", "api_key": "patient"});
    list.ask("POST", "/translate", "Content-Type: application/json\r\n", &asked.to_string());
    until("waiting", || server.metric("attentive_queue_jobs", "en-de") > 1000.0);
    let asked = json!({"q": "9 8 7", "source": "en", "target": "de", "api_key": "quick"});
    assert_eq!(post(address, "/translate", &asked).status, 200);
    assert!(server.metric("attentive_queue_jobs", "en-de") > 0.0, "the list was done first");
    assert_eq!(list.reply().unwrap().status, 200);
}
