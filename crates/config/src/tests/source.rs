//! `model.from`.

use std::path::PathBuf;

use super::*;
use crate::{ConfigDraft, EncoderConfig, FamilyConfig, LabelLayer, Pooling, Vocabulary};

/// A folder with the model directory `model`, as `text` describes it.
fn source(text: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let dir = folder.path().join("model");
    let corpus = if text.contains("encoder_only") { "data.train = { text = 'a' }" } else { CORPUS };
    write(&dir, &parse(&format!("{corpus}\ndata.max_len = 50\n{text}"), &[]).expect("a source"));
    (folder, dir)
}

fn write(dir: &Path, config: &Config) {
    fs::create_dir_all(dir).expect("a folder");
    fs::write(dir.join("config.toml"), config.to_toml()).expect("a file");
}

/// A configuration with `lines` that starts from the model in `dir`.
fn from(dir: &Path, lines: &str) -> Result<Config> {
    let from = dir.display();
    parse(&format!("model.from = '{from}'\n{CORPUS}\n{lines}"), &[])
}

const TRANSLATES: &str = "
[model]
d_model = 64
norm_position = 'pre'
dropout = 0.3
max_len = 100
[tokenizer]
kind = 'unigram'
vocab_size = 500
[decode]
beam_width = 3
length_penalty = 0.7
[train]
max_steps = 7
";

#[test]
fn network_tokenizer_and_search_are_taken_over() {
    let (_folder, dir) = source(TRANSLATES);
    let theirs = Config::load_stored(&dir.join("config.toml")).expect("a source");
    let config = from(&dir, "model.freeze = ['encoder.*']\nmodel.dropout = 0.1\ndecode.length_penalty = 1");
    let config = config.expect("a configuration");
    assert_eq!(config.tokenizer, theirs.tokenizer);
    assert_eq!((config.decode.beam_width, config.decode.length_penalty), (3, 1.0));
    let mut model = theirs.model.clone();
    model.from = Some(dir.clone());
    model.freeze = vec!["encoder.*".into()];
    model.dropout = 0.1;
    assert_eq!(config.model, model);
    // Not how it was trained; its longest texts are a limit.
    let mut train = Config::default().train;
    (train.optimizer.learning_rate, train.schedule.warmup_steps) = (1e-3, 500);
    assert_eq!(config.train, train);
    assert_eq!(config.data.max_len, 100);
    // What is written down is read again, even without the model.
    fs::remove_dir_all(&dir).expect("removed");
    let stored = dir.with_extension("toml");
    fs::write(&stored, config.to_toml()).expect("a file");
    assert_eq!(Config::load_stored(&stored).expect("a config"), config);
    let missing = message(from(&dir, ""));
    assert!(missing.contains("`model.from`: expected a model directory"));
    assert!(missing.contains("does not exist (`x.toml`, line 1)"), "{missing}");
}

#[test]
fn contradictions_are_refused() {
    let (_folder, dir) = source(TRANSLATES);
    for (line, words) in [
        ("model.d_model = 128", "`model.d_model`: expected 64, as in the model `"),
        ("model.encoder = 'recurrent'", "`model.encoder`: expected \"transformer\""),
        ("model.family = 'classifier'", "`model.family`: expected \"transformer\""),
        ("model.n_heads = 8", "found 8 (`x.toml`, line 3)"),
        ("tokenizer.kind = 'bpe'", "`tokenizer.kind`: expected \"unigram\""),
        ("tokenizer.special.pad = 'x'", "`tokenizer.special.pad`"),
        ("data.max_len = 101", "`data.max_len`: expected at most `model.max_len` = 100"),
    ] {
        let message = message(from(&dir, line));
        assert!(message.contains(words), "{line}: {message}");
    }
    // What is the same may be said.
    let same = "model.d_model = 64\nmodel.norm_epsilon = 0.00001\ntokenizer.vocab_size = 500";
    from(&dir, same).expect("no contradiction");
    let other = "model.decoder_start_token = '</s>'\nmodel.forced_bos_token = 'x'";
    from(&dir, other).expect("special tokens may differ");
}

#[test]
fn special_tokens_are_those_of_the_model() {
    let (_folder, dir) = source(TRANSLATES);
    let mut theirs = Config::load_stored(&dir.join("config.toml")).expect("a source");
    theirs.tokenizer.special.pad = "[PAD]".into();
    write(&dir, &theirs);
    let config = from(&dir, "").expect("a configuration");
    assert_eq!(config.tokenizer.special.pad, "[PAD]");
}

#[test]
fn values_without_effect_are_not_taken_over() {
    let (_folder, dir) = source(TRANSLATES);
    let mut theirs = Config::load_stored(&dir.join("config.toml")).expect("a source");
    theirs.model.recurrent.d_hidden = 17;
    write(&dir, &theirs);
    let config = from(&dir, "").expect("a configuration");
    assert_eq!(config.model.recurrent.d_hidden, 256);
}

#[test]
fn a_masked_language_model_becomes_a_classifier_or_a_tagger() {
    let (_folder, dir) = source(
        "[model]
        family = 'encoder_only'
        d_model = 64
        tie_embeddings = 'none'
        output_bias = true
        output_transform = true
        [tokenizer]
        kind = 'word'",
    );
    let config = from(&dir, "model.family = 'classifier'\nmodel.pooling = 'first'");
    let config = config.expect("a classifier");
    let classifier = FamilyConfig::Classifier {
        encoder: EncoderConfig::default(),
        pooling: Pooling::First,
        label_layer: LabelLayer::None,
    };
    assert_eq!(config.model.family, classifier);
    assert_eq!(config.tokenizer.vocabulary, Vocabulary::Separate);
    let config = from(&dir, "model.family = 'tagger'").expect("a tagger");
    assert_eq!(config.model.architecture(9, 5).task(), crate::Task::Tag);
    assert!(config.model.has(crate::StackKind::Transformer));
    let wrong = message(from(&dir, "model.family = 'transformer'"));
    assert!(wrong.contains("`model.family`: expected \"encoder_only\""), "{wrong}");
}

