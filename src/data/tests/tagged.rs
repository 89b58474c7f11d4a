use std::fs;

use tempfile::tempdir;

use crate::config::{BuiltinTask, CorpusConfig, Task, TokenizerConfig, TokenizerKind, Vocabulary};
use crate::data::{Corpus, Example, Form, Pair, encode, parse_vectors, read};
use crate::error::Result;
use crate::text::{Tokenizers, learn_tagged};

/// What is read from a JSONL file with this content.
fn read_jsonl(content: &str, form: Form) -> Result<Corpus> {
    let dir = tempdir().unwrap();
    fs::write(dir.path().join("file"), content).unwrap();
    let config = CorpusConfig {
        jsonl: Some("file".into()),
        ..CorpusConfig::default()
    };
    read(&config, form, Some(dir.path()), 1)
}

/// What is read from the aligned files `tokens` and `tags`.
fn read_aligned(tokens: &str, tags: &str) -> Result<Corpus> {
    let dir = tempdir().unwrap();
    fs::write(dir.path().join("tokens"), tokens).unwrap();
    fs::write(dir.path().join("tags"), tags).unwrap();
    let config = CorpusConfig {
        src: Some("tokens".into()),
        tgt: Some("tags".into()),
        ..CorpusConfig::default()
    };
    read(&config, Form::TaggedTokens, Some(dir.path()), 1)
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
    encode(corpus, Form::TaggedTokens, Task::Tag, tokenizers, 99).map(|(examples, _)| examples)
}

#[test]
fn tokens_and_tags_come_from_json_and_from_aligned_files() {
    let jsonl = "{\"tokens\": [\"a\", \"dog\"], \"tags\": [\"DET\", \"NOUN\"]}\n\n\
                 {\"tags\": [\"INTJ\"], \"id\": 7, \"tokens\": [\"oh\"]}\n";
    let expected = [("a dog", "DET NOUN", 1), ("oh", "INTJ", 3)];
    for corpus in [
        read_jsonl(jsonl, Form::TaggedTokens).unwrap(),
        read_aligned("a dog\n\noh\n", "DET NOUN\n\nINTJ\n").unwrap(),
    ] {
        let pairs = corpus.pairs.iter();
        let found: Vec<_> = pairs
            .map(|pair| (pair.src.as_str(), pair.tgt.as_str(), pair.line))
            .collect();
        assert_eq!(found, expected);
    }
}

#[test]
fn vectors_come_from_json() {
    let jsonl = "{\"vectors\": [[1, 2.5], [-3e-1, 0]], \"tags\": [\"up\", \"down\"]}";
    let corpus = read_jsonl(jsonl, Form::TaggedVectors(2)).unwrap();
    let expected = Pair {
        vectors: vec![1.0, 2.5, -0.3, 0.0],
        tgt: "up down".into(),
        line: 1,
        ..Pair::default()
    };
    assert_eq!(corpus.pairs, [expected]);
    let input = parse_vectors("{\"vectors\": [[1, 2]]}", 2).unwrap();
    assert_eq!(input, [1.0, 2.0]);
    assert!(parse_vectors("{\"vectors\": []}", 2).unwrap().is_empty());
}

#[test]
fn lines_that_lack_the_form_are_named() {
    let good = "{\"tokens\": [\"a\"], \"tags\": [\"D\"], \"vectors\": [[1, 2]]}\n";
    let refused = |line: &str, form: Form, problem: &str| {
        let error = read_jsonl(&format!("{good}{line}\n"), form).unwrap_err();
        let message = error.to_string();
        assert!(
            message.contains("file`, line 2: ") && message.contains(problem),
            "{line}: {message}"
        );
    };
    for (line, problem) in [
        ("a dog", "expected a JSON object with lists"),
        ("{\"tokens\": [\"a\"]}", "missing field `tags`"),
        (
            "{\"tokens\": [\"a b\"], \"tags\": [\"X\"]}",
            "token 1 is empty or holds white space: `a b`",
        ),
        (
            "{\"tokens\": [\"a\"], \"tags\": [\"\"]}",
            "tag 1 is empty or holds white space",
        ),
        (
            "{\"tokens\": [\"a\", \"dog\"], \"tags\": [\"DET\"]}",
            "1 tags for 2 tokens",
        ),
    ] {
        refused(line, Form::TaggedTokens, problem);
    }
    for (line, problem) in [
        (
            "{\"vectors\": [[1, 2], [1, 2, 3]], \"tags\": [\"a\", \"b\"]}",
            "vector 2 has 3 numbers, but `model.recurrent.d_input` is 2",
        ),
        (
            "{\"vectors\": [[1, 1e39]], \"tags\": [\"a\"]}",
            "at column 21: number out of range",
        ),
        (
            "{\"vectors\": [[1, NaN]], \"tags\": [\"a\"]}",
            "at column 18",
        ),
        (
            "{\"vectors\": [[1, null]], \"tags\": [\"a\"]}",
            "invalid type",
        ),
        (
            "{\"vectors\": [[1, 2]], \"tags\": [\"a\", \"b\"]}",
            "2 tags for 1 vectors",
        ),
    ] {
        refused(line, Form::TaggedVectors(2), problem);
    }
}

#[test]
fn tags_of_aligned_files_are_as_many_as_tokens() {
    let message = read_aligned("a\n\na dog\n", "D\n\nD N V\n").unwrap_err();
    let message = message.to_string();
    assert!(
        message.ends_with("tags`, line 3: 3 tags for 2 tokens; each has one"),
        "{message}"
    );
}

/// Lower-casing, normalisation and a least frequency are for tokens; so is the splitting of what looks like a special
/// token, which would else part a token in two.
#[test]
fn tags_count_as_they_are_written_and_tokens_stay_whole() {
    let tokenizers = tokenizers("The the dog Dog\n", "DET Det NOUN ﬁ\n");
    let corpus = read_aligned("THE x<unk>y dog \u{b4}s\n", "Det ﬁ NOUN DET\n").unwrap();
    let [example] = &encoded(&corpus, &tokenizers).unwrap()[..] else {
        panic!("one line")
    };
    let name = |&id: &u32| tokenizers.tgt().token(id).unwrap();
    let tags: Vec<String> = example.tgt_out.iter().map(name).collect();
    assert_eq!(tags, ["Det", "ﬁ", "NOUN", "DET"]);
    let tokens = example.src.iter().map(|&id| tokenizers.src().token(id));
    let tokens: Vec<String> = tokens.flatten().collect();
    assert_eq!(tokens, ["the", "<unk>", "dog", "<unk>"]);
    assert!(example.tgt_in.is_empty());
}

#[test]
fn an_unknown_tag_is_named() {
    let tokenizers = tokenizers("a a\n", "DET DET\n");
    for tag in ["det", "<unk>", "<pad>"] {
        let corpus = read_aligned("a\na a\n", &format!("DET\nDET {tag}\n")).unwrap();
        let message = encoded(&corpus, &tokenizers).unwrap_err().to_string();
        assert!(
            message.contains(&format!("tags`, line 2: the tag `{tag}` is none of those")),
            "{message}"
        );
    }
}

#[test]
fn the_grammar_has_a_tag_for_each_token() {
    let config = CorpusConfig {
        builtin: Some(BuiltinTask::Grammar),
        pairs: Some(50),
        ..CorpusConfig::default()
    };
    let corpus = read(&config, Form::TaggedTokens, None, 3).unwrap();
    assert_eq!(corpus.pairs.len(), 50);
    assert!(corpus.pairs.iter().all(|pair| pair.tgt.contains("PUNCT")));
}
