//! A label for each position, by a recurrent network: minimises −Σ log P(y_t | x_1..x_t), or given the whole input where
//! it reads from both ends.

use burn::module::Module;
use burn::tensor::{Device, Tensor, TensorData};

use super::embedding_scale;
use super::seq2seq::lengths;
use crate::batch::Batch;
use crate::config::ModelConfig;
use crate::nn::{Embedding, Initializer, Linear, Pass, RecurrentEncoder};
use crate::ops::Map;

/// A recurrent tagger over tokens, or over vectors of numbers.
#[derive(Module, Debug)]
pub struct Tagger {
    /// `[vocab, d_model]`, for tokens.
    pub embedding: Option<Embedding>,
    /// Reads the input.
    pub encoder: RecurrentEncoder,
    /// `[tags, d_hidden]`
    pub output: Linear,
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
            embedding_scale: embedding_scale(config),
            max_len: config.max_len,
        }
    }

    /// What is known of every position: `[batch · len, d_hidden]`.
    pub fn last_layer(&self, batch: &Batch, pass: &Pass<'_>) -> Tensor<2> {
        let ids = &batch.src.ids;
        let x = match &self.embedding {
            Some(table) => table.forward(ids, ids.len(), 0, self.embedding_scale, None, None),
            None => {
                let width = batch.vectors.len() / ids.len().max(1);
                let data = TensorData::new(batch.vectors.clone(), [ids.len(), width]);
                Tensor::from_data(data, &self.output.weight.val().device())
            }
        };
        pass.observe(|| "embedding".into(), &x);
        self.encoder.forward(x, &lengths(&batch.src), pass).memory
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
