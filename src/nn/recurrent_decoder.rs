//! The recurrent decoder, with and without attention, for whole sequences and token by token.

use burn::module::{Module, Param};
use burn::tensor::Tensor;
use burn::tensor::activation::tanh;

use super::recurrent::select;
use super::{AttentionSite, Dropout, Encoded, Initializer, Linear, Pass, RecurrentLayer};
use crate::config::{AttentionKind, ModelConfig};
use crate::ops::{
    self, Attended, AttentionShape, AttentiveRecurrence, Causality, Direction, Lengths, Scores,
};

#[cfg(test)]
mod tests;

/// A stack of recurrent layers that begins with the encoder's final states. What is predicted at a position comes from
/// t = tanh(W \[s; c\]) with the top state s and, if there is attention, the context c.
#[derive(Module, Debug)]
pub struct RecurrentDecoder {
    /// The layers, from the embeddings up.
    pub layers: Vec<RecurrentLayer>,
    /// How the source is looked at.
    pub attention: Option<RecurrentAttention>,
    /// `[d_model, d_hidden]`, or `[d_model, 2 · d_hidden]` with attention: W of t.
    pub readout: Linear,
    /// On what each layer hands to the next, and on t.
    #[module(skip)]
    dropouts: Vec<Dropout>,
}

/// How a recurrent decoder looks at the source.
// A model has one: its size does not matter.
#[allow(clippy::large_enum_variant)]
#[derive(Module, Debug)]
pub enum RecurrentAttention {
    /// Bahdanau's.
    Additive(AdditiveAttention),
    /// Luong's.
    Multiplicative(MultiplicativeAttention),
}

/// Attention of the bottom layer (Bahdanau et al. 2015, appendix A.1.2): with the state s of the position before,
/// e_j = vᵀ tanh(W s + U h_j), and the context Σ softmax(e)_j h_j enters the gates.
#[derive(Module, Debug)]
pub struct AdditiveAttention {
    /// `[d_hidden, d_hidden]`: W.
    pub query: Linear,
    /// `[d_hidden, d_hidden]`: U.
    pub key: Linear,
    /// `[d_hidden]`: v.
    pub score: Param<Tensor<1>>,
    /// `[gates · d_hidden, d_hidden]`: the context's share of the gates.
    pub context: Linear,
}

/// Attention of the top layer (Luong et al. 2015, section 3.1): e_j = sᵀ W h_j with the position's own state s, W left out
/// for "dot".
#[derive(Module, Debug)]
pub struct MultiplicativeAttention {
    /// `[d_hidden, d_hidden]`: Wᵀ of "general".
    pub query: Option<Linear>,
}

/// What attention reads.
#[derive(Clone, Debug)]
pub struct RecurrentMemory {
    /// U h for additive attention; h twice, side by side, for multiplicative.
    keys: Tensor<2>,
    /// h, `[batch · src_len, d_hidden]`
    values: Tensor<2>,
    pad: Lengths,
}

/// What decoding token by token remembers of each hypothesis.
#[derive(Clone, Debug)]
pub struct RecurrentState {
    /// Of each layer, `[rows, states · d_hidden]`.
    layers: Vec<Tensor<2>>,
    memory: Option<RecurrentMemory>,
    /// The sentence of each row.
    sentences: Vec<usize>,
}

impl RecurrentDecoder {
    /// `config.n_decoder_layers` layers.
    pub fn new(config: &ModelConfig, init: &mut Initializer) -> Self {
        let recurrent = &config.recurrent;
        let d = recurrent.d_hidden;
        let widths = std::iter::once(config.d_model).chain(std::iter::repeat(d));
        let layers: Vec<RecurrentLayer> = widths
            .take(config.n_decoder_layers)
            .map(|d_in| RecurrentLayer::new(recurrent.cell, Direction::Forward, d_in, d, init))
            .collect();
        let attention = RecurrentAttention::new(recurrent.attention, &layers[0], d, init);
        let read = if attention.is_some() { 2 * d } else { d };
        Self {
            readout: Linear::new(read, config.d_model, true, init),
            dropouts: layers
                .iter()
                .map(|_| init.dropout(config.dropout))
                .collect(),
            layers,
            attention,
        }
    }

