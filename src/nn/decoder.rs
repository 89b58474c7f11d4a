//! The decoder stack (*Attention Is All You Need*, section 3.1), for whole sequences and token by token.

use burn::module::Module;
use burn::tensor::{Int, Tensor, TensorData};

use super::{
    FeedForward, Initializer, KeysValues, MultiHeadAttention, Norm, Pass, Residual, Sequence,
};
use crate::config::{ModelConfig, NormPosition};
use crate::ops::{Causality, Lengths};

/// A stack of decoder layers; pre-norm stacks end with a norm.
#[derive(Module, Debug)]
pub struct Decoder {
    /// The layers, from the embeddings up.
    pub layers: Vec<DecoderLayer>,
    /// The final norm of a pre-norm stack.
    pub norm: Option<Norm>,
}

/// What a decoder can look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sight {
    /// Itself and the encoder's memory.
    Memory,
    /// Itself alone: a language model.
    Itself,
}

impl Decoder {
    /// `config.n_decoder_layers` layers.
    pub fn new(config: &ModelConfig, sight: Sight, init: &mut Initializer) -> Self {
        Self {
            layers: (0..config.n_decoder_layers)
                .map(|_| DecoderLayer::new(config, sight, init))
                .collect(),
            norm: (config.norm_position == NormPosition::Pre)
                .then(|| Norm::new(config.norm, config.d_model, init)),
        }
    }

    /// All positions at once, each seeing itself and those before it: `[batch · len, d_model]`. `memory` is there if
    /// the decoder was made to see it.
    pub fn forward(&self, tgt: Sequence, memory: Option<&Sequence>, pass: &Pass<'_>) -> Tensor<2> {
        let Sequence { x, batch, .. } = tgt;
        self.run(x, pass, |layer, _, x| {
            let x = layer.self_attention_residual.forward(x, pass, |x| {
                layer
                    .self_attention
                    .attend_itself(x, batch, None, Causality::Causal, pass)
            });
            let source = memory.map(|memory| (layer.keys_values(memory, pass), &memory.pad));
            layer.finish(x, source, batch, pass)
        })
    }

    /// What decoding `batch` sequences token by token remembers at its start.
    pub fn start(&self, batch: usize, memory: Option<&Sequence>) -> DecoderCache {
        let pass = Pass::inference();
        let layers = self.layers.iter().map(|layer| LayerCache {
            own: None,
            memory: memory.map(|memory| layer.keys_values(memory, &pass)),
        });
        DecoderCache {
            layers: layers.collect(),
            len: 0,
            sentences: (0..batch).collect(),
            pad: memory.map(|memory| memory.pad.clone()),
        }
    }

    /// One more position of every hypothesis, or the same number of further ones: `[rows · len, d_model]` to the same.
    pub fn step(&self, x: Tensor<2>, cache: &mut DecoderCache) -> Tensor<2> {
        let pass = &Pass::inference();
        let DecoderCache {
            layers,
            len,
            sentences,
            pad,
        } = cache;
        let batch = sentences.len();
        let new = x.dims()[0] / batch.max(1);
        let x = self.run(x, pass, |layer, number, x| {
            let LayerCache { own, memory } = &mut layers[number];
            let x = layer.self_attention_residual.forward(x, pass, |x| {
                let (out, all) =
                    layer
                        .self_attention
                        .attend_earlier(x, batch, own.take(), *len, pass);
                *own = Some(all);
                out
            });
            let source = memory.clone().zip(pad.as_ref());
            layer.finish(x, source, batch, pass)
        });
        *len += new;
        x
    }

    /// Sends `x` through all layers, each as `run_layer(layer, number, x)` says.
    fn run(
        &self,
        mut x: Tensor<2>,
        pass: &Pass<'_>,
        mut run_layer: impl FnMut(&DecoderLayer, usize, Tensor<2>) -> Tensor<2>,
    ) -> Tensor<2> {
        for (number, layer) in self.layers.iter().enumerate() {
            x = run_layer(layer, number, x);
            pass.observe(|| format!("decoder.layers.{number}"), &x);
        }
        self.close(x, pass)
    }

    fn close(&self, x: Tensor<2>, pass: &Pass<'_>) -> Tensor<2> {
        match &self.norm {
            Some(norm) => {
                let x = norm.forward(x);
                pass.observe(|| "decoder.norm".into(), &x);
                x
            }
            None => x,
        }
    }
}

/// Causal self-attention, attention to the memory if there is one, and a feed-forward network, each in a residual
/// connection.
#[derive(Module, Debug)]
pub struct DecoderLayer {
    /// Every position sees itself and those before it.
    pub self_attention: MultiHeadAttention,
    /// Around it.
    pub self_attention_residual: Residual,
    /// Every position sees the whole memory.
    pub memory_attention: Option<MultiHeadAttention>,
    /// Around it.
    pub memory_attention_residual: Option<Residual>,
    /// Each position by itself.
    pub feed_forward: FeedForward,
    /// Around it.
    pub feed_forward_residual: Residual,
}

