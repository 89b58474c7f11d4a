//! `attentive serve`: logs that cannot be written, settings that cannot be meant, and models that have not
//! changed.

use std::fs::{self, File};
use std::process::Stdio;

use serde_json::json;

use crate::cli_runs::shell;
use crate::cli_sums::forget_all_sums;
use crate::run::Folder;
use crate::support::http::{Connection, get, post, post_with};
use crate::support::process::{Process, copy, with_run};
use crate::support::serving::{fixture, metric, until};

/// Translates until the log has lost lines, ends the server, and returns its exit code.
fn serve_and_stop(process: Process) -> Option<i32> {
    let address = process.address;
    until("ready", || get(address, "/readyz").status == 200);
    // Logged with the text, of which some fill any pipe.
    let asked = json!({"q": format!("{}1", " ".repeat(20_000)), "source": "en", "target": "de"});
    let lost = || metric(address, "attentive_log_lines_dropped_total", "");
    until("lines are dropped", || {
        post(address, "/translate", &asked).expect(200);
        lost() > 0.0
    });
    process.signal("TERM");
    process.end().0
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_under_the_log_is_no_reason_to_stop() {
    let folder = with_run("transformer-post");
    let command = folder.command("serve en-de=run --log-text");
    let full = File::options().write(true).open("/dev/full").unwrap();
    let process = Process::logging_to(command, "127.0.0.1:0", full.into());
    assert_eq!(serve_and_stop(process), Some(0));
}

#[test]
fn a_closed_pipe_under_the_log_is_no_reason_to_stop() {
    let folder = with_run("transformer-post");
    let command = folder.command("serve en-de=run --log-text --log-format json");
    let mut process = Process::logging_to(command, "127.0.0.1:0", Stdio::piped());
    drop(process.take_log());
    assert_eq!(serve_and_stop(process), Some(0));
}

#[test]
fn a_log_that_nobody_reads_keeps_nobody_waiting() {
    let folder = with_run("transformer-post");
    let command = folder.command("serve en-de=run --log-text");
    let mut process = Process::logging_to(command, "127.0.0.1:0", Stdio::piped());
    // Held, but not read.
    let _log = process.take_log();
    assert_eq!(serve_and_stop(process), Some(0));
}

#[test]
fn absurd_settings_are_refused_at_once() {
    let folder = with_run("transformer-post");
    let fails = |settings: &str, words: &str| {
        folder.write("serve.toml", settings);
        let outcome = folder.run("serve --config serve.toml en-de=run --listen 127.0.0.1:0");
        assert_eq!(outcome.code, Some(2), "{settings}: {outcome:?}");
        assert!(outcome.stderr.contains(words), "{settings}: {outcome:?}");
    };
    fails("threads = 1000000000", "threads for each model is 1000000000");
    fails("[limits]\nconnections = 9223372036854775807", "`connections`");
    fails("[limits]\nbatch = 9223372036854775807", "`batch`");
    fails("[limits]\nqueue = 9223372036854775807", "`queue`");
    fails("[limits]\ndrain_timeout = nan", "line 2: a time is NaN");
    fails("[limits]\ntimeout = inf", "line 2: a time is inf");
    fails("[limits]\ndrain_timeout = 1e300", "line 2: a time is 1");
    fails("allowed_hosts = ['http://a']", "`http://a`");
    let fails = |arguments: &str, code: i32, words: &str| {
        let outcome = folder.run(&format!("serve en-de=run --listen 127.0.0.1:0 {arguments}"));
        assert_eq!(outcome.code, Some(code), "{arguments}: {outcome:?}");
        assert!(outcome.stderr.contains(words), "{arguments}: {outcome:?}");
    };
    fails("--timeout NaN", 2, "`timeout`");
    fails("--timeout=-1", 2, "`timeout`");
    fails("--max-queue 9223372036854775807", 2, "`queue`");
    folder.write("keys", "schlüssel\n");
    fails("--api-key-file keys", 1, "line 1");
    #[cfg(unix)]
    {
        fails("--config /dev/zero", 1, "not a regular file");
        fails("--api-key-file /dev/zero", 1, "not a regular file");
    }
}

#[test]
fn a_name_is_allowed_on_the_command_line() {
    let folder = with_run("transformer-post");
    let process = Process::start(&folder, "en-de=run --allowed-host a.example.com");
    let asked = |host: &str| {
        let mut connection = Connection::open(process.address);
        connection.send(format!("GET /languages HTTP/1.1\r\nHost: {host}\r\n\r\n"));
        connection.reply().unwrap().status
    };
    assert_eq!([asked("a.example.com"), asked("b.example.com")], [200, 421]);
    assert_eq!(asked("localhost"), 200);
}

#[test]
fn models_that_have_not_changed_are_not_loaded_again() {
    let folder = Folder::new();
    copy(&fixture("transformer-post"), &folder.path("one"));
    copy(&fixture("decoder-only"), &folder.path("two"));
    forget_all_sums(&folder, "two");
    let process = Process::start(&folder, "en-de=one lm=two");
    let address = process.address;
    let steps = || metric(address, "attentive_decoding_steps_total", "en-de");
    let translate = || {
        let asked = json!({"q": "1 2 3", "source": "en", "target": "de"});
        post(address, "/translate", &asked).expect(200)["translatedText"].clone()
    };
    let reload = |number: f64| {
        process.signal("HUP");
        until("reloaded", || metric(address, "attentive_reloads_total", "success") >= number);
    };
    let answer = translate();
    let before = steps();
    assert!(before > 0.0);
    reload(1.0);
    assert_eq!(steps(), before, "what a model has done counts once");
    assert_eq!(translate(), answer);
    let after = steps();
    // One of them changes.
    let config = folder.path("two/config.toml");
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, text + "\n").unwrap();
    reload(2.0);
    assert_eq!(steps(), after);
    let generated = post_with(address, "/api/generate", "", r#"{"prompt": "1"}"#);
    assert_eq!(generated.status, 200);
    process.signal("TERM");
    let (code, log) = process.end();
    assert_eq!(code, Some(0));
    let loaded = |dir: &str| log.matches(&format!("loaded model=\"{dir}\"")).count();
    assert_eq!([loaded("en-de"), loaded("lm")], [1, 2], "{log}");
    assert_eq!(log.matches("no checksum").count(), 2, "{log}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_system_with_few_files_is_no_reason_to_be_silent() {
    let folder = with_run("transformer-post");
    let listen = "127.0.0.1:0";
    let arguments = format!("serve en-de=run --listen {listen}");
    let command = shell(&folder, "ulimit -n 300", &arguments);
    let process = Process::over(command, listen);
    until("ready", || get(process.address, "/readyz").status == 200);
    // More connections than files, which say nothing.
    let silent: Vec<_> = (0..500).map(|_| Connection::open(process.address)).collect();
    for _ in 0..20 {
        assert_eq!(get(process.address, "/livez").status, 200);
    }
    drop(silent);
    process.signal("TERM");
    let (code, log) = process.end();
    assert_eq!(code, Some(0), "{log}");
    assert!(log.contains("300 open files"), "{log}");
    assert!(!log.contains("could not be accepted"), "{log}");
}
