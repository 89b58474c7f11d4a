//! A label for each position, by a recurrent network: minimises −Σ log P(y_t | x_1..x_t), or given the whole input where
//! it reads from both ends.

use burn::module::Module;
use burn::tensor::{Device, Tensor, TensorData};

use super::embedding_scale;
use super::seq2seq::lengths;
use crate::batch::Batch;
use crate::config::ModelConfig;
use crate::nn::{Dropout, Embedding, Initializer, Linear, Pass, RecurrentEncoder};
use crate::ops::{self, Map};

/// A recurrent tagger over tokens, or over vectors of numbers.
#[derive(Module, Debug)]
pub struct Tagger {
    /// `[vocab, d_model]`, for tokens.
    pub embedding: Option<Embedding>,
    /// Reads the input.
    pub encoder: RecurrentEncoder,
    /// `[tags, d_hidden]`
    pub output: Linear,
    /// On embeddings.
    #[module(skip)]
    embedding_dropout: Dropout,
    /// On the last layer.
    #[module(skip)]
    last_dropout: Dropout,
    #[module(skip)]
    embedding_scale: f64,
    #[module(skip)]
    max_len: usize,
}

impl Tagger {
    /// A new model, initialised from `seed`.
    pub fn new(
        config: &ModelConfig,
        vocab: usize,
        tags: usize,
        seed: u64,
        device: &Device,
    ) -> Self {
        let init = &mut Initializer::new(config.init, seed, device);
        let (d_in, embedding) = match config.recurrent.d_input {
            0 => (
                config.d_model,
                Some(Embedding::new(vocab, config.d_model, init)),
            ),
            width => (width, None),
        };
        Self {
            embedding,
            encoder: RecurrentEncoder::new(config, d_in, init),
            output: Linear::new(config.recurrent.d_hidden, tags, true, init),
            embedding_dropout: init.dropout(config.dropout),
            last_dropout: init.dropout(config.dropout),
            embedding_scale: embedding_scale(config),
            max_len: config.max_len,
        }
    }

    /// What is known of every position: `[batch · len, d_hidden]`.
    pub fn last_layer(&self, batch: &Batch, pass: &Pass<'_>) -> Tensor<2> {
        let ids = &batch.src.ids;
        let x = match &self.embedding {
            Some(table) => {
                let dropout = pass.dropout(self.embedding_dropout);
                table.forward(ids, ids.len(), 0, self.embedding_scale, None, dropout)
            }
            None => {
                let width = batch.vectors.len() / ids.len().max(1);
                let data = TensorData::new(batch.vectors.clone(), [ids.len(), width]);
                Tensor::from_data(data, &self.output.weight.val().device())
            }
        };
        pass.observe(|| "embedding".into(), &x);
        let last = self.encoder.forward(x, &lengths(&batch.src), pass).memory;
        ops::dropout_add(last, None, pass.dropout(self.last_dropout))
    }

    /// From there to logits.
    pub fn projection(&self) -> Map {
        self.output.as_map()
    }

    /// The longest sequence that the model accepts.
    pub fn max_len(&self) -> usize {
        self.max_len
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::Padded;
    use crate::config::{Family, RecurrentConfig};
    use crate::ops::Precision;

    /// Whether dropout of one half only drops elements of the last layer and doubles the others, so that all before it is as
    /// it is without dropout.
    fn drops_the_end_alone(d_input: usize, n_layers: usize) -> bool {
        let config = ModelConfig {
            family: Family::Tagger,
            d_model: 6,
            n_encoder_layers: n_layers,
            dropout: 0.5,
            recurrent: RecurrentConfig {
                d_hidden: 8,
                d_input,
                ..RecurrentConfig::default()
            },
            ..ModelConfig::default()
        };
        let tagger = Tagger::new(&config, 20, 5, 1, &Device::flex());
        let src = Padded::new(&[[4, 5, 6, 7], [8, 9, 10, 11]], 0);
        let numbers = (0..src.ids.len() * d_input).map(|i| (i as f32).sin());
        let batch = Batch {
            vectors: numbers.collect(),
            src,
            ..Batch::default()
        };
        let last = |pass| -> Vec<f32> {
            let last = tagger.last_layer(&batch, &pass);
            last.into_data().iter().collect()
        };
        let whole = last(Pass::inference());
        let dropped = last(Pass::training(1, 1, Precision::F32));
        let zeros = dropped.iter().filter(|&&x| x == 0.0).count();
        assert!((16..48).contains(&zeros), "{zeros} of {}", dropped.len());
        let mut pairs = dropped.iter().zip(&whole);
        pairs.all(|(&dropped, &whole)| dropped == 0.0 || dropped == 2.0 * whole)
    }

    #[test]
    fn dropout_spares_vectors_and_takes_of_the_last_layer() {
        assert!(drops_the_end_alone(3, 1));
        // Between layers, and on embeddings.
        assert!(!drops_the_end_alone(3, 2));
        assert!(!drops_the_end_alone(0, 1));
    }
}
