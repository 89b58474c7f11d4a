//! Pipes, devices, sockets and directories in place of files that the program reads as a whole.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;

use crate::run::{Folder, Outcome};
use crate::support::http::{get, post_with};
use crate::support::process::{Process, copy, with_run};
use crate::support::serving::{metric, until};

/// What may be in place of a file, and what an error says of it.
#[derive(Clone, Copy, Debug)]
enum Special {
    Fifo,
    Zero,
    Socket,
    Folder,
}

const ALL: [(Special, &str); 4] = [
    (Special::Fifo, "not a regular file"),
    (Special::Zero, "not a regular file"),
    (Special::Socket, "cannot read"),
    (Special::Folder, "directory"),
];

impl Special {
    /// Puts it in place of whatever is at `path`.
    fn put(self, path: &Path) {
        if path.exists() {
            fs::remove_file(path).unwrap();
        }
        match self {
            Self::Fifo => assert!(Command::new("mkfifo").arg(path).status().unwrap().success()),
            Self::Zero => symlink("/dev/zero", path).unwrap(),
            // The socket stays when nobody listens any more. Its path may not be long.
            Self::Socket => {
                static PLACE: Mutex<()> = Mutex::new(());
                let _place = PLACE.lock();
                let short = tempfile::tempdir_in("/tmp").unwrap();
                drop(UnixListener::bind(short.path().join("s")).unwrap());
                fs::rename(short.path().join("s"), path).unwrap();
            }
            Self::Folder => fs::create_dir(path).unwrap(),
        }
    }
}

/// A file that seems to have terabytes takes no memory.
#[test]
fn files_beyond_all_bounds_are_refused() {
    for (file, command) in
        [("run/provenance.json", "info run"), ("c.toml", "train c.toml"), ("run/tokenizer.json", "info run")]
    {
        let folder = with_run("transformer-post");
        let sparse = fs::File::create(folder.path(file)).unwrap();
        sparse.set_len(8 << 40).unwrap();
        let outcome = limited(&folder, command);
        assert!(matches!(outcome.code, Some(1 | 2)), "{file}: {outcome:?}");
        assert!(outcome.stderr.contains("larger than"), "{file}: {outcome:?}");
    }
}

/// Runs the program with 4 GB of address space, and ends it after a minute of waiting.
fn limited(folder: &Folder, arguments: &str) -> Outcome {
    let program = env!("CARGO_BIN_EXE_attentive");
    let command = format!("ulimit -v 4000000; exec timeout 60 {program} {arguments}");
    let mut shell = Command::new("sh");
    shell.args(["-c", &command]).current_dir(folder.path(""));
    shell.output().unwrap().into()
}

fn fixture(kind: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(kind)
}

#[test]
fn what_import_reads_are_regular_files() {
    for (model, files) in [
        (
            "hf/marian",
            &[
                "config.json",
                "generation_config.json",
                "model.safetensors",
                "special_tokens_map.json",
                "tokenizer.json",
                "tokenizer_config.json",
            ][..],
        ),
        ("hf/gpt2", &["config.json", "model.safetensors.index.json", "tokenizer_config.json"]),
        ("marian/npz", &["decoder.yml", "model.npz", "vocab.yml"]),
        ("marian/firefox", &["lex.50.50.xxyy.s2t.bin", "model.xxyy.intgemm.alphas.bin", "vocab.xxyy.spm"]),
    ] {
        let folder = Folder::new();
        let whole = limited(&folder, &format!("import {} --output whole", fixture(model).display()));
        assert_eq!(whole.code, Some(0), "{model}: {whole:?}");
        for file in files {
            for (special, words) in ALL {
                let folder = Folder::new();
                copy(&fixture(model), &folder.path("m"));
                let path = folder.path("m").join(file);
                if file.ends_with("index.json") {
                    fs::remove_file(folder.path("m/model.safetensors")).unwrap();
                }
                special.put(&path);
                let outcome = limited(&folder, "import m --output out");
                // A file that is not needed may be anything, and is not read.
                if outcome.code != Some(0) {
                    assert!(matches!(outcome.code, Some(1 | 2)), "{model}/{file} {special:?}: {outcome:?}");
                    let named = outcome.stderr.contains(file) || outcome.stderr.contains("`m`");
                    assert!(named, "{model}/{file} {special:?}: {outcome:?}");
                    // What is no file is not even taken for weights.
                    let is_told =
                        [words, "there are no weights"].iter().any(|words| outcome.stderr.contains(words));
                    let is_told = is_told || !matches!(special, Special::Fifo | Special::Zero);
                    assert!(is_told, "{model}/{file} {special:?}: {outcome:?}");
                }
            }
        }
    }
}

#[test]
fn what_commands_read_as_a_whole_are_regular_files() {
    for (file, command) in [
        ("c.toml", "train c.toml"),
        ("c.toml", "config show c.toml"),
        ("c.toml", "serve --config c.toml --listen 127.0.0.1:0"),
        ("keys", "serve en-de=run --api-key-file keys --listen 127.0.0.1:0"),
        ("run/config.toml", "info run"),
        ("run/tokenizer.json", "translate run"),
        ("run/provenance.json", "translate run"),
        ("run/model.safetensors", "translate run"),
    ] {
        for (special, words) in ALL {
            let folder = with_run("transformer-post");
            special.put(&folder.path(file));
            let outcome = limited(&folder, command);
            assert!(matches!(outcome.code, Some(1 | 2)), "{command} {special:?}: {outcome:?}");
            let name = file.rsplit('/').next().unwrap();
            for words in [words, name] {
                assert!(outcome.stderr.contains(words), "{command} {special:?}: {outcome:?}");
            }
        }
    }
}

#[test]
fn a_key_file_that_is_no_file_changes_nothing_and_a_later_one_revokes_keys() {
    let folder = with_run("transformer-post");
    folder.write("keys", "old\n");
    let server = Process::start(&folder, "en-de=run --api-key-file keys");
    let status = |key: &str| {
        let headers = format!("Authorization: Bearer {key}\r\nContent-Type: application/json\r\n");
        let body = r#"{"q": "1", "source": "en", "target": "de"}"#;
        post_with(server.address, "/translate", &headers, body).status
    };
    let reloads = |result: &str| metric(server.address, "attentive_reloads_total", result);
    for (number, (special, _)) in ALL.into_iter().enumerate() {
        special.put(&folder.path("keys"));
        server.signal("HUP");
        until("refused", || reloads("fail") == (number + 1) as f64);
        assert_eq!([status("old"), status("new")], [200, 403], "{special:?}");
        match special {
            Special::Folder => fs::remove_dir(folder.path("keys")).unwrap(),
            _ => fs::remove_file(folder.path("keys")).unwrap(),
        }
    }
    folder.write("keys", "new\n");
    server.signal("HUP");
    until("reloaded", || reloads("success") == 1.0);
    assert_eq!([status("old"), status("new")], [403, 200]);
    // Also if a model cannot be loaded again.
    folder.write("keys", "newer\n").write("run/tokenizer.json", "damaged");
    server.signal("HUP");
    until("refused", || reloads("fail") == 5.0);
    assert_eq!([status("new"), status("newer")], [403, 200]);
    assert_eq!(get(server.address, "/livez").status, 200);
}
