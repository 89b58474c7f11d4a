//! Keys without effect.

use std::collections::BTreeSet;

use super::{CORPUS, accepts, message, parse, refuses};
use crate::Config;
use crate::range::Range;
use crate::schema::KEYS;

#[test]
fn unused_keys_are_refused() {
    refuses(&[
        (
            "model.family = 'seq2seq'\nmodel.n_heads = 2",
            "model.n_heads",
            "its default, 4, since the model has no Transformer stack, found 2",
        ),
        ("model.recurrent.cell = 'gru'", "model.recurrent.cell", "the model has no recurrent stack"),
        ("model.pooling = 'first'", "model.pooling", "only the families `classifier` and `encoder` use it"),
        (
            "train.optimizer.kind = 'sgd'\ntrain.optimizer.beta1 = 0.5",
            "train.optimizer.beta1",
            "SGD has no such value",
        ),
    ]);
    accepts(&["model.family = 'seq2seq'\nmodel.n_heads = 4"]);
    let vectors = ["model.family=tagger", "model.recurrent.d_input=3", "model.scale_embeddings=false"];
    let found = message(parse("data.train = { jsonl = 'a' }", &vectors));
    assert!(found.contains("`model.scale_embeddings`"), "{found}");
    let stored = tempfile::NamedTempFile::new().unwrap();
    let text = format!("format = 1\n{CORPUS}\nmodel.recurrent.cell = 'gru'");
    std::fs::write(stored.path(), text).unwrap();
    Config::load_stored(stored.path()).unwrap();
}

#[test]
fn keys_of_attention_are_unused_without_attention() {
    let language_model = |setting: &str| {
        let ssru = ["model.family=decoder_only", "model.decoder_mixing=ssru"];
        let settings = [&ssru[..], &[setting]].concat();
        parse("data.train = { text = 'a' }", &settings)
    };
    for (setting, reason) in [
        ("model.n_heads=2", "no multi-head attention"),
        ("model.n_kv_heads=2", "no multi-head attention"),
        ("model.d_head=8", "no multi-head attention"),
        ("model.attention_dropout=0.1", "no multi-head attention"),
        ("model.attention_bias=false", "no multi-head attention"),
        ("model.attention_scale=0.5", "no multi-head attention"),
        ("model.n_decoder_heads=2", "only the families `transformer`"),
        ("model.d_decoder_ff=64", "only the families `transformer`"),
        ("model.word_pieces=true", "only the family `tagger`"),
        ("model.label_layer=tanh", "only the family `classifier`"),
        ("model.positions=rotary", "need self-attention"),
        ("model.positions=relative", "need self-attention"),
        ("model.rotary_base=500.0", "is not `rotary`"),
    ] {
        let message = message(language_model(setting));
        let key = setting.split_once('=').unwrap().0;
        let start = format!("config key `{key}`: expected its default");
        assert!(message.starts_with(&start), "{message}");
        assert!(message.contains(reason), "{message}");
    }
    // No heads, so `d_model` need not be divisible.
    language_model("model.d_model=30").unwrap();
    language_model("model.positions=learned").unwrap();

    refuses(&[(
        "model.encoder = 'recurrent'\nmodel.d_decoder_ff = 64",
        "model.d_decoder_ff",
        "not both Transformer stacks",
    )]);
    let mixing = "model.decoder_mixing = 'ssru'";
    let encoder = format!("{mixing}\nmodel.encoder = 'recurrent'");
    refuses(&[(&format!("{encoder}\nmodel.positions = 'rotary'"), "model.positions", "need self-attention")]);
    accepts(&[
        &format!("{mixing}\nmodel.positions = 'rotary'\nmodel.n_heads = 2"),
        &format!("{encoder}\nmodel.n_heads = 2"),
    ]);
}

#[test]
fn a_stream_has_no_start_token() {
    let settings = |units| ["model.family=decoder_only", "model.decoder_start_token=</s>", units];
    let read = |units| parse("data.train = { text = 'a' }", &settings(units));
    let message = message(read("data.units=stream"));
    assert!(message.contains("`model.decoder_start_token`: expected its default"), "{message}");
    read("data.units=lines").unwrap();
}

