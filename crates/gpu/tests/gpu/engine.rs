//! Whole models that decode, for every variant.

use attentive_base::batch::{Padded, TokenId};
use attentive_decode::Stepper;
use attentive_kernels::gemm::Float;
use attentive_model::device_engine::{DeviceEngine, DeviceState};
use attentive_model::engine::{Dense, Engine, Precision};
use attentive_model::model::Model;
use attentive_samples::{decodes, model, rows, variants};

use super::*;

const SRC: [&[TokenId]; 3] = [&[4, 5, 6, 7, 3], &[8, 3], &[9, 10, 11, 3]];

fn on_gpu(gpu: &'static Gpu, model: &Model, numbers: Float) -> DeviceEngine {
    DeviceEngine::with_weights(gpu, model.architecture(), model.copied(), numbers)
}

/// The logits of rows that come and go, and the attention to their sources.
fn results<S: Stepper>(engine: &S) -> Vec<Vec<f32>> {
    let watched = engine.start_watched();
    let is_watched = watched.is_some();
    let mut state = watched.unwrap_or_else(|| engine.start());
    let mut found = Vec::new();
    engine.admit(&Padded::new(&SRC[..2], 0), &mut state);
    let begun: [&[TokenId]; 2] = [&[2, 4, 5], &[2]];
    found.extend(rows(engine.logits(engine.read(&Padded::new(&begun, 0), &mut state))));
    engine.select(&[1, 0, 0], &mut state);
    for next in 0..14 {
        let next: [TokenId; 3] = [4 + next % 5, 5, 6 + next % 3];
        found.extend(rows(engine.logits(engine.step(&next, &mut state))));
    }
    engine.admit(&Padded::new(&SRC[2..], 0), &mut state);
    engine.select(&[3, 2, 2], &mut state);
    found.extend(rows(engine.logits(engine.step(&[2, 11, 4], &mut state))));
    if is_watched {
        found.extend(engine.cross_attention(&state));
    }
    found
}

#[test]
fn a_gpu_decodes_what_the_cpu_decodes() {
    let Some(gpu) = gpu() else {
        return;
    };
    for config in variants().into_iter().filter(decodes) {
        let model = model(&config);
        let cpu = Dense::new(Precision::F32, model.copied());
        let expected = results(&Engine::new(model.architecture(), &mut { cpu }));
        let engine = on_gpu(gpu, &model, Float::F32);
        let found = caught(|| results(&engine));
        assert_eq!(bits(&found), bits(&caught(|| results(&engine))), "two runs: {config:?}");
        assert_eq!(found.len(), expected.len(), "{config:?}");
        for (found, expected) in found.iter().zip(&expected) {
            assert_close(&format!("{config:?}"), found, expected);
        }
    }
}

/// The bits are those of weights that were rounded before and are kept in `f32`: sums have the same order.
#[test]
fn weights_in_bf16_have_the_bits_of_rounded_weights() {
    let Some(gpu) = gpu() else {
        return;
    };
    for config in variants().into_iter().filter(decodes) {
        let model = model(&config);
        let engine = on_gpu(gpu, &model, Float::Bf16);
        let rounded = engine.parameters();
        assert_ne!(rounded, model.copied(), "{config:?}");
        let of_rounded = DeviceEngine::with_weights(gpu, model.architecture(), rounded, Float::F32);
        let [found, expected] = [&engine, &of_rounded].map(|engine| bits(&caught(|| results(engine))));
        assert_eq!(found, expected, "{config:?}");
    }
}

#[test]
fn a_row_on_a_gpu_does_not_depend_on_other_rows() {
    let Some(gpu) = gpu() else {
        return;
    };
    let state_of = |engine: &DeviceEngine, sources: &[&[TokenId]]| {
        let mut state = engine.start();
        engine.admit(&Padded::new(sources, 0), &mut state);
        state
    };
    let step = |engine: &DeviceEngine, next: &[TokenId], state: &mut DeviceState| {
        rows(engine.logits(engine.step(next, state)))
    };
    let numbers = [Float::F32, Float::Bf16].into_iter().cycle();
    for (config, numbers) in variants().into_iter().filter(decodes).zip(numbers) {
        let engine = on_gpu(gpu, &model(&config), numbers);
        caught(|| {
            let mut together = state_of(&engine, &SRC);
            step(&engine, &[2, 2, 2], &mut together);
            engine.select(&[2, 0, 1, 0], &mut together);
            let found = step(&engine, &[4, 5, 6, 7], &mut together);
            for (row, (source, next)) in [(2, 4), (0, 5), (1, 6), (0, 7)].into_iter().enumerate() {
                let mut alone = state_of(&engine, &SRC[source..=source]);
                step(&engine, &[2], &mut alone);
                let alone = step(&engine, &[next], &mut alone);
                assert_eq!(bits(&alone)[0], bits(&found)[row], "{config:?}");
            }
        });
    }
}
