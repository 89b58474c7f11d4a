//! Properties that every variant of the Transformer must have.

use burn::tensor::{Device, Tensor};

use super::{Stepper, Transformer, parameters, take_gradients};
use crate::batch::{Batch, Padded, TokenId};
use crate::config::{
    ActivationKind, DropoutPosition, Init, ModelConfig, NormKind, NormPosition, Positions,
    TieEmbeddings,
};
use crate::nn::{Pass, Probe};
use crate::ops::Precision;

const VOCAB: usize = 13;

fn base() -> ModelConfig {
    ModelConfig {
        d_model: 12,
        d_ff: 20,
        n_heads: 3,
        n_encoder_layers: 2,
        n_decoder_layers: 2,
        max_len: 32,
        init: Init::Pytorch,
        ..ModelConfig::default()
    }
}

/// One model for each value of each variant.
fn variants() -> Vec<ModelConfig> {
    let mut variants = vec![base()];
    variants.push(ModelConfig {
        norm_position: NormPosition::Pre,
        ..base()
    });
    variants.push(ModelConfig {
        dropout_position: DropoutPosition::AfterNorm,
        ..base()
    });
    variants.push(ModelConfig {
        norm_position: NormPosition::Pre,
        dropout_position: DropoutPosition::AfterNorm,
        ..base()
    });
    for norm in [NormKind::Rms, NormKind::Scalar] {
        variants.push(ModelConfig { norm, ..base() });
    }
    for positions in [
        Positions::SinusoidalConcatenated,
        Positions::SinusoidalTensor2tensor,
        Positions::Learned,
        Positions::Rotary,
        Positions::None,
    ] {
        variants.push(ModelConfig {
            positions,
            ..base()
        });
    }
    for tie_embeddings in [TieEmbeddings::None, TieEmbeddings::Decoder] {
        variants.push(ModelConfig {
            tie_embeddings,
            output_bias: true,
            ..base()
        });
    }
    for init in [Init::XavierUniform, Init::Normal] {
        variants.push(ModelConfig { init, ..base() });
    }
    variants.push(ModelConfig {
        activation: ActivationKind::Gelu,
        attention_bias: false,
        scale_embeddings: false,
        ..base()
    });
    variants
}

fn model(config: &ModelConfig) -> Transformer {
    Transformer::new(config, VOCAB, VOCAB, 3, &Device::flex())
}

fn padded(sequences: &[&[TokenId]]) -> Padded {
    Padded::new(sequences, 0)
}

fn rows(tensor: Tensor<2>) -> Vec<Vec<f32>> {
    let [_, width] = tensor.dims();
    let values: Vec<f32> = tensor.into_data().iter().collect();
    values.chunks(width).map(<[f32]>::to_vec).collect()
}

const SRC: [&[TokenId]; 3] = [&[4, 5, 6, 7, 3], &[8, 3], &[9, 10, 11, 3]];
const TGT: [&[TokenId]; 3] = [&[2, 7, 6, 5, 9, 9], &[2, 8], &[2, 10, 9]];

#[test]
fn a_sentence_does_not_see_its_batch() {
    for config in variants() {
        let model = model(&config);
        let together = rows(model.forward(&padded(&SRC), &padded(&TGT), &Pass::inference()));
        for (row, (src, tgt)) in SRC.into_iter().zip(TGT).enumerate() {
            let alone = rows(model.forward(&padded(&[src]), &padded(&[tgt]), &Pass::inference()));
            let first = row * TGT[0].len();
            assert_eq!(alone, together[first..first + tgt.len()], "{config:?}");
        }
    }
}

