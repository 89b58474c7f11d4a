//! From `[model]` to an [`Architecture`].

use attentive_architecture::{
    AddedPositions, Architecture, Attention, CellKind, CrossAttention, Decoder, Encoder,
    FeedForward, Head, InitialState, Input, Items, Labels, Norm, NormPosition, Positions,
    RecurrentDecoder, RecurrentEncoder, RelativePositions, SelfMixing, Sinusoids, Stack, Transform,
    TransformerStack, Vocabulary,
};

use super::{Family, MixingKind, ModelConfig, StackKind};

impl ModelConfig {
    /// The architecture of this configuration for vocabularies of these sizes. Language models only use that of the target;
    /// labels are target tokens.
    pub fn architecture(&self, src_vocab: usize, tgt_vocab: usize) -> Architecture {
        let read = match self.family {
            Family::EncoderOnly | Family::Encoder => tgt_vocab,
            _ => src_vocab,
        };
        let encoder = |kind| Stack {
            input: self.source(kind, read),
            layers: match kind {
                StackKind::Transformer => Encoder::Transformer(self.transformer_encoder()),
                StackKind::Recurrent => Encoder::Recurrent(self.recurrent_encoder()),
            },
        };
        let body = self.body().map(encoder, |kind| kind);
        let d_memory = body.encoder().map(|encoder| encoder.layers.d_out());
        let decoder = |kind| Stack {
            input: self.target(kind, tgt_vocab),
            layers: match kind {
                StackKind::Transformer => Decoder::Transformer(self.transformer_decoder(d_memory)),
                StackKind::Recurrent => Decoder::Recurrent(self.recurrent_decoder(d_memory)),
            },
        };
        Architecture {
            body: body.map(|encoder| encoder, decoder),
            head: self.head(tgt_vocab, d_memory.unwrap_or(self.d_model)),
            max_len: self.max_len,
        }
    }

    fn source(&self, stack: StackKind, vocab: usize) -> Input {
        match self.recurrent.d_input {
            0 => self.tokens(stack, vocab, false),
            width => Input {
                items: Items::Vectors,
                d_model: width,
                ..self.tokens(stack, vocab, false)
            },
        }
    }

    fn target(&self, stack: StackKind, vocab: usize) -> Input {
        let shared = self.encoder().is_some() && self.tie_embeddings.ties_inputs();
        self.tokens(stack, vocab, shared)
    }

    fn tokens(&self, stack: StackKind, vocab: usize, shared: bool) -> Input {
        let scale = match self.scale_embeddings {
            true => (self.d_model as f64).sqrt(),
            false => 1.0,
        };
        Input {
            items: Items::Tokens {
                vocab,
                scale,
                shared,
            },
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
            Positions::SinusoidalConcatenated => {
                AddedPositions::Sinusoidal(Sinusoids::Concatenated)
            }
            Positions::SinusoidalTensor2tensor => {
                AddedPositions::Sinusoidal(Sinusoids::Tensor2tensor)
            }
            Positions::Learned | Positions::LearnedRelative => AddedPositions::Learned {
                rows: self.position_offset + self.max_len,
                offset: self.position_offset,
            },
            Positions::Rotary | Positions::Relative | Positions::None => AddedPositions::None,
        }
    }

    fn norm(&self) -> Norm {
        Norm {
            kind: self.norm,
            epsilon: self.norm_epsilon,
        }
    }

    fn attention(&self, n_heads: usize, positions: RelativePositions) -> Attention {
        Attention {
            n_heads,
            n_kv_heads: or(self.n_kv_heads, n_heads),
            d_head: or(self.d_head, self.d_model / n_heads.max(1)),
            bias: self.attention_bias,
            scale: self.attention_scale,
            dropout: self.attention_dropout,
            positions,
        }
    }

    fn self_attention(&self, n_heads: usize) -> SelfMixing {
        let positions = match self.positions {
            Positions::Rotary => RelativePositions::Rotary {
                base: self.rotary_base,
                scaling: self.rotary_scaling.scaling(),
            },
            Positions::Relative | Positions::LearnedRelative => RelativePositions::Buckets {
                n_buckets: self.relative_buckets,
                max_distance: self.relative_distance,
            },
            _ => RelativePositions::None,
        };
        SelfMixing::Attention(self.attention(n_heads, positions))
    }

