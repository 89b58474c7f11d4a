use std::collections::HashMap;
use std::fs;

use crate::config::{BuiltinTask, CorpusSource, Task, TokenizerConfig, TokenizerKind, Vocabulary};
use crate::data::builtin::ClauseType;
use crate::data::{Batcher, Budget, Corpus, Encoder, Form, Item, encode, read, unwatched};
use crate::error::Result;
use crate::text::{Tokenizers, learn_tagged};

/// Reads a file with this content.
fn read_file(content: &str, source: fn(std::path::PathBuf) -> CorpusSource) -> Result<Corpus> {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("file"), content).unwrap();
    let source = source("file".into());
    read(&source, Form::Labeled, Some(dir.path()), 1, &mut unwatched)
}

fn labeled(corpus: &Corpus) -> Vec<(&str, &str, usize)> {
    let entries = corpus.entries().iter();
    let found = entries.map(|entry| match &entry.item {
        Item::Labeled { text, label } => (text.as_str(), label.as_str(), entry.line),
        other => panic!("{other:?}"),
    });
    found.collect()
}

fn tokenizers(corpus: &Corpus, kind: TokenizerKind) -> Tokenizers {
    let config = TokenizerConfig {
        kind,
        vocab_size: 300,
        vocabulary: Vocabulary::Separate,
        lowercase: true,
        ..TokenizerConfig::default()
    };
    learn_tagged(&config, &corpus.src_texts(), &corpus.tgt_texts()).unwrap()
}

fn grammar(pairs: usize) -> Corpus {
    let source = CorpusSource::Builtin {
        task: BuiltinTask::Grammar,
        pairs,
    };
    read(&source, Form::Labeled, None, 5, &mut unwatched).unwrap()
}

#[test]
fn labels_come_from_tsv_and_from_json() {
    let tsv = "good\tA fine film.\n\nbad \tNo.\nbad\t\n";
    let json = "{\"text\": \"A fine film.\", \"label\": \"good\"}\n\n\
                {\"label\": \" bad\\t\", \"text\": \"No.\", \"id\": 3}\n\
                {\"label\": \"bad\", \"text\": \"\"}\n";
    for corpus in [
        read_file(tsv, CorpusSource::Tsv).unwrap(),
        read_file(json, CorpusSource::Jsonl).unwrap(),
    ] {
        let expected = [("A fine film.", "good", 1), ("No.", "bad", 3)];
        assert_eq!(labeled(&corpus), expected);
        assert_eq!(corpus.stats().empty, 2);
    }
}

#[test]
fn files_that_seem_to_have_a_header_are_warned_of() {
    let warnings = |content: &str| {
        let corpus = read_file(content, CorpusSource::Tsv).unwrap();
        corpus.warnings().to_vec()
    };
    let body = "good\tA fine film.\nbad\tNo.\n";
    for header in [
        "label\ttext",
        "Sentiment\tReview",
        "stars\t\"text\"",
        "text\tlabel",
    ] {
        let [warning] = &warnings(&format!("{header}\n{body}"))[..] else {
            panic!("{header}: one warning");
        };
        let label = header.split('\t').next().unwrap();
        assert!(
            warning.contains("file`, line 1: looks like a header")
                && warning.contains(&format!("the label `{label}`")),
            "{warning}"
        );
    }
    // A label that occurs again is one, a line in the middle is no header, and neither are other words.
    for content in [
        "label\tA text.\nlabel\ttext\n",
        "good\tA fine film.\nlabel\ttext\n",
        "good\tThe text is fine.\nbad\tNo.\n",
    ] {
        assert_eq!(warnings(content), [""; 0], "{content}");
    }
}