impl DecoderLayer {
    /// One layer.
    pub fn new(config: &ModelConfig, sight: Sight, init: &mut Initializer) -> Self {
        let has_memory = sight == Sight::Memory;
        let n_sublayers = (2 + usize::from(has_memory)) * config.n_decoder_layers;
        Self {
            self_attention: MultiHeadAttention::for_self(config, n_sublayers, init),
            self_attention_residual: Residual::new(config, init),
            memory_attention: has_memory
                .then(|| MultiHeadAttention::for_memory(config, n_sublayers, init)),
            memory_attention_residual: has_memory.then(|| Residual::new(config, init)),
            feed_forward: FeedForward::new(config, n_sublayers, init),
            feed_forward_residual: Residual::new(config, init),
        }
    }

    fn keys_values(&self, memory: &Sequence, pass: &Pass<'_>) -> KeysValues {
        let (attention, _) = self.to_memory();
        attention.keys_values(memory.x.clone(), memory.batch, pass)
    }

    /// What follows the self-attention; `memory` is the memory's keys and values, and what is padding there.
    fn finish(
        &self,
        x: Tensor<2>,
        memory: Option<(KeysValues, &Lengths)>,
        batch: usize,
        pass: &Pass<'_>,
    ) -> Tensor<2> {
        let x = match memory {
            Some((memory, pad)) => {
                let (attention, residual) = self.to_memory();
                residual.forward(x, pass, |x| {
                    attention.attend_other(x, memory, batch, pad, pass)
                })
            }
            None => x,
        };
        self.feed_forward_residual
            .forward(x, pass, |x| self.feed_forward.forward(x, pass))
    }

    fn to_memory(&self) -> (&MultiHeadAttention, &Residual) {
        self.memory_attention
            .as_ref()
            .zip(self.memory_attention_residual.as_ref())
            .expect("a decoder is shown a memory only if it was made to see one")
    }
}

/// Keys and values of every layer, for the hypotheses that are still alive.
#[derive(Clone, Debug)]
pub struct DecoderCache {
    layers: Vec<LayerCache>,
    /// Positions decoded so far.
    len: usize,
    /// The sentence of each row: hypotheses of one sentence share what the encoder made of it.
    sentences: Vec<usize>,
    pad: Option<Lengths>,
}

#[derive(Clone, Debug)]
struct LayerCache {
    own: Option<KeysValues>,
    memory: Option<KeysValues>,
}

impl DecoderCache {
    /// The position that the next step decodes.
    pub fn position(&self) -> usize {
        self.len
    }

    /// Keeps, drops or repeats hypotheses: row `i` becomes what row `rows[i]` was.
    pub fn select(&mut self, rows: &[usize]) {
        let unchanged = rows.iter().copied().eq(0..self.sentences.len());
        if unchanged {
            return;
        }
        let sentences: Vec<usize> = rows.iter().map(|&row| self.sentences[row]).collect();
        // The memory moves only when rows change their sentence, that is, when some finish or a beam opens.
        let memory_moves = sentences != self.sentences;
        let batch = self.sentences.len();
        for layer in &mut self.layers {
            layer.own = layer.own.take().map(|own| own.select(rows, batch));
            if memory_moves {
                layer.memory = layer.memory.take().map(|memory| memory.select(rows, batch));
            }
        }
        if memory_moves {
            self.pad = self.pad.as_ref().map(|pad| pad.select(rows));
        }
        self.sentences = sentences;
    }
}

impl KeysValues {
    fn select(self, rows: &[usize], batch: usize) -> Self {
        let Self(x) = self;
        let [all, width] = x.dims();
        let len = all / batch;
        let indices: Vec<i64> = rows.iter().map(|&row| row as i64).collect();
        let data = TensorData::new(indices, [rows.len()]);
        let indices = Tensor::<1, Int>::from_data(data, &x.device());
        let selected = x.reshape([batch, len * width]).select(0, indices);
        Self(selected.reshape([rows.len() * len, width]))
    }

    /// `new` behind what each of `batch` sequences has already.
    pub(super) fn append(self, new: Self, batch: usize) -> Self {
        let [old_rows, width] = self.0.dims();
        let [new_rows, _] = new.0.dims();
        let old = self.0.reshape([batch, old_rows / batch * width]);
        let new = new.0.reshape([batch, new_rows / batch * width]);
        Self(Tensor::cat(vec![old, new], 1).reshape([old_rows + new_rows, width]))
    }
}
