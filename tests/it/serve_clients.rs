//! `attentive serve`: who may ask, and clients beside each other.

use std::fs;

use attentive::server::{Limits, ServeConfig};
use serde_json::json;

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
    for (path, status) in [
        ("/languages", 200),
        ("/frontend/settings", 200),
        ("/metrics", 200),
        ("/readyz", 200),
        ("/openapi.json", 200),
        ("/v1/models", 401),
        ("/api/models", 401),
        ("/v2/usage", 403),
    ] {
        assert_eq!(get(address, path).status, status, "{path}");
    }
    assert_eq!(get(address, "/frontend/settings").expect(200)["keyRequired"], true);
    // Keys are read again.
    fs::write(folder.path("keys"), "secret-three\n").unwrap();
    server.control.reload();
    until("read again", || libre("secret-three") == 200);
    assert_eq!(libre("secret-one"), 403);
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
