//! The engine equals the model to the bit, for every variant.

use super::*;
use crate::config::ModelConfig;
use crate::model::tests::variants::variants;
use crate::model::tests::{SRC, TGT, batch_of, decodes, model, padded, rows};
use crate::model::{Model, parameters};
use crate::nn::Pass;

fn engine(model: &Model) -> Engine {
    Engine::new(
        model.architecture(),
        &mut Dense::new(Precision::F32, parameters(model)),
    )
}

fn state_of(engine: &Engine, sentences: std::ops::Range<usize>) -> State {
    let mut state = engine.start();
    engine.admit(&padded(&SRC[sentences]), &mut state);
    state
}

fn step(engine: &Engine, next: &[TokenId], state: &mut State) -> Vec<Vec<f32>> {
    rows(engine.logits(engine.step(next, state)))
}

fn full(model: &Model, config: &ModelConfig) -> Vec<Vec<f32>> {
    rows(model.forward(&batch_of(config, 0..3), &Pass::inference()))
}

#[test]
fn steps_equal_the_full_forward_pass() {
    let mut failed = Vec::new();
    for config in variants().into_iter().filter(decodes) {
        let model = model(&config);
        let (engine, full) = (engine(&model), full(&model, &config));
        let mut state = state_of(&engine, 0..3);
        for position in 0..3 {
            let last: Vec<TokenId> = TGT
                .iter()
                .map(|tgt| tgt.get(position).copied().unwrap_or(0))
                .collect();
            let step = step(&engine, &last, &mut state);
            for row in [0, 2] {
                let expected = &full[row * TGT[0].len() + position];
                if &step[row] != expected && failed.last() != Some(&config) {
                    failed.push(config.clone());
                }
            }
        }
    }
    for f in &failed {
        println!("{f:?}");
    }
    assert!(failed.is_empty());
}
