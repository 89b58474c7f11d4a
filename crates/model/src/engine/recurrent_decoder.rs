//! The recurrent decoder, with and without attention.

use std::sync::Arc;

use attentive_architecture::{self as architecture, AttentionKind, InitialState};
use attentive_kernels::cached_attention::{Heads, Products, Queries, Seen};

use super::additive_attention::{AdditiveAttention, Outputs};
use super::attention::{Span, store_all};
use super::buffers::Buffers;
use super::linear::Linear;
use super::profile::{self, Part};
use super::recurrent::RecurrentLayer;
use super::source::{Source, SourceBlocks};
use super::state::State;
use super::weights::Scope;

/// See [`crate::nn::RecurrentDecoder`].
#[derive(Debug)]
pub(super) struct RecurrentDecoder {
    layers: Vec<RecurrentLayer>,
    attention: Option<Attention>,
    readout: Option<Linear>,
    start: InitialState,
    d_memory: usize,
    products: Products,
}

/// See [`crate::nn::RecurrentAttention`].
#[derive(Debug)]
enum Attention {
    Additive(AdditiveAttention),
    Multiplicative { query: Option<Linear>, heads: Heads },
}

impl RecurrentDecoder {
    pub(super) fn new(
        stack: &architecture::RecurrentDecoder,
        products: Products,
        mut scope: Scope<'_>,
    ) -> Self {
        let layer = |number, scope: &mut Scope<'_>| {
            RecurrentLayer::new(stack.cell, stack.d_hidden, scope.at(number))
        };
        Self {
            layers: (0..stack.n_layers)
                .map(|number| layer(number, &mut scope.at("layers")))
                .collect(),
            attention: Attention::new(stack, scope.at("attention")),
            readout: stack.readout.then(|| scope.linear("readout", true)),
            start: stack.start,
            d_memory: stack.d_memory,
            products,
        }
    }

    /// Whether it attends to a source.
    pub(super) fn attends(&self) -> bool {
        self.attention.is_some()
    }

    /// Widths of the states of all layers.
    pub(super) fn state_widths(&self) -> Vec<usize> {
        self.layers
            .iter()
            .map(RecurrentLayer::state_width)
            .collect()
    }

    /// The states before the first position of sequence `number`, given the final states of the encoder's layers.
    pub(super) fn initial(&self, finals: &[Vec<f32>], number: usize) -> Option<Vec<Vec<f32>>> {
        let (InitialState::Encoder, [.., top]) = (self.start, finals) else {
            return None;
        };
        let of_layer = |(layer, cell): (usize, &RecurrentLayer)| {
            let width = cell.state_width();
            finals.get(layer).unwrap_or(top)[number * width..][..width].to_vec()
        };
        Some(self.layers.iter().enumerate().map(of_layer).collect())
    }

    /// The sequences `memory`, one for each of `spans`, as the attention reads them.
    pub(super) fn sources(
        &self,
        memory: &[f32],
        spans: &[Span],
        buffers: &Buffers,
    ) -> Vec<Option<Arc<Source>>> {
        let Some(attention) = &self.attention else {
            return vec![None; spans.len()];
        };
        let d = self.d_memory;
        let source = |span: &Span| {
            let len = span.rows.len();
            let h = &memory[span.rows.start * d..span.rows.end * d];
            match attention {
                Attention::Additive(attention) => Source::Rows(attention.source(len, h)),
                Attention::Multiplicative { heads, .. } => {
                    let mut blocks = SourceBlocks::new(len, &[*heads]);
                    let mut twice = buffers.take(2 * h.len());
                    for (twice, h) in twice.chunks_exact_mut(2 * d).zip(h.chunks_exact(d)) {
                        twice[..d].copy_from_slice(h);
                        twice[d..].copy_from_slice(h);
                    }
                    store_all(*heads, &twice, 2 * d, 0, blocks.layer_mut(0));
                    Source::Blocks(blocks)
                }
            }
        };
        spans
            .iter()
            .map(|span| Some(Arc::new(source(span))))
            .collect()
    }

    /// Computes the readout of the positions of `spans`, one for each row of `state`, from their embeddings `x`.
    pub(super) fn extend(&self, x: &mut [f32], spans: &[Span], state: &mut State) {
        let rows = spans.last().map_or(0, |span| span.rows.end);
        let buffers = std::mem::take(&mut state.buffers);
        let d = self.layers[0].d;
        let d_context = self.attention.as_ref().map_or(0, |_| self.d_memory);
        let width = d + d_context;
        // The top state and the context, side by side.
        let mut read = buffers.take(rows * width);
        let mut h = buffers.take(rows * d);
        for (number, layer) in self.layers.iter().enumerate() {
            let mut below = buffers.take(rows * d);
            if number > 0 {
                below.copy_from_slice(&h);
            }
            let input: &[f32] = if number == 0 { x } else { &below };
            let mut cells = std::mem::take(&mut state.cells[number]);
            match &self.attention {
                Some(Attention::Additive(attention)) if number == 0 => {
                    let out = Outputs {
                        h: &mut h,
                        read: &mut read,
                        width,
                    };
                    attention.run(layer, input, spans, &mut cells, out, state, &buffers);
                }
                _ => layer.extend(input, spans, &mut cells, &mut h, &buffers),
            }
            state.cells[number] = cells;
        }
        for (read, h) in read.chunks_exact_mut(width).zip(h.chunks_exact(d)) {
            read[..d].copy_from_slice(h);
        }
        if let Some(Attention::Multiplicative { query, heads }) = &self.attention {
            let out = Outputs {
                h: &mut h,
                read: &mut read,
                width,
            };
            profile::time(Part::CrossAttention, || {
                self.attend(query.as_ref(), *heads, spans, out, state, &buffers);
            });
        }
        match &self.readout {
            Some(readout) => {
                readout.apply(rows, &read, x);
                x.iter_mut().for_each(|x| *x = x.tanh());
            }
            None => x.copy_from_slice(&read),
        }
        drop((read, h));
        state.buffers = buffers;
    }

    /// Luong's attention of all states, whose contexts follow them in `out.read`.
    fn attend(
        &self,
        query: Option<&Linear>,
        heads: Heads,
        spans: &[Span],
        out: Outputs<'_>,
        state: &mut State,
        buffers: &Buffers,
    ) {
        let Outputs { h, read, width } = out;
        let (d, rows) = (heads.d_head, spans.last().map_or(0, |span| span.rows.end));
        let mut queries = buffers.take(rows * d);
        match query {
            Some(query) => query.apply(rows, h, &mut queries),
            None => queries.copy_from_slice(h),
        }
        // See `nn::MultiplicativeAttention` for this factor.
        let factor = (d as f64).sqrt() as f32;
        queries.iter_mut().for_each(|x| *x *= factor);
        let mut weights = state.attention.is_some().then(Vec::new);
        let mut contexts = buffers.take(rows * d);
        for (span, row) in spans.iter().zip(&state.rows) {
            let Some(Source::Blocks(source)) = row.source.as_deref() else {
                panic!("attention without a source");
            };
            let blocks: Vec<&[f32]> = source.layer(0).collect();
            let queries = Queries {
                rows: &queries[span.rows.start * d..],
                stride: d,
                first: 0,
                seen: Seen::All(source.len()),
            };
            let contexts = &mut contexts[span.rows.start * d..span.rows.end * d];
            let mut of_row = weights
                .is_some()
                .then(|| vec![0.0; span.rows.len() * source.len()]);
            heads.attend(
                queries,
                &blocks,
                None,
                self.products,
                contexts,
                of_row.as_deref_mut(),
            );
            if let (Some(weights), Some(of_row)) = (&mut weights, of_row) {
                weights.push(of_row[of_row.len() - source.len()..].to_vec());
            }
        }
        for (read, context) in read.chunks_exact_mut(width).zip(contexts.chunks_exact(d)) {
            read[width - d..].copy_from_slice(context);
        }
        if weights.is_some() {
            state.attention = weights;
        }
    }
}

impl Attention {
    fn new(stack: &architecture::RecurrentDecoder, mut scope: Scope<'_>) -> Option<Self> {
        let d = stack.d_memory;
        let heads = Heads {
            n_heads: 1,
            n_kv_heads: 1,
            d_head: d,
            scale: 1.0 / (d as f32).sqrt(),
        };
        match stack.attention {
            AttentionKind::None => None,
            AttentionKind::Dot => Some(Self::Multiplicative { query: None, heads }),
            AttentionKind::General => Some(Self::Multiplicative {
                query: Some(scope.linear("query", false)),
                heads,
            }),
            AttentionKind::Additive => Some(Self::Additive(AdditiveAttention::new(scope))),
        }
    }
}
