//! The engine of devices gives what the engine of the CPU gives, for every variant.

use attentive_base::batch::TokenId;
use attentive_decode::Stepper;
use attentive_device::{Cpu, Device, on};
use attentive_oracle::PLAIN;
use attentive_samples::{decodes, rows, variants};
use attentive_tape::Float;

use super::DeviceEngine;
use super::piece::{Piece, PieceLimits};
use crate::engine::{self, Dense, Engine, Precision};
use crate::model::tests::{SRC, TGT, model, padded};
use crate::model::{Model, Parameter};

/// The model on a device, with matrices in `numbers`.
fn with_numbers(device: &'static dyn Device, model: &Model, numbers: Float) -> DeviceEngine {
    DeviceEngine::with_weights(device, model.architecture(), model.copied(), numbers)
}

/// The model on a device.
fn on_device(device: &'static dyn Device, model: &Model) -> DeviceEngine {
    with_numbers(device, model, Float::F32)
}

fn on_cpu(model: &Model) -> Engine {
    Engine::new(model.architecture(), &mut Dense::new(Precision::F32, model.copied()))
}

/// The logits of rows that come and go, read alone and together, and the attention to their sources.
fn results<S: Stepper>(engine: &S) -> Vec<Vec<f32>> {
    let watched = engine.start_watched();
    let is_watched = watched.is_some();
    let mut state = watched.unwrap_or_else(|| engine.start());
    let mut found = Vec::new();
    engine.admit(&padded(&SRC[..2]), &mut state);
    found.extend(rows(engine.logits(engine.read(&padded(&TGT[..2]), &mut state))));
    engine.select(&[1, 0, 0], &mut state);
    // Far enough to share blocks, to copy them, and to need new ones.
    for next in 0..14 {
        let next: [TokenId; 3] = [4 + next % 5, 5, 6 + next % 3];
        found.extend(rows(engine.logits(engine.step(&next, &mut state))));
    }
    engine.admit(&padded(&SRC[2..3]), &mut state);
    found.extend(rows(engine.logits(engine.step(&[7, 8, 9, 2], &mut state))));
    engine.select(&[3, 2, 2], &mut state);
    found.extend(rows(engine.logits(engine.step(&[10, 11, 4], &mut state))));
    if is_watched {
        found.extend(engine.cross_attention(&state));
    }
    engine.select(&[], &mut state);
    engine.admit(&padded(&SRC[..1]), &mut state);
    found.extend(rows(engine.logits(engine.step(&[2], &mut state))));
    found
}

#[test]
fn devices_give_what_the_cpu_gives() {
    for config in variants().into_iter().filter(decodes) {
        let model = model(&config);
        let expected = results(&on_cpu(&model));
        for device in [&Cpu as &'static dyn Device, &PLAIN] {
            let found = results(&on_device(device, &model));
            assert_eq!(found.len(), expected.len(), "{config:?}");
            for (found, expected) in found.iter().zip(&expected) {
                assert_eq!(found.len(), expected.len(), "{config:?}");
                for (found, expected) in found.iter().zip(expected) {
                    let difference = (found - expected).abs();
                    assert!(difference < 1e-4, "{found}, not {expected}: {config:?} on {device:?}");
                }
            }
        }
    }
}

/// Rows that are read apart, or a few tokens at a time, end where those end that are read together.
#[test]
fn pieces_of_tokens_change_nothing() {
    for config in variants().into_iter().filter(decodes) {
        let model = model(&config);
        let engine = on_device(&PLAIN, &model);
        let read = |limits: PieceLimits| {
            let watched = engine.start_watched();
            let is_watched = watched.is_some();
            let mut state = watched.unwrap_or_else(|| engine.start());
            engine.admit(&padded(&SRC), &mut state);
            let mut found = Vec::new();
            let steps: [[&[TokenId]; 3]; 3] =
                [[&[2, 5, 6, 7, 8], &[2], &[2, 9, 4]], [&[5], &[6], &[7]], [&[4], &[10, 6, 9, 8], &[11, 5]]];
            for tokens in steps {
                let last = engine.read_within(limits, &padded(&tokens), &mut state);
                found.extend(rows(engine.logits(last)));
            }
            if is_watched {
                found.extend(engine.cross_attention(&state));
            }
            found
        };
        let together = read(PieceLimits::DEFAULT);
        for (positions, weights) in [(1, 1), (4, 100), (100, 30)] {
            let apart = read(PieceLimits { positions, weights });
            assert_eq!(apart.len(), together.len(), "{config:?}");
            for (apart, together) in apart.iter().zip(&together) {
                assert_eq!(apart.len(), together.len(), "{config:?}");
                for (apart, together) in apart.iter().zip(together) {
                    assert!((apart - together).abs() < 1e-5, "{config:?}");
                }
            }
        }
    }
}