#[test]
fn a_classifier_reduces_texts_as_the_encoder_did_from_which_it_starts() {
    let (_folder, dir) = source("model.family = 'encoder_only'");
    let mut theirs = Config::load_stored(&dir.join("config.toml")).expect("a source");
    let encoder = EncoderConfig::default();
    theirs.model.family = FamilyConfig::Encoder {
        encoder: encoder.clone(),
        pooling: Pooling::Last,
        normalize_embeddings: true,
    };
    write(&dir, &theirs);
    let config = from(&dir, "model.family = 'classifier'").expect("a classifier");
    let classifier =
        FamilyConfig::Classifier { encoder, pooling: Pooling::Last, label_layer: LabelLayer::None };
    assert_eq!(config.model.family, classifier);
}

/// What `tokenizer.from` named is in the model directory, and a tagger may not name it.
#[test]
fn a_model_with_a_given_tokenizer_becomes_a_tagger() {
    let (_folder, dir) = source(
        "[model]
        family = 'encoder_only'
        [tokenizer]
        from = 'my.model'
        special = { unk = 'x' }",
    );
    for family in ["tagger", "classifier"] {
        let config = from(&dir, &format!("model.family = '{family}'")).expect(family);
        let tokenizer = &config.tokenizer;
        assert_eq!(tokenizer.from, None);
        assert_eq!(tokenizer.special.unk, "x");
        assert!(!tokenizer.split_punctuation && !tokenizer.split_by_script);
        let has_pieces =
            matches!(config.model.family, FamilyConfig::Tagger { word_pieces, .. } if word_pieces);
        assert_eq!(has_pieces, family == "tagger");
    }
}

#[test]
fn another_length_penalty_does_not_take_over_the_exponent() {
    let (folder, dir) = source(TRANSLATES);
    let alpha = |lines: &str| from(&dir, lines).expect("a configuration").decode.length_penalty;
    assert_eq!(alpha("decode.length_penalty_formula = 'length'"), 0.7);
    assert_eq!(alpha("decode.length_penalty_formula = 'gnmt'"), 0.6);
    let set = "decode = { length_penalty_formula = 'gnmt', length_penalty = 0.8 }";
    assert_eq!(alpha(set), 0.8);
    // The same goes for a run that is resumed.
    let file = folder.path().join("c.toml");
    fs::write(&file, format!("{CORPUS}\ndecode.length_penalty_formula = 'gnmt'")).expect("a file");
    let draft = ConfigDraft::load(&file, &[]).expect("a draft");
    let known = draft.known(Some(&dir)).expect("the run's");
    let config = draft.resolve(&known).expect("a configuration");
    assert_eq!(config.decode.length_penalty, 0.6);
}

#[test]
fn a_run_that_is_resumed_needs_no_source() {
    let (folder, dir) = source(TRANSLATES);
    let config = from(&dir, "").expect("a configuration");
    let run = folder.path().join("run");
    write(&run, &config);
    fs::remove_dir_all(&dir).expect("removed");
    let file = folder.path().join("c.toml");
    let text = format!("model.from = '{}'\n{CORPUS}", dir.display());
    fs::write(&file, text).expect("a file");
    let draft = || ConfigDraft::load(&file, &[]).expect("a draft");
    let known = draft().known(Some(&run)).expect("the run's");
    let again = draft().resolve(&known).expect("a configuration");
    assert_eq!(again, config);
    assert!(draft().known(None).is_err());
    assert!(draft().known(Some(folder.path())).is_err());
}

#[test]
fn a_model_that_is_trained_already_needs_less_warmup() {
    let (_folder, dir) = source(TRANSLATES);
    let rates = |lines: &str| {
        let train = from(&dir, lines).expect("a configuration").train;
        (train.optimizer.learning_rate, train.schedule.warmup_steps)
    };
    assert_eq!(rates(""), (1e-3, 500));
    assert_eq!(rates("train.max_steps = 300"), (1e-3, 30));
    assert_eq!(rates("train.max_steps = 3"), (1e-3, 1));
    let set = "train.max_steps = 300\ntrain.optimizer.learning_rate = 0.1";
    assert_eq!(rates(set), (0.1, 30));
    assert_eq!(rates("train.schedule.warmup_steps = 7"), (1e-3, 7));
    let cosine = "train.schedule.kind = 'cosine'\ntrain.max_steps = 1";
    assert_eq!(rates(cosine), (1e-3, 0));
    // There, the rate is a factor.
    let noam = "train.schedule.kind = 'noam'\ntrain.max_steps = 300";
    assert_eq!(rates(noam), (1e-3, 30));
}

#[test]
fn raising_a_limit_does_not_change_the_warmup_of_a_run() {
    let (folder, dir) = source(TRANSLATES);
    let text = |steps: u64| format!("model.from = '{}'\n{CORPUS}\ntrain.max_steps = {steps}", dir.display());
    let run = folder.path().join("run");
    let begun = parse(&text(300), &[]).expect("a configuration");
    write(&run, &begun);
    let file = folder.path().join("c.toml");
    fs::write(&file, text(600)).expect("a file");
    let draft = ConfigDraft::load(&file, &[]).expect("a draft");
    let known = draft.known(Some(&run)).expect("the run's");
    let config = draft.resolve(&known).expect("a configuration");
    assert_eq!(config.train.schedule.warmup_steps, 30);
    assert_eq!(begun.difference_that_matters(&config), None);
}
