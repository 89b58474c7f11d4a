//! Multi-head attention (*Attention Is All You Need*, section 3.2.2).

use burn::module::Module;
use burn::tensor::Tensor;

use super::{Dropout, Initializer, Linear, Pass, Rotary};
use crate::config::{ModelConfig, Positions};
use crate::ops::{self, AttentionShape, Causality, PadMask};

/// Queries, keys and values of all heads by one matrix each, attention head by head, and the output projection.
#[derive(Module, Debug)]
pub struct MultiHeadAttention {
    /// `[d_model, d_model]`: rows h·d_head .. (h+1)·d_head make head h's queries.
    pub query: Linear,
    /// As `query`, for keys.
    pub key: Linear,
    /// As `query`, for values.
    pub value: Linear,
    /// `[d_model, d_model]`: joins the heads.
    pub output: Linear,
    #[module(skip)]
    n_heads: usize,
    #[module(skip)]
    dropout: Dropout,
    #[module(skip)]
    rotary: Option<Rotary>,
}

/// The positions that ask: `batch` sequences of which the first position is number `first`.
#[derive(Clone, Debug)]
pub struct Queries {
    /// `[batch · tgt_len, d_model]`
    pub x: Tensor<2>,
    /// Number of sequences.
    pub batch: usize,
    /// Position of each sequence's first row.
    pub first: usize,
}

/// Keys and values as rows, `[batch · len, d_model]` each.
#[derive(Clone, Debug)]
pub struct KeysValues {
    /// The keys.
    pub keys: Tensor<2>,
    /// The values.
    pub values: Tensor<2>,
}

impl MultiHeadAttention {
    /// Attention within a sequence; rotary positions act here.
    pub fn for_self(config: &ModelConfig, init: &mut Initializer) -> Self {
        let rotary = (config.positions == Positions::Rotary).then(|| Rotary::new(config.n_heads));
        Self::new(config, rotary, init)
    }

    /// Attention from the decoder to the encoder's output.
    pub fn for_memory(config: &ModelConfig, init: &mut Initializer) -> Self {
        Self::new(config, None, init)
    }

    fn new(config: &ModelConfig, rotary: Option<Rotary>, init: &mut Initializer) -> Self {
        let mut linear =
            || Linear::new(config.d_model, config.d_model, config.attention_bias, init);
        Self {
            query: linear(),
            key: linear(),
            value: linear(),
            output: linear(),
            n_heads: config.n_heads,
            dropout: init.dropout(config.attention_dropout),
            rotary,
        }
    }

    /// The keys and values of `batch` sequences whose first position is `first`.
    pub fn keys_values(&self, x: Tensor<2>, batch: usize, first: usize) -> KeysValues {
        KeysValues {
            keys: self.turn(self.key.forward(x.clone()), batch, first),
            values: self.value.forward(x),
        }
    }

    /// What the queries gather from `source`: `[batch · tgt_len, d_model]`.
    ///
    /// `source` has rows for `batch` sequences, and `pad` says which of their positions are padding.
    pub fn attend(
        &self,
        queries: Queries,
        source: KeysValues,
        pad: Option<&PadMask>,
        causality: Causality,
        pass: &Pass<'_>,
    ) -> Tensor<2> {
        let Queries { x, batch, first } = queries;
        let [rows, d_model] = x.dims();
        let [source_rows, _] = source.keys.dims();
        let shape = AttentionShape {
            batch,
            n_heads: self.n_heads,
            tgt_len: rows / batch.max(1),
            src_len: source_rows / batch.max(1),
            d_head: d_model / self.n_heads,
        };
        let queries = self.turn(self.query.forward(x), batch, first);
        let context = ops::attention(
            shape,
            queries,
            source.keys,
            source.values,
            pad,
            causality,
            pass.dropout(self.dropout),
        );
        self.output.forward(context)
    }

    fn turn(&self, x: Tensor<2>, batch: usize, first: usize) -> Tensor<2> {
        match &self.rotary {
            Some(rotary) => rotary.turn(x, batch, first),
            None => x,
        }
    }
}
