//! Reading: keys, types, overrides, files, and messages about mistakes.

mod family;
mod overrides;
mod precision;
mod ranges;
mod reference;
mod resumed;
mod source;
mod unused;

use std::fs;
use std::path::Path;

use attentive_base::error::{Error, Result};

use super::schema::{KeyType, SCHEMA};
use super::{Config, CorpusSource, Family, users};

/// A minimal configuration.
const CORPUS: &str = "data.train = { src = 'a', tgt = 'b' }";

fn parse(text: &str, overrides: &[&str]) -> Result<Config> {
    let overrides: Vec<String> = overrides.iter().map(|o| o.to_string()).collect();
    Config::parse(text, Path::new("x.toml"), &overrides)
}

/// The error message followed by its hint.
fn message(result: Result<Config>) -> String {
    let error = result.expect_err("the config is wrong");
    format!("{error} | {}", error.hint().unwrap_or_default())
}

/// Each of `cases` is a line added to [`CORPUS`], the key in the error, and a part of the message.
fn refuses(cases: &[(&str, &str, &str)]) {
    for (line, key, part) in cases {
        let message = message(parse(&format!("{CORPUS}\n{line}\n"), &[]));
        let starts = ["", "unknown "].map(|word| format!("{word}config key `{key}`"));
        assert!(starts.iter().any(|start| message.starts_with(start)), "`{line}` says: {message}");
        assert!(message.contains(part), "`{line}` should say `{part}`, and says: {message}");
    }
}

fn accepts(lines: &[&str]) {
    for line in lines {
        let result = parse(&format!("{CORPUS}\n{line}\n"), &[]);
        assert!(result.is_ok(), "`{line}` is right, and yet: {}", message(result));
    }
}

#[test]
fn the_schema_knows_keys_and_kinds() {
    let kinds = [
        ("seed", KeyType::Whole),
        ("data.valid", KeyType::Section),
        ("data.valid.pairs", KeyType::Whole),
        ("data.train.src", KeyType::Text),
        ("model.suppress_tokens", KeyType::Texts),
        ("train.optimizer.beta1", KeyType::Number),
        ("model.scale_embeddings", KeyType::Switch),
        ("train.best_by", KeyType::OneOf(&["loss", "perplexity", "accuracy", "bleu", "chrf", "script"])),
        (
            "train.keep_best_by",
            KeyType::SomeOf(&["loss", "perplexity", "accuracy", "bleu", "chrf", "script"]),
        ),
        ("train.device", KeyType::Device),
    ];
    for (key, kind) in kinds {
        assert_eq!(SCHEMA.get(key), Some(&kind), "{key}");
    }
}

#[test]
fn empty_sections_have_defaults() {
    let config = parse(&format!("{CORPUS}\n[train]"), &[]).unwrap();
    assert_eq!(config.train, super::TrainConfig::default());
    let aligned = |src: &str, tgt: &str| CorpusSource::aligned(src, tgt);
    assert_eq!(config.data.train, Some(aligned("a", "b")));
}

#[test]
fn several_corpora_have_weights() {
    let text = "[data]\ntrain = [{ src = 'a', tgt = 'b', weight = 2.5 }, { builtin = 'reverse', pairs = 3 }]";
    let config = parse(text, &["data.max_len=7"]).unwrap();
    let train = config.data.train.clone().unwrap();
    let weights: Vec<f64> = train.parts().iter().map(|(_, weight)| *weight).collect();
    assert_eq!(weights, [2.5, 1.0]);
    let files = train.files();
    assert_eq!(files, [std::path::Path::new("a"), std::path::Path::new("b")]);
    let written = config.to_toml();
    assert_eq!(parse(&written, &[]).unwrap(), config);
    let json = serde_json::to_string(&config).unwrap();
    assert_eq!(serde_json::from_str::<Config>(&json).unwrap(), config);
    let other = parse(&text.replace("2.5", "3"), &["data.max_len=7"]).unwrap();
    let difference = config.difference_that_matters(&other).unwrap();
    assert_eq!(difference.key, "data.train");
    // An override may give a list as well.
    let list = "data.train=[{ tsv = 'x' }, { jsonl = 'y' }]";
    assert_eq!(parse(CORPUS, &[list]).unwrap().data.train.unwrap().parts().len(), 2);
}

