//! Tests that texts are divided as by the Python package (scripts/fixtures/sentencepiece_models.py).

use std::collections::HashMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use attentive_base::batch::TokenId;
use attentive_config::SpecialNames;
use attentive_text::Tokenizer;
use serde::Deserialize;

use super::SentencePiece;

pub(super) const MODELS: [&str; 5] = ["unigram", "bpe", "bytes", "symbols", "symbols_bpe"];

pub(super) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/sentencepiece")
}

#[derive(Deserialize)]
pub(super) struct Line {
    pub(super) text: String,
    ids: HashMap<String, Vec<TokenId>>,
}

/// The lines of the fixture, or of the file that the script has written with `--lines`.
pub(super) fn lines() -> Vec<Line> {
    let path = std::env::var_os("ATTENTIVE_SENTENCEPIECE_LINES")
        .map_or_else(|| folder().join("lines.jsonl.gz"), PathBuf::from);
    lines_of(&path)
}

fn lines_of(path: &Path) -> Vec<Line> {
    let mut text = String::new();
    let file = fs::File::open(path).unwrap();
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

pub(super) fn special(names: [&str; 4]) -> SpecialNames {
    let [pad, unk, bos, eos] = names.map(str::to_owned);
    SpecialNames { pad, unk, bos, eos, ..SpecialNames::default() }
}

pub(super) fn tokenizer(json: &serde_json::Value, names: &SpecialNames) -> Tokenizer {
    Tokenizer::from_json(json.to_string().into_bytes(), names).unwrap()
}

#[test]
fn ids_are_those_of_the_python_package() {
    let lines = lines();
    for model in MODELS {
        let read = SentencePiece::read(&folder().join(format!("{model}.model"))).unwrap();
        let tokenizer = tokenizer(&read.tokenizer(), &special(["</s>", "<unk>", "<s>", "</s>"]));
        let (excepted, compared): (Vec<&Line>, Vec<&Line>) =
            lines.iter().partition(|line| is_excepted(model, &line.text));
        let mut different = Vec::new();
        for line in compared {
            let found = tokenizer.encode(&line.text).unwrap();
            if found != line.ids[model] {
                different.push((&line.text, tokenizer.spelled(&found), &line.ids[model]));
            }
        }
        let n = different.len();
        println!("{model}: {n} of {} lines differ, {} are not compared", lines.len(), excepted.len());
        for (text, found, expected) in different.iter().take(20) {
            println!("{text:?}\n  {found:?}\n  {:?}", tokenizer.spelled(expected));
        }
        assert_eq!(n, 0, "{model}");
        assert!(excepted.len() * 5 < lines.len(), "{model}");
    }
}

/// True for texts that are divided in another way here: special tokens that are spelled out are divided so
/// that a BPE model with symbols does not see them.
fn is_excepted(model: &str, text: &str) -> bool {
    let parts = ["<s>", "</s>", "<unk>"];
    model == "symbols_bpe" && parts.iter().any(|part| text.contains(part))
}

/// The texts repeat characters, blanks and words, so that many divisions are equally likely.
#[test]
fn ties_break_as_in_the_python_package() {
    let lines = lines_of(&folder().join("ties.jsonl.gz"));
    assert!(lines.iter().any(|line| line.text == "-".repeat(31)));
    for model in ["unigram", "ties", "symbols"] {
        let read = SentencePiece::read(&folder().join(format!("{model}.model"))).unwrap();
        let names = special(["</s>", "<unk>", "<s>", "</s>"]);
        let tokenizer = tokenizer(&read.tokenizer(), &names);
        for line in &lines {
            let found = tokenizer.encode(&line.text).unwrap();
            assert_eq!(found, line.ids[model], "{model}: {:?}", line.text);
        }
    }
}

#[test]
fn texts_come_back() {
    for model in MODELS {
        let read = SentencePiece::read(&folder().join(format!("{model}.model"))).unwrap();
        let tokenizer = tokenizer(&read.tokenizer(), &special(["</s>", "<unk>", "<s>", "</s>"]));
        let text = "the house is small";
        let ids = tokenizer.encode(text).unwrap();
        assert_eq!(tokenizer.decode(&ids).unwrap(), text, "{model}");
    }
}

#[test]
fn a_vocabulary_of_strings_gives_the_ids() {
    let read = SentencePiece::read(&folder().join("unigram.model")).unwrap();
    let names = special(["<pad>", "<unk>", "</s>", "</s>"]);
    let own = tokenizer(&read.tokenizer(), &special(["</s>", "<unk>", "<s>", "</s>"]));
    let text = "the house is small";
    let pieces = own.spelled(&own.encode(text).unwrap());
    // Every second piece is known, in reverse order, with a piece of the other side and a language.
    let mut tokens = vec!["</s>", "<unk>", ">>de<<", "▁Haus"];
    let (known, unknown): (Vec<_>, Vec<_>) =
        (0..).zip(&pieces).partition::<Vec<(usize, &String)>, _>(|(number, _)| number % 2 == 0);
    for (_, piece) in known.iter().rev() {
        if !tokens.contains(&piece.as_str()) {
            tokens.push(piece);
        }
    }
    tokens.push("<pad>");
    let ids: HashMap<String, TokenId> = tokens.iter().map(|token| (*token).to_owned()).zip(0..).collect();
    let json = read.tokenizer_with(&ids).unwrap();
    let names = SpecialNames { unknown_from: tokens.len(), ..names };
    let tokenizer = tokenizer(&json, &names);
    assert_eq!(tokenizer.vocab_size(), tokens.len());
    let found = tokenizer.encode(&format!(">>de<< {text}")).unwrap();
    let expected: Vec<TokenId> =
        [2].into_iter().chain(pieces.iter().map(|piece| ids.get(piece).copied().unwrap_or(1))).collect();
    assert_eq!(found, expected);
    assert!(found.contains(&1) && !unknown.is_empty());
    assert!(!tokenizer.encode("Haus").unwrap().contains(&3));
    let gap = HashMap::from([("a".to_owned(), 5)]);
    assert!(read.tokenizer_with(&gap).unwrap_err().contains("beyond the vocabulary"));
}

#[test]
fn damaged_files_are_refused() {
    let whole = fs::read(folder().join("bpe.model")).unwrap();
    assert!(SentencePiece::parse(&whole[..whole.len() - 1]).is_err());
    assert!(SentencePiece::parse(b"").unwrap_err().contains("no pieces"));
    assert!(SentencePiece::parse(b"version https://git-lfs").is_err());
    // A piece with the text "a" and type 9.
    let piece = b"\x0A\x05\x0A\x01a\x18\x09";
    let problem = SentencePiece::parse(piece).unwrap_err();
    assert!(problem.contains("unknown type 9"), "{problem}");
    // A piece of type 5 in a model of type 2, and a denormalizer that changes "a".
    let unused = b"\x0A\x05\x0A\x01a\x18\x05\x12\x02\x18\x02";
    let problem = SentencePiece::parse(unused).unwrap_err();
    assert!(problem.contains("unused pieces in a BPE model"), "{problem}");
    SentencePiece::parse(&unused[..7]).unwrap();
    let written = b"\x0A\x03\x0A\x01a\x2A\x03\x12\x01x";
    let problem = SentencePiece::parse(written).unwrap_err();
    assert!(problem.contains("`denormalizer_spec`"), "{problem}");
}
