use std::fs;

use attentive_base::error::Result;
use attentive_config::{
    BuiltinTask, CorpusFormat, CorpusSource, Task, TokenizerConfig, TokenizerKind, Vocabulary,
};
use attentive_text::{Tokenizers, learn_tagged};
use tempfile::tempdir;

use crate::{Corpus, DataKind, Example, Item, LineEncoder, TagInput, encode, parse_vectors, read, unwatched};

/// Reads a JSONL file with this content.
fn read_jsonl(content: &str, kind: DataKind) -> Result<Corpus> {
    let dir = tempdir().unwrap();
    fs::write(dir.path().join("file"), content).unwrap();
    let source = CorpusSource::file(CorpusFormat::Jsonl, "file");
    read(&source, kind, Some(dir.path()), 1, &mut unwatched)
}

/// Reads aligned files of `tokens` and `tags`.
fn read_aligned(tokens: &str, tags: &str) -> Result<Corpus> {
    let dir = tempdir().unwrap();
    fs::write(dir.path().join("tokens"), tokens).unwrap();
    fs::write(dir.path().join("tags"), tags).unwrap();
    let source = CorpusSource::aligned("tokens", "tags");
    let kind = DataKind::TaggedTokens;
    read(&source, kind, Some(dir.path()), 1, &mut unwatched)
}