#[test]
fn one_cached_step_is_the_full_forward() {
    for config in variants() {
        let model = model(&config);
        let full = rows(model.forward(&padded(&SRC), &padded(&TGT), &Pass::inference()));
        let mut state = model.start(&padded(&SRC));
        for position in 0..3 {
            let last: Vec<TokenId> = TGT
                .iter()
                .map(|tgt| tgt.get(position).copied().unwrap_or(0))
                .collect();
            let step = rows(model.step(&last, &mut state));
            for row in [0, 2] {
                let expected = &full[row * TGT[0].len() + position];
                for (found, expected) in step[row].iter().zip(expected) {
                    assert!(
                        (found - expected).abs() < 1e-5,
                        "{found} and {expected}: {config:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn selected_hypotheses_go_on_as_they_were() {
    let model = model(&base());
    let mut state = model.start(&padded(&SRC));
    model.step(&[2, 2, 2], &mut state);
    let mut chosen = state.clone();
    model.select(&mut chosen, &[2, 0, 0]);
    let before = rows(model.step(&[5, 6, 7], &mut state));
    let after = rows(model.step(&[7, 5, 5], &mut chosen));
    assert_eq!(
        after,
        [before[2].clone(), before[0].clone(), before[0].clone()]
    );
}

#[test]
fn short_and_empty_sources_give_numbers() {
    for config in variants() {
        let model = model(&config);
        let src = padded(&[&[3], &[], &[4, 3]]);
        let tgt = padded(&[&[2], &[2], &[2, 4]]);
        let logits = rows(model.forward(&src, &tgt, &Pass::inference()));
        assert!(
            logits.concat().iter().all(|logit| logit.is_finite()),
            "{config:?}"
        );
    }
}

fn batch(src: &[&[TokenId]], tgt: &[&[TokenId]]) -> Batch {
    let out: Vec<Vec<TokenId>> = tgt.iter().map(|tgt| [&tgt[1..], &[3]].concat()).collect();
    Batch {
        src: padded(src),
        tgt_in: padded(tgt),
        tgt_out: Padded::new(&out, 0),
        lines: vec![1; src.len()],
    }
}

#[test]
fn loss_and_gradients_do_not_depend_on_the_batching() {
    let device = Device::flex().autodiff();
    let model = Transformer::new(&base(), VOCAB, VOCAB, 3, &device);
    let measure = |parts: &[Batch]| {
        let mut loss = 0.0;
        let mut gradients: Vec<Vec<f32>> = Vec::new();
        for batch in parts {
            let part = model.loss(batch, 0.1, &Pass::inference());
            loss += part.sums.loss;
            let new = take_gradients(&model, &mut part.sum.backward());
            gradients = match gradients.is_empty() {
                true => new.into_iter().map(|gradient| gradient.values).collect(),
                false => gradients
                    .iter()
                    .zip(new)
                    .map(|(total, new)| total.iter().zip(new.values).map(|(a, b)| a + b).collect())
                    .collect(),
            };
        }
        (loss, gradients.concat())
    };
    let (whole, whole_gradients) = measure(&[batch(&SRC, &TGT)]);
    let (split, split_gradients) =
        measure(&[batch(&SRC[..1], &TGT[..1]), batch(&SRC[1..], &TGT[1..])]);
    assert!((whole - split).abs() < 1e-4, "{whole} and {split}");
    for (whole, split) in whole_gradients.iter().zip(&split_gradients) {
        assert!((whole - split).abs() < 1e-4, "{whole} and {split}");
    }
}

#[test]
fn dropout_repeats_with_its_step_and_changes_with_the_next() {
    for config in variants() {
        let config = ModelConfig {
            dropout: 0.3,
            attention_dropout: 0.2,
            activation_dropout: 0.2,
            ..config
        };
        let model = model(&config);
        let loss = |step| {
            model
                .loss(
                    &batch(&SRC, &TGT),
                    0.1,
                    &Pass::training(1, step, Precision::F32),
                )
                .sums
                .loss
        };
        assert_eq!(loss(1), loss(1));
        assert_ne!(loss(1), loss(2));
    }
}

#[test]
fn tied_matrices_are_stored_once() {
    let names = |tie_embeddings| -> Vec<String> {
        let model = model(&ModelConfig {
            tie_embeddings,
            ..base()
        });
        let large = parameters(&model)
            .into_iter()
            .filter(|parameter| parameter.shape == [VOCAB, 12]);
        large.map(|parameter| parameter.name).collect()
    };
    assert_eq!(names(TieEmbeddings::All), ["src_embedding.weight"]);
    assert_eq!(
        names(TieEmbeddings::Decoder),
        ["src_embedding.weight", "tgt_embedding.weight"]
    );
    assert_eq!(
        names(TieEmbeddings::None),
        ["src_embedding.weight", "tgt_embedding.weight", "projection"]
    );
}

#[test]
fn a_probe_names_the_first_layer_that_is_not_finite() {
    let config = ModelConfig {
        d_model: 12,
        ..base()
    };
    let mut damaged = Vec::new();
    let model = super::map_parameters(model(&config), &Device::flex(), |name, _, mut values| {
        if name == "encoder.layers.1.feed_forward.outer.bias" {
            values[0] = f32::INFINITY;
            damaged.push(name.to_owned());
        }
        values
    });
    assert_eq!(damaged.len(), 1);
    let probe = Probe::default();
    model.loss(&batch(&SRC, &TGT), 0.1, &Pass::inference().probed(&probe));
    assert_eq!(
        probe.first_non_finite().as_deref(),
        Some("encoder.layers.1")
    );
}
