use std::collections::HashMap;
use std::fs;

use attentive_base::error::Result;
use attentive_config::{
    BuiltinTask, CorpusFormat, CorpusSource, Task, TokenizerConfig, TokenizerKind, Vocabulary,
};
use attentive_text::{Tokenizers, learn_tagged};

use crate::builtin::ClauseType;
use crate::{Batcher, Budget, Corpus, DataKind, Item, LabelOrigin, LineEncoder, encode, read, unwatched};

/// Reads a file with this content.
fn read_file(content: &str, format: CorpusFormat) -> Result<Corpus> {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("file"), content).unwrap();
    let source = CorpusSource::file(format, "file");
    read(&source, DataKind::Labeled, Some(dir.path()), 1, &mut unwatched)
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
    let source = CorpusSource::Builtin { task: BuiltinTask::Grammar, pairs };
    read(&source, DataKind::Labeled, None, 5, &mut unwatched).unwrap()
}

#[test]
fn labels_come_from_tsv_and_from_json() {
    let tsv = "good\tA fine film.\n\nbad \tNo.\nbad\t\n";
    let json = "{\"text\": \"A fine film.\", \"label\": \"good\"}\n\n\
                {\"label\": \" bad\\t\", \"text\": \"No.\", \"id\": 3}\n\
                {\"label\": \"bad\", \"text\": \"\"}\n";
    for corpus in [read_file(tsv, CorpusFormat::Tsv).unwrap(), read_file(json, CorpusFormat::Jsonl).unwrap()]
    {
        let expected = [("A fine film.", "good", 1), ("No.", "bad", 3)];
        assert_eq!(labeled(&corpus), expected);
        assert_eq!(corpus.stats().empty, 2);
    }
}

#[test]
fn files_that_seem_to_have_a_header_are_warned_of() {
    let warnings = |content: &str| {
        let corpus = read_file(content, CorpusFormat::Tsv).unwrap();
        corpus.warnings().to_vec()
    };
    let body = "good\tA fine film.\nbad\tNo.\n";
    for header in ["label\ttext", "Sentiment\tReview", "stars\t\"text\"", "text\tlabel"] {
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
fn files_with_columns_in_quotation_marks_are_warned_of() {
    let warnings = |content: &str, kind| {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("file"), content).unwrap();
        let source = CorpusSource::file(CorpusFormat::Tsv, "file");
        let corpus = read(&source, kind, Some(dir.path()), 1, &mut unwatched).unwrap();
        let found = corpus.warnings().iter();
        let found = found.filter(|warning| warning.contains("are in quotation marks"));
        found.count()
    };
    for (content, kind, expected) in [
        ("\"good\"\t\"A fine film.\"\n\"bad\"\t\"No.\"\n", DataKind::Labeled, 1),
        ("\"good\"\tA fine film.\n\"bad\"\tNo.\n", DataKind::Labeled, 1),
        ("label\ttext\n\"good\"\tA fine film.\n", DataKind::Labeled, 1),
        ("good\t\"A fine film.\"\nbad\t\"No.\"\n", DataKind::Labeled, 0),
        ("\"good\"\tA fine film.\nbad\tNo.\n", DataKind::Labeled, 0),
        ("\"Yes.\"\t\"Ja.\"\n\"No.\"\t\"Nein.\"\n", DataKind::Translations, 1),
        ("\"Yes.\"\t\"Ja.\"\n\"No,\" he said.\t\"Nein\"\n", DataKind::Translations, 0),
        ("\"a b\"\t\"X Y\"\n", DataKind::TaggedTokens, 1),
        ("\" a \"\t\" X \"\n", DataKind::TaggedTokens, 0),
    ] {
        assert_eq!(warnings(content, kind), expected, "{content}");
    }
}

#[test]
fn a_line_with_commas_and_no_tab_may_be_csv() {
    let problem = |content: &str| {
        let read = read_file(content, CorpusFormat::Tsv);
        read.unwrap_err().to_string()
    };
    let said = problem("good,A fine film.\n");
    let expected = "found 1; if it is comma-separated, name the file with `csv`";
    assert!(said.contains(expected), "{said}");
    for content in ["good A fine film.\n", "a\tb, c\td\n"] {
        let said = problem(content);
        assert!(!said.contains("csv"), "{said}");
    }
}

#[test]
fn each_file_of_a_pattern_may_seem_to_have_a_header() {
    let dir = tempfile::tempdir().unwrap();
    for (name, first) in [("1.tsv", "label\ttext"), ("2.tsv", "bad\tNo."), ("3.tsv", "label\ttext")] {
        fs::write(dir.path().join(name), format!("{first}\ngood\tYes.\n")).unwrap();
    }
    let source = CorpusSource::file(CorpusFormat::Tsv, "*.tsv");
    let corpus = read(&source, DataKind::Labeled, Some(dir.path()), 1, &mut unwatched).unwrap();
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
        assert!(message.contains(place) && message.contains(problem), "{message}");
    };
    refused("a\tb\nno label\n", CorpusFormat::Tsv, "found 1");
    refused("a\tb\nx\ty\tz\n", CorpusFormat::Tsv, "found 3");
    let spaced = "the label `very good` contains white space";
    refused("a\tb\nvery good\ttext\n", CorpusFormat::Tsv, spaced);
    let good = "{\"text\": \"a\", \"label\": \"b\"}\n";
    for line in ["{\"text\": \"a\"}", "{\"text\": 1, \"label\": \"b\"}", "[]", "[\"a\", \"b\"]"] {
        let expected = "string fields `text` and `label`";
        refused(&format!("{good}{line}\n"), CorpusFormat::Jsonl, expected);
    }
}

