//! All layers of a model.

use attentive_architecture::{self as architecture, Architecture, Body};

use super::{
    Construction, Decode, Encode, Encoded, Head, Input, Linear, RecurrentDecoder, RecurrentEncoder, Scope,
    Storage, TransformerDecoder, TransformerEncoder, WeightSource,
};

/// The layers of a model.
#[derive(Clone, Debug)]
pub struct Stacks<S: Storage> {
    /// The encoder, the decoder, or both.
    pub body: Body<Stack<S, Encoder<S>>, Stack<S, Decoder<S>>>,
    /// The output layer; absent in a model that is only an encoder.
    pub head: Option<Head<S>>,
}

/// Layers, and the input that they read.
#[derive(Clone, Debug)]
pub struct Stack<S: Storage, L> {
    pub input: Input<S>,
    pub layers: L,
}

/// A stack that reads whole sequences.
#[derive(Clone, Debug)]
pub enum Encoder<S: Storage> {
    /// Transformer layers.
    Transformer(TransformerEncoder<S>),
    /// Recurrent layers.
    Recurrent(RecurrentEncoder<S>),
}

/// A stack that writes token by token.
#[derive(Clone, Debug)]
pub enum Decoder<S: Storage> {
    /// Transformer layers.
    Transformer(TransformerDecoder<S>),
    /// Recurrent layers.
    Recurrent(RecurrentDecoder<S>),
}

impl<S: Storage> Stacks<S> {
    /// Makes the layers of `architecture` with the weights of `source`.
    pub fn new(architecture: &Architecture, source: &mut dyn WeightSource<S>) -> Self {
        let construction = Construction::new(source);
        let root = construction.root();
        let max_len = architecture.max_len;
        let input = |input, name| Input::new(input, root.at(name));
        // Dropout sites are numbered in this order, and masks depend on their numbers.
        let layers = architecture.body.as_ref().map(
            |of| (of, Encoder::new(&of.layers, max_len, root.at("encoder"))),
            |of| (of, Decoder::new(&of.layers, max_len, root.at("decoder"))),
        );
        let body = layers.map(
            |(of, layers)| Stack { input: input(&of.input, "src"), layers },
            |(of, layers)| Stack { input: input(&of.input, "tgt"), layers },
        );
        Self { body, head: Head::new(&architecture.head, root.at("head")) }
    }

    /// Returns the embeddings of the source's tokens.
    ///
    /// # Panics
    /// If no encoder reads tokens.
    pub fn src_table(&self) -> &S::Matrix {
        let table = self.body.encoder().and_then(|stack| stack.input.table.as_ref());
        table.expect("an encoder of tokens has a table of embeddings")
    }

    /// Returns the embeddings of the target's tokens, which may be those of the source's.
    ///
    /// # Panics
    /// If there is no table.
    pub fn tgt_table(&self) -> &S::Matrix {
        let own = self.body.decoder().and_then(|stack| stack.input.table.as_ref());
        own.unwrap_or_else(|| self.src_table())
    }

    /// Returns the linear map from the output of the last layer to logits.
    ///
    /// # Panics
    /// If the model predicts nothing.
    pub fn projection(&self) -> Linear<S> {
        match self.head.as_ref().expect("a model that predicts") {
            Head::Vocabulary(head) => head.map(match &self.body {
                Body::Encoder(encoder) => encoder.input.table.as_ref(),
                Body::Decoder(_) | Body::EncoderDecoder(..) => Some(self.tgt_table()),
            }),
            Head::Positions(labels) | Head::Sequence(labels) => labels.map.clone(),
        }
    }
}

impl<S: Storage> Encoder<S> {
    fn new(stack: &architecture::EncoderSpec, max_len: usize, scope: Scope<'_, S>) -> Self {
        match stack {
            architecture::EncoderSpec::Transformer(stack) => {
                Self::Transformer(TransformerEncoder::new(stack, max_len, scope))
            }
            architecture::EncoderSpec::Recurrent(stack) => {
                Self::Recurrent(RecurrentEncoder::new(stack, scope))
            }
        }
    }

    /// Maps embedded sequences to the memory; only recurrent layers have final states.
    pub fn forward<B: Encode<Storage = S>>(&self, x: B::Value, backend: &mut B) -> Encoded<B::Value> {
        match self {
            Self::Transformer(stack) => Encoded { memory: stack.forward(x, backend), finals: Vec::new() },
            Self::Recurrent(stack) => stack.forward(x, backend),
        }
    }
}

impl<S: Storage> Decoder<S> {
    fn new(stack: &architecture::DecoderSpec, max_len: usize, scope: Scope<'_, S>) -> Self {
        match stack {
            architecture::DecoderSpec::Transformer(stack) => {
                Self::Transformer(TransformerDecoder::new(stack, max_len, scope))
            }
            architecture::DecoderSpec::Recurrent(stack) => {
                Self::Recurrent(RecurrentDecoder::new(stack, scope))
            }
        }
    }

    /// Returns true if a position reads the output of the one before, so that positions are computed one
    /// after the other.
    pub fn feeds_input(&self) -> bool {
        match self {
            Self::Transformer(_) => false,
            Self::Recurrent(stack) => stack.feeds_input(),
        }
    }

    /// Maps embedded positions to the last layer.
    pub fn forward<B: Decode<Storage = S>>(&self, x: B::Value, backend: &mut B) -> B::Value {
        match self {
            Self::Transformer(stack) => stack.forward(x, backend),
            Self::Recurrent(stack) => stack.forward(x, backend),
        }
    }
}
