//! The engine equals the model to the bit in `f32`, and a row does not depend on others in any precision, for
//! every variant.

mod cache;
mod encoder;
mod shortlist;

use std::ops::Range;

use attentive_config::ModelConfig;
use attentive_decode::likeliest;
use attentive_samples::{base, decodes, rows, variant, variants};

use super::*;
use crate::model::Model;
use crate::model::tests::{SRC, TGT, batch_of, model, padded};
use crate::nn::Pass;

fn engine(model: &Model) -> Engine {
    in_precision(model, Precision::F32)
}

fn in_precision(model: &Model, precision: Precision) -> Engine {
    let weights = &mut Dense::new(precision, model.copied());
    Engine::new(model.architecture(), weights)
}

/// A state with a row for each of `sentences`.
fn state_of(engine: &Engine, sentences: Range<usize>) -> RamState {
    let mut state = engine.start();
    engine.admit(&padded(&SRC[sentences]), &mut state);
    state
}

fn step(engine: &Engine, next: &[TokenId], state: &mut RamState) -> Vec<Vec<f32>> {
    rows(engine.logits(engine.step(next, state)))
}

#[test]
fn steps_equal_the_full_forward_pass() {
    for config in variants().into_iter().filter(decodes) {
        let model = model(&config);
        let engine = engine(&model);
        let full = rows(model.forward(&batch_of(&config, 0..3), &Pass::inference()));
        let mut state = state_of(&engine, 0..3);
        for position in 0..3 {
            let last: Vec<TokenId> = TGT.iter().map(|tgt| tgt.get(position).copied().unwrap_or(0)).collect();
            let step = step(&engine, &last, &mut state);
            for row in [0, 2] {
                let expected = &full[row * TGT[0].len() + position];
                assert_eq!(&step[row], expected, "{config:?}");
            }
        }
    }
}

#[test]
fn tokens_read_at_once_equal_the_full_forward_pass() {
    for config in variants().into_iter().filter(decodes) {
        let model = model(&config);
        let engine = engine(&model);
        let full = rows(model.forward(&batch_of(&config, 0..1), &Pass::inference()));
        for first in 1..5 {
            let mut state = state_of(&engine, 0..1);
            let all = TGT[0];
            for (tokens, row) in [(&all[..first], first - 1), (&all[first..], all.len() - 1)] {
                let last = engine.read(&padded(&[tokens]), &mut state);
                let read = rows(engine.logits(last));
                assert_eq!(read.len(), 1);
                assert_eq!(read[0], full[row], "{config:?}");
            }
        }
    }
}

/// Prefixes of different lengths are read together, which does not affect the following tokens.
#[test]
fn prefixes_of_different_lengths_are_read_together() {
    for config in variants().into_iter().filter(decodes) {
        let model = model(&config);
        let engine = engine(&model);
        let mut together = state_of(&engine, 0..3);
        let read = engine.read(&padded(&TGT), &mut together);
        let read = rows(engine.logits(read));
        let after = step(&engine, &[4, 5, 6], &mut together);
        for row in 0..3 {
            let mut alone = state_of(&engine, row..row + 1);
            let last = engine.read(&padded(&TGT[row..=row]), &mut alone);
            assert_eq!(rows(engine.logits(last))[0], read[row], "{config:?}");
            let next = [4, 5, 6][row];
            assert_eq!(step(&engine, &[next], &mut alone)[0], after[row], "{config:?}");
        }
    }
}

#[test]
fn selected_rows_continue_unchanged() {
    for config in variants().into_iter().filter(decodes) {
        let model = model(&config);
        let engine = engine(&model);
        let mut state = state_of(&engine, 0..3);
        step(&engine, &[2, 2, 2], &mut state);
        let mut chosen = state.clone();
        engine.select(&[2, 0, 0], &mut chosen);
        let before = step(&engine, &[5, 6, 7], &mut state);
        let after = step(&engine, &[7, 5, 5], &mut chosen);
        assert_eq!(after, [before[2].clone(), before[0].clone(), before[0].clone()]);
    }
}

/// Rows are admitted, repeated and dropped between any two decoding steps; the results of each are
/// bit-identical to those alone.
#[test]
fn a_row_does_not_depend_on_other_rows() {
    for precision in [Precision::F32, Precision::Bf16, Precision::Int8] {
        for config in variants().into_iter().filter(decodes) {
            rows_come_and_go(&config, precision);
        }
    }
}

