//! `attentive prepare`, and training from a corpus on disk.

use std::fs;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::cli_damage::{signal, start, weights};
use crate::run::{Folder, Outcome, for_family};

const CONFIG: &str = "
[data]
train = { src = 'a.src', tgt = 'a.tgt' }
store = 'disk'
max_len = 9

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
max_len = 30

[train]
max_steps = 6
batch_tokens = 256
save_every = 2
schedule = { warmup_steps = 2 }
";

/// Lines of random length and their reverse; some are too long, some empty.
fn corpus(folder: &Folder, lines: usize) {
    let words = |line: usize| (0..line % 11).map(move |place| format!("w{}", (line * 7 + place * 3) % 20));
    let side = |back: bool| -> String {
        let line = |line: usize| {
            let mut words: Vec<String> = words(line).collect();
            if back {
                words.reverse();
            }
            words.join(" ") + "\n"
        };
        (0..lines).map(line).collect()
    };
    folder.write("a.src", side(false)).write("a.tgt", side(true));
}

fn prepared() -> Folder {
    let folder = Folder::new();
    folder.write("c.toml", CONFIG);
    corpus(&folder, 3000);
    folder
}

/// Runs the program, which has notes to make before it fails with these words.
fn stops(folder: &Folder, arguments: &str, complaint: &[&str]) {
    let outcome = folder.run(arguments);
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    for words in complaint {
        assert!(outcome.stderr.contains(words), "`{words}`: {outcome:?}");
    }
}

/// The folders of encoded corpora.
fn stores(folder: &Folder) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder.path(".attentive"));
    let entries = entries.into_iter().flatten();
    entries.map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn a_run_has_the_same_bits_from_disk_and_from_memory() {
    let folder = prepared();
    let pairs = "{ src = 'a.src', tgt = 'a.tgt' }";
    for (family, train) in [
        ("transformer", pairs),
        ("decoder_only", "{ text = 'a.src' }"),
        ("encoder_only", "{ text = 'a.src' }"),
    ] {
        let config = for_family(CONFIG, family);
        folder.write("f.toml", config.replace(pairs, train));
        let train = |out: &str, store: &str| {
            let set = format!("--set model.family={family} --set data.store={store}");
            folder.succeeds(&format!("train f.toml --output {out} {set}"))
        };
        let memory = format!("{family}-memory");
        let disk = format!("{family}-disk");
        train(&memory, "memory");
        let first = train(&disk, "disk");
        assert!(weights(&folder, &disk) == weights(&folder, &memory), "{family}");
        assert!(first.stderr.contains("dropped"), "{first:?}");
        let again = train(&format!("{family}-again"), "disk");
        assert!(again.stderr.contains("examples in `"), "{again:?}");
        for (begin, end) in [("disk", "memory"), ("memory", "disk")] {
            let half = format!("{family}-{begin}-{end}");
            let set = format!("--set model.family={family} --output {half} --set data.store=");
            folder.succeeds(&format!("train f.toml {set}{begin} --set train.max_steps=3"));
            folder.succeeds(&format!("train f.toml {set}{end} --resume"));
            assert!(weights(&folder, &half) == weights(&folder, &memory), "{family}, {begin}, then {end}");
        }
    }
}

#[test]
fn several_corpora_are_read_alike_from_disk_and_from_memory() {
    let folder = prepared();
    let side = |name: &str| fs::read_to_string(folder.path(name)).unwrap();
    for (side, text) in [("src", side("a.src")), ("tgt", side("a.tgt"))] {
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        for (name, range) in [("b1", 0..400), ("b2", 400..1100), ("c", 1100..3000)] {
            folder.write(&format!("{name}.{side}"), lines[range].concat());
        }
    }
    let parts =
        "[{ src = 'b?.src', tgt = 'b?.tgt', weight = 2.5 }, { src = 'c.src', tgt = 'c.tgt', weight = 0.3 }]";
    let several = CONFIG.replace("{ src = 'a.src', tgt = 'a.tgt' }", parts);
    folder.write("c.toml", several);
    // Several epochs.
    let set = "--set train.max_steps=60 --set train.batch_tokens=2000";
    let memory = folder.succeeds(&format!("train c.toml --output memory {set} --set data.store=memory"));
    assert!(memory.stderr.contains("of 3,000 lines kept"), "{memory:?}");
    folder.succeeds(&format!("train c.toml --output disk {set}"));
    assert!(weights(&folder, "memory") == weights(&folder, "disk"));
    // Other weights need no other corpus.
    let others = folder.path("c.toml");
    fs::write(&others, fs::read_to_string(&others).unwrap().replace("2.5", "1")).unwrap();
    let again = folder.succeeds(&format!("train c.toml --output others {set}"));
    assert!(again.stderr.contains("examples in `"), "{again:?}");
    assert!(weights(&folder, "memory") != weights(&folder, "others"));
    // One more file that fits the pattern is another corpus.
    folder.write("b3.src", "w1 w2\n").write("b3.tgt", "w2 w1\n");
    let complaint = ["started with 6 files of training data, and now there are 8"];
    stops(&folder, &format!("train c.toml --output others --resume {set}"), &complaint);
    folder.write("b4.src", "w1\n");
    stops(&folder, "train c.toml --output x", &["4 files match `b?.src`, and 3 match `b?.tgt`"]);
}

