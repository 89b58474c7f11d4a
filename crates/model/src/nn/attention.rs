//! Multi-head attention (*Attention Is All You Need*, section 3.2.2).

use attentive_architecture as architecture;
use attentive_tape::{
    self as tape, Attended, AttentionShape, Causality, Lengths, Rotary, Scores, Value,
};

use super::{AttentionPlace, AttentionSite, Dropout, Linear, Pass, Scope};

/// Multi-head attention with one matrix for the queries, keys and values of all heads, and an output projection.
#[derive(Clone, Debug)]
pub struct MultiHeadAttention {
    /// `[n_heads · d_head, d_model]`: rows h·d_head .. (h+1)·d_head give the queries of head h.
    pub query: Linear,
    /// `[n_kv_heads · d_head, d_memory]`: as `query`, for keys.
    pub key: Linear,
    /// As `key`, for values.
    pub value: Linear,
    /// `[d_model, n_heads · d_head]`: the output projection.
    pub output: Linear,
    heads: Heads,
    dropout: Dropout,
    rotary: Option<Rotary>,
    place: AttentionPlace,
}

#[derive(Clone, Copy, Debug)]
struct Heads {
    n_heads: usize,
    n_kv_heads: usize,
    d_head: usize,
    scale: f32,
}

/// Keys and values side by side, `[batch · len, 2 · n_kv_heads · d_head]`.
#[derive(Clone, Debug)]
pub struct KeysValues(pub Value);

/// The keys that a query sees, and a bias of their scores.
#[derive(Clone, Debug)]
pub struct Visible<'a> {
    /// The number of keys of each sequence.
    pub keys: Option<&'a Lengths>,
    /// Whether later positions are hidden.
    pub causality: Causality,
    /// Bias of the scores, `[n_heads, tgt_len · src_len]`.
    pub bias: Option<Value>,
}

impl<'a> Visible<'a> {
    /// All keys that are not padding.
    pub fn all(keys: &'a Lengths) -> Self {
        Self {
            keys: Some(keys),
            causality: Causality::Full,
            bias: None,
        }
    }
}

impl MultiHeadAttention {
    /// The attention at `scope`, layer `layer` of its `site`.
    pub fn new(
        attention: &architecture::Attention,
        site: AttentionSite,
        layer: usize,
        scope: Scope<'_>,
    ) -> Self {
        let linear = |name| Linear::new(attention.bias, scope.at(name));
        let d_head = attention.d_head;
        Self {
            query: linear("query"),
            key: linear("key"),
            value: linear("value"),
            output: linear("output"),
            heads: Heads {
                n_heads: attention.n_heads,
                n_kv_heads: attention.n_kv_heads,
                d_head,
                scale: attention.scale(),
            },
            dropout: scope.dropout(attention.dropout),
            rotary: attention.frequencies().map(Rotary::with_frequencies),
            place: AttentionPlace {
                name: scope.path().to_owned(),
                site,
                layer,
            },
        }
    }

    /// Keys and values of the memory `x`.
    pub fn keys_values(&self, x: Value, pass: &Pass<'_>) -> KeysValues {
        KeysValues(Linear::forward_all([&self.key, &self.value], x, pass))
    }

    /// Self-attention of whole sequences.
    ///
    /// # Shapes
    /// - `x`, result: `[batch · len, d_model]`
    pub fn attend_itself(
        &self,
        x: Value,
        batch: usize,
        visible: Visible<'_>,
        pass: &Pass<'_>,
    ) -> Value {
        let all = self.project(x, batch, pass);
        self.attend(Attended::Itself(all), batch, visible, pass)
    }

    /// Cross-attention of `batch` sequences to a memory.
    ///
    /// # Shapes
    /// - `x`, result: `[batch · tgt_len, d_model]`
    pub fn attend_memory(
        &self,
        x: Value,
        KeysValues(keys_values): KeysValues,
        batch: usize,
        visible: Visible<'_>,
        pass: &Pass<'_>,
    ) -> Value {
        let attended = Attended::Other {
            queries: self.query.forward(x, pass),
            keys_values,
        };
        self.attend(attended, batch, visible, pass)
    }

    /// Queries, keys and values side by side, the first two rotated by their positions if those are rotary.
    fn project(&self, x: Value, batch: usize, pass: &Pass<'_>) -> Value {
        let all = Linear::forward_all([&self.query, &self.key, &self.value], x, pass);
        let Some(rotary) = &self.rotary else {
            return all;
        };
        let len = all.shape()[0] / batch.max(1);
        let turned = self.heads.n_heads + self.heads.n_kv_heads;
        rotary.turn(all, turned, len)
    }

    fn attend(
        &self,
        attended: Attended,
        batch: usize,
        visible: Visible<'_>,
        pass: &Pass<'_>,
    ) -> Value {
        let len = |x: &Value| x.shape()[0] / batch.max(1);
        let (tgt_len, src_len) = match &attended {
            Attended::Itself(all) => (len(all), len(all)),
            Attended::Other {
                queries,
                keys_values,
            } => (len(queries), len(keys_values)),
        };
        let Heads {
            n_heads,
            n_kv_heads,
            d_head,
            scale,
        } = self.heads;
        let shape = AttentionShape {
            batch,
            n_heads,
            n_kv_heads,
            tgt_len,
            src_len,
            d_head,
        };
        let Visible {
            keys,
            causality,
            bias,
        } = visible;
        let scores = Scores {
            scale,
            causality,
            bias,
        };
        pass.record_attention(&self.place, || {
            tape::attention_weights(shape, &attended, keys, &scores)
        });
        let dropout = pass.dropout(self.dropout);
        let context = tape::attention(shape, attended, keys, &scores, dropout);
        self.output.forward(context, pass)
    }
}

#[cfg(test)]
mod tests;
