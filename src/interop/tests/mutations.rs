//! Damaged files of every format are refused, or read, but cause neither a panic nor much memory.
//!
//! `ATTENTIVE_MUTATIONS` sets the number of mutated files, and has the memory checked, which other tests in the same process use,
//! too: run the test alone then. The default is small.

use std::time::{Duration, Instant};

use super::*;
use crate::random::Random;

/// Mutated files of each format.
const EACH: usize = 60;
/// The longest time that one import may take.
const PATIENCE: Duration = Duration::from_secs(20);
/// The memory that all imports may need together, in bytes.
const MEMORY: u64 = 200 << 20;

/// Models, and the files of them that are mutated.
const FILES: [(&str, &str); 22] = [
    ("hf/marian", "model.safetensors"),
    ("hf/marian", "config.json"),
    ("hf/marian", "generation_config.json"),
    ("hf/marian", "tokenizer.json"),
    ("hf/gpt2", "model.safetensors"),
    ("hf/bert", "config.json"),
    ("hf/llama3", "config.json"),
    ("hf/t5_gated", "model.safetensors"),
    ("marian/npz", "model.npz"),
    ("marian/npz", "vocab.yml"),
    ("marian/npz", "decoder.yml"),
    ("marian/ssru", "model.npz"),
    ("marian/ssru", "vocab.spm"),
    ("marian/prenorm", "vocab.src.yml"),
    ("marian/firefox", "model.xxyy.intgemm.alphas.bin"),
    ("marian/firefox", "lex.50.50.xxyy.s2t.bin"),
    ("marian/firefox", "vocab.xxyy.spm"),
    ("hf/distilbert", "tokenizer.json"),
    ("hf/m2m_100", "generation_config.json"),
    ("hf/bert", "vocab.txt"),
    ("hf/gpt2", "vocab.json"),
    ("hf/gpt2", "merges.txt"),
];

#[test]
fn damaged_files_cause_neither_panics_nor_much_memory() {
    let wanted = std::env::var("ATTENTIVE_MUTATIONS").ok();
    let wanted = wanted.and_then(|wanted| wanted.parse::<usize>().ok());
    let each = wanted.map_or(EACH, |wanted| wanted.div_ceil(FILES.len()));
    let before = peak_memory();
    let mut read = 0;
    for (number, (model, file)) in FILES.into_iter().enumerate() {
        let folder = tempfile::tempdir().unwrap();
        let dir = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/fixtures")
            .join(model);
        for entry in fs::read_dir(&dir).unwrap() {
            let entry = entry.unwrap();
            fs::copy(entry.path(), folder.path().join(entry.file_name())).unwrap();
        }
        let path = folder.path().join(file);
        if !path.exists() {
            with_separate_vocabulary(folder.path());
        }
        let original = fs::read(&path).unwrap();
        let mut random = Random::new(20_261_122, number as u64);
        for mutation in 0..each {
            fs::write(&path, mutated(&original, &mut random)).unwrap();
            let start = Instant::now();
            let out = folder.path().join("out");
            let found = Foreign::open(folder.path(), None, &Languages::default());
            if found.and_then(|found| found.write(&out)).is_ok() {
                read += 1;
                fs::remove_dir_all(&out).unwrap();
            }
            assert!(
                start.elapsed() < PATIENCE,
                "{model}/{file}, mutation {mutation}"
            );
        }
    }
    // Changes of weights and of ignored values are read.
    assert!(read > 0);
    let used = peak_memory().saturating_sub(before);
    assert!(wanted.is_none() || used < MEMORY, "{used} bytes");
}

/// Replaces `tokenizer.json` in `dir` by the files of early versions.
fn with_separate_vocabulary(dir: &Path) {
    let path = dir.join("tokenizer.json");
    let file: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let vocabulary = &file["model"]["vocab"];
    let mut tokens: Vec<(u64, &String)> = (vocabulary.as_object().unwrap().iter())
        .map(|(token, id)| (id.as_u64().unwrap(), token))
        .collect();
    tokens.sort();
    let lines: String = tokens
        .iter()
        .map(|(_, token)| format!("{token}\n"))
        .collect();
    fs::write(dir.join("vocab.txt"), lines).unwrap();
    fs::write(dir.join("vocab.json"), vocabulary.to_string()).unwrap();
    fs::write(dir.join("merges.txt"), "#version: 0.2\n").unwrap();
    fs::remove_file(path).unwrap();
}

/// The most memory that this process has used, in bytes; 0 where the system does not say.
fn peak_memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
    kilobytes.map_or(0, |number| number.parse::<u64>().unwrap() << 10)
}

/// A copy of `bytes` with one to three changes.
fn mutated(bytes: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..1 + random.below(3) {
        change(&mut bytes, random);
    }
    bytes
}

fn change(bytes: &mut Vec<u8>, random: &mut Random) {
    if bytes.is_empty() {
        return;
    }
    // Most files have their structure at the beginning.
    let within = match random.below(2) {
        0 => bytes.len(),
        _ => bytes.len().min(2000),
    };
    let at = random.below(within);
    let end = bytes.len().min(at + 1 + random.below(40));
    match random.below(7) {
        0 => bytes[at] ^= 1 << random.below(8),
        1 => bytes[at] = random.below(256) as u8,
        2 => bytes.truncate(at),
        3 => {
            bytes.drain(at..end);
        }
        4 => {
            let part = bytes[at..end].to_vec();
            bytes.splice(at..at, part);
        }
        5 => number(bytes, at, random),
        _ => {
            let extreme: &[u8] = match random.below(4) {
                0 => &[0xff; 8],
                1 => &[0xff, 0xff, 0xff, 0x7f],
                2 => &[0; 8],
                _ => &[0, 0, 0, 0, 1, 0, 0, 0],
            };
            let room = (bytes.len() - at).min(extreme.len());
            bytes[at..at + room].copy_from_slice(&extreme[..room]);
        }
    }
}

/// Replaces the number in a text at or behind `at`.
fn number(bytes: &mut Vec<u8>, at: usize, random: &mut Random) {
    let digits = |bytes: &[u8], from: usize, digits: bool| {
        let found = bytes[from..]
            .iter()
            .position(|byte| byte.is_ascii_digit() == digits);
        found.map_or(bytes.len(), |found| from + found)
    };
    let start = digits(bytes, at, true);
    let end = digits(bytes, start, false);
    let numbers = [
        "0",
        "-1",
        "1",
        "3",
        "4294967296",
        "18446744073709551615",
        "1e300",
        "0.5",
        "null",
    ];
    bytes.splice(start..end, random.choose(&numbers).bytes());
}
