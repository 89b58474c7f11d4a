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

pub use attention::{AttentionSpec, RelativePositions};
pub use attentive_base::body::Body;
pub use attentive_kernels::nonlinearity::ActivationKind;
pub use attentive_kernels::norm::NormKind;
pub use attentive_kernels::recurrent::CellKind;
pub use choices::{
    AttentionKind, DropoutPosition, Init, InputFeeding, LabelLayer, NormPosition, Pooling, Positions,
    TieEmbeddings,
};
pub use feed_forward::FeedForwardSpec;
pub use head::{HeadSpec, LabelsSpec, TransformSpec, VocabularySpec};
pub use input::{AddedPositions, InputSpec, Items, Sinusoids};
pub use norm::NormSpec;
pub use recurrent::{InitialState, RecurrentDecoderSpec, RecurrentEncoderSpec};
pub use rotary::{RotaryScaling, RotaryScalingKind};
pub use tokens::TokenContract;
pub use transformer::{CrossAttentionSpec, SelfMixing, TransformerSpec};

/// A model without its weights.
#[derive(Clone, Debug, PartialEq)]
pub struct Architecture {
    /// The encoder, the decoder, or both.
    pub body: Body<StackSpec<EncoderSpec>, StackSpec<DecoderSpec>>,
    /// The layer that makes predictions from the last layer of the stacks.
    pub head: HeadSpec,
    /// The longest sequence that the model accepts, in tokens.
    pub max_len: usize,
}

/// Layers, and the input that they read.
#[derive(Clone, Debug, PartialEq)]
pub struct StackSpec<T> {
    pub input: InputSpec,
    pub layers: T,
}

/// A stack that reads a whole sequence.
#[derive(Clone, Debug, PartialEq)]
pub enum EncoderSpec {
    /// Self-attention in every layer.
    Transformer(TransformerSpec),
    /// Recurrent layers.
    Recurrent(RecurrentEncoderSpec),
}

/// A stack in which each position sees itself, earlier positions and, with an encoder, the memory.
#[derive(Clone, Debug, PartialEq)]
pub enum DecoderSpec {
    /// Causal self-attention, or a recurrent cell in its place, and cross-attention.
    Transformer(TransformerSpec),
    /// Recurrent layers with or without attention.
    Recurrent(RecurrentDecoderSpec),
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
    /// Returns the name of the task: an imperative, such as "translate".
    pub fn name(self) -> &'static str {
        match self {
            Self::Translate => "translate",
            Self::Generate => "generate",
            Self::Fill => "fill",
            Self::Tag => "tag",
            Self::Classify => "classify",
            Self::Embed => "embed",
        }
    }

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
            (HeadSpec::Positions(_), _) => Task::Tag,
            (HeadSpec::Sequence { .. }, _) => Task::Classify,
            (HeadSpec::Vector { .. }, _) => Task::Embed,
            (HeadSpec::Vocabulary(_), Body::EncoderDecoder(..)) => Task::Translate,
            (HeadSpec::Vocabulary(_), Body::Decoder(_)) => Task::Generate,
            (HeadSpec::Vocabulary(_), Body::Encoder(_)) => Task::Fill,
        }
    }

    /// Returns the encoder's layers, if there is one.
    pub fn encoder(&self) -> Option<&EncoderSpec> {
        self.body.encoder().map(|stack| &stack.layers)
    }

    /// Returns the decoder's layers, if there is one.
    pub fn decoder(&self) -> Option<&DecoderSpec> {
        self.body.decoder().map(|stack| &stack.layers)
    }

    /// Returns the encoder's input, if there is an encoder.
    pub fn src(&self) -> Option<&InputSpec> {
        self.body.encoder().map(|stack| &stack.input)
    }

    /// Returns the decoder's input, if there is a decoder.
    pub fn tgt(&self) -> Option<&InputSpec> {
        self.body.decoder().map(|stack| &stack.input)
    }

    /// Returns the encoder's input with its name `src`, or else the decoder's with its name `tgt`.
    pub fn first_input(&self) -> (&'static str, &InputSpec) {
        match &self.body {
            Body::Encoder(encoder) | Body::EncoderDecoder(encoder, _) => ("src", &encoder.input),
            Body::Decoder(decoder) => ("tgt", &decoder.input),
        }
    }

    /// True if the decoder attends to the memory.
    pub fn has_cross_attention(&self) -> bool {
        match self.decoder() {
            Some(DecoderSpec::Transformer(stack)) => stack.cross.is_some(),
            Some(DecoderSpec::Recurrent(stack)) => stack.attention != AttentionKind::None,
            None => false,
        }
    }

    /// Returns the number of attention weights of all layers together for `src_len` source tokens and
    /// `tgt_len` target tokens.
    pub fn attention_weights(&self, src_len: usize, tgt_len: usize) -> usize {
        let of_stack = |stack: &TransformerSpec, len: usize| {
            let own = match &stack.mixing {
                SelfMixing::Attention(attention) => attention.n_heads.saturating_mul(len),
                SelfMixing::Recurrent(_) => 0,
            };
            let cross = stack.cross.as_ref().map_or(0, |cross| cross.attention.n_heads);
            let columns = own.saturating_add(cross.saturating_mul(src_len));
            columns.saturating_mul(len).saturating_mul(stack.n_layers)
        };
        let encoder = match self.encoder() {
            Some(EncoderSpec::Transformer(stack)) => of_stack(stack, src_len),
            Some(EncoderSpec::Recurrent(_)) | None => 0,
        };
        let decoder = match self.decoder() {
            Some(DecoderSpec::Transformer(stack)) => of_stack(stack, tgt_len),
            Some(DecoderSpec::Recurrent(stack)) if stack.attention != AttentionKind::None => {
                src_len.saturating_mul(tgt_len)
            }
            Some(DecoderSpec::Recurrent(_)) | None => 0,
        };
        encoder.saturating_add(decoder)
    }
}

impl DecoderSpec {
    /// Returns the width of the decoder's output.
    pub fn d_out(&self) -> usize {
        match self {
            Self::Transformer(stack) => stack.d_model,
            Self::Recurrent(stack) => stack.d_out(),
        }
    }
}

impl EncoderSpec {
    /// Returns the width of the encoder's output.
    pub fn d_out(&self) -> usize {
        match self {
            Self::Transformer(stack) => stack.d_model,
            Self::Recurrent(stack) => stack.d_hidden,
        }
    }
}
