//! The values that a forward pass keeps for the backward pass. A layer that keeps more must be added here.

use attentive_architecture::{
    ActivationKind, Architecture, Attention, AttentionKind, CellKind, Decoder, DropoutPosition,
    Encoder, Head, RecurrentDecoder, RecurrentEncoder, RelativePositions, SelfMixing,
    TransformerStack,
};
use attentive_data::BatchSize;

/// The number of values alive at the end of the forward pass and in the first steps of the backward pass.
pub(super) fn floats(model: &Architecture, batch: BatchSize) -> f64 {
    let (src, tgt) = (batch.src_tokens as f64, batch.tgt_tokens as f64);
    let (encoder, last_src) = match &model.encoder {
        Some(Encoder::Transformer(stack)) => (transformer(stack, src, src), Some(stack)),
        Some(Encoder::Recurrent(stack)) => (recurrent_encoder(stack, src), None),
        None => (0.0, None),
    };
    let (decoder, last_tgt) = match &model.decoder {
        Some(Decoder::Transformer(stack)) => (transformer(stack, tgt, src), Some(stack)),
        Some(Decoder::Recurrent(stack)) => (recurrent_decoder(stack, src, tgt), None),
        None => (0.0, None),
    };
    let inputs = [(&model.src, last_src, src), (&model.tgt, last_tgt, tgt)];
    let embedded: f64 = inputs
        .into_iter()
        .map(|(input, stack, rows)| match (input, stack) {
            (Some(input), Some(_)) => rows * input.d_model as f64,
            _ => 0.0,
        })
        .sum();
    let on_the_way = match (last_tgt, last_src) {
        (Some(stack), encoder) => {
            let more = encoder.map_or(0.0, |encoder| {
                src * 2.0 * encoder.d_model as f64 + (src - tgt).max(0.0) * turning(encoder)
            });
            way_back(stack, tgt) + more
        }
        (None, Some(stack)) => way_back(stack, src),
        (None, None) => 0.0,
    };
    let labeled = match &model.head {
        Head::Vocabulary(head) => match &head.transform {
            // The linear map, its activation and its norm.
            Some(transform) => src * 3.0 * transform.d as f64,
            None => 0.0,
        },
        Head::Vector { .. } => 0.0,
        // The last layer, or its means, after dropout.
        Head::Positions(labels) | Head::Sequence { labels, .. } => match last_src {
            Some(_) => src * labels.d_in as f64,
            None => 0.0,
        },
    };
    encoder + decoder + embedded + on_the_way + labeled
}

/// Values kept by a stack of `rows` positions that attend to `memory` others.
fn transformer(stack: &TransformerStack, rows: f64, memory: f64) -> f64 {
    let d = stack.d_model as f64;
    // Values kept at the end of a sublayer: the sum and its norm, or with pre-norm the reverse.
    let residual = match stack.dropout_position {
        DropoutPosition::Sublayer => 2.0 * d,
        DropoutPosition::AfterNorm => 3.0 * d,
    };
    let mixing = match &stack.mixing {
        // Queries, keys, values and the attention output.
        SelfMixing::Attention(attention) => attended(attention) + attention.d_query() as f64,
        SelfMixing::Recurrent(kind) => (cell(*kind) + kind.gates() as f64) * d,
    };
    let cross = match &stack.cross {
        Some(cross) => {
            let queries = 2.0 * cross.attention.d_query() as f64;
            rows * (queries + residual) + memory * 2.0 * cross.attention.d_key() as f64
        }
        None => 0.0,
    };
    let network = &stack.feed_forward;
    let d_ff = network.d_ff as f64;
    let hidden = match (network.activation, network.gated) {
        (ActivationKind::Relu, false) => d_ff,
        // Before the activation, and after dropout.
        (_, false) => 2.0 * d_ff,
        (_, true) => 3.0 * d_ff,
    };
    let last = if stack.final_norm { d } else { 0.0 };
    let layer = rows * (mixing + residual + hidden + residual) + cross;
    stack.n_layers as f64 * layer + rows * last
}

/// Size of a row's queries, keys and values.
fn attended(attention: &Attention) -> f64 {
    (attention.d_query() + 2 * attention.d_key()) as f64
}

/// The gradients of the loss and of the first feed-forward network: the hidden layer, its masked copy and its input.
fn way_back(stack: &TransformerStack, rows: f64) -> f64 {
    let (d, d_ff) = (stack.d_model as f64, stack.feed_forward.d_ff as f64);
    rows * (2.0 * d_ff + 5.0 * d + turning(stack))
}

/// Queries and keys before and after rotation, and their gradients, in one layer.
fn turning(stack: &TransformerStack) -> f64 {
    match &stack.mixing {
        SelfMixing::Attention(attention) => match attention.positions {
            RelativePositions::Rotary { .. } => 16.0 * stack.d_model as f64,
            RelativePositions::None | RelativePositions::Buckets { .. } => 0.0,
        },
        SelfMixing::Recurrent(_) => 0.0,
    }
}

/// Values that a cell keeps per position, in multiples of the state's width: states, gates, and h separately.
fn cell(kind: CellKind) -> f64 {
    match kind {
        CellKind::Rnn => 2.0,
        CellKind::Lstm => 2.0 + 4.0 + 1.0,
        CellKind::CoupledLstm => 2.0 + 3.0 + 1.0,
        CellKind::Gru => 1.0 + 4.0,
        CellKind::Ssru => 2.0 + 2.0 + 1.0,
    }
}

/// The inputs' contribution to the gates and its gradient, in multiples of the state's width; they exist for one layer
/// at a time.
fn projected(kind: CellKind) -> f64 {
    2.0 * kind.gates() as f64
}

fn recurrent_encoder(stack: &RecurrentEncoder, src: f64) -> f64 {
    let (d_in, d) = (stack.d_in as f64, stack.d_hidden as f64);
    // Cell values, both directions concatenated, and the result after dropout for the next layer or the prediction.
    let layers = stack.n_layers as f64 * (cell(stack.cell) * d + d + d);
    // The first layer's input, and its gradient or origin.
    src * (2.0 * d_in + layers + projected(stack.cell) * d)
}

fn recurrent_decoder(stack: &RecurrentDecoder, src: f64, tgt: f64) -> f64 {
    let (d_model, d) = (stack.d_model as f64, stack.d_hidden as f64);
    let d_memory = stack.d_memory as f64;
    // Contexts, the readout's input, and the attended encoder outputs.
    let read = 2.0 * (d + d_memory);
    let (context, memory) = match stack.attention {
        AttentionKind::None => (0.0, 0.0),
        AttentionKind::Additive => (read, d + 2.0 * d_memory),
        AttentionKind::Dot | AttentionKind::General => (read, 5.0 * d_memory),
    };
    let layers = stack.n_layers as f64 * (d + cell(stack.cell) * d);
    let readout = 4.0 * d_model;
    tgt * (2.0 * d_model + layers + context + readout + projected(stack.cell) * d) + src * memory
}
