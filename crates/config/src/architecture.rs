//! From `[model]` to an [`Architecture`].

use std::num::NonZeroUsize;

use attentive_architecture::{
    AddedPositions, Architecture, AttentionKind, AttentionSpec, Body, CrossAttentionSpec, DecoderSpec,
    EncoderSpec, FeedForwardSpec, HeadSpec, InitialState, InputSpec, Items, LabelLayer, LabelsSpec,
    NormPosition, NormSpec, Positions, RecurrentDecoderSpec, RecurrentEncoderSpec, RelativePositions,
    SelfMixing, Sinusoids, StackSpec, Task, TransformSpec, TransformerSpec, VocabularySpec,
};

use super::{
    DecoderConfig, EncoderConfig, FamilyConfig, MixingKind, ModelConfig, OutputConfig, StackKind, Translator,
};

impl ModelConfig {
    /// The architecture of this configuration for vocabularies of these sizes. Language models only use that
    /// of the target; labels are target tokens.
    pub fn architecture(&self, src_vocab: usize, tgt_vocab: usize) -> Architecture {
        let read = match self.family.task() {
            Task::Fill | Task::Embed => tgt_vocab,
            _ => src_vocab,
        };
        let encoder = |keys: &EncoderConfig| StackSpec {
            input: self.source(keys.stack, read),
            layers: match keys.stack {
                StackKind::Transformer => EncoderSpec::Transformer(self.transformer_encoder(keys)),
                StackKind::Recurrent => EncoderSpec::Recurrent(self.recurrent_encoder(keys)),
            },
        };
        let body = self.family.body().map(encoder, |keys| keys);
        let d_memory = body.encoder().map(|encoder| encoder.layers.d_out());
        let decoder = |keys: &DecoderConfig| StackSpec {
            input: self.target(keys.stack, tgt_vocab),
            layers: match keys.stack {
                StackKind::Transformer => DecoderSpec::Transformer(self.transformer_decoder(keys, d_memory)),
                StackKind::Recurrent => DecoderSpec::Recurrent(self.recurrent_decoder(keys, d_memory)),
            },
        };
        let body = body.map(|encoder| encoder, decoder);
        let d_read = match &body {
            Body::Encoder(encoder) => encoder.layers.d_out(),
            Body::Decoder(decoder) | Body::EncoderDecoder(_, decoder) => decoder.layers.d_out(),
        };
        Architecture { head: self.head(tgt_vocab, d_read), body, max_len: self.max_len }
    }

    fn source(&self, stack: StackKind, vocab: usize) -> InputSpec {
        match self.family.d_input() {
            None => self.tokens(stack, vocab, false),
            Some(width) => {
                InputSpec { items: Items::Vectors, d_model: width, ..self.tokens(stack, vocab, false) }
            }
        }
    }

    fn target(&self, stack: StackKind, vocab: usize) -> InputSpec {
        let translator = self.family.translator();
        let shared = translator.is_some_and(|keys| keys.output.tie_embeddings.ties_inputs());
        self.tokens(stack, vocab, shared)
    }

    fn tokens(&self, stack: StackKind, vocab: usize, shared: bool) -> InputSpec {
        let scale = if self.scale_embeddings { (self.d_model as f64).sqrt() } else { 1.0 };
        InputSpec {
            items: Items::Tokens { vocab, scale, shared },
            d_model: self.d_model,
            positions: match stack {
                StackKind::Transformer => self.added_positions(),
                StackKind::Recurrent => AddedPositions::None,
            },
            norm: self.embedding_norm.then(|| self.norm()),
            dropout: self.dropout,
        }
    }

    fn added_positions(&self) -> AddedPositions {
        match self.positions {
            Positions::SinusoidalInterleaved => AddedPositions::Sinusoidal(Sinusoids::Interleaved),
            Positions::SinusoidalConcatenated => AddedPositions::Sinusoidal(Sinusoids::Concatenated),
            Positions::SinusoidalTensor2tensor => AddedPositions::Sinusoidal(Sinusoids::Tensor2tensor),
            Positions::Learned | Positions::LearnedRelative => AddedPositions::Learned {
                rows: self.position_offset + self.max_len,
                offset: self.position_offset,
            },
            Positions::Rotary | Positions::Relative | Positions::None => AddedPositions::None,
        }
    }

    fn norm(&self) -> NormSpec {
        NormSpec { kind: self.norm, epsilon: self.norm_epsilon }
    }

    fn attention(&self, n_heads: usize, positions: RelativePositions) -> AttentionSpec {
        AttentionSpec {
            n_heads,
            n_kv_heads: self.n_kv_heads.map_or(n_heads, NonZeroUsize::get),
            d_head: (self.d_head).map_or(self.d_model / n_heads.max(1), NonZeroUsize::get),
            bias: self.attention_bias,
            output_bias: self.has_attention_output_bias(),
            scale: self.attention_scale,
            dropout: self.attention_dropout,
            positions,
        }
    }

    fn self_attention(&self, n_heads: usize) -> SelfMixing {
        let positions = match self.positions {
            Positions::Rotary => {
                RelativePositions::Rotary { base: self.rotary_base, scaling: self.rotary_scaling }
            }
            Positions::Relative | Positions::LearnedRelative => RelativePositions::Buckets {
                n_buckets: self.relative_buckets,
                max_distance: self.relative_distance,
            },
            _ => RelativePositions::None,
        };
        SelfMixing::Attention(self.attention(n_heads, positions))
    }

