//! The numbers that a forward pass keeps for the backward pass. A layer that keeps more has to say so here.

use crate::config::{
    ActivationKind, AttentionKind, CellKind, DropoutPosition, Family, ModelConfig, NormPosition,
    Positions,
};
use crate::data::BatchSize;

/// Numbers that live at the end of a forward pass and in the first steps back.
pub(super) fn floats(model: &ModelConfig, batch: BatchSize) -> f64 {
    let (src, tgt) = (batch.src_tokens as f64, batch.tgt_tokens as f64);
    let (d, d_ff) = (model.d_model as f64, model.d_ff as f64);
    let (encoder, decoder) = (model.n_encoder_layers as f64, model.n_decoder_layers as f64);
    let sublayers = Sublayers::of(model);
    // What closes each stack.
    let last = match model.norm_position {
        NormPosition::Post => 0.0,
        NormPosition::Pre => d,
    };
    // The loss's gradient, and the first feed-forward network's: hidden layer, masked, and its input.
    let on_the_way = |rows: f64| rows * (2.0 * d_ff + 5.0 * d + sublayers.turning);
    let Sublayers {
        self_attention,
        memory_attention,
        feed_forward,
        turning,
    } = sublayers;
    match model.family {
        Family::Transformer => {
            let encoder = encoder * src * (self_attention + feed_forward);
            let decoder = decoder
                * (tgt * (self_attention + memory_attention + feed_forward) + src * 2.0 * d);
            let turned_more = (src - tgt).max(0.0) * turning;
            let kept = encoder + decoder + (src + tgt) * (d + last);
            kept + on_the_way(tgt) + src * 2.0 * d + turned_more
        }
        Family::DecoderOnly => {
            tgt * (decoder * (self_attention + feed_forward) + d + last) + on_the_way(tgt)
        }
        Family::EncoderOnly => {
            src * (encoder * (self_attention + feed_forward) + d + last) + on_the_way(src)
        }
        Family::Seq2seq => recurrent_encoder(model, src) + recurrent_decoder(model, src, tgt),
        Family::Tagger => recurrent_encoder(model, src),
    }
}

/// What a row keeps in each sublayer of a Transformer.
struct Sublayers {
    self_attention: f64,
    memory_attention: f64,
    feed_forward: f64,
    /// Queries and keys before and after they turn, in halves, and the gradients of these, in one layer.
    turning: f64,
}

impl Sublayers {
    fn of(model: &ModelConfig) -> Self {
        let (d, d_ff) = (model.d_model as f64, model.d_ff as f64);
        // What a sublayer's end keeps: the sum and its norm, or their mirror image before the sublayer.
        let residual = match model.dropout_position {
            DropoutPosition::Sublayer => 2.0 * d,
            DropoutPosition::AfterNorm => 3.0 * d,
        };
        let hidden = match model.activation {
            ActivationKind::Relu => d_ff,
            // Before and after, what Burn keeps in between, and after dropout.
            ActivationKind::Gelu => 4.0 * d_ff,
        };
        Self {
            // Queries, keys, values and what they gather.
            self_attention: 4.0 * d + residual,
            memory_attention: 2.0 * d + residual,
            feed_forward: hidden + residual,
            turning: match model.positions {
                Positions::Rotary => 16.0 * d,
                _ => 0.0,
            },
        }
    }
}

/// What a position of a recurrent layer keeps of its cell, in widths of its state: states and gates, and h apart.
fn cell(kind: CellKind) -> f64 {
    match kind {
        CellKind::Rnn => 2.0,
        CellKind::Lstm => 2.0 + 4.0 + 1.0,
        CellKind::CoupledLstm => 2.0 + 3.0 + 1.0,
        CellKind::Gru => 1.0 + 4.0,
    }
}

/// The inputs' share of the gates and its gradient, in widths of the state, which exist in one layer at a time.
fn projected(kind: CellKind) -> f64 {
    let gates = match kind {
        CellKind::Rnn => 1.0,
        CellKind::Lstm => 4.0,
        CellKind::CoupledLstm | CellKind::Gru => 3.0,
    };
    2.0 * gates
}

fn recurrent_encoder(model: &ModelConfig, src: f64) -> f64 {
    let (kind, d) = (model.recurrent.cell, model.recurrent.d_hidden as f64);
    let d_in = match model.recurrent.d_input {
        0 => model.d_model as f64,
        width => width as f64,
    };
    // Its cells, both directions side by side, and what dropout leaves of that for the next layer or the prediction.
    let layers = model.n_encoder_layers as f64 * (cell(kind) * d + d + d);
    // What the first layer reads, and its gradient or where it came from.
    src * (2.0 * d_in + layers + projected(kind) * d)
}

fn recurrent_decoder(model: &ModelConfig, src: f64, tgt: f64) -> f64 {
    let (kind, d) = (model.recurrent.cell, model.recurrent.d_hidden as f64);
    let d_model = model.d_model as f64;
    // Contexts, what the readout reads, and what is gathered from.
    let (context, memory) = match model.recurrent.attention {
        AttentionKind::None => (0.0, 0.0),
        AttentionKind::Additive => (4.0 * d, 3.0 * d),
        AttentionKind::Dot | AttentionKind::General => (4.0 * d, 5.0 * d),
    };
    let layers = model.n_decoder_layers as f64 * (d + cell(kind) * d);
    let readout = 4.0 * d_model;
    tgt * (2.0 * d_model + layers + context + readout + projected(kind) * d) + src * memory
}