    /// Attention heads of the decoder.
    pub fn decoder_heads(&self) -> usize {
        or(self.n_decoder_heads, self.n_heads)
    }

    /// Width of the inner layer of the decoder's feed-forward networks.
    pub fn decoder_d_ff(&self) -> usize {
        or(self.d_decoder_ff, self.d_ff)
    }

    fn transformer_encoder(&self) -> TransformerStack {
        TransformerStack {
            n_layers: self.n_encoder_layers,
            d_model: self.d_model,
            mixing: self.self_attention(self.n_heads),
            cross: None,
            feed_forward: FeedForward {
                d_ff: self.d_ff,
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

    fn transformer_decoder(&self, d_memory: Option<usize>) -> TransformerStack {
        let recurrent = SelfMixing::Recurrent;
        let n_heads = self.decoder_heads();
        let encoder = self.transformer_encoder();
        TransformerStack {
            n_layers: self.n_decoder_layers,
            mixing: match self.decoder_mixing {
                MixingKind::Attention => self.self_attention(n_heads),
                MixingKind::Rnn => recurrent(CellKind::Rnn),
                MixingKind::Lstm => recurrent(CellKind::Lstm),
                MixingKind::CoupledLstm => recurrent(CellKind::CoupledLstm),
                MixingKind::Gru => recurrent(CellKind::Gru),
                MixingKind::Ssru => recurrent(CellKind::Ssru),
            },
            cross: d_memory.map(|d_memory| CrossAttention {
                attention: self.attention(n_heads, RelativePositions::None),
                d_memory,
            }),
            feed_forward: FeedForward {
                d_ff: self.decoder_d_ff(),
                ..encoder.feed_forward
            },
            ..encoder
        }
    }

    fn recurrent_encoder(&self) -> RecurrentEncoder {
        RecurrentEncoder {
            n_layers: self.n_encoder_layers,
            d_in: match self.recurrent.d_input {
                0 => self.d_model,
                width => width,
            },
            d_hidden: self.recurrent.d_hidden,
            cell: self.recurrent.cell,
            bidirectional: self.recurrent.bidirectional,
            dropout: self.dropout,
        }
    }

    fn recurrent_decoder(&self, d_memory: Option<usize>) -> RecurrentDecoder {
        use attentive_architecture::AttentionKind;
        RecurrentDecoder {
            n_layers: self.n_decoder_layers,
            d_model: self.d_model,
            d_hidden: self.recurrent.d_hidden,
            cell: self.recurrent.cell,
            attention: match d_memory {
                Some(_) => self.recurrent.attention,
                None => AttentionKind::None,
            },
            d_memory: d_memory.unwrap_or(0),
            readout: self.recurrent.readout,
            start: match self.encoder() {
                Some(StackKind::Recurrent) => InitialState::Encoder,
                Some(StackKind::Transformer) | None => InitialState::Zeros,
            },
            dropout: self.dropout,
        }
    }

    /// The head; an encoder's output is `d_encoder` wide.
    fn head(&self, size: usize, d_encoder: usize) -> Head {
        let labels = Labels {
            size,
            d_in: d_encoder,
            layer: self.label_layer,
            dropout: self.dropout,
        };
        match self.family {
            Family::Tagger => Head::Positions(labels),
            Family::Classifier => Head::Sequence {
                pooling: self.pooling,
                labels,
            },
            Family::Encoder => Head::Vector {
                pooling: self.pooling,
                d: d_encoder,
                unit: self.normalize_embeddings,
            },
            Family::EncoderOnly => self.vocabulary(size, d_encoder),
            Family::Transformer | Family::Seq2seq | Family::DecoderOnly => {
                self.vocabulary(size, self.d_model)
            }
        }
    }

    fn vocabulary(&self, size: usize, d_model: usize) -> Head {
        Head::Vocabulary(Vocabulary {
            size,
            transform: self.output_transform.then(|| Transform {
                d: d_model,
                activation: self.activation,
                norm: self.norm(),
            }),
            d_model,
            tied: self.tie_embeddings.ties_output(),
            bias: self.output_bias,
            scale: self.logit_scale,
        })
    }
}

/// `value`, or `default` if it is 0.
fn or(value: usize, default: usize) -> usize {
    if value == 0 { default } else { value }
}