#[test]
fn a_learned_vocabulary_has_its_own_special_tokens() {
    let read = |setting| parse(CORPUS, &[setting]);
    let problem = message(read("tokenizer.special.pad=[PAD]"));
    assert!(problem.contains("only vocabularies that are given"), "{problem}");
    read("tokenizer.special.pad=<pad>").unwrap();
    let given = ["tokenizer.from=my.model", "tokenizer.special.pad=[PAD]"];
    parse(CORPUS, &given).unwrap();
    let tagger = ["model.family=tagger", "tokenizer.kind=word", "model.source_first=<s>"];
    let problem = message(parse(CORPUS, &tagger));
    assert!(problem.contains("`model.source_first`: expected its default"), "{problem}");
    read("model.source_first=<s>").unwrap();
}

#[test]
fn a_tokenizer_that_is_given_is_not_learned() {
    let from = "tokenizer.from = 'my.model'";
    for line in [
        "tokenizer.kind = 'unigram'",
        "tokenizer.vocab_size = 90",
        "tokenizer.lowercase = true",
        "tokenizer.split_punctuation = false",
        "tokenizer.split_digits = true",
    ] {
        let (key, _) = line.split_once(" = ").unwrap();
        refuses(&[(
            &format!("{from}\n{line}"),
            key,
            "since `tokenizer.from` names a tokenizer that is taken as it is",
        )]);
    }
    accepts(&[from]);
}

#[test]
fn only_subwords_are_divided() {
    for kind in ["word", "char"] {
        refuses(&[(
            &format!("tokenizer.kind = '{kind}'\ntokenizer.split_by_script = false"),
            "tokenizer.split_by_script",
            "only subwords",
        )]);
    }
    accepts(&["tokenizer.kind = 'unigram'\ntokenizer.split_by_script = false"]);
}

/// Configurations that are written out in full have the keys of all families.
#[test]
fn defaults_of_other_families_are_accepted() {
    let line = "model.family = 'classifier'\nmodel.n_decoder_layers = 3\nmodel.logit_scale = 1\n\
                model.n_decoder_heads = 0\nmodel.recurrent = { attention = 'additive', d_input = 0 }";
    accepts(&[line]);
    let config = parse(&format!("{CORPUS}\n{line}"), &[]).unwrap();
    assert!(!config.to_toml().contains("n_decoder_layers"));
}

#[test]
fn zero_stands_for_the_default() {
    let zeros = "model = { n_kv_heads = 0, d_head = 0, d_decoder_ff = 0, n_decoder_heads = 0 }";
    let config = parse(&format!("{CORPUS}\n{zeros}"), &[]).unwrap();
    assert_eq!(config, parse(CORPUS, &[]).unwrap());
    for key in "n_kv_heads d_head d_decoder_ff n_decoder_heads".split(' ') {
        assert!(Range::of(&format!("model.{key}")).contains(0.0), "{key}");
    }
}

/// Every fact at a key is one of those that [`crate::schema::fact`] lists, with a value that it lists, and
/// every rule belongs to a key.
#[test]
fn facts_at_keys_are_known() {
    let mut needed = BTreeSet::new();
    for key in KEYS.iter() {
        for (name, value) in key.schema.as_object().unwrap().iter().filter(|(name, _)| name.starts_with("x-"))
        {
            let value = value.as_str().unwrap();
            match name.as_str() {
                "x-also" => assert!(!value.is_empty(), "{}", key.path),
                "x-needs" => needed.extend(value.split(' ')),
                "x-task" => assert_eq!(value, "translate", "{}", key.path),
                "x-weights" => assert_eq!(value, "none", "{}", key.path),
                "x-resume" => assert!(["free", "kept"].contains(&value), "{}", key.path),
                _ => panic!("{}: {name}", key.path),
            }
        }
    }
    let rules: BTreeSet<&str> = crate::check::unused::RULES.iter().map(|rule| rule.name).collect();
    assert_eq!(needed, rules);
    assert!(!Config::json_schema().to_string().contains("x-"));
}
