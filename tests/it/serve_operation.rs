//! `attentive serve`: starting, stopping, reloading.

use std::fs;
use std::thread;
use std::time::Duration;

use attentive::pipeline::Pipeline;
use attentive::server::{Limits, ServeConfig, ServedModel, Server};
use serde_json::{Value, json};

use crate::run::Folder;
use crate::support::http::{Connection, get, post, post_with};
use crate::support::process::{Process, copy, with_run};
use crate::support::serving::{Running, config, fixture, metric, until};

const JSON: &str = "Content-Type: application/json\r\n";

#[test]
fn sigterm_drops_no_accepted_request() {
    let folder = with_run("transformer-post");
    let process = Process::start(&folder, "en-de=run --log-format json");
    let address = process.address;
    let lines: Vec<String> = (0..200).map(|n| format!("{} {} {}", n % 10, n / 10 % 10, 3)).collect();
    let expected = Pipeline::load(folder.path("run")).unwrap().translate(&lines).unwrap();
    let asked = json!({"q": lines, "source": "en", "target": "de"}).to_string();
    let mut clients: Vec<_> = (0..4).map(|_| Connection::open(address)).collect();
    let mut idle = Connection::open(address);
    idle.ask("GET", "/livez", "", "");
    idle.reply().unwrap();
    for client in &mut clients {
        client.ask("POST", "/translate", JSON, &asked);
    }
    until("accepted", || metric(address, "attentive_requests_in_progress", "") >= 4.0);
    process.signal("TERM");
    // Whoever comes now is told to go elsewhere, unless all is over already.
    until("draining", || {
        idle.ask("GET", "/readyz", "", "");
        idle.reply().is_none_or(|reply| reply.status == 503)
    });
    idle.ask("POST", "/translate", JSON, &json!({"q": "1", "source": "en", "target": "de"}).to_string());
    if let Some(reply) = idle.reply() {
        assert_eq!(reply.status, 503);
        assert_eq!(reply.header("connection"), Some("close"));
        assert!(reply.header("retry-after").is_some());
    }
    for client in &mut clients {
        let found = client.reply().unwrap().expect(200);
        assert_eq!(found["translatedText"], json!(expected));
    }
    let (code, log) = process.end();
    assert_eq!(code, Some(0), "{log}");
    for line in log.lines() {
        let event: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert!(event["level"].is_string() && event["timestamp"].is_string(), "{line}");
    }
    assert!(log.contains("draining") && !log.contains(&lines[0]), "{log}");
}

#[test]
fn open_streams_end_by_a_deadline() {
    let limits =
        Limits { drain_timeout: Duration::from_millis(300), new_tokens: 1_000_000_000, ..Limits::default() };
    let server = Running::start(ServeConfig { limits, ..config() });
    let asked = json!({"prompt": "the", "max_new_tokens": 100_000_000, "stream": true}).to_string();
    let mut stream = Connection::open(server.address);
    stream.ask("POST", "/api/generate", JSON, &asked);
    assert_eq!(stream.head().unwrap().status, 200);
    let mut waiting = Connection::open(server.address);
    waiting.ask("POST", "/api/generate", JSON, &asked.replace("true", "false"));
    until("accepted", || server.metric("attentive_requests_in_progress", "") >= 2.0);
    let readiness = Connection::open(server.address);
    let reader = thread::spawn(move || {
        let mut text = String::new();
        while let Some(chunk) = stream.chunk() {
            text.push_str(&String::from_utf8(chunk).unwrap());
        }
        text
    });
    server.control.stop();
    let mut readiness = readiness;
    until("draining", || {
        readiness.ask("GET", "/readyz", "", "");
        readiness.reply().is_none_or(|reply| reply.status == 503)
    });
    let text = reader.join().unwrap();
    assert!(text.contains("event: error") && text.contains("stopping"), "{}", text.len());
    assert_eq!(waiting.reply().unwrap().status, 503);
    server.stop().unwrap();
}

#[test]
fn models_are_reloaded_without_a_dropped_request() {
    let folder = with_run("transformer-post");
    let process = Process::start(&folder, "en-de=run");
    let address = process.address;
    let text = |line: &str| {
        let asked = json!({"q": line, "source": "en", "target": "de"});
        post(address, "/translate", &asked).expect(200)["translatedText"].clone()
    };
    let translated = |dir: &str| {
        let pipeline = Pipeline::load(fixture(dir)).unwrap();
        json!(pipeline.translate(&["a 1 2 3 4 5 6"]).unwrap()[0])
    };
    let (old, new) = (translated("transformer-post"), translated("transformer-rotary"));
    assert_ne!(old, new);
    let line = "a 1 2 3 4 5 6";
    assert_eq!(text(line), old);
    // A damaged model: the old one goes on.
    let weights = folder.path("run/model.safetensors");
    let whole = fs::read(&weights).unwrap();
    fs::write(&weights, &whole[..whole.len() / 2]).unwrap();
    process.signal("HUP");
    until("refused", || metric(address, "attentive_reloads_total", "failure") == 1.0);
    assert_eq!(text(line), old);
    // Another model, under load.
    fs::remove_dir_all(folder.path("run")).unwrap();
    copy(&fixture("transformer-rotary"), &folder.path("run"));
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while metric(address, "attentive_reloads_total", "success") < 1.0 {
                    let found = text(line);
                    assert!(found == old || found == new, "{found}");
                }
            });
        }
        process.signal("HUP");
    });
    assert_eq!(text(line), new);
    process.signal("TERM");
    let (code, log) = process.end();
    assert_eq!(code, Some(0));
    assert!(log.contains("reloading failed") && log.contains("model.safetensors"), "{log}");
}

