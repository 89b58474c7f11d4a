//! What a family asks of the other values.

use super::{accepts, refuses};

const TAGGER: &str = "model.family = 'tagger'";
const WORDS: &str = "tokenizer = { kind = 'word', vocabulary = 'separate' }";

#[test]
fn a_tagger_labels_whole_tokens_with_tags_of_their_own() {
    refuses(&[
        (
            TAGGER,
            "tokenizer.kind",
            "`word`, as a tagger labels tokens",
        ),
        (
            &format!("{TAGGER}\ntokenizer.kind = 'word'"),
            "tokenizer.vocabulary",
            "`separate`, as tags are no tokens, found `shared`",
        ),
        (
            &format!("{TAGGER}\n{WORDS}\ndata.valid = {{ text = 'v' }}"),
            "data.valid",
            "pairs, as this family learns from two sides",
        ),
        (
            &format!("{TAGGER}\n{WORDS}\nmodel.recurrent.d_input = 3"),
            "data.train",
            "`jsonl`, as the tagger reads vectors",
        ),
    ]);
    accepts(&[
        &format!("{TAGGER}\n{WORDS}"),
        &format!("{TAGGER}\n{WORDS}\ndata.valid = {{ jsonl = 'v' }}"),
    ]);
}

#[test]
fn language_models_learn_from_texts() {
    for family in ["decoder_only", "encoder_only"] {
        let family = format!("model.family = '{family}'");
        refuses(&[(
            &family,
            "data.train",
            "`text`, as language models learn from one",
        )]);
    }
    refuses(&[(
        "data.units = 'stream'",
        "data.units",
        "as only `decoder_only` learns from a stream",
    )]);
}

#[test]
fn recurrent_layers_have_widths_that_fit() {
    let seq2seq = "model.family = 'seq2seq'";
    refuses(&[
        (
            &format!("{seq2seq}\nmodel.recurrent.d_hidden = 7"),
            "model.recurrent.d_hidden",
            "an even number",
        ),
        (
            &format!("{seq2seq}\nmodel.recurrent.d_input = 7"),
            "model.recurrent.d_input",
            "0, as only taggers read vectors",
        ),
    ]);
    accepts(&[
        &format!("{seq2seq}\nmodel.recurrent = {{ d_hidden = 7, bidirectional = false }}"),
        // They have no heads.
        "model = { family = 'seq2seq', d_model = 15 }",
    ]);
}