    /// True if the output projection of attention has a bias.
    pub fn has_attention_output_bias(&self) -> bool {
        self.attention_output_bias.unwrap_or(self.attention_bias)
    }

    /// Attention heads of the decoder.
    pub fn decoder_heads(&self) -> usize {
        let own = self.family.translator().and_then(|keys| keys.n_decoder_heads);
        own.map_or(self.n_heads, NonZeroUsize::get)
    }

    /// Width of the inner layer of the decoder's feed-forward networks.
    pub fn decoder_d_ff(&self) -> usize {
        let own = self.family.translator().and_then(|keys| keys.d_decoder_ff);
        own.map_or(self.d_ff, NonZeroUsize::get)
    }

    fn transformer(&self, n_layers: usize, mixing: SelfMixing, d_ff: usize) -> TransformerSpec {
        TransformerSpec {
            n_layers,
            d_model: self.d_model,
            mixing,
            cross: None,
            feed_forward: FeedForwardSpec {
                d_ff,
                activation: self.activation,
                gated: self.feed_forward_gate,
                bias: self.feed_forward_bias,
                dropout: self.activation_dropout,
            },
            norm: self.norm(),
            norm_position: self.norm_position,
            dropout: self.dropout,
            dropout_position: self.dropout_position,
            final_norm: (self.final_norm).unwrap_or(self.norm_position == NormPosition::Pre),
        }
    }

    fn transformer_encoder(&self, keys: &EncoderConfig) -> TransformerSpec {
        let mixing = self.self_attention(self.n_heads);
        self.transformer(keys.n_encoder_layers, mixing, self.d_ff)
    }

    fn transformer_decoder(&self, keys: &DecoderConfig, d_memory: Option<usize>) -> TransformerSpec {
        let n_heads = self.decoder_heads();
        let mixing = match keys.decoder_mixing {
            MixingKind::Attention => self.self_attention(n_heads),
            MixingKind::Recurrent(cell) => SelfMixing::Recurrent(cell),
        };
        TransformerSpec {
            cross: d_memory.map(|d_memory| CrossAttentionSpec {
                attention: self.attention(n_heads, RelativePositions::None),
                d_memory,
            }),
            ..self.transformer(keys.n_decoder_layers, mixing, self.decoder_d_ff())
        }
    }

    fn recurrent_encoder(&self, keys: &EncoderConfig) -> RecurrentEncoderSpec {
        RecurrentEncoderSpec {
            n_layers: keys.n_encoder_layers,
            d_in: self.family.d_input().unwrap_or(self.d_model),
            d_hidden: self.recurrent.d_hidden,
            cell: self.recurrent.cell,
            bidirectional: keys.bidirectional,
            dropout: self.dropout,
        }
    }

    fn recurrent_decoder(&self, keys: &DecoderConfig, d_memory: Option<usize>) -> RecurrentDecoderSpec {
        let translator = self.family.translator();
        RecurrentDecoderSpec {
            n_layers: keys.n_decoder_layers,
            d_model: self.d_model,
            d_hidden: self.recurrent.d_hidden,
            cell: self.recurrent.cell,
            attention: translator.map_or(AttentionKind::None, |keys| keys.attention),
            d_memory: d_memory.unwrap_or(0),
            readout: keys.readout,
            input_feeding: keys.input_feeding,
            start: match translator.map(|keys| keys.encoder.stack) {
                Some(StackKind::Recurrent) => InitialState::Encoder,
                Some(StackKind::Transformer) | None => InitialState::Zeros,
            },
            dropout: self.dropout,
        }
    }

    /// The head, which reads the output of the last stack, `d_read` wide.
    fn head(&self, size: usize, d_read: usize) -> HeadSpec {
        let labels = |layer| LabelsSpec { size, d_in: d_read, layer, dropout: self.dropout };
        match &self.family {
            FamilyConfig::Tagger { .. } => HeadSpec::Positions(labels(LabelLayer::None)),
            FamilyConfig::Classifier { pooling, label_layer, .. } => {
                HeadSpec::Sequence { pooling: *pooling, labels: labels(*label_layer) }
            }
            FamilyConfig::Encoder { pooling, normalize_embeddings, .. } => {
                HeadSpec::Vector { pooling: *pooling, d: d_read, unit: *normalize_embeddings }
            }
            FamilyConfig::EncoderOnly { output, output_transform, .. } => {
                let transform = output_transform.then(|| TransformSpec {
                    d: d_read,
                    activation: self.activation,
                    norm: self.norm(),
                });
                vocabulary(size, d_read, output, transform)
            }
            FamilyConfig::DecoderOnly { output, .. }
            | FamilyConfig::Transformer(Translator { output, .. })
            | FamilyConfig::Seq2seq(Translator { output, .. }) => vocabulary(size, d_read, output, None),
        }
    }
}

fn vocabulary(
    size: usize,
    d_model: usize,
    output: &OutputConfig,
    transform: Option<TransformSpec>,
) -> HeadSpec {
    HeadSpec::Vocabulary(VocabularySpec {
        size,
        transform,
        d_model,
        tied: output.tie_embeddings.ties_output(),
        bias: output.output_bias,
        scale: output.logit_scale,
    })
}