#[test]
fn corpora_are_made_once_listed_and_deleted() {
    let folder = prepared();
    let made = folder.succeeds("prepare c.toml");
    assert!(made.stderr.contains("is ready"), "{made:?}");
    let [store] = &stores(&folder)[..] else {
        panic!("{:?}", stores(&folder));
    };
    let shard = store.join("00000.shard");
    let written = fs::metadata(&shard).unwrap().modified().unwrap();
    folder.succeeds("prepare c.toml");
    assert_eq!(fs::metadata(&shard).unwrap().modified().unwrap(), written);
    // Another `max_len` is another corpus.
    folder.succeeds("prepare c.toml --set data.max_len=8");
    assert_eq!(stores(&folder).len(), 2);
    let listed = folder.succeeds("prepare c.toml --list").stdout;
    assert_eq!(listed.lines().count(), 2, "{listed}");
    let marked: Vec<&str> = listed.lines().filter(|line| line.starts_with('*')).collect();
    let name = store.file_name().unwrap().to_string_lossy();
    assert!(marked.len() == 1 && marked[0].contains(&*name), "{listed}");
    folder.succeeds("prepare c.toml --remove");
    assert!(!store.exists());
    assert_eq!(stores(&folder).len(), 1);
    let nothing = folder.succeeds("prepare c.toml --remove");
    assert!(nothing.stderr.contains("nothing to delete"), "{nothing:?}");
    folder.succeeds("prepare c.toml --remove-all");
    assert!(stores(&folder).is_empty());
}

#[test]
fn a_changed_corpus_is_encoded_again() {
    let folder = prepared();
    folder.succeeds("train c.toml --output a");
    corpus(&folder, 2000);
    folder.succeeds("train c.toml --output b");
    assert_eq!(stores(&folder).len(), 2);
    assert!(weights(&folder, "a") != weights(&folder, "b"));
    stops(&folder, "train c.toml --output a --resume", &["a.src` has changed"]);
}

#[test]
fn a_damaged_corpus_is_an_error() {
    let folder = prepared();
    folder.succeeds("prepare c.toml");
    let shard = stores(&folder)[0].join("00000.shard");
    let mut bytes = fs::read(&shard).unwrap();
    let place = bytes.len() / 2;
    bytes[place] ^= 1;
    fs::write(&shard, bytes).unwrap();
    let complaint = ["00000.shard` is damaged", "delete its folder"];
    stops(&folder, "train c.toml --output a", &complaint);
    assert!(!folder.path("a").exists());
}

#[test]
fn what_cannot_be_on_disk_is_refused_or_kept_in_memory() {
    let folder = prepared();
    let builtin = "--set data.train={builtin='reverse',pairs=100}";
    let refused = ["data.store", "the corpus is generated", "memory"];
    let generated = "--set data.valid={builtin='reverse',pairs=100}";
    let valid = ["the validation data are generated"];
    folder.fails(&format!("train c.toml --output a {generated}"), 2, &valid);
    folder.fails(&format!("train c.toml --output a {builtin}"), 2, &refused);
    folder.fails(&format!("prepare c.toml {builtin}"), 2, &refused);
    let held = ["`data.hold_out` is set"];
    folder.fails("train c.toml --output a --set data.hold_out=0.1", 2, &held);
    let auto = format!("train c.toml --output a --set data.store=auto {builtin}");
    folder.succeeds(&auto);
    assert!(stores(&folder).is_empty());
}

#[test]
fn an_interrupted_preparation_leaves_nothing() {
    let folder = Folder::new();
    folder.write("c.toml", CONFIG);
    corpus(&folder, 400_000);
    for name in ["-INT", "-KILL"] {
        let child = start(&folder, "prepare c.toml --set data.max_len=10");
        // The lock is taken once something is written to it.
        let is_working = || {
            let lock = |store: &PathBuf| fs::metadata(store.join(".lock"));
            stores(&folder).iter().any(|store| lock(store).is_ok_and(|lock| lock.len() > 0))
        };
        let begun = Instant::now();
        while !is_working() {
            assert!(begun.elapsed() < Duration::from_secs(60), "nothing is written");
            sleep(Duration::from_millis(1));
        }
        signal(&child, name);
        let outcome = Outcome::from(child.wait_with_output().unwrap());
        assert_ne!(outcome.code, Some(0), "{outcome:?}");
        let left = stores(&folder).len();
        assert!(name == "-KILL" || left == 0, "{left} after {name}: {outcome:?}");
    }
    corpus(&folder, 100);
    folder.succeeds("prepare c.toml");
    assert_eq!(stores(&folder).len(), 1, "{:?}", stores(&folder));
}