#[test]
fn a_written_configuration_reads_back_equal() {
    let overrides = [
        "data.dir=/corpora/multi 30k",
        "data.valid.builtin=reverse",
        "data.valid.pairs=7",
        "train.optimizer.epsilon=1e-9",
        "train.optimizer.learning_rate=0.1234567890123456",
        "seed=9223372036854775807",
        "model.positions=sinusoidal_tensor2tensor",
    ];
    let config = parse(CORPUS, &overrides).unwrap();
    let text = config.to_toml();
    assert_eq!(parse(&text, &[]).unwrap(), config);
    assert_eq!(parse(&text, &[]).unwrap().to_toml(), text);
    let table: toml::Table = text.parse().unwrap();
    // These are only written out if set.
    let optional = [
        "tokenizer.from",
        "model.from",
        "model.n_kv_heads",
        "model.n_decoder_heads",
        "model.d_head",
        "model.d_decoder_ff",
        "model.final_norm",
        "model.attention_output_bias",
        "model.attention_scale",
        "model.source_first",
        "model.source_last",
        "model.decoder_start_token",
        "model.alignment_layer",
        "model.alignment_head",
        "model.forced_bos_token",
        "model.forced_eos_token",
        "model.suppress_tokens",
        "tokenizer.symbols",
    ];
    let written = |key: &str| {
        let is_used = users::of(key).contains(&Family::Transformer);
        is_used && !key.starts_with("data.") && !optional.contains(&key)
    };
    for (key, kind) in SCHEMA.iter().filter(|(key, _)| written(key)) {
        let value = key
            .split('.')
            .try_fold(&toml::Value::Table(table.clone()), |value, part| value.get(part))
            .cloned();
        assert!(value.is_some(), "`{key}`, {kind:?}, is not written out");
    }
}

#[test]
fn unknown_keys_are_refused_with_the_nearest_known_one() {
    refuses(&[
        (
            "batch_tokens = 1",
            "batch_tokens",
            "unknown config key `batch_tokens` (`x.toml`, line 2) | did you mean `train.batch_tokens`?",
        ),
        ("[trian]\nmax_steps = 1", "trian", "did you mean `train`?"),
        ("train.learning_rate = 1", "train.learning_rate", "did you mean `train.optimizer.learning_rate`?"),
        ("[model]\n\nn_head = 1", "model.n_head", "(`x.toml`, line 4) | did you mean `model.n_heads`?"),
        ("model.heads = 1", "model.heads", "did you mean `model.n_heads`?"),
        ("train.warmup = 1", "train.warmup", "did you mean `train.schedule.warmup_steps`?"),
        ("train.batch_token = 1", "train.batch_token", "did you mean `train.batch_tokens`?"),
        ("data.valid.source = 'a'", "data.valid.source", "did you mean `data.valid.src`?"),
        ("decode.beamwidth = 1", "decode.beamwidth", "did you mean `decode.beam_width`?"),
        ("model.hidden_size = 1", "model.hidden_size", "did you mean `model.d_model`?"),
        ("train.cuda = true", "train.cuda", "write `device = \"gpu\"` in `[train]`"),
        ("train.lr = 1", "train.lr", "did you mean `train.optimizer.learning_rate`?"),
        ("'train.batch_tokens' = 1", "\"train.batch_tokens\"", "did you mean `train.batch_tokens`?"),
    ]);
}

#[test]
fn keys_unlike_any_other_are_refused_with_those_of_the_section() {
    refuses(&[
        (
            "decode.xyzzy = 1",
            "decode.xyzzy",
            "the keys of `[decode]` are `batch_size`, `beam_width`, `cache_precision`",
        ),
        ("xyzzy = 1", "xyzzy", "the keys at the top are `data`, `decode`, `model`, `seed`"),
        ("xyzzy.plugh = 1", "xyzzy", "the keys at the top are"),
    ]);
}

