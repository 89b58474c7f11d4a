//! The decoder stack (*Attention Is All You Need*, section 3.1), for whole sequences and token by token.

use burn::module::Module;
use burn::tensor::{Int, Tensor, TensorData};

use super::{
    FeedForward, Initializer, KeysValues, MultiHeadAttention, Norm, Pass, Queries, Residual,
    Sequence,
};
use crate::config::{ModelConfig, NormPosition};
use crate::ops::{Causality, PadMask};

/// A stack of decoder layers; pre-norm stacks end with a norm.
#[derive(Module, Debug)]
pub struct Decoder {
    /// The layers, from the embeddings up.
    pub layers: Vec<DecoderLayer>,
    /// The final norm of a pre-norm stack.
    pub norm: Option<Norm>,
}

impl Decoder {
    /// `config.n_decoder_layers` layers.
    pub fn new(config: &ModelConfig, init: &mut Initializer) -> Self {
        Self {
            layers: (0..config.n_decoder_layers)
                .map(|_| DecoderLayer::new(config, init))
                .collect(),
            norm: (config.norm_position == NormPosition::Pre)
                .then(|| Norm::new(config.norm, config.d_model, init)),
        }
    }

    /// All positions at once, each seeing itself and those before it: `[batch · len, d_model]`.
    pub fn forward(&self, tgt: Sequence, memory: &Sequence, pass: &Pass<'_>) -> Tensor<2> {
        self.advance(tgt.x, tgt.len, &mut self.start(memory), pass)
    }

    /// What decoding token by token remembers at its start.
    pub fn start(&self, memory: &Sequence) -> DecoderCache {
        let layers = self
            .layers
            .iter()
            .map(|layer| LayerCache {
                own: None,
                memory: layer
                    .memory_attention
                    .keys_values(memory.x.clone(), memory.batch, 0),
            })
            .collect();
        DecoderCache {
            layers,
            len: 0,
            sentences: (0..memory.batch).collect(),
            pad: memory.pad.clone(),
        }
    }

    /// One more position of every hypothesis: `[rows, d_model]` to the same.
    pub fn step(&self, x: Tensor<2>, cache: &mut DecoderCache) -> Tensor<2> {
        self.advance(x, 1, cache, &Pass::inference())
    }

    /// The next `len` positions of every sequence.
    fn advance(
        &self,
        x: Tensor<2>,
        len: usize,
        cache: &mut DecoderCache,
        pass: &Pass<'_>,
    ) -> Tensor<2> {
        let (batch, first) = (cache.sentences.len(), cache.len);
        let mut x = x;
        let layers = self.layers.iter().zip(&mut cache.layers);
        for (number, (layer, remembered)) in layers.enumerate() {
            x = layer.forward(x, batch, first, remembered, &cache.pad, pass);
            pass.observe(|| format!("decoder.layers.{number}"), &x);
        }
        cache.len += len;
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

/// Causal self-attention, attention to the memory and a feed-forward network, each in a residual connection.
#[derive(Module, Debug)]
pub struct DecoderLayer {
    /// Every position sees itself and those before it.
    pub self_attention: MultiHeadAttention,
    /// Around it.
    pub self_attention_residual: Residual,
    /// Every position sees the whole memory.
    pub memory_attention: MultiHeadAttention,
    /// Around it.
    pub memory_attention_residual: Residual,
    /// Each position by itself.
    pub feed_forward: FeedForward,
    /// Around it.
    pub feed_forward_residual: Residual,
}

impl DecoderLayer {
    /// One layer.
    pub fn new(config: &ModelConfig, init: &mut Initializer) -> Self {
        Self {
            self_attention: MultiHeadAttention::for_self(config, init),
            self_attention_residual: Residual::new(config, init),
            memory_attention: MultiHeadAttention::for_memory(config, init),
            memory_attention_residual: Residual::new(config, init),
            feed_forward: FeedForward::new(config, init),
            feed_forward_residual: Residual::new(config, init),
        }
    }

    /// The next positions of `batch` sequences, the first of them number `first`; the cache learns their keys and values.
    fn forward(
        &self,
        x: Tensor<2>,
        batch: usize,
        first: usize,
        cache: &mut LayerCache,
        memory_pad: &PadMask,
        pass: &Pass<'_>,
    ) -> Tensor<2> {
        let x = self.self_attention_residual.forward(x, pass, |x| {
            let new = self.self_attention.keys_values(x.clone(), batch, first);
            let source = cache.extend(new, batch);
            let queries = Queries { x, batch, first };
            self.self_attention
                .attend(queries, source, None, Causality::Causal, pass)
        });
        let x = self.memory_attention_residual.forward(x, pass, |x| {
            let source = cache.memory.clone();
            let queries = Queries { x, batch, first: 0 };
            self.memory_attention
                .attend(queries, source, Some(memory_pad), Causality::Full, pass)
        });
        self.feed_forward_residual
            .forward(x, pass, |x| self.feed_forward.forward(x, pass))
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
    pad: PadMask,
}

#[derive(Clone, Debug)]
struct LayerCache {
    own: Option<KeysValues>,
    memory: KeysValues,
}

impl LayerCache {
    /// All keys and values so far, `new` ones included.
    fn extend(&mut self, new: KeysValues, batch: usize) -> KeysValues {
        let all = match self.own.take() {
            Some(old) => old.append(new, batch),
            None => new,
        };
        self.own.insert(all).clone()
    }
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
                layer.memory = layer.memory.clone().select(rows, batch);
            }
        }
        if memory_moves {
            self.pad = self.pad.select(rows);
        }
        self.sentences = sentences;
    }
}

impl KeysValues {
    fn map(self, change: impl Fn(Tensor<2>) -> Tensor<2>) -> Self {
        Self {
            keys: change(self.keys),
            values: change(self.values),
        }
    }

    fn select(self, rows: &[usize], batch: usize) -> Self {
        let indices: Vec<i64> = rows.iter().map(|&row| row as i64).collect();
        self.map(|x| {
            let [all, d] = x.dims();
            let len = all / batch;
            let data = TensorData::new(indices.clone(), [rows.len()]);
            let indices = Tensor::<1, Int>::from_data(data, &x.device());
            x.reshape([batch, len * d])
                .select(0, indices)
                .reshape([rows.len() * len, d])
        })
    }

    fn append(self, new: Self, batch: usize) -> Self {
        let join = |old: Tensor<2>, new: Tensor<2>| {
            let [old_rows, d] = old.dims();
            let [new_rows, _] = new.dims();
            let old = old.reshape([batch, old_rows / batch * d]);
            let new = new.reshape([batch, new_rows / batch * d]);
            Tensor::cat(vec![old, new], 1).reshape([old_rows + new_rows, d])
        };
        Self {
            keys: join(self.keys, new.keys),
            values: join(self.values, new.values),
        }
    }
}
