//! The Transformer compared with PyTorch: logits, loss, gradients and ten Adam updates
//! (`scripts/fixtures/transformer.py`).

use attentive::architecture::Body;
use attentive::batch::{Batch, Padded};
use attentive::config::{
    ActivationKind, DecoderConfig, EncoderConfig, FamilyConfig, ModelConfig, NormPosition, OptimizerConfig,
    Positions, TrainConfig, Translator,
};
use attentive::model::Model;
use attentive::nn::Pass;
use attentive::tape::Param;
use attentive::train::{Optimizer, UpdateScale};
use safetensors::SafeTensors;

use crate::fixture;

const VOCAB: usize = 11;

fn config(norm_position: NormPosition, activation: ActivationKind) -> ModelConfig {
    ModelConfig {
        family: FamilyConfig::Transformer(Translator {
            encoder: EncoderConfig { n_encoder_layers: 2, ..EncoderConfig::default() },
            decoder: DecoderConfig { n_decoder_layers: 2, ..DecoderConfig::default() },
            ..Translator::default()
        }),
        d_model: 8,
        d_ff: 16,
        n_heads: 2,
        max_len: 16,
        dropout: 0.0,
        norm_position,
        activation,
        positions: Positions::SinusoidalInterleaved,
        ..ModelConfig::default()
    }
}

fn batch() -> Batch {
    let src = Padded::new(&[vec![4, 5, 6, 7, 3], vec![8, 3], vec![9, 10, 4, 3]], 0);
    let tgt_in = Padded::new(&[vec![2, 7, 6, 5], vec![2, 8], vec![2, 10, 9]], 0);
    Batch {
        inputs: Body::EncoderDecoder(src.into(), tgt_in),
        tgt_out: Padded::new(&[vec![7, 6, 5, 3], vec![8, 3], vec![10, 9, 3]], 0),
        lines: vec![1, 2, 3],
        weights: Vec::new(),
        aligned: Vec::new(),
    }
}

/// The fixture's name of a parameter.
fn stored(name: &str) -> String {
    let renamed = name.replace(".cross_attention", ".memory_attention");
    [
        ("src.embedding", "src_embedding"),
        ("tgt.embedding", "tgt_embedding"),
        ("src.positions", "src_positions"),
        ("tgt.positions", "tgt_positions"),
        ("head.weight", "output.projection"),
        ("head.bias", "output.bias"),
    ]
    .iter()
    .fold(renamed, |name, (now, then)| name.replace(now, then))
}

fn check(variant: &str, config: &ModelConfig) {
    let bytes = fixture::read("transformer");
    let file = SafeTensors::deserialize(&bytes).expect("the fixture is whole");
    let architecture = config.architecture(VOCAB, VOCAB);
    let model = Model::new(&architecture, config.init, 1);
    let of_fixture = |group: &str, parameter: &Param| {
        let name = stored(parameter.name());
        fixture::values(&file, &format!("{variant}.{group}.{name}"))
    };
    for parameter in model.parameters() {
        let weights = of_fixture("weights", parameter);
        parameter.change(|values| values.copy_from_slice(&weights));
    }
    let batch = batch();

    let logits = model.forward(&batch, &Pass::inference());
    let real: Vec<f32> = logits
        .values()
        .chunks(VOCAB)
        .zip(batch.tgt_out.lengths.mask())
        .filter(|(_, ignored)| !ignored)
        .flat_map(|(row, _)| row.to_vec())
        .collect();
    fixture::assert_close("logits", &real, &fixture::values(&file, &format!("{variant}.logits")), 2e-5);

    let mut optimizer = Optimizer::new(
        &TrainConfig {
            optimizer: OptimizerConfig {
                learning_rate: 0.01,
                beta2: 0.98,
                epsilon: 1e-9,
                ..OptimizerConfig::default()
            },
            ..TrainConfig::default()
        },
        &model,
    );
    for step in 1..=10 {
        let loss = model.loss(&batch, 0.1, &Pass::inference().recorded());
        let gradients = model.take_gradients(&mut loss.loss.backward());
        if step == 1 {
            let expected = fixture::values(&file, &format!("{variant}.loss"));
            fixture::assert_close("loss", &[loss.losses.sums().loss as f32], &expected, 1e-5);
            for (parameter, gradient) in model.trained().zip(&gradients) {
                let expected = of_fixture("gradients", parameter);
                fixture::assert_close(parameter.name(), &gradient.values(), &expected, 1e-4);
            }
        }
        let scale = UpdateScale {
            step,
            learning_rate: 0.01,
            gradient_scale: 1.0 / loss.losses.sums().n_tokens as f64,
        };
        optimizer.update(&model, &gradients, scale);
    }
    // The bias of keys shifts all scores of a query equally, so its true gradient is zero and Adam amplifies
    // rounding errors.
    let trained = model.parameters().iter();
    for parameter in trained.filter(|parameter| !parameter.name().ends_with("key.bias")) {
        let expected = of_fixture("trained", parameter);
        fixture::assert_close(parameter.name(), &parameter.to_vec(), &expected, 1e-3);
    }
}

#[test]
fn post_norm_matches_pytorch() {
    check("post", &config(NormPosition::Post, ActivationKind::Relu));
}

#[test]
fn pre_norm_matches_pytorch() {
    check("pre", &config(NormPosition::Pre, ActivationKind::Gelu));
}
