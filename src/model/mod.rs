//! Models: one file a family, and the contract that every search is written against.

mod decoder_only;
mod encoder_only;
mod parameters;
mod seq2seq;
mod stepper;
mod tagger;
#[cfg(test)]
mod tests;
mod transformer;

pub use decoder_only::DecoderOnly;
pub use encoder_only::EncoderOnly;
pub use parameters::{Parameter, map_parameters, parameters, shapes, take_gradients};
pub use seq2seq::Seq2seq;
pub use stepper::{State, Stepper};
pub use tagger::Tagger;
pub use transformer::{Transformer, TransformerState};

use burn::module::Module;
use burn::tensor::{Device, Tensor};

use crate::batch::{Batch, IGNORE, Padded};
use crate::config::{Family, ModelConfig};
use crate::nn::{Pass, Sequence};
use crate::ops::{CrossEntropy, PadMask};

/// The loss of a batch: summed over what is to be predicted, with its gradient and as numbers.
pub type Loss = CrossEntropy;

/// A model of any family.
#[derive(Module, Debug)]
pub enum Model {
    /// Encoder and decoder.
    Transformer(Transformer),
    /// Recurrent encoder and decoder.
    Seq2seq(Seq2seq),
    /// A causal language model.
    DecoderOnly(DecoderOnly),
    /// A masked language model.
    EncoderOnly(EncoderOnly),
    /// A label for each position.
    Tagger(Tagger),
}

impl Model {
    /// A new model of the configured family, initialised from `seed`. Language models have the target vocabulary alone.
    pub fn new(
        config: &ModelConfig,
        src_vocab: usize,
        tgt_vocab: usize,
        seed: u64,
        device: &Device,
    ) -> Self {
        let (src, tgt) = (src_vocab, tgt_vocab);
        match config.family {
            Family::Transformer => {
                Self::Transformer(Transformer::new(config, src, tgt, seed, device))
            }
            Family::Seq2seq => Self::Seq2seq(Seq2seq::new(config, src, tgt, seed, device)),
            Family::DecoderOnly => Self::DecoderOnly(DecoderOnly::new(config, tgt, seed, device)),
            Family::EncoderOnly => Self::EncoderOnly(EncoderOnly::new(config, tgt, seed, device)),
            Family::Tagger => Self::Tagger(Tagger::new(config, src, tgt, seed, device)),
        }
    }

    /// The label-smoothed loss of a batch, summed over what is to be predicted.
    pub fn loss(&self, batch: &Batch, label_smoothing: f64, pass: &Pass<'_>) -> Loss {
        match self {
            Self::Transformer(model) => model.loss(batch, label_smoothing, pass),
            Self::Seq2seq(model) => model.loss(batch, label_smoothing, pass),
            Self::DecoderOnly(model) => model.loss(batch, label_smoothing, pass),
            Self::EncoderOnly(model) => model.loss(batch, label_smoothing, pass),
            Self::Tagger(model) => model.loss(batch, label_smoothing, pass),
        }
    }

    /// Logits of everything that the batch has to predict, row after row, under teacher forcing.
    pub fn forward(&self, batch: &Batch, pass: &Pass<'_>) -> Tensor<2> {
        match self {
            Self::Transformer(model) => model.forward(&batch.src, &batch.tgt_in, pass),
            Self::Seq2seq(model) => model.forward(&batch.src, &batch.tgt_in, pass),
            Self::DecoderOnly(model) => model.forward(&batch.tgt_in, pass),
            Self::EncoderOnly(model) => model.forward(&batch.src, pass),
            Self::Tagger(model) => model.forward(batch, pass),
        }
    }

    /// What the encoder makes of `text`: a vector `[batch · len, d]` for every position.
    ///
    /// # Panics
    /// For families without an encoder of texts, which [`Family::has_encoder`] tells.
    pub fn encode(&self, text: &Padded, pass: &Pass<'_>) -> Tensor<2> {
        match self {
            Self::Transformer(model) => model.encode(text, pass).x,
            Self::Seq2seq(model) => model.encode(text, pass).memory,
            Self::EncoderOnly(model) => model.encode(text, pass).x,
            Self::DecoderOnly(_) | Self::Tagger(_) => {
                panic!("a model without an encoder of texts")
            }
        }
    }
}

/// What embeddings are multiplied by.
fn embedding_scale(config: &ModelConfig) -> f64 {
    if config.scale_embeddings {
        (config.d_model as f64).sqrt()
    } else {
        1.0
    }
}

/// The target of every row; none at padding.
fn targets(tgt_out: &Padded) -> Vec<u32> {
    let ignored = tgt_out.pad_mask();
    let ids = ignored.iter().zip(&tgt_out.ids);
    ids.map(|(&ignored, &id)| if ignored { IGNORE } else { id })
        .collect()
}

fn sequence(tokens: &Padded, x: Tensor<2>) -> Sequence {
    Sequence {
        x,
        batch: tokens.rows(),
        len: tokens.width,
        pad: PadMask::from_lens(&tokens.lens, tokens.width),
    }
}
