//! The schema, the reference, short configurations, and the origins of values.

use std::fs;
use std::path::{Path, PathBuf};

use attentive_base::error::Result;
use serde_json::Value;

use super::parse;
use crate::schema::{self, KEYS, KeyType, description};
use crate::{Config, ConfigDraft, Family, KnownConfigs, StarterCorpus, TrainDevice, ValueOrigin, reference};

fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// The configuration files in a folder.
fn files(folder: &str) -> Vec<PathBuf> {
    let found = fs::read_dir(root(folder)).unwrap();
    let found = found.map(|entry| entry.unwrap().path());
    let mut found: Vec<_> = found.filter(|path| path.extension().is_some_and(|e| e == "toml")).collect();
    found.sort();
    assert!(!found.is_empty(), "{folder}");
    found
}

#[test]
fn every_key_is_described() {
    let reference = reference();
    let known = |path: &str| reference.contains(&format!("`{path}`"));
    for key in KEYS.iter() {
        let text = description(key.schema);
        assert!(text.len() > 10 && text.ends_with('.'), "{}: {text}", key.path);
        assert!(!text.contains("[`") && !text.contains("::"), "{}: {text}", key.path);
        let in_valid = key.path.starts_with("data.valid.");
        let is_section = key.kind == KeyType::Section && reference.contains(&format!("`[{}]`", key.path));
        assert!(in_valid || is_section || known(&key.path), "{}", key.path);
        for (value, choice) in schema::choices(key.schema) {
            let text = description(choice);
            assert!(text.ends_with('.') || text.ends_with(')'), "{} = {value}: {text}", key.path);
        }
    }
    let long = reference.lines().find(|line| line.chars().count() > 128);
    assert_eq!(long, None);
}

#[test]
fn the_reference_in_the_documentation_is_up_to_date() {
    let written = fs::read_to_string(root("docs/configuration.md")).unwrap_or_default();
    assert!(
        written == reference(),
        "docs/configuration.md is stale; write it again with\n  \
         cargo run --release -- config reference > docs/configuration.md"
    );
}

#[test]
fn every_example_has_the_type_and_the_range_of_its_key() {
    for key in KEYS.iter() {
        let examples = key.schema.get("examples").and_then(Value::as_array);
        let values = examples.into_iter().flatten().chain(key.schema.get("default"));
        for value in values {
            let fits = match key.kind {
                KeyType::Section => false,
                KeyType::Switch => value.is_boolean(),
                KeyType::Whole => value.is_u64() && in_range(key.schema, value),
                KeyType::Number => value.is_number() && in_range(key.schema, value),
                KeyType::Text => value.is_string(),
                KeyType::Device => value.as_str().is_some_and(|text| text.parse::<TrainDevice>().is_ok()),
                KeyType::Texts | KeyType::Columns => value.is_array(),
                KeyType::SomeOf(_) => value.is_array(),
                KeyType::OneOf(values) => value.as_str().is_some_and(|value| values.contains(&value)),
            };
            assert!(fits, "{} = {value}", key.path);
        }
    }
}

fn in_range(schema: &Value, value: &Value) -> bool {
    let range = crate::range::Range::read(schema);
    range.contains(value.as_f64().unwrap())
}

/// `scripts/check_schema.py` checks the same files against the JSON Schema.
#[test]
fn bad_configurations_are_refused() {
    for path in files("tests/fixtures/config/bad") {
        assert!(Config::load(&path, &[]).is_err(), "{}", path.display());
    }
    for path in files("tests/fixtures/config/good") {
        Config::load(&path, &[]).unwrap();
    }
}

fn resolve(text: &str, overrides: &[&str], known: &KnownConfigs) -> Result<(Config, super::super::Origins)> {
    let overrides: Vec<String> = overrides.iter().map(|o| o.to_string()).collect();
    let draft = ConfigDraft::parse(text, Path::new("x.toml"), &overrides)?;
    draft.resolve_with_origins(known)
}