    /// What attention will read of the encoder's output.
    pub fn memory(&self, h: Tensor<2>, pad: Lengths, pass: &Pass<'_>) -> Option<RecurrentMemory> {
        let keys = match self.attention.as_ref()? {
            RecurrentAttention::Additive(attention) => attention.key.forward(h.clone(), pass),
            RecurrentAttention::Multiplicative(_) => Tensor::cat(vec![h.clone(), h.clone()], 1),
        };
        Some(RecurrentMemory {
            keys,
            values: h,
            pad,
        })
    }

    /// Where decoding begins: each layer in the final state of the encoder's layer at the same height, or of its top
    /// layer.
    pub fn start(&self, encoded: Encoded, pad: Lengths, pass: &Pass<'_>) -> RecurrentState {
        let Encoded { memory, finals } = encoded;
        let top = finals.len() - 1;
        let [batch, _] = finals[top].dims();
        RecurrentState {
            layers: (0..self.layers.len())
                .map(|number| finals[number.min(top)].clone())
                .collect(),
            memory: self.memory(memory, pad, pass),
            sentences: (0..batch).collect(),
        }
    }

    /// All positions from `state` on: t of each, `[batch · len, d_model]`. `state` becomes that behind the last.
    ///
    /// # Shapes
    /// - `x`: `[batch · len, d_model]`
    pub fn forward(
        &self,
        x: Tensor<2>,
        lengths: &Lengths,
        state: &mut RecurrentState,
        pass: &Pass<'_>,
    ) -> Tensor<2> {
        let mut x = x;
        let mut context = None;
        let top = self.layers.len() - 1;
        for (number, layer) in self.layers.iter().enumerate() {
            let before = state.layers[number].clone();
            let states = match (number, &self.attention, &state.memory) {
                (0, Some(RecurrentAttention::Additive(attention)), Some(memory)) => {
                    let (states, found) = attention.run(layer, x, lengths, before, memory, pass);
                    context = Some(found);
                    states
                }
                _ => layer.forward(x, lengths, Some(before), pass),
            };
            state.layers[number] = layer.last(&states, lengths);
            x = layer.hidden_part(states);
            pass.observe(|| format!("decoder.layers.{number}"), &x);
            if number < top {
                x = ops::dropout_add(x, None, pass.dropout(self.dropouts[number]));
            }
        }
        if let (Some(RecurrentAttention::Multiplicative(attention)), Some(memory)) =
            (&self.attention, &state.memory)
        {
            context = Some(attention.attend(x.clone(), lengths, memory, pass));
        }
        let read = match context {
            Some(context) => Tensor::cat(vec![x, context], 1),
            None => x,
        };
        let out = tanh(self.readout.forward(read, pass));
        ops::dropout_add(out, None, pass.dropout(self.dropouts[top]))
    }
}

impl RecurrentAttention {
    fn new(
        kind: AttentionKind,
        bottom: &RecurrentLayer,
        d: usize,
        init: &mut Initializer,
    ) -> Option<Self> {
        let multiplicative = |query| Self::Multiplicative(MultiplicativeAttention { query });
        match kind {
            AttentionKind::None => None,
            AttentionKind::Dot => Some(multiplicative(None)),
            AttentionKind::General => Some(multiplicative(Some(Linear::new(d, d, false, init)))),
            AttentionKind::Additive => {
                let gates = bottom.cell().gates() * d;
                Some(Self::Additive(AdditiveAttention {
                    query: Linear::new(d, d, false, init),
                    key: Linear::new(d, d, false, init),
                    score: init.vector(d),
                    context: Linear::new(d, gates, false, init),
                }))
            }
        }
    }
}

