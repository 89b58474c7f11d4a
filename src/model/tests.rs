//! Properties that every family, in every variant, must have.

use std::ops::Range;

use burn::tensor::{Device, Tensor};

use super::{Model, Stepper, parameters, take_gradients};
use crate::batch::{Batch, Padded, TokenId};
use crate::config::{
    ActivationKind, AttentionKind, CellKind, DropoutPosition, Family, Init, ModelConfig, NormKind,
    NormPosition, Positions, RecurrentConfig, Task, TieEmbeddings,
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

/// One model of each family for each value of each variant.
fn variants() -> Vec<ModelConfig> {
    let mut variants = transformers();
    variants.extend(recurrent());
    for family in [Family::DecoderOnly, Family::EncoderOnly] {
        for positions in [
            Positions::SinusoidalInterleaved,
            Positions::Learned,
            Positions::Rotary,
        ] {
            variants.push(ModelConfig {
                family,
                positions,
                norm_position: NormPosition::Pre,
                tie_embeddings: TieEmbeddings::None,
                output_bias: true,
                ..base()
            });
            variants.push(ModelConfig { family, ..base() });
        }
    }
    variants
}

fn recurrent() -> Vec<ModelConfig> {
    let mut variants = Vec::new();
    let family = |family, recurrent| ModelConfig {
        family,
        recurrent,
        ..base()
    };
    let cells = [
        CellKind::Rnn,
        CellKind::Lstm,
        CellKind::CoupledLstm,
        CellKind::Gru,
    ];
    let attentions = [
        AttentionKind::None,
        AttentionKind::Additive,
        AttentionKind::Dot,
        AttentionKind::General,
    ];
    for cell in cells {
        for bidirectional in [true, false] {
            for attention in attentions {
                let recurrent = RecurrentConfig {
                    cell,
                    d_hidden: 10,
                    bidirectional,
                    attention,
                    d_input: 0,
                };
                variants.push(family(Family::Seq2seq, recurrent));
            }
            for d_input in [0, 3] {
                let recurrent = RecurrentConfig {
                    cell,
                    d_hidden: 10,
                    bidirectional,
                    d_input,
                    ..RecurrentConfig::default()
                };
                variants.push(family(Family::Tagger, recurrent));
            }
        }
    }
    variants.push(ModelConfig {
        n_decoder_layers: 3,
        n_encoder_layers: 1,
        ..variants[0].clone()
    });
    variants
}

/// One Transformer for each value of each variant.
fn transformers() -> Vec<ModelConfig> {
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
    for init in [Init::XavierUniform, Init::Normal, Init::Gpt2] {
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

fn model(config: &ModelConfig) -> Model {
    Model::new(config, VOCAB, VOCAB, 3, &Device::flex())
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

/// The sentences `rows` as the family reads them.
fn batch_of(config: &ModelConfig, rows: Range<usize>) -> Batch {
    let task = config.family.task();
    let src = padded(&SRC[rows.clone()]);
    let batch = batch(&SRC[rows.clone()], &TGT[rows]);
    match task {
        Task::Translate => batch,
        Task::Generate => Batch {
            src: Padded::default(),
            ..batch
        },
        Task::Fill | Task::Tag | Task::Classify => Batch {
            vectors: vectors(config, &src),
            tgt_in: Padded::default(),
            tgt_out: src.clone(),
            src,
            ..batch
        },
    }
}

/// `d_input` numbers for each position, zeros at padding.
fn vectors(config: &ModelConfig, src: &Padded) -> Vec<f32> {
    let numbers = |&id: &TokenId| {
        (0..config.recurrent.d_input).map(move |i| (id as f32 * (i as f32 + 0.7)).sin())
    };
    src.ids.iter().flat_map(numbers).collect()
}

#[test]
fn a_sentence_does_not_see_its_batch() {
    for config in variants() {
        let model = model(&config);
        let all = batch_of(&config, 0..3);
        let together = rows(model.forward(&all, &Pass::inference()));
        for row in 0..3 {
            let one = batch_of(&config, row..row + 1);
            let alone = rows(model.forward(&one, &Pass::inference()));
            let first = row * all.tgt_out.width;
            assert_eq!(alone, together[first..first + alone.len()], "{config:?}");
        }
    }
}

fn decodes(config: &ModelConfig) -> bool {
    matches!(config.family.task(), Task::Translate | Task::Generate)
}

#[test]
fn one_cached_step_is_the_full_forward() {
    for config in variants().into_iter().filter(decodes) {
        let model = model(&config);
        let full = rows(model.forward(&batch_of(&config, 0..3), &Pass::inference()));
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
fn tokens_read_at_once_are_the_full_forward() {
    for config in variants() {
        if config.family.task() != Task::Generate {
            continue;
        }
        let model = model(&config);
        let full = rows(model.forward(&batch_of(&config, 0..1), &Pass::inference()));
        for first in 1..5 {
            let mut state = model.start(&padded(&SRC[..1]));
            let (all, rest) = (TGT[0], TGT[0].len() - first);
            for (tokens, row) in [(&all[..first], first - 1), (&all[first..], all.len() - 1)] {
                let read = rows(model.read(tokens, &mut state));
                assert_eq!(read.len(), 1);
                for (found, expected) in read[0].iter().zip(&full[row]) {
                    assert!(
                        (found - expected).abs() < 1e-5,
                        "{found} and {expected}, {rest} at the end: {config:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn selected_hypotheses_go_on_as_they_were() {
    for config in variants().into_iter().filter(decodes) {
        let model = model(&config);
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
}

#[test]
fn short_and_empty_sources_give_numbers() {
    for config in variants() {
        let model = model(&config);
        let src = padded(&[&[3], &[], &[4, 3]]);
        let batch = Batch {
            vectors: vectors(&config, &src),
            src,
            tgt_in: padded(&[&[2], &[2], &[2, 4]]),
            ..Batch::default()
        };
        let logits = rows(model.forward(&batch, &Pass::inference()));
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
        ..Batch::default()
    }
}

/// The summed loss of `parts` and the gradients of all parameters.
fn learn(config: &ModelConfig, parts: &[Batch]) -> (f64, Vec<f32>) {
    let device = Device::flex().autodiff();
    let model = Model::new(config, VOCAB, VOCAB, 3, &device);
    let mut total = (0.0, Vec::new());
    for batch in parts {
        let part = model.loss(batch, 0.1, &Pass::inference());
        total.0 += part.sums.loss;
        let new = take_gradients(&model, &mut part.loss.backward());
        let new: Vec<f32> = new.into_iter().flat_map(|new| new.values).collect();
        total.1.resize(new.len(), 0.0);
        total.1.iter_mut().zip(new).for_each(|(a, b)| *a += b);
    }
    total
}

#[test]
fn loss_and_gradients_do_not_depend_on_the_batching() {
    for config in variants() {
        let (whole, whole_gradients) = learn(&config, &[batch_of(&config, 0..3)]);
        let parts = [batch_of(&config, 0..1), batch_of(&config, 1..3)];
        let (split, split_gradients) = learn(&config, &parts);
        assert!((whole - split).abs() < 1e-4, "{whole} and {split}");
        for (whole, split) in whole_gradients.iter().zip(&split_gradients) {
            let scale = whole.abs().max(1.0);
            assert!(
                (whole - split).abs() < 1e-4 * scale,
                "{whole} and {split}: {config:?}"
            );
        }
    }
}

#[test]
fn every_parameter_learns() {
    for config in variants() {
        let names = parameters(&model(&config)).into_iter();
        let names = names.map(|parameter| (parameter.name, parameter.values.len()));
        let (_, gradients) = learn(&config, &[batch_of(&config, 0..3)]);
        let mut first = 0;
        for (name, len) in names {
            let gradient = &gradients[first..first + len];
            first += len;
            // The softmax does not see what is added to all scores of a query.
            let useless = name.ends_with("key.bias");
            let learns = gradient.iter().any(|&slope| slope != 0.0);
            assert!(learns || useless, "{name}: {config:?}");
        }
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
        let batch = batch_of(&config, 0..3);
        let loss = |step| {
            model
                .loss(&batch, 0.1, &Pass::training(1, step, Precision::F32))
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
        [
            "src_embedding.weight",
            "tgt_embedding.weight",
            "output.projection"
        ]
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
