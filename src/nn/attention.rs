//! Multi-head attention (*Attention Is All You Need*, section 3.2.2).

use burn::module::Module;
use burn::tensor::Tensor;

use super::{Dropout, Initializer, Linear, Pass, Rotary};
use crate::config::{ModelConfig, Positions};
use crate::ops::{self, Attended, AttentionShape, Causality, PadMask};

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

/// Keys and values side by side, `[batch · len, 2 · d_model]`.
#[derive(Clone, Debug)]
pub struct KeysValues(pub(super) Tensor<2>);

impl MultiHeadAttention {
    /// Attention within a sequence; rotary positions act here.
    pub fn for_self(config: &ModelConfig, init: &mut Initializer) -> Self {
        let rotary = (config.positions == Positions::Rotary).then_some(Rotary);
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

    /// The keys and values of `batch` sequences whose first position is 0.
    pub fn keys_values(&self, x: Tensor<2>, batch: usize, pass: &Pass<'_>) -> KeysValues {
        let both = Linear::forward_all([&self.key, &self.value], x, pass);
        KeysValues(self.turn(both, 1, batch, 0))
    }

    /// Whole sequences attend to themselves: `[batch · len, d_model]` to the same.
    pub fn attend_itself(
        &self,
        x: Tensor<2>,
        batch: usize,
        pad: Option<&PadMask>,
        causality: Causality,
        pass: &Pass<'_>,
    ) -> Tensor<2> {
        let all = Linear::forward_all([&self.query, &self.key, &self.value], x, pass);
        let all = self.turn(all, 2, batch, 0);
        self.attend(Attended::Itself(all), batch, pad, causality, pass)
    }

    /// The next positions of `batch` sequences, from `position` on, attend to the earlier ones, whose keys and values
    /// `earlier` holds, and to each other; gives the result, `[batch · len, d_model]` like `x`, and the keys and values
    /// with the new ones behind them.
    pub fn attend_earlier(
        &self,
        x: Tensor<2>,
        batch: usize,
        earlier: Option<KeysValues>,
        position: usize,
        pass: &Pass<'_>,
    ) -> (Tensor<2>, KeysValues) {
        let [_, d_model] = x.dims();
        let all = Linear::forward_all([&self.query, &self.key, &self.value], x, pass);
        let all = self.turn(all, 2, batch, position);
        let queries = all.clone().narrow(1, 0, d_model);
        let new = KeysValues(all.narrow(1, d_model, 2 * d_model));
        let source = match earlier {
            Some(earlier) => earlier.append(new, batch),
            None => new,
        };
        let attended = Attended::Other {
            queries,
            keys_values: source.0.clone(),
        };
        let out = self.attend(attended, batch, None, Causality::Causal, pass);
        (out, source)
    }

    /// What `batch` sequences of queries from `x` gather from `source`, in which `pad` says what is padding:
    /// `[batch · tgt_len, d_model]` to the same.
    pub fn attend_other(
        &self,
        x: Tensor<2>,
        source: KeysValues,
        batch: usize,
        pad: &PadMask,
        pass: &Pass<'_>,
    ) -> Tensor<2> {
        let attended = Attended::Other {
            queries: self.query.forward(x, pass),
            keys_values: source.0,
        };
        self.attend(attended, batch, Some(pad), Causality::Full, pass)
    }

    fn attend(
        &self,
        attended: Attended,
        batch: usize,
        pad: Option<&PadMask>,
        causality: Causality,
        pass: &Pass<'_>,
    ) -> Tensor<2> {
        let len = |x: &Tensor<2>| x.dims()[0] / batch.max(1);
        let (tgt_len, src_len, d_model) = match &attended {
            Attended::Itself(all) => (len(all), len(all), all.dims()[1] / 3),
            Attended::Other {
                queries,
                keys_values,
            } => (len(queries), len(keys_values), queries.dims()[1]),
        };
        let shape = AttentionShape {
            batch,
            n_heads: self.n_heads,
            tgt_len,
            src_len,
            d_head: d_model / self.n_heads,
        };
        let dropout = pass.dropout(self.dropout);
        let context = ops::attention(shape, attended, pad, causality, dropout);
        self.output.forward(context, pass)
    }

    /// Applies rotary positions, if there are any, to the first `parts` · d_model columns of `x`.
    fn turn(&self, x: Tensor<2>, parts: usize, batch: usize, first: usize) -> Tensor<2> {
        let Some(rotary) = &self.rotary else {
            return x;
        };
        let [_, width] = x.dims();
        let turned = width / (parts + 1) * parts;
        let kept = x.clone().narrow(1, turned, width - turned);
        let heads = parts * self.n_heads;
        let x = rotary.turn(x.narrow(1, 0, turned), heads, batch, first);
        Tensor::cat(vec![x, kept], 1)
    }
}
