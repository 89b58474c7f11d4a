//! Defaults that have changed, and configurations that were written before.

use std::path::PathBuf;

use super::*;
use crate::{Draft, LengthPenaltyFormula};

/// What version 0.2 wrote for a configuration with `lines`.
fn before(folder: &Path, lines: &str) -> PathBuf {
    let mut config = parse(&format!("{CORPUS}\n{lines}"), &[]).expect("a configuration");
    config.decode.length_penalty_formula = LengthPenaltyFormula::Gnmt;
    config.decode.length_penalty = 0.6;
    config.train.label_smoothing = 0.1;
    let text = config.to_toml();
    let known = |line: &&str| !line.starts_with("split_");
    let text: Vec<&str> = text.lines().filter(known).collect();
    fs::write(folder.join("config.toml"), text.join("\n")).expect("a file");
    folder.join("config.toml")
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

/// `text`, resolved for the run in `folder`.
fn resumed(folder: &Path, text: &str) -> Config {
    let file = folder.join("mine.toml");
    fs::write(&file, text).expect("a file");
    let draft = Draft::load(&file, &[]).expect("a draft");
    let known = draft.known(Some(folder)).expect("the run's");
    draft.resolve(&known).expect("a configuration")
}

#[test]
fn models_of_earlier_versions_do_not_divide_words() {
    let folder = folder();
    let stored = before(folder.path(), "");
    let config = Config::load_stored(&stored).expect("a configuration");
    let tokenizer = &config.tokenizer;
    assert!(!tokenizer.split_punctuation && !tokenizer.split_digits && !tokenizer.split_by_script);
    // The same text is new when a user writes it.
    let text = fs::read_to_string(&stored).expect("a text");
    let new = parse(&text, &[]).expect("a configuration").tokenizer;
    assert!(new.split_punctuation && !new.split_digits && new.split_by_script);
    // What is written today says it all.
    fs::write(&stored, config.to_toml()).expect("a file");
    assert_eq!(Config::load_stored(&stored).expect("the same"), config);
}

#[test]
fn what_a_stored_configuration_lacks_is_what_it_was() {
    let folder = folder();
    let stored = folder.path().join("config.toml");
    fs::write(&stored, CORPUS).expect("a file");
    let config = Config::load_stored(&stored).expect("a configuration");
    let decode = &config.decode;
    assert_eq!(
        (decode.length_penalty_formula, decode.length_penalty, config.train.label_smoothing),
        (LengthPenaltyFormula::Gnmt, 0.6, 0.1)
    );
}

#[test]
fn runs_of_earlier_versions_are_resumed_with_their_defaults() {
    for lines in ["", "tokenizer.kind = 'word'", "model.family = 'seq2seq'"] {
        let folder = folder();
        let stored = before(folder.path(), lines);
        let begun = Config::load_stored(&stored).expect("a configuration");
        let config = resumed(folder.path(), &format!("{CORPUS}\n{lines}"));
        assert_eq!(begun.difference_that_matters(&config), None, "{lines}");
        assert_eq!(config.decode, begun.decode);
        // What is set counts, and is refused if the run has another value.
        let set = format!("{CORPUS}\n{lines}\ntrain.label_smoothing = 0.0\ndecode.length_penalty = 1.0");
        let config = resumed(folder.path(), &set);
        assert_eq!(config.decode.length_penalty, 1.0);
        let difference = begun.difference_that_matters(&config).expect("a difference");
        assert_eq!(difference.key, "train.label_smoothing");
    }
}

#[test]
fn a_language_model_of_an_earlier_version_goes_on_with_smoothed_labels() {
    let folder = folder();
    let text = "model.family = 'decoder_only'\ndata.train = { text = 'a' }";
    let mut config = parse(text, &[]).expect("a configuration");
    config.train.label_smoothing = 0.1;
    fs::write(folder.path().join("config.toml"), config.to_toml()).expect("a file");
    assert_eq!(resumed(folder.path(), text), config);
}

#[test]
fn labels_are_smoothed_for_translation_alone() {
    let smoothing = |text: &str| {
        let config = parse(text, &[]).expect("a configuration");
        config.train.label_smoothing
    };
    let text = "data.train = { text = 'a' }";
    assert_eq!(smoothing(CORPUS), 0.1);
    assert_eq!(smoothing(&format!("{CORPUS}\nmodel.family = 'seq2seq'")), 0.1);
    for family in ["decoder_only", "encoder_only"] {
        assert_eq!(smoothing(&format!("{text}\nmodel.family = '{family}'")), 0.0);
    }
    for family in ["tagger", "classifier"] {
        assert_eq!(smoothing(&format!("{CORPUS}\nmodel.family = '{family}'")), 0.0);
    }
    let set = format!("{text}\nmodel.family = 'decoder_only'\ntrain.label_smoothing = 0.2");
    assert_eq!(smoothing(&set), 0.2);
}

#[test]
fn each_length_penalty_has_its_exponent() {
    let alpha = |line: &str| {
        let config = parse(&format!("{CORPUS}\n{line}"), &[]).expect("a configuration");
        (config.decode.length_penalty_formula, config.decode.length_penalty)
    };
    assert_eq!(alpha(""), (LengthPenaltyFormula::Length, 1.0));
    assert_eq!(alpha("decode.length_penalty_formula = 'length'"), (LengthPenaltyFormula::Length, 1.0));
    assert_eq!(alpha("decode.length_penalty_formula = 'gnmt'"), (LengthPenaltyFormula::Gnmt, 0.6));
    let both = "decode = { length_penalty_formula = 'gnmt', length_penalty = 1.0 }";
    assert_eq!(alpha(both), (LengthPenaltyFormula::Gnmt, 1.0));
}

#[test]
fn a_limit_of_training_does_not_keep_models_from_being_read() {
    let folder = folder();
    let stored = before(folder.path(), "");
    let text = fs::read_to_string(&stored).expect("a text");
    let many = text.replace("micro_batches_per_update = 1\n", "micro_batches_per_update = 100000\n");
    fs::write(&stored, &many).expect("a file");
    let config = Config::load_stored(&stored).expect("a configuration");
    assert_eq!(config.train.micro_batches_per_update, 100_000);
    let refused = parse(&many, &[]).expect_err("too many");
    assert!(refused.to_string().contains("`train.micro_batches_per_update`"), "{refused}");
}
