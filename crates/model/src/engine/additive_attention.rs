//! Bahdanau's attention, which reads the previous state and whose context enters the gates.

use attentive_kernels::additive_attention::additive_attention;

use super::attention::Span;
use super::buffers::Buffers;
use super::linear::Linear;
use super::profile::{self, Part};
use super::recurrent::{RecurrentLayer, active, longest};
use super::source::{Source, SourceRows};
use super::state::State;
use super::weights::Scope;

/// See [`crate::nn::RecurrentAttention`].
#[derive(Debug)]
pub(super) struct AdditiveAttention {
    query: Linear,
    key: Linear,
    score: Vec<f32>,
    context: Linear,
}

/// Where the outputs of a layer with attention go.
pub(super) struct Outputs<'a> {
    /// h of every position.
    pub(super) h: &'a mut [f32],
    /// Rows of `width`, which end with the context.
    pub(super) read: &'a mut [f32],
    pub(super) width: usize,
}

impl AdditiveAttention {
    /// The attention at `scope`.
    pub(super) fn new(mut scope: Scope<'_>) -> Self {
        Self {
            query: scope.linear("query", false),
            key: scope.linear("key", false),
            score: scope.vector("score"),
            context: scope.linear("context", false),
        }
    }

    /// The `len` vectors `h` of a sequence, as the attention reads them.
    pub(super) fn source(&self, len: usize, h: &[f32]) -> SourceRows {
        let mut keys = vec![0.0; len * self.key.d_out()];
        self.key.apply(len, h, &mut keys);
        SourceRows {
            len,
            keys,
            values: h.to_vec(),
        }
    }

    /// Reads `x` with `layer` and advances `cells`, the states of the layer.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn run(
        &self,
        layer: &RecurrentLayer,
        x: &[f32],
        spans: &[Span],
        cells: &mut [f32],
        out: Outputs<'_>,
        state: &mut State,
        buffers: &Buffers,
    ) {
        let Outputs { h, read, width } = out;
        let rows = spans.last().map_or(0, |span| span.rows.end);
        let (d, gates) = (layer.d, layer.gate_width());
        let d_memory = width - d;
        let mut projected = buffers.take(rows * gates);
        layer.project(rows, x, &mut projected);
        for step in 0..longest(spans) {
            let active = active(spans, step);
            let row_of = |number: usize| spans[number].rows.start + step;
            let mut contexts = buffers.take(active.len() * d_memory);
            self.contexts(layer, &active, cells, &mut contexts, state, buffers);
            let mut input = buffers.take(active.len() * gates);
            for (input, &number) in input.chunks_exact_mut(gates).zip(&active) {
                input.copy_from_slice(&projected[row_of(number) * gates..][..gates]);
            }
            self.context.add(active.len(), &contexts, &mut input);
            let input = |place: usize| &input[place * gates..][..gates];
            layer.step(&active, input, cells, buffers);
            for (&number, context) in active.iter().zip(contexts.chunks_exact(d_memory)) {
                let row = row_of(number);
                let new = &cells[number * layer.state_width()..][..d];
                h[row * d..][..d].copy_from_slice(new);
                read[row * width + d..][..d_memory].copy_from_slice(context);
            }
        }
    }

    /// The contexts of the sequences `active` given their previous states `cells`, `[active, d_memory]`.
    fn contexts(
        &self,
        layer: &RecurrentLayer,
        active: &[usize],
        cells: &[f32],
        contexts: &mut [f32],
        state: &mut State,
        buffers: &Buffers,
    ) {
        let d = layer.d;
        let d_memory = contexts.len() / active.len();
        let before = layer.hidden_of(active, cells, buffers);
        let mut queries = buffers.take(active.len() * d);
        self.query.apply(active.len(), &before, &mut queries);
        let queries = queries.chunks_exact(d);
        for ((&number, query), context) in
            (active.iter().zip(queries)).zip(contexts.chunks_exact_mut(d_memory))
        {
            let Some(Source::Rows(source)) = state.rows[number].source.as_deref() else {
                panic!("attention without a source");
            };
            let SourceRows { len, keys, values } = source;
            let mut weights = buffers.take(*len);
            profile::time(Part::CrossAttention, || {
                additive_attention(query, keys, values, &self.score, &mut weights, context);
            });
            if let Some(all) = &mut state.attention {
                all.resize(state.rows.len(), Vec::new());
                all[number] = weights.to_vec();
            }
        }
    }
}
