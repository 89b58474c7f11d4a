//! Defaults that depend on other keys, and those that a resumed run keeps.

use super::*;
use crate::{ConfigDraft, LengthPenaltyFormula};

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

/// `text`, resolved for the run in `folder`.
fn resumed(folder: &Path, text: &str) -> Config {
    let file = folder.join("mine.toml");
    fs::write(&file, text).expect("a file");
    let draft = ConfigDraft::load(&file, &[]).expect("a draft");
    let known = draft.known(Some(folder)).expect("the run's");
    draft.resolve(&known).expect("a configuration")
}

/// Warm-up and learning rate of a run that starts from a model stay as they were when its limits rise.
#[test]
fn a_resumed_run_keeps_what_depends_on_its_limits() {
    let folder = folder();
    let base = folder.path().join("base");
    fs::create_dir(&base).expect("a folder");
    let theirs = parse(CORPUS, &[]).expect("a configuration");
    fs::write(base.join("config.toml"), theirs.to_toml()).expect("a file");
    let text =
        |steps: usize| format!("{CORPUS}\nmodel.from = '{}'\ntrain.max_steps = {steps}", base.display());
    let begun = parse(&text(1000), &[]).expect("a configuration");
    assert_eq!(begun.train.schedule.warmup_steps, 100);
    fs::write(folder.path().join("config.toml"), begun.to_toml()).expect("a file");
    let again = resumed(folder.path(), &text(3000));
    assert_eq!(begun.difference_that_matters(&again), None);
    assert_eq!(again.train.schedule.warmup_steps, 100);
    // What is set counts, and is refused if the run has another value.
    let set = resumed(folder.path(), &format!("{}\ntrain.schedule.warmup_steps = 5", text(3000)));
    let difference = begun.difference_that_matters(&set).expect("a difference");
    assert_eq!(difference.key, "train.schedule.warmup_steps");
}

#[test]
fn stored_configurations_have_this_format() {
    let folder = folder();
    let stored = folder.path().join("config.toml");
    let text = parse(CORPUS, &[]).expect("a configuration").to_toml();
    let load = |text: &str| {
        fs::write(&stored, text).expect("a file");
        Config::load_stored(&stored)
    };
    assert!(text.starts_with("format = 1\n"), "{text}");
    load(&text).expect("a configuration");
    for (format, problem, hint) in [
        ("", "was written before formats had numbers", "attentive.load(\"old\").save(\"new\")"),
        ("format = 2\n", "has format 2, and this program reads format 1", "or a later one"),
        ("format = \"1\"\n", "has format \"1\", and this program", "or a later one"),
    ] {
        let error = load(&text.replacen("format = 1\n", format, 1)).expect_err("another format");
        assert!(error.to_string().contains(problem), "{error}");
        assert!(error.hint().is_some_and(|found| found.contains(hint)), "{error:?}");
    }
    // A user's configuration needs none, and may be a stored one.
    parse(&text, &[]).expect("a configuration");
    let error = parse(&format!("format = 3\n{CORPUS}"), &[]).expect_err("another format");
    assert!(error.to_string().contains("has format 3"), "{error}");
    let error = parse(CORPUS, &["format=1"]).expect_err("no key");
    assert!(error.to_string().contains("`format`"), "{error}");
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