#[test]
fn shown_configurations_read_back_equal() {
    for path in files("configs").into_iter().chain(files("tests/fixtures/config/good")) {
        let text = fs::read_to_string(&path).unwrap();
        let (config, origins) = resolve(&text, &[], &KnownConfigs::default()).unwrap();
        let shown = config.to_toml_with_origins(&origins);
        assert_eq!(parse(&shown, &[]).unwrap(), config, "{shown}");
    }
}

#[test]
fn every_value_has_its_origin() {
    let text = "[data]\ntrain = { src = 'a', tgt = 'b' }\n[model]\nfamily = 'tagger'\n[train]\nmicro_batches_per_update = 2\n";
    let (config, origins) =
        resolve(text, &["train.max_steps=7", "data.train.tgt=c"], &KnownConfigs::default()).unwrap();
    let file = |line| ValueOrigin::File { path: "x.toml".into(), line };
    let dependent = ValueOrigin::DependentDefault { on: "`model.family`" };
    for (key, origin) in [
        ("data.train.src", file(2)),
        ("data.train.tgt", ValueOrigin::Override),
        ("model.family", file(4)),
        ("train.micro_batches_per_update", file(6)),
        ("train.max_steps", ValueOrigin::Override),
        ("train.label_smoothing", dependent.clone()),
        ("tokenizer.kind", dependent),
        ("model.d_model", ValueOrigin::Default),
    ] {
        assert_eq!(*origins.of(key), origin, "{key}");
    }
    let shown = config.to_toml_with_origins(&origins);
    for line in [
        "family = \"tagger\" # x.toml:4",
        "label_smoothing = 0.0 # default, depends on `model.family`",
        "max_steps = 7 # an override",
    ] {
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(shown.lines().any(|shown| words(shown) == line), "{line}: {shown}");
    }
    assert!(!shown.contains("\nd_ff ="), "{shown}");
    assert!(shown.contains("# Without effect here: "), "{shown}");
}

#[test]
fn values_of_the_base_model_have_their_origin() {
    let base = parse("data.train = { src = 'a', tgt = 'b' }\nmodel = { d_model = 64, n_heads = 2 }", &[]);
    let known = KnownConfigs { source: Some(base.unwrap()), begun: None };
    let text = "data.train = { src = 'a', tgt = 'b' }\nmodel = { from = 'base', dropout = 0.2 }";
    let (config, origins) = resolve(text, &[], &known).unwrap();
    assert_eq!((config.model.d_model, config.model.dropout), (64, 0.2));
    assert_eq!(*origins.of("model.d_model"), ValueOrigin::BaseModel);
    assert!(matches!(origins.of("model.dropout"), ValueOrigin::File { line: 2, .. }));
    assert_eq!(
        origins.of("train.schedule.warmup_steps").to_string(),
        "default, depends on `model.from` and `train.max_steps`"
    );
}

#[test]
fn short_configurations_are_valid() {
    use Family::{Classifier, DecoderOnly, Encoder, EncoderOnly, Seq2seq, Tagger, Transformer};
    let all = [
        StarterCorpus::Aligned,
        StarterCorpus::Tsv,
        StarterCorpus::Jsonl,
        StarterCorpus::Text,
        StarterCorpus::Builtin,
    ];
    for family in [Transformer, Seq2seq, DecoderOnly, EncoderOnly, Tagger, Classifier] {
        let is_language_model = matches!(family, DecoderOnly | EncoderOnly);
        for source in all {
            let text = source.configuration(family, None);
            let fits =
                source == StarterCorpus::Builtin || is_language_model == (source == StarterCorpus::Text);
            assert_eq!(text.is_ok(), fits, "{family:?} {source:?}");
            let Ok(text) = text else { continue };
            parse(&text, &[]).unwrap_or_else(|error| panic!("{error}: {text}"));
            let lines = text.lines().count();
            assert!((20..=50).contains(&lines), "{lines} lines: {text}");
            let long = text.lines().find(|line| line.chars().count() > 100);
            assert_eq!(long, None);
        }
    }
    assert!(StarterCorpus::Text.configuration(Encoder, None).is_err());
}