/// The rows of the last piece are not all rows, even if those of the first are.
#[test]
fn a_piece_of_some_rows_may_follow_one_of_all() {
    let model = model(&attentive_samples::base());
    let engine = on_device(&PLAIN, &model);
    let results = |pieces: &[(&[usize], &[&[TokenId]])]| {
        let mut state = engine.start();
        engine.admit(&padded(&SRC), &mut state);
        let piece = |&(rows, tokens): &(&[usize], &[&[TokenId]])| Piece {
            rows: rows.to_vec(),
            tokens: padded(tokens),
        };
        let pieces = pieces.iter().map(piece).collect();
        let last = on(&PLAIN, || engine.read_pieces(pieces, &mut state));
        rows(engine.logits(last))
    };
    let together = results(&[(&[0, 1, 2], &[&[2, 5, 6], &[2, 4], &[2]])]);
    let apart = results(&[(&[0, 1, 2], &[&[2, 5], &[2], &[2]]), (&[0, 1], &[&[6], &[4]])]);
    assert_eq!((together.len(), apart.len()), (3, 3));
    for (apart, together) in apart.iter().flatten().zip(together.iter().flatten()) {
        assert!((apart - together).abs() < 1e-5);
    }
}

fn by_name(mut parameters: Vec<Parameter>) -> Vec<Parameter> {
    parameters.sort_by(|a, b| a.name.cmp(&b.name));
    parameters
}

/// Weights in bf16 are those that the CPU has in bf16, and nothing else is rounded.
#[test]
fn only_weights_are_rounded_to_bf16() {
    for config in variants().into_iter().filter(decodes) {
        let model = model(&config);
        let weights = Dense::new(Precision::Bf16, model.copied());
        let rounded = Engine::new(model.architecture(), &mut { weights });
        let rounded = engine::parameters(rounded.weights(), model.architecture());
        for device in [&Cpu as &'static dyn Device, &PLAIN] {
            let engine = with_numbers(device, &model, Float::Bf16);
            assert_eq!(by_name(engine.parameters()), by_name(rounded.clone()), "{config:?} on {device:?}");
            let of_rounded =
                DeviceEngine::with_weights(device, model.architecture(), rounded.clone(), Float::F32);
            assert_eq!(results(&engine), results(&of_rounded), "{config:?} on {device:?}");
            assert_eq!([engine.numbers(), of_rounded.numbers()], [Float::Bf16, Float::F32]);
        }
    }
}

#[test]
fn the_likeliest_tokens_are_those_of_the_logits() {
    let model = model(&attentive_samples::base());
    let engine = on_device(&PLAIN, &model);
    let cpu = on_cpu(&model);
    let last = |engine: &DeviceEngine| {
        let mut state = engine.start();
        engine.admit(&padded(&SRC), &mut state);
        engine.step(&[2, 2, 2], &mut state)
    };
    let mut state = cpu.start();
    cpu.admit(&padded(&SRC), &mut state);
    let expected = cpu.likeliest(cpu.step(&[2, 2, 2], &mut state), 4, &[0, 2]);
    let found = engine.likeliest(last(&engine), 4, &[0, 2]);
    for (found, expected) in found.iter().flatten().zip(expected.iter().flatten()) {
        assert_eq!(found.token, expected.token);
        assert!((found.log_prob - expected.log_prob).abs() < 1e-5);
    }
    let best = expected.iter().map(|next| Some(next[0].token));
    assert_eq!(engine.most_likely(last(&engine), &[0, 2]), best.collect::<Vec<_>>());
}
