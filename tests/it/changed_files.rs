//! Files that change while they are mapped into memory.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::{Duration, SystemTime};

use attentive::pipeline::Pipeline;
use serde_json::json;

use crate::cli_damage::{start, wait_for_updates};
use crate::run::{Folder, Outcome};
use crate::support::http::{get, post};
use crate::support::process::{Process, with_run};
use crate::support::serving::{metric, until};
use crate::{cli_classify, cli_label, cli_masked};

type Change = (&'static str, fn(&Path, &[u8]), bool);

/// Changes to a file with this content, and whether what was read from it stays right.
const CHANGES: [Change; 12] = [
    ("truncated to nothing", |path, _| cut(path, 0), false),
    ("truncated to a half", |path, content| cut(path, content.len() / 2), false),
    ("truncated by a byte", |path, content| cut(path, content.len() - 1), false),
    ("overwritten with zeros", |path, content| overwrite(path, 0, &vec![0; content.len()]), false),
    ("overwritten with ones", |path, content| overwrite(path, 0, &vec![255; content.len()]), false),
    ("overwritten with something shorter", |path, content| fs::write(path, &content[..1000]).unwrap(), false),
    (
        "changed in two bytes",
        |path, content| overwrite(path, content.len() - 60, &[!content[content.len() - 60], 7]),
        false,
    ),
    ("overwritten with the same", |path, content| overwrite(path, 0, content), true),
    ("touched", |path, _| overwrite(path, 0, &[]), true),
    ("extended", |path, content| overwrite(path, content.len(), b"more"), true),
    ("deleted", |path, _| fs::remove_file(path).unwrap(), true),
    ("replaced by another file", |path, content| replace(path, &content[..100]), true),
];

fn cut(path: &Path, len: usize) {
    let file = OpenOptions::new().write(true).open(path).unwrap();
    file.set_len(len as u64).unwrap();
    later(&file);
}

/// Writes `bytes` in place.
fn overwrite(path: &Path, at: usize, bytes: &[u8]) {
    let mut file = OpenOptions::new().write(true).open(path).unwrap();
    file.seek(SeekFrom::Start(at as u64)).unwrap();
    file.write_all(bytes).unwrap();
    later(&file);
}

/// Makes sure that the time of the last change differs: clocks of file systems are coarse.
fn later(file: &File) {
    file.set_modified(SystemTime::now() + Duration::from_secs(1)).unwrap();
}

/// Puts another file in the place of `path`.
fn replace(path: &Path, content: &[u8]) {
    let other = path.with_extension("other");
    fs::write(&other, content).unwrap();
    fs::rename(other, path).unwrap();
}

/// Models that are only an encoder compute with mapped weights, too.
#[test]
fn models_of_labels_whose_weights_change_give_none() {
    type Answer = fn(&Pipeline) -> Result<String, attentive::Error>;
    let cases: [(Folder, Answer); 3] = [
        (cli_classify::trained(""), |model| Ok(format!("{:?}", model.classify(1, &["the dog sleeps"], 1)?))),
        (cli_label::tagger(), |model| Ok(format!("{:?}", model.tag(1, &["the dog sleeps ."])?))),
        (cli_masked::masked(), |model| Ok(format!("{:?}", model.fill("ein <mask> läuft", 2)?))),
    ];
    for (folder, answer) in cases {
        folder.succeeds("quantize runs/c --precision int8 --output q");
        let path = folder.path("q/packed.safetensors");
        let whole = fs::read(&path).unwrap();
        for (what, change, is_harmless) in CHANGES {
            let model = Pipeline::load(folder.path("q")).unwrap();
            let expected = answer(&model).unwrap();
            change(&path, &whole);
            match answer(&model) {
                Ok(found) => assert!(is_harmless && found == expected, "{what}: {found}"),
                Err(error) => {
                    let told = error.to_string();
                    assert!(
                        !is_harmless && told.contains("changed while they were in use"),
                        "{what}: {told}"
                    );
                }
            }
            drop(model);
            replace(&path, &whole);
        }
    }
}

#[test]
fn a_server_whose_weights_change_says_so_until_they_are_loaded_again() {
    let folder = with_run("transformer-post");
    folder.succeeds("quantize run --precision int8 --output q");
    let path = folder.path("q/packed.safetensors");
    let whole = fs::read(&path).unwrap();
    let server = Process::start(&folder, "en-de=q");
    let ask = || post(server.address, "/translate", &json!({"q": "1 2 3", "source": "en", "target": "de"}));
    let stream = || post(server.address, "/api/translate", &json!({"text": "1 2 3", "stream": true}));
    let expected = ask().expect(200);
    let reloads = || metric(server.address, "attentive_reloads_total", "success");
    for (number, (what, change, is_harmless)) in CHANGES.into_iter().enumerate() {
        change(&path, &whole);
        let reply = ask();
        let ready = get(server.address, "/readyz").status;
        if is_harmless {
            assert_eq!((reply.expect(200), ready), (expected.clone(), 200), "{what}");
        } else {
            let told = reply.expect(500)["error"].to_string();
            assert!(told.contains("changed while they were in use"), "{what}: {told}");
            // Files of the server are nobody's business.
            assert!(!told.contains("packed"), "{what}: {told}");
            assert_eq!(ready, 503, "{what}");
            assert!(!stream().body.contains("\"translations\""), "{what}");
            let vectors = post(server.address, "/v1/embeddings", &json!({"model": "en-de", "input": "1 2"}));
            assert_eq!(vectors.status, 500, "{what}: {vectors:?}");
        }
        replace(&path, &whole);
        server.signal("HUP");
        until("reloaded", || reloads() == (number + 1) as f64);
        assert_eq!(ask().expect(200), expected, "after it was {what}");
    }
    server.signal("TERM");
    let (code, log) = server.end();
    assert_eq!(code, Some(0), "{log}");
    assert!(log.contains("q/packed.safetensors"), "{log}");
    assert!(!log.contains("panicked"), "{log}");
}

const CONFIG: &str = "
[data]
train = { src = 'a.src', tgt = 'a.tgt' }
store = 'disk'

[tokenizer]
kind = 'word'
vocab_size = 40
min_frequency = 1

[model]
d_model = 16
d_ff = 32
n_heads = 2
n_encoder_layers = 1
n_decoder_layers = 1

[train]
max_steps = 1000000
batch_tokens = 256
save_every = 1000000
log_every = 1
schedule = { warmup_steps = 2 }
";

/// The encoded corpus in `folder`.
fn shard(folder: &Folder) -> std::path::PathBuf {
    let stores = fs::read_dir(folder.path(".attentive")).unwrap();
    let store = stores.map(|entry| entry.unwrap().path()).find(|path| path.join("corpus.json").exists());
    store.unwrap().join("00000.shard")
}

#[test]
fn training_ends_with_the_name_of_a_corpus_that_changes() {
    let folder = Folder::new();
    let line = |n: usize| format!("w{} w{} w{}\n", n % 20, n / 20 % 20, n / 7 % 20);
    let text: String = (0..3000).map(line).collect();
    folder.write("c.toml", CONFIG).write("a.src", &text).write("a.tgt", &text);
    folder.succeeds("prepare c.toml");
    let path = shard(&folder);
    let whole = fs::read(&path).unwrap();
    for (number, (what, change, is_harmless)) in CHANGES.into_iter().enumerate() {
        let run = format!("run{number}");
        let mut child = start(&folder, &format!("train c.toml --output {run}"));
        // What it says must be read, or it stops.
        let mut errors = child.stderr.take().unwrap();
        let said = std::thread::spawn(move || {
            let mut said = String::new();
            errors.read_to_string(&mut said).unwrap();
            said
        });
        wait_for_updates(&folder, &run, 3);
        change(&path, &whole);
        if is_harmless {
            let log = fs::read_to_string(folder.path(&run).join("metrics.jsonl")).unwrap();
            wait_for_updates(&folder, &run, log.lines().count() + 20);
            child.kill().unwrap();
        }
        let said = said.join().unwrap();
        let code = child.wait().unwrap().code();
        if !is_harmless {
            assert_eq!(code, Some(1), "{what}: {said}");
            let error = said.lines().find(|line| line.starts_with("error: ")).unwrap_or_default();
            assert!(error.contains("00000.shard` was changed"), "{what}: {said}");
            assert!(said.contains("hint: delete its folder"), "{what}: {said}");
        }
        replace(&path, &whole);
    }
}

/// A file that is changed while it is loaded is read to its end or refused, but never ends the process
/// without a word.
#[test]
fn weights_that_are_cut_off_are_refused() {
    let folder = with_run("transformer-post");
    folder.succeeds("quantize run --precision int8 --output q");
    for file in ["run/model.safetensors", "q/packed.safetensors"] {
        let whole = fs::read(folder.path(file)).unwrap();
        for len in [0, 7, 100, whole.len() / 2, whole.len() - 1] {
            folder.write(file, &whole[..len]);
            let dir = file.split('/').next().unwrap();
            let Outcome { code, stderr, .. } = folder.run(&format!("translate {dir} {file}"));
            assert_eq!(code, Some(1), "{file} {len}: {stderr}");
            assert!(stderr.contains(file), "{file} {len}: {stderr}");
        }
        folder.write(file, whole);
    }
}
