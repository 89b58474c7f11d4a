//! Multi-head attention (*Attention Is All You Need*, section 3.2.2).

use burn::module::Module;
use burn::tensor::Tensor;

use super::positions::ROTARY_BASE;
use super::{AttentionSite, Dropout, Initializer, Linear, Pass, Rotary};
use crate::config::{ModelConfig, Positions};
use crate::ops::{self, Attended, AttentionShape, Causality, Lengths, Scores, Starts};

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
    /// Attention within a sequence, one of `n_sublayers` of its stack; rotary positions act here.
    pub fn for_self(config: &ModelConfig, n_sublayers: usize, init: &mut Initializer) -> Self {
        let rotary = (config.positions == Positions::Rotary)
            .then(|| Rotary::new(ROTARY_BASE, config.d_model / config.n_heads));
        Self::new(config, rotary, n_sublayers, init)
    }

    /// Attention from the decoder to the encoder's output, one of `n_sublayers` of its stack.
    pub fn for_memory(config: &ModelConfig, n_sublayers: usize, init: &mut Initializer) -> Self {
        Self::new(config, None, n_sublayers, init)
    }

    fn new(
        config: &ModelConfig,
        rotary: Option<Rotary>,
        n_sublayers: usize,
        init: &mut Initializer,
    ) -> Self {
        let (d, bias) = (config.d_model, config.attention_bias);
        Self {
            query: Linear::new(d, d, bias, init),
            key: Linear::new(d, d, bias, init),
            value: Linear::new(d, d, bias, init),
            output: Linear::residual(d, d, bias, n_sublayers, init),
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
        pad: Option<&Lengths>,
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
        pad: &Lengths,
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
        pad: Option<&Lengths>,
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
            n_kv_heads: self.n_heads,
            tgt_len,
            src_len,
            d_head: d_model / self.n_heads,
        };
        let scores = Scores::scaled(shape.d_head, causality);
        let site = match (&attended, causality) {
            (_, Causality::Causal) => AttentionSite::DecoderSelf,
            (Attended::Itself(_), Causality::Full) => AttentionSite::EncoderSelf,
            (Attended::Other { .. }, Causality::Full) => AttentionSite::Cross,
        };
        pass.record_attention(
            site,
            |layer| match site {
                AttentionSite::EncoderSelf => format!("encoder.layers.{layer}.self_attention"),
                AttentionSite::DecoderSelf => format!("decoder.layers.{layer}.self_attention"),
                AttentionSite::Cross => format!("decoder.layers.{layer}.memory_attention"),
            },
            || ops::attention_weights(shape, &attended, pad, &scores),
        );
        let dropout = pass.dropout(self.dropout);
        let context = ops::attention(shape, attended, pad, &scores, dropout);
        self.output.forward(context, pass)
    }

    /// Applies rotary positions, if there are any, to the first `parts` · d_model columns of `x`.
    fn turn(&self, x: Tensor<2>, parts: usize, batch: usize, first: usize) -> Tensor<2> {
        let Some(rotary) = &self.rotary else {
            return x;
        };
        let len = x.dims()[0] / batch.max(1);
        rotary.turn(x, parts * self.n_heads, &Starts::All(first), len)
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::activation::softmax;
    use burn::tensor::{Device, Distribution};

    use super::super::{AttentionMap, AttentionWatch};
    use super::*;

    const LENS: [usize; 3] = [4, 2, 3];
    const LEN: usize = 4;

    fn config(positions: Positions) -> ModelConfig {
        ModelConfig {
            d_model: 12,
            n_heads: 3,
            positions,
            ..ModelConfig::default()
        }
    }

    fn rows(len: usize) -> Tensor<2> {
        let shape = [LENS.len() * len, 12];
        Tensor::random(shape, Distribution::Normal(0.0, 1.0), &Device::flex())
    }

    fn attention(config: &ModelConfig) -> MultiHeadAttention {
        let mut init = Initializer::new(config.init, 5, &Device::flex());
        MultiHeadAttention::for_self(config, 2, &mut init)
    }

    fn watched(run: impl FnOnce(&Pass<'_>) -> Tensor<2>) -> (Tensor<2>, AttentionMap) {
        let watch = AttentionWatch::default();
        let out = run(&Pass::inference().watched(&watch));
        let [map] = watch.into_maps().try_into().expect("one map");
        (out, map)
    }

    fn assert_close(a: Tensor<2>, b: Tensor<2>) {
        assert_eq!(a.dims(), b.dims());
        let difference: f32 = (a - b).abs().max().into_scalar();
        assert!(difference < 1e-5, "{difference}");
    }

    /// Σ weights · values of all heads, through the output projection.
    fn gathered(layer: &MultiHeadAttention, map: &AttentionMap, values: Tensor<2>) -> Tensor<2> {
        let [batch, n_heads, tgt_len, src_len] = map.weights.dims();
        let heads = values.reshape([batch, src_len, n_heads, 4]).swap_dims(1, 2);
        let context = map.weights.clone().matmul(heads).swap_dims(1, 2);
        let context = context.reshape([batch * tgt_len, n_heads * 4]);
        layer.output.forward(context, &Pass::inference())
    }

    /// Rows sum to 1; what `hidden(sentence, query, key)` says is exactly 0, and all else above it.
    fn check_weights(map: &AttentionMap, hidden: impl Fn(usize, usize, usize) -> bool) {
        let [_, n_heads, tgt_len, src_len] = map.weights.dims();
        let weights: Vec<f32> = map.weights.clone().into_data().iter().collect();
        for (number, row) in weights.chunks(src_len).enumerate() {
            let (sentence, query) = (number / (n_heads * tgt_len), number % tgt_len);
            assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-5, "{row:?}");
            for (key, &weight) in row.iter().enumerate() {
                assert_eq!(weight == 0.0, hidden(sentence, query, key), "{row:?}");
            }
        }
    }

    #[test]
    fn recorded_weights_make_the_output() {
        let pad = Lengths::new(LENS, LEN);
        for positions in [Positions::None, Positions::Rotary] {
            let layer = attention(&config(positions));
            let (x, batch) = (rows(LEN), LENS.len());
            let values = layer.value.forward(x.clone(), &Pass::inference());

            let (out, map) = watched(|pass| {
                layer.attend_itself(x.clone(), batch, Some(&pad), Causality::Full, pass)
            });
            assert_close(out, gathered(&layer, &map, values.clone()));
            check_weights(&map, |sentence, _, key| key >= LENS[sentence]);
            assert_eq!(map.name, "encoder.layers.0.self_attention");

            let (out, map) = watched(|pass| {
                layer.attend_itself(x.clone(), batch, None, Causality::Causal, pass)
            });
            assert_close(out, gathered(&layer, &map, values.clone()));
            check_weights(&map, |_, query, key| key > query);
            assert_eq!(map.site, AttentionSite::DecoderSelf);
        }

        let layer = attention(&config(Positions::None));
        let (memory, batch) = (rows(LEN), LENS.len());
        let values = layer.value.forward(memory.clone(), &Pass::inference());
        let source = layer.keys_values(memory, batch, &Pass::inference());
        let (out, map) = watched(|pass| layer.attend_other(rows(2), source, batch, &pad, pass));
        assert_close(out, gathered(&layer, &map, values));
        check_weights(&map, |sentence, _, key| key >= LENS[sentence]);
        assert_eq!(map.name, "decoder.layers.0.memory_attention");
    }

    #[test]
    fn watching_changes_nothing() {
        let layer = attention(&config(Positions::Rotary));
        let x = rows(LEN);
        let run = |pass: &Pass<'_>| {
            layer.attend_itself(x.clone(), LENS.len(), None, Causality::Causal, pass)
        };
        let (out, _) = watched(run);
        assert_eq!(out.into_data(), run(&Pass::inference()).into_data());
    }

    /// Section 3.2.2 gives each head matrices of its own; here they are blocks of one.
    #[test]
    fn one_matrix_for_all_heads_equals_one_for_each() {
        let layer = attention(&config(Positions::None));
        let x = rows(LEN).narrow(0, 0, LEN);
        let of = |linear: &Linear, head: usize| {
            let weight = linear.weight.val().narrow(0, 4 * head, 4);
            let bias = linear.bias.as_ref().expect("a bias").val();
            x.clone().matmul(weight.transpose()) + bias.narrow(0, 4 * head, 4).unsqueeze()
        };
        let heads = (0..3).map(|head| {
            let [q, k, v] = [&layer.query, &layer.key, &layer.value].map(|linear| of(linear, head));
            softmax(q.matmul(k.transpose()) / 2.0, 1).matmul(v)
        });
        let joined = Tensor::cat(heads.collect(), 1);
        let expected = layer.output.forward(joined, &Pass::inference());
        let found = layer.attend_itself(x.clone(), 1, None, Causality::Full, &Pass::inference());
        assert_close(found, expected);
    }
}
