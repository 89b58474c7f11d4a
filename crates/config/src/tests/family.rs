//! Requirements of each family on other values.

use super::{accepts, message, parse, refuses};
use crate::{TokenizerKind, Vocabulary};

const TAGGER: &str = "model.family = 'tagger'";
const WORDS: &str = "tokenizer = { kind = 'word', vocabulary = 'separate' }";

#[test]
fn taggers_need_word_tokens_and_a_separate_vocabulary() {
    refuses(&[
        (
            &format!("{TAGGER}\ntokenizer.kind = 'bpe'"),
            "tokenizer.kind",
            "`word`, since a tagger labels tokens",
        ),
        (
            &format!("{TAGGER}\ntokenizer.vocabulary = 'shared'"),
            "tokenizer.vocabulary",
            "`separate`, since tags are not tokens, found `shared`",
        ),
        (
            &format!("{TAGGER}\n{WORDS}\ndata.valid = {{ text = 'v' }}"),
            "data.valid",
            "`tsv`, `csv`, `jsonl`, or `src` and `tgt`, with words and their tags, found `text`",
        ),
        (
            &format!("{TAGGER}\n{WORDS}\nmodel.recurrent.d_input = 3"),
            "data.train",
            "`jsonl`, since the tagger reads vectors",
        ),
    ]);
    accepts(&[&format!("{TAGGER}\n{WORDS}"), &format!("{TAGGER}\n{WORDS}\ndata.valid = {{ jsonl = 'v' }}")]);
}

#[test]
fn classifiers_need_texts_and_a_separate_vocabulary() {
    let classifier = "model.family = 'classifier'";
    refuses(&[
        (
            &format!("{classifier}\ntokenizer.vocabulary = 'shared'"),
            "tokenizer.vocabulary",
            "`separate`, since labels need their own vocabulary",
        ),
        (
            &format!("{classifier}\nmodel.recurrent.d_input = 3"),
            "model.recurrent.d_input",
            "since only the family `tagger` uses it, found 3",
        ),
        (
            &format!("{classifier}\ndata.valid = {{ builtin = 'reverse', pairs = 9 }}"),
            "data.valid",
            "`grammar`, whose labels are its clause types",
        ),
        (
            &format!("{classifier}\ndata.valid = {{ text = 't' }}"),
            "data.valid",
            "`tsv`, `csv`, `jsonl`, or `src` and `tgt`, with texts and their labels, found `text`",
        ),
        (
            &format!("{classifier}\nmodel.n_decoder_layers = 2"),
            "model.n_decoder_layers",
            "its default, 3, since only the families `transformer`, `seq2seq` and `decoder_only` use it",
        ),
        (
            "model.pooling = 'first'",
            "model.pooling",
            "its default, \"mean\", since only the families `classifier` and `encoder` use it",
        ),
    ]);
    accepts(&[
        classifier,
        &format!("{classifier}\nmodel.pooling = 'last'\nmodel.encoder = 'recurrent'"),
        &format!("{classifier}\ntokenizer.kind = 'char'"),
        &format!("{classifier}\ndata.valid = {{ builtin = 'grammar', pairs = 9 }}"),
    ]);
}

/// Missing keys follow the family.
#[test]
fn tokenizer_defaults_follow_the_family() {
    let tokenizer = |settings: &[&str]| {
        let config = parse("data.train = { jsonl = 'a' }", settings).unwrap();
        let text = config.to_toml();
        assert_eq!(parse(&text, &[]).unwrap(), config);
        (config.tokenizer.kind, config.tokenizer.vocabulary)
    };
    let whole_words = (TokenizerKind::Word, Vocabulary::Separate);
    assert_eq!(tokenizer(&["model.family=tagger"]), whole_words);
    let other = ["model.family=tagger", "tokenizer.vocab_size=90"];
    assert_eq!(tokenizer(&other), whole_words);
    let vectors = ["model.family=tagger", "model.recurrent.d_input=3"];
    let shared = (TokenizerKind::Word, Vocabulary::Shared);
    assert_eq!(tokenizer(&vectors), shared);
    let separate = [&vectors[..], &["tokenizer.vocabulary=separate"]].concat();
    assert_eq!(tokenizer(&separate), whole_words);
    let default = (TokenizerKind::Bpe, Vocabulary::Shared);
    assert_eq!(tokenizer(&[]), default);
    assert_eq!(tokenizer(&["model.family=transformer"]), default);
}

#[test]
fn language_models_need_text() {
    for family in ["decoder_only", "encoder_only"] {
        let family = format!("model.family = '{family}'");
        refuses(&[(&family, "data.train", "`text`, since language models learn from plain text")]);
    }
    refuses(&[("data.units = 'stream'", "data.units", "since only `decoder_only` learns from a stream")]);
}

#[test]
fn recurrent_widths_are_checked() {
    let seq2seq = "model.family = 'seq2seq'";
    refuses(&[
        (&format!("{seq2seq}\nmodel.recurrent.d_hidden = 7"), "model.recurrent.d_hidden", "an even number"),
        (
            &format!("{seq2seq}\nmodel.recurrent = {{ attention = 'none', input_feeding = 'context' }}"),
            "model.recurrent.input_feeding",
            "without attention there is no context",
        ),
        (
            &format!("{seq2seq}\nmodel.recurrent = {{ readout = false }}"),
            "model.tie_embeddings",
            "`none` or `inputs`, since the prediction reads",
        ),
        (
            &format!("{seq2seq}\nmodel.recurrent.d_input = 7"),
            "model.recurrent.d_input",
            "since only the family `tagger` uses it, found 7",
        ),
    ]);
    accepts(&[
        &format!("{seq2seq}\nmodel.recurrent = {{ d_hidden = 7, bidirectional = false }}"),
        // Recurrent models have no heads, so `d_model` need not be divisible.
        "model = { family = 'seq2seq', d_model = 15 }",
    ]);
}

#[test]
fn special_tokens_are_checked() {
    accepts(&[
        "model.decoder_start_token = '<pad>'\nmodel.forced_eos_token = '</s>'",
        "model.suppress_tokens = ['<pad>', '<unk>']",
        "model.suppress_tokens = []",
    ]);
    refuses(&[
        ("model.decoder_start_token = 3", "model.decoder_start_token", "a string, found `3`"),
        (
            "model.suppress_tokens = '<pad>'",
            "model.suppress_tokens",
            "a list of strings, found the string `<pad>` (`x.toml`, line 2) | put it in brackets: \
             `[\"<pad>\"]`",
        ),
        (
            "model.suppress_tokens = ['<pad>', 1]",
            "model.suppress_tokens",
            "a list of strings, found an array",
        ),
    ]);
    let tagger = ["model.family=tagger", "model.decoder_start_token=<pad>"];
    let message = message(parse("data.train = { jsonl = 'a' }", &tagger));
    assert!(message.contains("`model.decoder_start_token`: expected its default"), "{message}");
    assert!(
        message.contains("only the families `transformer`, `seq2seq` and `decoder_only` use it"),
        "{message}"
    );
}