fn words(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

fn tokenizers(tokens: &str, tags: &str) -> Tokenizers {
    let config = TokenizerConfig {
        kind: TokenizerKind::Word,
        vocabulary: Vocabulary::Separate,
        min_frequency: 2,
        lowercase: true,
        ..TokenizerConfig::default()
    };
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    learn_tagged(&config, &lines(tokens), &lines(tags)).unwrap()
}

fn encoded(corpus: &Corpus, tokenizers: &Tokenizers) -> Result<Vec<Example>> {
    encode(corpus, LineEncoder::new(Task::Tag, tokenizers, 99), &mut unwatched).map(|(examples, _)| examples)
}

#[test]
fn tokens_and_tags_come_from_json_and_from_aligned_files() {
    let jsonl = "{\"tokens\": [\"a\", \"dog\"], \"tags\": [\"DET\", \"NOUN\"]}\n\n\
                 {\"tags\": [\"INTJ\"], \"id\": 7, \"tokens\": [\"oh\"]}\n";
    let expected = [(words("a dog"), words("DET NOUN"), 1), (words("oh"), words("INTJ"), 3)];
    for corpus in [
        read_jsonl(jsonl, DataKind::TaggedTokens).unwrap(),
        read_aligned("a dog\n\noh\n", "DET NOUN\n\nINTJ\n").unwrap(),
    ] {
        for (entry, (tokens, tags, line)) in corpus.entries().iter().zip(&expected) {
            let item = Item::Tagged { input: TagInput::Tokens(tokens.clone()), tags: tags.clone() };
            assert_eq!((&entry.item, entry.line), (&item, *line));
        }
        assert_eq!(corpus.entries().len(), expected.len());
    }
}

#[test]
fn vectors_come_from_json() {
    let jsonl = "{\"vectors\": [[1, 2.5], [-3e-1, 0]], \"tags\": [\"up\", \"down\"]}";
    let corpus = read_jsonl(jsonl, DataKind::TaggedVectors(2)).unwrap();
    let expected =
        Item::Tagged { input: TagInput::Vectors(vec![1.0, 2.5, -0.3, 0.0]), tags: words("up down") };
    let [entry] = corpus.entries() else { panic!("one line") };
    assert_eq!((&entry.item, entry.line), (&expected, 1));
    let input = parse_vectors("{\"vectors\": [[1, 2]]}", 2).unwrap();
    assert_eq!(input, [1.0, 2.0]);
    assert!(parse_vectors("{\"vectors\": []}", 2).unwrap().is_empty());
}

#[test]
fn malformed_lines_are_reported() {
    let good = "{\"tokens\": [\"a\"], \"tags\": [\"D\"], \"vectors\": [[1, 2]]}\n";
    let refused = |line: &str, kind: DataKind, problem: &str| {
        let error = read_jsonl(&format!("{good}{line}\n"), kind).unwrap_err();
        let message = error.to_string();
        assert!(message.contains("file`, line 2: ") && message.contains(problem), "{line}: {message}");
    };
    for (line, problem) in [
        ("a dog", "expected a JSON object with lists"),
        ("{\"tokens\": [\"a\"]}", "missing field `tags`"),
        ("{\"tokens\": [\"a b\"], \"tags\": [\"X\"]}", "token 1 is empty or contains white space: `a b`"),
        ("{\"tokens\": [\"a\"], \"tags\": [\"\"]}", "tag 1 is empty or contains white space"),
        ("{\"tokens\": [\"a\", \"dog\"], \"tags\": [\"DET\"]}", "1 tag for 2 tokens"),
    ] {
        refused(line, DataKind::TaggedTokens, problem);
    }
    for (line, problem) in [
        (
            "{\"vectors\": [[1, 2], [1, 2, 3]], \"tags\": [\"a\", \"b\"]}",
            "vector 2 has 3 numbers, but `model.recurrent.d_input` is 2",
        ),
        ("{\"vectors\": [[1, 1e39]], \"tags\": [\"a\"]}", "at column 21: number out of range"),
        ("{\"vectors\": [[1, NaN]], \"tags\": [\"a\"]}", "expected value"),
        ("{\"vectors\": [[1, null]], \"tags\": [\"a\"]}", "invalid type"),
        ("{\"vectors\": [[1, 2]], \"tags\": [\"a\", \"b\"]}", "2 tags for 1 vector"),
    ] {
        refused(line, DataKind::TaggedVectors(2), problem);
    }
}

#[test]
fn aligned_files_need_as_many_tags_as_tokens() {
    let message = read_aligned("a\n\na dog\n", "D\n\nD N V\n").unwrap_err();
    let message = message.to_string();
    assert!(message.ends_with("tags`, line 3: 3 tags for 2 tokens; expected one each"), "{message}");
}

/// Lowercasing, normalization and the minimum frequency apply to tokens only. So does the splitting of text
/// that looks like a special token, which could otherwise split a tag.
#[test]
fn tags_are_literal_and_tokens_stay_whole() {
    let tokenizers = tokenizers("The the dog Dog\n", "DET Det NOUN ﬁ\n");
    let corpus = read_aligned("THE x<unk>y dog \u{b4}s\n", "Det ﬁ NOUN DET\n").unwrap();
    let [example] = &encoded(&corpus, &tokenizers).unwrap()[..] else { panic!("one line") };
    let name = |&id: &u32| tokenizers.tgt().token(id).unwrap();
    let tags: Vec<String> = example.tgt_out.iter().map(name).collect();
    assert_eq!(tags, ["Det", "ﬁ", "NOUN", "DET"]);
    let tokens = example.src().iter().map(|&id| tokenizers.src().token(id));
    let tokens: Vec<String> = tokens.flatten().collect();
    assert_eq!(tokens, ["the", "<unk>", "dog", "<unk>"]);
    assert!(example.tgt_in().is_empty());
}

#[test]
fn an_unknown_tag_is_reported() {
    let tokenizers = tokenizers("a a\n", "DET DET\n");
    for tag in ["det", "<unk>", "<pad>"] {
        let corpus = read_aligned("a\na a\n", &format!("DET\nDET {tag}\n")).unwrap();
        let message = encoded(&corpus, &tokenizers).unwrap_err().to_string();
        assert!(
            message.contains(&format!("tags`, line 2: unknown tag `{tag}`: the training data")),
            "{message}"
        );
    }
}

#[test]
fn the_grammar_has_a_tag_for_each_token() {
    let source = CorpusSource::Builtin { task: BuiltinTask::Grammar, pairs: 50 };
    let corpus = read(&source, DataKind::TaggedTokens, None, 3, &mut unwatched).unwrap();
    assert_eq!(corpus.entries().len(), 50);
    assert!(corpus.entries().iter().all(|entry| matches!(
        &entry.item,
        Item::Tagged { tags, .. } if tags.last().is_some_and(|tag| tag == "PUNCT")
    )));
}