#[test]
fn keys_change_before_old_requests_have_ended() {
    let folder = Folder::new();
    folder.write("keys", "old\n");
    let limits = Limits {
        new_tokens: 1_000_000_000,
        timeout: Duration::from_secs(600),
        drain_timeout: Duration::from_millis(300),
        ..Limits::default()
    };
    let server = Running::start(ServeConfig { limits, api_key_file: Some(folder.path("keys")), ..config() });
    let key = |key: &str| format!("{JSON}Authorization: Bearer {key}\r\n");
    let endless = json!({"prompt": "1", "max_new_tokens": 100_000_000, "stream": true});
    let mut open = Connection::open(server.address);
    open.ask("POST", "/api/generate", &key("old"), &endless.to_string());
    assert_eq!(open.head().unwrap().status, 200);
    folder.write("keys", "new\n");
    server.control.reload();
    let asked = json!({"model": "en-de", "text": "1"}).to_string();
    let status = |name| post_with(server.address, "/api/translate", &key(name), &asked).status;
    until("changed", || status("new") == 200);
    assert_ne!(status("old"), 200);
    assert!(open.chunk().is_some(), "what was begun goes on");
}

#[test]
fn the_listener_is_open_while_models_load() {
    let server = Server::bind(config()).unwrap();
    let (address, control) = (server.address().unwrap(), server.control());
    // Nothing runs yet, but clients can connect and ask.
    let mut early = Connection::open(address);
    assert!(early.ask("GET", "/readyz", "", ""));
    let thread = thread::spawn(move || server.run());
    assert!([200, 503].contains(&early.reply().unwrap().status));
    until("ready", || get(address, "/readyz").status == 200);
    control.stop();
    thread.join().unwrap().unwrap();
}

#[test]
fn a_server_without_its_models_ends() {
    let folder = Folder::new();
    folder.fails("serve", 2, &["NAME=DIR"]);
    let listen = "--listen 127.0.0.1:0";
    let fails = |arguments: &str, code: i32, words: &str| {
        let outcome = folder.run(&format!("serve {arguments}"));
        assert_eq!(outcome.code, Some(code), "{outcome:?}");
        assert!(outcome.stderr.contains(words), "{outcome:?}");
    };
    fails(&format!("a=missing {listen}"), 1, "missing");
    fails("missing", 2, "NAME=DIR");
    fails("a=b --listen nowhere", 2, "cannot listen on `nowhere`");
    fails("a=b a=c", 2, "two models are named `a`");
    fails("a=b --timeout 0", 2, "timeout");
    fails("a=b --api-key-file keys", 1, "keys");
    folder.write("serve.toml", "listen = 1\n");
    fails("--config serve.toml", 2, "line 1");
    let models = vec![ServedModel::new("a", folder.path("none"))];
    let server = Server::bind(ServeConfig { listen: "127.0.0.1:0".into(), ..ServeConfig::new(models) });
    assert!(server.unwrap().run().is_err());
}

#[test]
fn a_configuration_file_is_enough() {
    let folder = with_run("transformer-post");
    folder.write("keys", "secret\n");
    let config = "api_key_file = 'keys'\n[models.small]\ndir = 'run'\nsource = 'sv'\ntarget = \
                  'nb'\nprecision = 'int8'\n";
    folder.write("serve.toml", config);
    let process = Process::start(&folder, "--config serve.toml --log-text");
    let asked = json!({"q": "1 2 3", "source": "sv", "target": "nb", "api_key": "secret"});
    post(process.address, "/translate", &asked).expect(200);
    process.signal("INT");
    let (code, log) = process.end();
    assert_eq!(code, Some(0));
    assert!(log.contains("1 2 3") && !log.contains("secret"), "{log}");
}

#[test]
fn a_public_address_without_keys_is_a_warning() {
    let folder = with_run("transformer-post");
    let process = Process::over(folder.command("serve en-de=run"), "0.0.0.0:0");
    assert!(process.address.ip().is_unspecified());
    process.signal("TERM");
    let (_, log) = process.end();
    assert!(log.contains("WARN") && log.contains("--api-key-file"), "{log}");
}