fn rows_come_and_go(config: &ModelConfig, precision: Precision) {
    {
        let model = model(config);
        let engine = in_precision(&model, precision);
        let alone = |sentence: usize, tokens: &[TokenId]| {
            let mut state = state_of(&engine, sentence..sentence + 1);
            let all = tokens.iter().map(|&token| step(&engine, &[token], &mut state));
            all.last().expect("a step").remove(0)
        };
        let mut state = state_of(&engine, 0..2);
        step(&engine, &[2, 2], &mut state);
        engine.select(&[1, 0, 0], &mut state);
        let found = step(&engine, &[4, 5, 6], &mut state);
        assert_eq!(found[0], alone(1, &[2, 4]), "{config:?}");
        assert_eq!(found[2], alone(0, &[2, 6]), "{config:?}");
        engine.admit(&padded(&SRC[2..3]), &mut state);
        let found = step(&engine, &[7, 8, 9, 2], &mut state);
        assert_eq!(found[0], alone(1, &[2, 4, 7]), "{config:?}");
        assert_eq!(found[1], alone(0, &[2, 5, 8]), "{config:?}");
        assert_eq!(found[3], alone(2, &[2]), "{config:?}");
        engine.select(&[3, 2], &mut state);
        let found = step(&engine, &[10, 11], &mut state);
        assert_eq!(found[0], alone(2, &[2, 10]), "{config:?}");
        assert_eq!(found[1], alone(0, &[2, 6, 9, 11]), "{config:?}");
        engine.select(&[], &mut state);
        engine.admit(&padded(&SRC[..1]), &mut state);
        assert_eq!(step(&engine, &[2], &mut state)[0], alone(0, &[2]), "{config:?}");
    }
}

/// Sums of more than 256 terms are added in blocks, whose order must be that of training.
#[test]
fn wide_layers_equal_the_full_forward_pass() {
    for changes in [
        "family = 'seq2seq', recurrent = { cell = 'gru', d_hidden = 300, attention = 'additive' }",
        "family = 'seq2seq', recurrent = { cell = 'gru', d_hidden = 300, attention = 'general' }",
        "d_model = 520, n_heads = 2, d_ff = 530",
    ] {
        let config = variant(changes);
        let model = model(&config);
        let engine = engine(&model);
        let full = rows(model.forward(&batch_of(&config, 0..1), &Pass::inference()));
        let mut state = state_of(&engine, 0..1);
        for (token, expected) in TGT[0].iter().zip(&full) {
            assert_eq!(&step(&engine, &[*token], &mut state)[0], expected, "{config:?}");
        }
    }
}

#[test]
fn likeliest_tokens_match_the_logits() {
    let engine = engine(&model(&base()));
    let last = engine.step(&[2, 2, 2], &mut state_of(&engine, 0..3));
    let expected = likeliest(engine.logits(last.clone()), 4, &[0, 2]);
    assert_eq!(engine.likeliest(last.clone(), 4, &[0, 2]), expected);
    let best = expected.iter().map(|next| Some(next[0].token));
    assert_eq!(engine.most_likely(last, &[0, 2]), best.collect::<Vec<_>>());
}

#[test]
fn answers_match_the_logits() {
    let model = model(&base());
    for precision in Precision::ALL {
        let engine = in_precision(&model, precision);
        let last = engine.step(&[2, 3, 2], &mut state_of(&engine, 0..3));
        let question = |count, barred: &[TokenId], tokens: &[TokenId]| Question {
            count,
            barred: barred.to_vec(),
            tokens: tokens.to_vec(),
        };
        let questions = [question(4, &[0, 2], &[]), question(0, &[], &[5]), question(2, &[1], &[1, 7, 0, 7])];
        let logits = engine.logits(last.clone());
        let expected = logits.rows().zip(&questions);
        let expected = expected.map(|(row, question)| question.answer(row));
        let expected: Vec<Answer> = expected.collect();
        assert_eq!(engine.answers(last, &questions), expected);
    }
}

/// Low precision changes logits a little, not beyond recognition.
#[test]
fn low_precision_is_close() {
    for config in variants().into_iter().filter(decodes) {
        let model = model(&config);
        let exact = step(&engine(&model), &[2, 2], &mut state_of(&engine(&model), 0..2)).concat();
        let norm: f32 = exact.iter().map(|x| x * x).sum::<f32>().sqrt();
        for (precision, most) in [(Precision::Bf16, 0.1), (Precision::Int8, 0.2)] {
            let rough = in_precision(&model, precision);
            let found = step(&rough, &[2, 2], &mut state_of(&rough, 0..2)).concat();
            let distances = found.iter().zip(&exact).map(|(a, b)| (a - b) * (a - b));
            let distance = distances.sum::<f32>().sqrt();
            assert!(distance > 0.0 && distance < most * norm, "{distance} of {norm}: {config:?}");
        }
    }
}

/// Watched steps give the same logits, and weights over the source that sum to 1.
#[test]
fn cross_attention_is_recorded_on_demand() {
    for config in variants().into_iter().filter(decodes) {
        let engine = engine(&model(&config));
        let Some(mut watched) = engine.start_watched() else {
            continue;
        };
        engine.admit(&padded(&SRC), &mut watched);
        engine.select(&[2, 0, 0], &mut watched);
        let found = step(&engine, &[2, 2, 4], &mut watched);
        let weights = engine.cross_attention(&watched);
        for (row, sentence) in [2, 0, 0].into_iter().enumerate() {
            let token = [2, 2, 4][row];
            let mut alone = state_of(&engine, sentence..sentence + 1);
            assert_eq!(step(&engine, &[token], &mut alone)[0], found[row], "{config:?}");
            assert_eq!(weights[row].len(), SRC[sentence].len());
            let sum: f32 = weights[row].iter().sum();
            assert!((sum - 1.0).abs() < 1e-5, "{sum}: {config:?}");
        }
    }
}
