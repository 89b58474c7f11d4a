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

use crate::batch::{Batch, IGNORE, Padded, TokenId};
use crate::config::{Family, ModelConfig};
use crate::nn::{Pass, Sequence};
use crate::ops::{self, CrossEntropy, Epilogue, Lengths, LossSums, Map};

/// The loss of a batch: summed over what is to be predicted, with its gradient and as numbers.
pub type Loss = CrossEntropy;

/// Rows whose logits [`Model::predict`] holds at a time.
const PREDICTED_ROWS: usize = 256;

/// A model of any family.
// A program has one: its size does not matter.
#[allow(clippy::large_enum_variant)]
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

    /// The last layer at every place of the batch that has something to predict, under teacher forcing, row after row.
    fn last_layer(&self, batch: &Batch, pass: &Pass<'_>) -> Tensor<2> {
        match self {
            Self::Transformer(model) => model.last_layer(batch, pass),
            Self::Seq2seq(model) => model.last_layer(batch, pass),
            Self::DecoderOnly(model) => model.last_layer(batch, pass),
            Self::EncoderOnly(model) => model.encode(&batch.src, pass).x,
            Self::Tagger(model) => model.last_layer(batch, pass),
        }
    }

    /// From the last layer to logits.
    fn projection(&self) -> Map {
        match self {
            Self::Transformer(model) => model.projection(),
            Self::Seq2seq(model) => model.projection(),
            Self::DecoderOnly(model) => model.projection(),
            Self::EncoderOnly(model) => model.projection(),
            Self::Tagger(model) => model.projection(),
        }
    }

    /// The label-smoothed loss of a batch, summed over what is to be predicted.
    pub fn loss(&self, batch: &Batch, label_smoothing: f64, pass: &Pass<'_>) -> Loss {
        let x = self.last_layer(batch, pass);
        let (projection, targets) = (self.projection(), targets(&batch.tgt_out));
        let precision = pass.precision();
        let loss = ops::cross_entropy(x, projection, &targets, label_smoothing, precision);
        pass.observe(|| "projection".into(), &loss.loss);
        loss
    }

    /// The sums of the loss over `batches`, without dropout: what the model, as it stands, thinks of what is right.
    pub fn sums(&self, batches: &[Batch], label_smoothing: f64) -> LossSums {
        let mut total = LossSums::default();
        for batch in batches {
            total += self.loss(batch, label_smoothing, &Pass::inference()).sums;
        }
        total
    }

    /// Logits `[rows, vocab]` of every place of the batch, under teacher forcing.
    pub fn forward(&self, batch: &Batch, pass: &Pass<'_>) -> Tensor<2> {
        logits(self.last_layer(batch, pass), self.projection(), pass)
    }

    /// The likeliest token, or label, at every place of the batch, under teacher forcing.
    pub fn predict(&self, batch: &Batch) -> Vec<TokenId> {
        let pass = &Pass::inference();
        let x = self.last_layer(batch, pass);
        let [rows, _] = x.dims();
        let chunks = (0..rows).step_by(PREDICTED_ROWS);
        let predict = |first| {
            let rows = x.clone().narrow(0, first, PREDICTED_ROWS.min(rows - first));
            argmax(logits(rows, self.projection(), pass))
        };
        chunks.flat_map(predict).collect()
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

/// The number of the largest logit of each row; the first of equals.
pub fn argmax(logits: Tensor<2>) -> Vec<TokenId> {
    let [_, vocab] = logits.dims();
    let logits: Vec<f32> = logits.into_data().convert::<f32>().iter().collect();
    let best = |row: &[f32]| {
        let better = |best: usize, id: usize| if row[id] > row[best] { id } else { best };
        (0..vocab).reduce(better).unwrap_or(0) as TokenId
    };
    logits.chunks_exact(vocab).map(best).collect()
}

/// `x` through the projection.
fn logits(x: Tensor<2>, projection: Map, pass: &Pass<'_>) -> Tensor<2> {
    ops::linear(x, vec![projection], Epilogue::plain(pass.precision()))
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
        pad: Lengths::new(tokens.lens.as_slice(), tokens.width),
    }
}
