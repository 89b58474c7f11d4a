//! Special tokens at any id, and the token contract of a configuration.

use std::fs;
use std::num::NonZeroUsize;

use attentive_base::batch::TokenId;
use attentive_data::Example;
use attentive_decode::SearchOptions;
use attentive_text::Tokenizer;
use serde_json::Value;

use super::*;
use crate::batches::batches;

const LINES: [&str; 4] = ["a dog runs", "two cats", "the dog barks at two green cats", "over"];

/// `tokenizer` with every token `id` moved to `moved(id)`.
fn renumbered(tokenizer: &Tokenizer, moved: impl Fn(TokenId) -> TokenId) -> Tokenizer {
    let mut json: Value = serde_json::from_slice(tokenizer.to_json()).unwrap();
    let renumber = |id: &mut Value| *id = moved(id.as_u64().unwrap() as TokenId).into();
    let vocab = json["model"]["vocab"].as_object_mut().unwrap();
    vocab.values_mut().for_each(renumber);
    for token in json["added_tokens"].as_array_mut().unwrap() {
        renumber(&mut token["id"]);
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokenizer.json");
    fs::write(&path, json.to_string()).unwrap();
    Tokenizer::load(&path, &attentive_config::SpecialNames::default()).unwrap()
}

/// An untied model whose sides use different token ids, and an equivalent model with the usual ids.
fn renumbered_and_usual() -> [Pipeline; 2] {
    let untied = || with("tie_embeddings = 'none'");
    let usual = untied();
    let vocab = usual.tokenizers.src().vocab_size() as TokenId;
    let moved = |side: &str, id: TokenId| match side {
        "src" => vocab - 1 - id,
        _ => (id + 5) % vocab,
    };
    let tokenizers = Tokenizers::Separate {
        src: renumbered(usual.tokenizers.src(), |id| moved("src", id)),
        tgt: renumbered(usual.tokenizers.tgt(), |id| moved("tgt", id)),
    };
    let pipeline = untied();
    let (config, model) = (pipeline.config.clone(), pipeline.model().clone());
    for parameter in model.parameters() {
        let side = match parameter.name() {
            "src.embedding.weight" => "src",
            "tgt.embedding.weight" | "head.weight" | "head.bias" => "tgt",
            _ => continue,
        };
        let before = parameter.to_vec();
        let width = before.len() / parameter.shape()[0];
        parameter.change(|rows| {
            for (id, row) in (0..).zip(before.chunks(width)) {
                let place = moved(side, id) as usize * width;
                rows[place..place + width].copy_from_slice(row);
            }
        });
    }
    [Pipeline::from_parts(config, tokenizers, model), usual]
}

fn examples(pipeline: &Pipeline) -> Vec<Example> {
    let tokenizers = &pipeline.tokenizers;
    let pairs = (0..).zip(LINES.iter().zip(LINES.iter().rev()));
    pairs
        .map(|(line, (src, tgt))| {
            let (src, tgt) = (tokenizers.src().encode(src), tokenizers.tgt().encode(tgt));
            Example::translation(src.unwrap(), &tgt.unwrap(), tokenizers.sides(), line)
        })
        .collect()
}

/// Loss per pair of one batch, as measured by training and validation.
fn loss(pipeline: &Pipeline, examples: Vec<Example>) -> f64 {
    let batches = batches(examples, pipeline.tokenizers.sides(), None).unwrap();
    pipeline.model().sums(&batches, 0.0).nll
}

#[test]
fn token_ids_do_not_affect_results() {
    let [other, usual] = renumbered_and_usual();
    let sides = other.tokenizers.sides();
    assert_eq!((sides.src.pad, sides.tgt.pad), (15, 5));
    assert_eq!((sides.src.eos, sides.tgt.eos), (12, 8));
    let options = TranslateOptions {
        search: SearchOptions {
            strategy: Strategy::beam(3, 3, EarlyStopping::Never),
            ..(&usual.config.decode).into()
        },
        batch_size: NonZeroUsize::new(3),
        mbr: None,
    };
    let translate = |pipeline: &Pipeline| {
        let found = pipeline.translate_lines(&LINES, &options).unwrap();
        let found = found.into_iter().flat_map(|line| line.hypotheses);
        found.map(|found| (found.text, found.finished)).collect::<Vec<_>>()
    };
    assert_eq!(translate(&other), translate(&usual));
    let losses = [&other, &usual].map(|pipeline| loss(pipeline, examples(pipeline)));
    assert!((losses[0] - losses[1]).abs() < 1e-4, "{losses:?}");
}

/// A model with these changes, and its tokenizers as loaded from disk.
fn loaded(changes: &str) -> Result<Pipeline> {
    let pipeline = with(changes);
    let tokenizers = pipeline.tokenizers.clone().for_model(&pipeline.config.model)?;
    Ok(Pipeline::from_parts(pipeline.config.clone(), tokenizers, pipeline.model().clone()))
}

#[test]
fn training_and_decoding_start_with_the_same_token() {
    for token in ["<pad>", "</s>", "cats"] {
        let pipeline = loaded(&format!("decoder_start_token = '{token}'")).unwrap();
        let start = pipeline.tokenizers.tgt().id(token).unwrap();
        assert_eq!(pipeline.contract().unwrap().start, start);
        assert!(examples(&pipeline).iter().all(|example| example.tgt_in()[0] == start));
        // Search and training assign the same probability.
        let options = TranslateOptions::from(&pipeline.config.decode);
        for line in LINES {
            let found = &pipeline.translate_lines(&[line], &options).unwrap()[0].hypotheses[0];
            let src = pipeline.tokenizers.src().encode(line).unwrap();
            let mut example = Example::translation(src, &found.tokens, pipeline.tokenizers.sides(), 0);
            if !found.finished {
                example.truncate_target(example.tgt_len() - 1);
            }
            let expected = -loss(&pipeline, vec![example]);
            let difference = (found.log_prob - expected).abs();
            assert!(difference < 1e-3, "{} and {expected}", found.log_prob);
        }
    }
}

#[test]
fn forced_tokens_appear_and_barred_ones_do_not() {
    let barred = ["<pad>", "<s>", "a", "dog", "field", "green"];
    let pipeline = loaded(&format!(
        "forced_bos_token = 'two', forced_eos_token = 'barks', suppress_tokens = {barred:?}"
    ))
    .unwrap();
    let mut n_cut = 0;
    for beam_width in [1, 4] {
        let mut options = TranslateOptions::from(&pipeline.config.decode);
        options.search.strategy = Strategy::beam(beam_width, 1, EarlyStopping::Never);
        for line in pipeline.translate_lines(&LINES, &options).unwrap() {
            let found = &line.hypotheses[0];
            assert!(found.text.starts_with("two"), "{}", found.text);
            if !found.finished {
                n_cut += 1;
                assert!(found.text.ends_with("barks"), "{}", found.text);
            }
            let mut words = found.text.split(' ');
            assert!(words.all(|word| !barred.contains(&word)), "{}", found.text);
        }
    }
    assert!(n_cut > 0, "nothing reaches the length limit");
}

#[test]
fn one_ordinary_token_must_be_left() {
    let tokenizer = untrained().tokenizers.tgt().clone();
    let ids = 0..tokenizer.vocab_size() as TokenId;
    let ordinary: Vec<String> =
        ids.filter(|&id| !tokenizer.special().contains(id)).map(|id| tokenizer.token(id).unwrap()).collect();
    let suppress = |tokens: &[String]| loaded(&format!("suppress_tokens = {tokens:?}"));
    suppress(&ordinary[1..]).unwrap();
    let error = suppress(&ordinary).unwrap_err().to_string();
    assert!(error.contains("`model.suppress_tokens`"), "{error}");
    assert!(error.contains("leaves at least one ordinary token"), "{error}");
}

#[test]
fn tokens_outside_the_vocabulary_are_refused_by_key() {
    for (key, value) in [
        ("decoder_start_token", "'<2de>'"),
        ("forced_bos_token", "'<2de>'"),
        ("forced_eos_token", "'<2de>'"),
        ("suppress_tokens", "['<s>', '<2de>']"),
    ] {
        let error = loaded(&format!("{key} = {value}")).unwrap_err().to_string();
        assert!(error.contains(&format!("`model.{key}`")), "{error}");
        assert!(error.contains("`<2de>`"), "{error}");
    }
}

#[test]
fn pipelines_in_other_languages_share_the_weights() {
    let pipeline = of(attentive_config::Family::Transformer);
    let other = pipeline.in_languages(&attentive_text::Languages::default()).unwrap();
    assert_eq!(pipeline.translate(&LINES).unwrap(), other.translate(&LINES).unwrap());
    let [forms, others] = [&pipeline.forms, &other.forms];
    assert!(Arc::ptr_eq(&forms.engine, &others.engine) && Arc::ptr_eq(&forms.model, &others.model));
}
