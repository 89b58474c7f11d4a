//! Multi-head attention (*Attention Is All You Need*, section 3.2.2).

use attentive_architecture::{self as architecture, TransformerSpec};
use attentive_kernels::cached_attention::Heads;

use super::{AttentionPlace, AttentionSite, Decode, Dropout, Encode, Linear, Scope, Storage};

/// Multi-head attention with one matrix for the queries, keys and values of all heads, and an output
/// projection.
#[derive(Clone, Debug)]
pub struct Attention<S: Storage> {
    /// `[n_heads · d_head, d_model]`: rows h·d_head .. (h+1)·d_head give the queries of head h.
    pub query: Linear<S>,
    /// `[n_kv_heads · d_head, d_memory]`: as `query`, for keys.
    pub key: Linear<S>,
    /// As `key`, for values.
    pub value: Linear<S>,
    /// `[d_model, n_heads · d_head]`: the output projection.
    pub output: Linear<S>,
    pub(crate) heads: Heads,
    pub(crate) dropout: Dropout,
    pub(crate) place: AttentionPlace,
}

impl<S: Storage> Attention<S> {
    /// Makes an attention of `stack` at `scope`, layer `layer` of its `site`.
    pub fn new(
        attention: &architecture::AttentionSpec,
        stack: &TransformerSpec,
        site: AttentionSite,
        layer: usize,
        scope: Scope<'_, S>,
    ) -> Self {
        let d_model = stack.d_model;
        let d_memory = match (site, &stack.cross) {
            (AttentionSite::Cross, Some(cross)) => cross.d_memory,
            _ => d_model,
        };
        let (d_query, d_key, bias) = (attention.d_query(), attention.d_key(), attention.bias);
        let linear = |name, d_in, d_out| Linear::new(d_in, d_out, bias, &scope.at(name));
        Self {
            query: linear("query", d_model, d_query),
            key: linear("key", d_memory, d_key),
            value: linear("value", d_memory, d_key),
            output: {
                let (n_sublayers, scope) = (stack.n_sublayers(), scope.at("output"));
                Linear::residual(n_sublayers, d_query, d_model, attention.output_bias, &scope)
            },
            heads: Heads {
                n_heads: attention.n_heads,
                n_kv_heads: attention.n_kv_heads,
                d_head: attention.d_head,
                scale: attention.scale(),
            },
            dropout: scope.dropout(attention.dropout),
            place: AttentionPlace { name: scope.path().to_owned(), site, layer },
        }
    }

    /// Self-attention of whole sequences; rows `[rows, d_model]` keep their shape.
    pub fn attend_whole<B: Encode<Storage = S>>(
        &self,
        x: &B::Value,
        relative: &S::Relative,
        backend: &mut B,
    ) -> B::Value {
        let contexts = backend.attend_whole(x, self, relative);
        self.output.forward(&contexts, backend)
    }

    /// Causal self-attention; rows `[rows, d_model]` keep their shape.
    pub fn attend_earlier<B: Decode<Storage = S>>(
        &self,
        x: &B::Value,
        relative: &S::Relative,
        backend: &mut B,
    ) -> B::Value {
        let contexts = backend.attend_earlier(x, self, relative);
        self.output.forward(&contexts, backend)
    }

    /// Attention to the memory; rows `[rows, d_model]` keep their shape.
    pub fn attend_memory<B: Decode<Storage = S>>(&self, x: &B::Value, backend: &mut B) -> B::Value {
        let contexts = backend.attend_memory(x, self);
        self.output.forward(&contexts, backend)
    }
}

#[cfg(test)]
mod tests;
