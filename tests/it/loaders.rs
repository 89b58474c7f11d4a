//! Damaged input for every loader of data: an error or a result, never a panic.

use std::fs;
use std::path::Path;

use attentive::config::{Config, CorpusFormat, CorpusSource};
use attentive::data::{self, DataKind};
use attentive::random::Random;
use attentive::text::Tokenizers;

/// Number of damaged copies of each file.
const N_COPIES: usize = 150;

/// Inserted pieces: parts of the formats, and bytes that are invalid in all of them.
const PIECES: &[&[u8]] = &[
    b"\0",
    b"\xff",
    b"\n",
    b"\r\n",
    b"\t",
    b"\"",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"=",
    b"-1",
    b"1e999",
    b"99999999999999999999999999",
    b"9000000000000000000",
    b"null",
    b"true",
    b"\\ud800",
    b"\xef\xbb\xbf",
    b"\x1f\x8b",
    b"<unk>",
    b"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
];

/// A copy of `text` with up to eight changes: bytes flipped, removed, duplicated or inserted.
fn damaged(text: &[u8], random: &mut Random) -> Vec<u8> {
    let mut copy = text.to_vec();
    for _ in 0..=random.below(8) {
        let start = random.below(copy.len() + 1);
        let end = (start + random.below(20)).min(copy.len());
        match random.below(4) {
            0 if start < copy.len() => copy[start] ^= 1 << random.below(8),
            1 => drop(copy.drain(start..end)),
            2 => {
                let piece = copy[start..end].to_vec();
                copy.splice(start..start, piece);
            }
            _ => {
                let piece = random.choose(PIECES).iter().copied();
                copy.splice(start..start, piece);
            }
        }
    }
    copy
}

/// Calls `load` with damaged copies of `text` and checks that it refuses some of them.
fn try_all(text: &str, stream: u64, mut load: impl FnMut(&[u8]) -> Result<(), String>) {
    assert_eq!(load(text.as_bytes()), Ok(()));
    let mut random = Random::new(11, stream);
    let mut n_refused = 0;
    for _ in 0..N_COPIES {
        n_refused += usize::from(load(&damaged(text.as_bytes(), &mut random)).is_err());
    }
    assert!(n_refused > 0, "no damage was noticed");
}

#[test]
fn damaged_corpora_are_refused_or_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let json = [
        (r#"{"src": "a b\u00e9", "tgt": "c"}"#, DataKind::Translations),
        (r#"{"tokens": ["a", "b"], "tags": ["X", "Y"]}"#, DataKind::TaggedTokens),
        (r#"{"vectors": [[1, -2.5e3], [0, 1]], "tags": ["X", "Y"]}"#, DataKind::TaggedVectors(2)),
        (r#"{"text": "a b", "label": "x"}"#, DataKind::Labeled),
    ];
    let tsv = [
        ("a b\tc", DataKind::Translations),
        ("a b\tX Y", DataKind::TaggedTokens),
        ("x\ta b", DataKind::Labeled),
    ];
    let json = json.map(|(line, form)| (line, form, CorpusSource::file(CorpusFormat::Jsonl, path.clone())));
    let tsv = tsv.map(|(line, form)| (line, form, CorpusSource::file(CorpusFormat::Tsv, path.clone())));
    for (stream, (line, form, source)) in (0..).zip(json.into_iter().chain(tsv)) {
        try_all(&format!("{line}\n").repeat(4), stream, |bytes| {
            fs::write(&path, bytes).unwrap();
            let corpus = data::read(&source, form, None, 1, &mut data::unwatched);
            let corpus = corpus.map_err(|error| error.to_string())?;
            assert!(corpus.entries().len() <= corpus.stats().lines);
            Ok(())
        });
    }
}

#[test]
fn damaged_texts_are_refused_or_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let source = CorpusSource::file(CorpusFormat::Text, path.clone());
    for (stream, form) in [(20, DataKind::Lines), (21, DataKind::Stream)] {
        try_all("a b é\n\nc\r\n", stream, |bytes| {
            fs::write(&path, bytes).unwrap();
            let corpus = data::read(&source, form, None, 1, &mut data::unwatched);
            corpus.map(|_| ()).map_err(|error| error.to_string())
        });
    }
}

#[test]
fn damaged_tokenizers_are_refused_or_encode() {
    use attentive::config::{TokenizerConfig, TokenizerKind};
    use attentive::text::{Masks, learn};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokenizer.json");
    let kinds = [TokenizerKind::Bpe, TokenizerKind::Unigram, TokenizerKind::Word, TokenizerKind::Char];
    for (stream, kind) in (30..).zip(kinds) {
        let config = TokenizerConfig { kind, vocab_size: 40, min_frequency: 1, ..TokenizerConfig::default() };
        let text = ["a cat sat on a mat", "the cat"];
        let learned = learn(&config, Masks::Without, &[], &text).unwrap();
        let json = String::from_utf8(learned.tgt().to_json().to_vec()).unwrap();
        try_all(&json, stream, |bytes| {
            fs::write(&path, bytes).unwrap();
            let tokenizers = Tokenizers::load(folder.path(), &attentive::config::SpecialNames::default())
                .map_err(|error| error.to_string())?;
            let tokenizer = tokenizers.tgt();
            if let Ok(ids) = tokenizer.encode("the cat sat <unk> é") {
                let _ = tokenizer.decode(&ids);
            }
            Ok(())
        });
    }
}

#[test]
fn damaged_configurations_are_refused_or_valid() {
    let configs = Path::new(env!("CARGO_MANIFEST_DIR")).join("configs");
    let names = ["demo-grammar", "tagger-grammar", "shakespeare"];
    for (stream, name) in (40..).zip(names) {
        let path = configs.join(name).with_extension("toml");
        let text = fs::read_to_string(&path).unwrap();
        try_all(&text, stream, |bytes| {
            let text = String::from_utf8_lossy(bytes);
            let config = Config::parse(&text, &path, &[]).map_err(|error| error.to_string())?;
            let written = config.to_toml();
            assert_eq!(Config::parse(&written, &path, &[]).unwrap(), config);
            Ok(())
        });
    }
}