#[test]
fn wrong_types_are_refused_with_the_right_one() {
    refuses(&[
        (
            "model.d_ff = 'abc'",
            "model.d_ff",
            "a whole number, 0 or more, found the string `abc` (`x.toml`, line 2)",
        ),
        ("model.d_ff = '256'", "model.d_ff", "write `256`"),
        ("model.d_ff = 2.5", "model.d_ff", "found `2.5`"),
        ("model.d_ff = 1e3", "model.d_ff", "write `1000`"),
        ("seed = -1", "seed", "a whole number, 0 or more, found `-1`"),
        ("seed = [1]", "seed", "found an array"),
        ("seed.x = 1", "seed", "found a section of keys"),
        ("model.dropout = 'much'", "model.dropout", "a number, found the string `much`"),
        ("model.dropout = '.3'", "model.dropout", "write `0.3`"),
        ("model.attention_bias = 1", "model.attention_bias", "`true` or `false`, found `1`"),
        ("model.attention_bias = 'true'", "model.attention_bias", "write `true`"),
        (
            "data.dir = 2016",
            "data.dir",
            "a string, found `2016` (`x.toml`, line 2) | put it in quotes: `\"2016\"`",
        ),
        ("train = 3", "train", "a section of keys, found `3`"),
        ("[[train]]", "train", "a section of keys, found an array"),
    ]);
    accepts(&["model.dropout = 0", "train.optimizer.learning_rate = 1"]);
}

#[test]
fn wrong_choices_are_refused_with_all_choices_and_the_nearest() {
    refuses(&[
        (
            "train.best_by = 'blue'",
            "train.best_by",
            "one of `loss`, `perplexity`, `accuracy`, `bleu`, `chrf`, `script`, found the string `blue`",
        ),
        ("train.best_by = 'blue'", "train.best_by", "did you mean `bleu`?"),
        (
            "train.keep_best_by = ['chrf', 'blue']",
            "train.keep_best_by",
            "a list of some of `loss`, `perplexity`",
        ),
        ("train.keep_best_by = 'bleu'", "train.keep_best_by", "put it in brackets: `[\"bleu\"]`"),
        ("tokenizer.kind = 'BPE'", "tokenizer.kind", "did you mean `bpe`?"),
        ("model.positions = 'sinusoidal'", "model.positions", "did you mean `sinusoidal_"),
        ("model.positions = 'RoPE'", "model.positions", "did you mean `rotary`?"),
        ("model.norm = 'rmsnorm'", "model.norm", "did you mean `rms`?"),
        (
            "model.activation = 'SwiGLU'",
            "model.activation",
            "write `activation = \"silu\"` and `feed_forward_gate = true`",
        ),
        ("train.schedule.kind = 'inverse-sqrt'", "train.schedule.kind", "did you mean `inverse_sqrt`?"),
        ("tokenizer.kind = 3", "tokenizer.kind", "found `3`"),
    ]);
}

#[test]
fn invalid_toml_is_refused_with_its_line() {
    for (text, line) in
        [("seed = 1\nnothing here", 2), ("seed = 1\nseed = 2", 2), ("[data\n", 1), ("\n\nseed = 1 2", 3)]
    {
        let error = parse(text, &[]).unwrap_err();
        assert!(matches!(error, Error::Toml { .. }), "{error:?}");
        let start = format!("`x.toml` is not valid TOML: line {line}: ");
        assert!(
            error.to_string().starts_with(&start) && !error.to_string().contains('\n'),
            "{text:?} says: {error}"
        );
    }
}

#[test]
fn unreadable_files_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let missing = Config::load(&folder.path().join("none.toml"), &[]).unwrap_err();
    assert!(missing.to_string().ends_with("none.toml`: no such file or directory"), "{missing}");
    let directory = Config::load(folder.path(), &[]).unwrap_err();
    assert!(matches!(directory, Error::Io { action: "read", .. }), "{directory:?}");
}

#[test]
fn every_file_in_configs_loads() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs");
    let mut files = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            let config =
                Config::load(&path, &[]).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            assert_eq!(Config::parse(&config.to_toml(), &path, &[]).unwrap(), config);
            files += 1;
        }
    }
    assert!(files > 0);
}