#[test]
fn each_file_of_a_pattern_may_seem_to_have_a_header() {
    let dir = tempfile::tempdir().unwrap();
    for (name, first) in [
        ("1.tsv", "label\ttext"),
        ("2.tsv", "bad\tNo."),
        ("3.tsv", "label\ttext"),
    ] {
        fs::write(dir.path().join(name), format!("{first}\ngood\tYes.\n")).unwrap();
    }
    let source = CorpusSource::Tsv("*.tsv".into());
    let corpus = read(&source, Form::Labeled, Some(dir.path()), 1, &mut unwatched).unwrap();
    let [first, last] = corpus.warnings() else {
        panic!("{:?}", corpus.warnings());
    };
    assert!(first.contains("1.tsv`, line 1") && last.contains("3.tsv`, line 1"));
}

#[test]
fn lines_without_a_label_are_reported() {
    let refused = |content: &str, source, problem: &str| {
        let message = read_file(content, source).unwrap_err().to_string();
        let place = "file`, line 2: ";
        assert!(
            message.contains(place) && message.contains(problem),
            "{message}"
        );
    };
    refused("a\tb\nno label\n", CorpusSource::Tsv, "found 1");
    refused("a\tb\nx\ty\tz\n", CorpusSource::Tsv, "found 3");
    let spaced = "the label `very good` contains white space";
    refused("a\tb\nvery good\ttext\n", CorpusSource::Tsv, spaced);
    let good = "{\"text\": \"a\", \"label\": \"b\"}\n";
    for line in ["{\"text\": \"a\"}", "{\"text\": 1, \"label\": \"b\"}", "[]"] {
        let expected = "string fields `text` and `label`";
        refused(&format!("{good}{line}\n"), CorpusSource::Jsonl, expected);
    }
}

#[test]
fn a_text_is_closed_and_has_one_label() {
    let corpus = grammar(500);
    for kind in [TokenizerKind::Bpe, TokenizerKind::Word] {
        let tokenizers = tokenizers(&corpus, kind);
        let special = tokenizers.tgt().special();
        let (examples, stats) = encode(
            &corpus,
            Encoder::new(Task::Classify, &tokenizers, 99),
            &mut unwatched,
        )
        .unwrap();
        assert_eq!(stats.kept, 500);
        for (example, (text, label, line)) in examples.iter().zip(labeled(&corpus)) {
            let (eos, text_ids) = example.src.split_last().unwrap();
            assert_eq!(*eos, special.eos);
            assert_eq!(text_ids, tokenizers.src().encode(text).unwrap());
            assert_eq!(example.tgt_out.len(), 1);
            assert_eq!(tokenizers.tgt().token(example.tgt_out[0]).unwrap(), label);
            assert!(example.tgt_in.is_empty() && example.line == line);
        }
        let mut batcher = Batcher::new(examples, Budget::new(256), 1, special, None).unwrap();
        let batch = batcher.next_batch().unwrap();
        assert_eq!(batch.tgt_out.width(), 1);
        assert_eq!(batch.tgt_out.rows(), batch.src.rows());
    }
}

#[test]
fn an_unknown_label_is_reported() {
    let tokenizers = tokenizers(
        &read_file("good\tfine fine\n", CorpusSource::Tsv).unwrap(),
        TokenizerKind::Word,
    );
    let corpus = read_file("good\tfine\nGood\tfine\n", CorpusSource::Tsv).unwrap();
    let error = encode(
        &corpus,
        Encoder::new(Task::Classify, &tokenizers, 9),
        &mut unwatched,
    )
    .unwrap_err();
    let message = error.to_string();
    assert!(
        message.contains("file`, line 2: unknown label `Good`"),
        "{message}"
    );
}

#[test]
fn the_grammar_produces_every_clause_type_often() {
    let corpus = grammar(2000);
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for (_, label, _) in labeled(&corpus) {
        *counts.entry(label).or_default() += 1;
    }
    for clause_type in ClauseType::ALL {
        let count = counts.get(clause_type.as_str()).copied().unwrap_or(0);
        assert!(count >= 50, "{count} of {clause_type:?}");
    }
}
