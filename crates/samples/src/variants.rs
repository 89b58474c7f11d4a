//! The variants on which every property is tested.

use attentive_config::{
    ActivationKind, AttentionKind, CellKind, DropoutPosition, Family, Init, LabelLayer, MixingKind,
    ModelConfig, NormKind, NormPosition, Pooling, Positions, RecurrentConfig, RotaryScalingConfig,
    RotaryScalingKind, StackKind, TieEmbeddings,
};

/// The small model that the variants change.
pub fn base() -> ModelConfig {
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

/// A model of each family for each value of each variant.
pub fn variants() -> Vec<ModelConfig> {
    let mut variants = transformers();
    variants.extend(recurrent());
    variants.extend(mixed());
    variants.extend(published());
    variants.extend(labeling());
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
    variants.push(ModelConfig {
        family: Family::EncoderOnly,
        activation: ActivationKind::Gelu,
        output_transform: true,
        ..base()
    });
    variants.push(ModelConfig {
        family: Family::EncoderOnly,
        positions: Positions::LearnedRelative,
        position_offset: 2,
        relative_buckets: 8,
        relative_distance: 12,
        ..base()
    });
    variants
}

const CELLS: [CellKind; 5] = [
    CellKind::Rnn,
    CellKind::Lstm,
    CellKind::CoupledLstm,
    CellKind::Gru,
    CellKind::Ssru,
];

const ATTENTIONS: [AttentionKind; 4] = [
    AttentionKind::None,
    AttentionKind::Additive,
    AttentionKind::Dot,
    AttentionKind::General,
];

fn recurrent() -> Vec<ModelConfig> {
    let mut variants = Vec::new();
    let family = |family, recurrent| ModelConfig {
        family,
        recurrent,
        ..base()
    };
    for cell in CELLS {
        for bidirectional in [true, false] {
            let reads_context = |attention: &AttentionKind| {
                cell != CellKind::Ssru || *attention != AttentionKind::Additive
            };
            for attention in ATTENTIONS.into_iter().filter(reads_context) {
                let recurrent = RecurrentConfig {
                    cell,
                    d_hidden: 10,
                    bidirectional,
                    attention,
                    ..RecurrentConfig::default()
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
    let no_readout = RecurrentConfig {
        cell: CellKind::Gru,
        d_hidden: base().d_model,
        bidirectional: false,
        attention: AttentionKind::None,
        readout: false,
        ..RecurrentConfig::default()
    };
    variants.push(family(Family::Seq2seq, no_readout));
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
    for tie_embeddings in [
        TieEmbeddings::None,
        TieEmbeddings::Decoder,
        TieEmbeddings::Inputs,
    ] {
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
    variants.push(ModelConfig {
        n_decoder_heads: 4,
        d_decoder_ff: 28,
        ..base()
    });
    variants
}

/// Stacks of both kinds.
fn mixed() -> Vec<ModelConfig> {
    let recurrent = |cell, attention| RecurrentConfig {
        cell,
        d_hidden: 12,
        attention,
        ..RecurrentConfig::default()
    };
    let mut variants = Vec::new();
    for (cell, attention) in [
        (CellKind::Lstm, AttentionKind::Additive),
        (CellKind::Gru, AttentionKind::Dot),
        (CellKind::Ssru, AttentionKind::General),
    ] {
        variants.push(ModelConfig {
            decoder: Some(StackKind::Recurrent),
            recurrent: recurrent(cell, attention),
            ..base()
        });
    }
    variants.push(ModelConfig {
        encoder: Some(StackKind::Recurrent),
        recurrent: RecurrentConfig {
            d_hidden: 10,
            ..RecurrentConfig::default()
        },
        ..base()
    });
    variants.push(ModelConfig {
        family: Family::DecoderOnly,
        decoder: Some(StackKind::Recurrent),
        recurrent: recurrent(CellKind::Gru, AttentionKind::Additive),
        ..base()
    });
    for decoder_mixing in [MixingKind::Ssru, MixingKind::Lstm, MixingKind::Gru] {
        variants.push(ModelConfig {
            decoder_mixing,
            ..base()
        });
    }
    variants
}

/// The features in which published Transformers differ.
fn published() -> Vec<ModelConfig> {
    let llama = ModelConfig {
        positions: Positions::Rotary,
        rotary_base: 500.0,
        rotary_scaling: RotaryScalingConfig {
            kind: RotaryScalingKind::Llama3,
            factor: 4.0,
            original_len: 16,
            ..RotaryScalingConfig::default()
        },
        norm: NormKind::Rms,
        norm_position: NormPosition::Pre,
        norm_epsilon: 1e-6,
        activation: ActivationKind::Silu,
        feed_forward_gate: true,
        feed_forward_bias: false,
        attention_bias: false,
        n_kv_heads: 1,
        d_head: 6,
        ..base()
    };
    let t5 = ModelConfig {
        positions: Positions::Relative,
        relative_buckets: 8,
        relative_distance: 8,
        attention_scale: Some(1.0),
        logit_scale: 0.5,
        activation: ActivationKind::GeluTanh,
        feed_forward_gate: true,
        norm_position: NormPosition::Pre,
        ..base()
    };
    let bart = ModelConfig {
        positions: Positions::Learned,
        position_offset: 2,
        embedding_norm: true,
        final_norm: Some(true),
        activation: ActivationKind::GeluTanh,
        ..base()
    };
    let families = |variant: ModelConfig| {
        let decoder = ModelConfig {
            family: Family::DecoderOnly,
            ..variant.clone()
        };
        [decoder, variant]
    };
    [llama, t5, bart].into_iter().flat_map(families).collect()
}

/// Labels for positions and for whole texts.
fn labeling() -> Vec<ModelConfig> {
    let mut variants = Vec::new();
    for encoder in [StackKind::Transformer, StackKind::Recurrent] {
        let recurrent = RecurrentConfig {
            d_hidden: 10,
            ..RecurrentConfig::default()
        };
        let config = ModelConfig {
            encoder: Some(encoder),
            recurrent,
            ..base()
        };
        variants.push(ModelConfig {
            family: Family::Tagger,
            ..config.clone()
        });
        for pooling in [Pooling::Mean, Pooling::First, Pooling::Last] {
            variants.push(ModelConfig {
                family: Family::Classifier,
                pooling,
                ..config.clone()
            });
        }
    }
    for label_layer in [LabelLayer::Tanh, LabelLayer::Relu] {
        variants.push(ModelConfig {
            family: Family::Classifier,
            pooling: Pooling::First,
            label_layer,
            ..base()
        });
    }
    let mut vectors = ModelConfig {
        family: Family::Tagger,
        encoder: Some(StackKind::Transformer),
        ..base()
    };
    vectors.recurrent.d_input = vectors.d_model;
    variants.push(vectors);
    variants
}
