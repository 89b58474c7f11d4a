//! The architecture of a model: its stacks, head and special tokens, without weights.
//!
//! A configuration is turned into an [`Architecture`], from which `Model` is built. Code that only needs the
//! names and shapes of parameters (loading, averaging, `info`, the prediction of RAM use) builds a
//! `Blueprint`.

mod attention;
mod choices;
mod feed_forward;
mod head;
mod input;
mod norm;
mod recurrent;
mod rotary;
mod tokens;
mod transformer;

pub use attention::{Attention, RelativePositions, bucket, earlier_bucket};
pub use attentive_base::body::Body;
pub use attentive_kernels::nonlinearity::ActivationKind;
pub use attentive_kernels::norm::NormKind;
pub use attentive_kernels::recurrent::CellKind;
pub use choices::{
    AttentionKind, DropoutPosition, Init, LabelLayer, NormPosition, Pooling, Positions, TieEmbeddings,
};
pub use feed_forward::FeedForward;
pub use head::{Head, Labels, Transform, Vocabulary};
pub use input::{AddedPositions, Input, Items, Sinusoids};
pub use norm::Norm;
pub use recurrent::{InitialState, RecurrentDecoder, RecurrentEncoder};
pub use rotary::{RotaryScaling, RotaryScalingKind};
pub use tokens::TokenContract;
pub use transformer::{CrossAttention, SelfMixing, TransformerStack};

/// A model without its weights.
#[derive(Clone, Debug, PartialEq)]
pub struct Architecture {
    /// The encoder, the decoder, or both.
    pub body: Body<Stack<Encoder>, Stack<Decoder>>,
    /// The layer that makes predictions from the last layer of the stacks.
    pub head: Head,
    /// The longest sequence that the model accepts, in tokens.
    pub max_len: usize,
}

/// Layers, and the input that they read.
#[derive(Clone, Debug, PartialEq)]
pub struct Stack<T> {
    pub input: Input,
    pub layers: T,
}

/// A stack that reads a whole sequence.
#[derive(Clone, Debug, PartialEq)]
pub enum Encoder {
    /// Self-attention in every layer.
    Transformer(TransformerStack),
    /// Recurrent layers.
    Recurrent(RecurrentEncoder),
}

/// A stack in which each position sees itself, earlier positions and, with an encoder, the memory.
#[derive(Clone, Debug, PartialEq)]
pub enum Decoder {
    /// Causal self-attention, or a recurrent cell in its place, and cross-attention.
    Transformer(TransformerStack),
    /// Recurrent layers with or without attention.
    Recurrent(RecurrentDecoder),
}

/// The task of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// Maps one sequence to another.
    Translate,
    /// Continues a text.
    Generate,
    /// Predicts masked tokens.
    Fill,
    /// Labels every position.
    Tag,
    /// Labels a whole text.
    Classify,
    /// Maps a text to a vector.
    Embed,
}

impl Task {
    /// Returns a verb for messages, such as "translates".
    pub fn verb(self) -> &'static str {
        match self {
            Self::Translate => "translates",
            Self::Generate => "continues texts",
            Self::Fill => "predicts masked tokens",
            Self::Tag => "labels tokens",
            Self::Classify => "classifies texts",
            Self::Embed => "computes text vectors",
        }
    }
}

impl Architecture {
    /// Returns the task of the model.
    pub fn task(&self) -> Task {
        match (&self.head, &self.body) {
            (Head::Positions(_), _) => Task::Tag,
            (Head::Sequence { .. }, _) => Task::Classify,
            (Head::Vector { .. }, _) => Task::Embed,
            (Head::Vocabulary(_), Body::EncoderDecoder(..)) => Task::Translate,
            (Head::Vocabulary(_), Body::Decoder(_)) => Task::Generate,
            (Head::Vocabulary(_), Body::Encoder(_)) => Task::Fill,
        }
    }

    /// Returns the encoder's layers, if there is one.
    pub fn encoder(&self) -> Option<&Encoder> {
        self.body.encoder().map(|stack| &stack.layers)
    }

    /// Returns the decoder's layers, if there is one.
    pub fn decoder(&self) -> Option<&Decoder> {
        self.body.decoder().map(|stack| &stack.layers)
    }

    /// Returns the encoder's input, if there is an encoder.
    pub fn src(&self) -> Option<&Input> {
        self.body.encoder().map(|stack| &stack.input)
    }

    /// Returns the decoder's input, if there is a decoder.
    pub fn tgt(&self) -> Option<&Input> {
        self.body.decoder().map(|stack| &stack.input)
    }

    /// Returns the encoder's input with its name `src`, or else the decoder's with its name `tgt`.
    pub fn first_input(&self) -> (&'static str, &Input) {
        match &self.body {
            Body::Encoder(encoder) | Body::EncoderDecoder(encoder, _) => ("src", &encoder.input),
            Body::Decoder(decoder) => ("tgt", &decoder.input),
        }
    }

    /// True if the decoder attends to the memory.
    pub fn has_cross_attention(&self) -> bool {
        match self.decoder() {
            Some(Decoder::Transformer(stack)) => stack.cross.is_some(),
            Some(Decoder::Recurrent(stack)) => stack.attention != AttentionKind::None,
            None => false,
        }
    }

    /// Returns the number of attention weights of all layers together for `src_len` source tokens and
    /// `tgt_len` target tokens.
    pub fn attention_weights(&self, src_len: usize, tgt_len: usize) -> usize {
        let of_stack = |stack: &TransformerStack, len: usize| {
            let own = match &stack.mixing {
                SelfMixing::Attention(attention) => attention.n_heads.saturating_mul(len),
                SelfMixing::Recurrent(_) => 0,
            };
            let cross = stack.cross.as_ref().map_or(0, |cross| cross.attention.n_heads);
            let columns = own.saturating_add(cross.saturating_mul(src_len));
            columns.saturating_mul(len).saturating_mul(stack.n_layers)
        };
        let encoder = match self.encoder() {
            Some(Encoder::Transformer(stack)) => of_stack(stack, src_len),
            Some(Encoder::Recurrent(_)) | None => 0,
        };
        let decoder = match self.decoder() {
            Some(Decoder::Transformer(stack)) => of_stack(stack, tgt_len),
            Some(Decoder::Recurrent(stack)) if stack.attention != AttentionKind::None => {
                src_len.saturating_mul(tgt_len)
            }
            Some(Decoder::Recurrent(_)) | None => 0,
        };
        encoder.saturating_add(decoder)
    }
}

impl Encoder {
    /// Returns the width of the encoder's output.
    pub fn d_out(&self) -> usize {
        match self {
            Self::Transformer(stack) => stack.d_model,
            Self::Recurrent(stack) => stack.d_hidden,
        }
    }
}