impl AdditiveAttention {
    /// The layer's states and the contexts of all positions.
    fn run(
        &self,
        layer: &RecurrentLayer,
        x: Tensor<2>,
        lengths: &Lengths,
        initial: Tensor<2>,
        memory: &RecurrentMemory,
        pass: &Pass<'_>,
    ) -> (Tensor<2>, Tensor<2>) {
        let projected = layer.input.forward(x, pass);
        let recurrence = || AttentiveRecurrence {
            state: layer.recurrence(Some(initial.clone())),
            query: self.query.weight.val().into(),
            score: self.score.val(),
            context: self.context.weight.val().into(),
            keys: memory.keys.clone(),
            values: memory.values.clone(),
            src_lengths: memory.pad.clone(),
        };
        let cell = layer.cell();
        let both =
            ops::attentive_recurrent(cell, lengths, projected, recurrence(), pass.precision());
        let ([_, width], [_, d_value]) = (both.dims(), memory.values.dims());
        let states = both.clone().narrow(1, 0, width - d_value);
        record(pass, || {
            let h = |states| layer.hidden_part(states);
            let before = before(h(initial.clone()), h(states.clone()));
            ops::attentive_recurrent_weights(&recurrence(), before)
        });
        (states, both.narrow(1, width - d_value, d_value))
    }
}

impl MultiplicativeAttention {
    /// The context of every state in `h`.
    fn attend(
        &self,
        h: Tensor<2>,
        lengths: &Lengths,
        memory: &RecurrentMemory,
        pass: &Pass<'_>,
    ) -> Tensor<2> {
        let ([_, d], batch) = (h.dims(), lengths.rows());
        let shape = AttentionShape {
            batch,
            n_heads: 1,
            n_kv_heads: 1,
            tgt_len: lengths.width(),
            src_len: memory.values.dims()[0] / batch.max(1),
            d_head: d,
        };
        let queries = match &self.query {
            Some(query) => query.forward(h, pass),
            None => h,
        };
        // The operation divides scores by √d, which these do without.
        let attended = Attended::Other {
            queries: queries * (d as f64).sqrt(),
            keys_values: memory.keys.clone(),
        };
        let scores = Scores::scaled(d, Causality::Full);
        record(pass, || {
            let weights = ops::attention_weights(shape, &attended, Some(&memory.pad), &scores);
            weights.squeeze_dim(1)
        });
        ops::attention(shape, attended, Some(&memory.pad), &scores, None)
    }
}

/// Records the weights `[batch, len, src_len]` of the one head that a recurrent decoder has.
fn record(pass: &Pass<'_>, weights: impl FnOnce() -> Tensor<3>) {
    let name = |_| "decoder.attention".into();
    pass.record_attention(AttentionSite::Cross, name, || weights().unsqueeze_dim(1));
}

/// What each position finds: `initial` `[batch, d]`, and the states `[batch · len, d]` without the last of each sequence;
/// `[batch, len, d]`.
fn before(initial: Tensor<2>, states: Tensor<2>) -> Tensor<3> {
    let ([batch, d], [rows, _]) = (initial.dims(), states.dims());
    let len = rows / batch;
    let states = states.reshape([batch, len, d]).narrow(1, 0, len - 1);
    Tensor::cat(vec![initial.unsqueeze_dim(1), states], 1)
}

impl RecurrentState {
    /// The number of hypotheses.
    pub fn rows(&self) -> usize {
        self.sentences.len()
    }

    /// Keeps, drops or repeats hypotheses: row `i` becomes what row `rows[i]` was.
    pub fn select(&mut self, rows: &[usize]) {
        if rows.iter().copied().eq(0..self.sentences.len()) {
            return;
        }
        let batch = self.sentences.len();
        let sentences: Vec<usize> = rows.iter().map(|&row| self.sentences[row]).collect();
        for layer in &mut self.layers {
            *layer = select(layer.clone(), rows);
        }
        if sentences != self.sentences {
            self.memory = self.memory.take().map(|memory| memory.select(rows, batch));
        }
        self.sentences = sentences;
    }
}

impl RecurrentMemory {
    fn select(self, rows: &[usize], batch: usize) -> Self {
        let sentences = |x: Tensor<2>| {
            let [all, d] = x.dims();
            let len = all / batch;
            select(x.reshape([batch, len * d]), rows).reshape([rows.len() * len, d])
        };
        Self {
            keys: sentences(self.keys),
            values: sentences(self.values),
            pad: self.pad.select(rows),
        }
    }
}