#[test]
fn a_text_is_closed_and_has_one_label() {
    let corpus = grammar(500);
    for kind in [TokenizerKind::Bpe, TokenizerKind::Word] {
        let tokenizers = tokenizers(&corpus, kind);
        let special = tokenizers.tgt().special();
        let (examples, stats) =
            encode(&corpus, LineEncoder::new(Task::Classify, &tokenizers, 99), &mut unwatched).unwrap();
        assert_eq!(stats.kept, 500);
        for (example, (text, label, line)) in examples.iter().zip(labeled(&corpus)) {
            let (eos, text_ids) = example.src().split_last().unwrap();
            assert_eq!(*eos, special.eos);
            assert_eq!(text_ids, tokenizers.src().encode(text).unwrap());
            assert_eq!(example.tgt_out.len(), 1);
            assert_eq!(tokenizers.tgt().token(example.tgt_out[0]).unwrap(), label);
            assert!(example.tgt_in().is_empty() && example.line == line);
        }
        let mut batcher = Batcher::new(examples, Budget::new(256), 1, special, None).unwrap();
        let batch = batcher.next_batch().unwrap();
        assert_eq!(batch.tgt_out.width(), 1);
        assert_eq!(batch.tgt_out.rows(), batch.src().unwrap().lengths().rows());
    }
}

#[test]
fn an_unknown_label_is_reported_with_the_known_ones() {
    let known = |n: usize| -> String { (0..n).map(|i| format!("l{i:02}\tfine\n")).collect() };
    let said = |n, unknown: &str, labels| {
        let learned = read_file(&known(n), CorpusFormat::Tsv).unwrap();
        let tokenizers = tokenizers(&learned, TokenizerKind::Word);
        let content = format!("l00\tfine\n{unknown}\tfine\n");
        let corpus = read_file(&content, CorpusFormat::Tsv).unwrap();
        let encoder = LineEncoder::new(Task::Classify, &tokenizers, 9).with_labels(labels);
        let error = encode(&corpus, encoder, &mut unwatched).unwrap_err();
        let message = error.to_string();
        let (_, problem) = message.split_once("file`, line 2: ").unwrap();
        problem.to_owned()
    };
    assert_eq!(
        said(2, "L00", LabelOrigin::Learned(300)),
        "unknown label `L00`: the training data (without held-out lines) have only the labels `l00`, `l01`"
    );
    assert_eq!(
        said(2, "no", LabelOrigin::Model("models/base".as_ref())),
        "unknown label `no`: the base model `models/base` has only the labels `l00`, `l01`; a new label \
         needs a new model trained on all the data"
    );
    let many = said(13, "no", LabelOrigin::Learned(300));
    assert!(many.ends_with("`l08`, `l09` and 3 more"), "{many}");
    // Two labels and four special tokens fill this vocabulary.
    let full = said(2, "no", LabelOrigin::Learned(6));
    let expected = "`tokenizer.vocab_size` = 6 has room only for the labels `l00`, `l01`; raise it";
    assert!(full.ends_with(expected), "{full}");
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
