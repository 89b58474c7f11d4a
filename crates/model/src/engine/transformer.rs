//! Transformer stacks.

use std::sync::Arc;

use attentive_architecture::{SelfMixing, TransformerStack};
use attentive_kernels::cached_attention::{BLOCK, Products, Queries, Seen};

use super::attention::{Attention, Relative, Span, Together, store_all};
use super::buffers::Buffers;
use super::feed_forward::FeedForward;
use super::norm::{Norm, Residual};
use super::profile::{self, Part};
use super::recurrent::RecurrentLayer;
use super::source::{Source, SourceBlocks};
use super::state::State;
use super::weights::Scope;

/// See [`crate::nn::TransformerEncoder`].
#[derive(Debug)]
pub(super) struct TransformerEncoder {
    relative: Relative,
    layers: Vec<EncoderLayer>,
    norm: Option<Norm>,
}

#[derive(Debug)]
struct EncoderLayer {
    attention: Attention,
    attention_residual: Residual,
    feed_forward: FeedForward,
    feed_forward_residual: Residual,
}

/// See [`crate::nn::TransformerDecoder`].
#[derive(Debug)]
pub(super) struct TransformerDecoder {
    relative: Relative,
    layers: Vec<DecoderLayer>,
    norm: Option<Norm>,
}

#[derive(Debug)]
struct DecoderLayer {
    mixer: Mixer,
    mixer_residual: Residual,
    cross: Option<(Attention, Residual)>,
    feed_forward: FeedForward,
    feed_forward_residual: Residual,
}

/// Mixes the positions of a decoder layer.
#[allow(clippy::large_enum_variant)]
#[derive(Debug)]
enum Mixer {
    Attention(Attention),
    Recurrent(RecurrentLayer),
}

impl TransformerEncoder {
    pub(super) fn new(
        stack: &TransformerStack,
        max_len: usize,
        products: Products,
        mut scope: Scope<'_>,
    ) -> Self {
        let SelfMixing::Attention(attention) = &stack.mixing else {
            panic!("a Transformer encoder has self-attention");
        };
        let layer = |number, scope: &mut Scope<'_>| {
            let mut scope = scope.at(number);
            EncoderLayer {
                attention: Attention::new(attention, products, scope.at("self_attention")),
                attention_residual: Residual::new(stack, scope.at("self_attention_residual")),
                feed_forward: FeedForward::new(&stack.feed_forward, scope.at("feed_forward")),
                feed_forward_residual: Residual::new(stack, scope.at("feed_forward_residual")),
            }
        };
        Self {
            relative: Relative::new(attention, false, max_len, &mut scope),
            layers: (0..stack.n_layers)
                .map(|number| layer(number, &mut scope.at("layers")))
                .collect(),
            norm: (stack.final_norm).then(|| Norm::new(&stack.norm, &mut scope.at("norm"))),
        }
    }

    /// Turns the embedded sequences `x` into the memory.
    pub(super) fn apply(&self, x: &mut [f32], together: Together<'_>) {
        let (rows, buffers) = (together.positions.len(), together.buffers);
        for layer in &self.layers {
            layer.attention_residual.apply(rows, x, buffers, |x, out| {
                layer
                    .attention
                    .attend_itself(&self.relative, together, x, out);
            });
            let residual = &layer.feed_forward_residual;
            residual.apply(rows, x, buffers, |x, out| {
                layer.feed_forward.apply(rows, x, out, buffers)
            });
        }
        if let Some(norm) = &self.norm {
            norm.replace(rows, x, buffers);
        }
    }
}

impl TransformerDecoder {
    pub(super) fn new(
        stack: &TransformerStack,
        max_len: usize,
        products: Products,
        mut scope: Scope<'_>,
    ) -> Self {
        Self {
            relative: match &stack.mixing {
                SelfMixing::Attention(attention) => {
                    Relative::new(attention, true, max_len, &mut scope)
                }
                SelfMixing::Recurrent(_) => Relative::none(),
            },
            layers: (0..stack.n_layers)
                .map(|number| DecoderLayer::new(stack, products, scope.at("layers").at(number)))
                .collect(),
            norm: (stack.final_norm).then(|| Norm::new(&stack.norm, &mut scope.at("norm"))),
        }
    }

    /// Whether it attends to a source.
    pub(super) fn attends(&self) -> bool {
        self.layers.iter().any(|layer| layer.cross.is_some())
    }

    /// Elements of a block of the cache.
    pub(super) fn block_len(&self) -> usize {
        self.layers.iter().map(DecoderLayer::block_len).sum()
    }

    /// Widths of the states of the cells of all layers.
    pub(super) fn state_widths(&self) -> Vec<usize> {
        let cells = self.layers.iter().filter_map(|layer| match &layer.mixer {
            Mixer::Attention(_) => None,
            Mixer::Recurrent(cell) => Some(cell.state_width()),
        });
        cells.collect()
    }

    /// The keys and values of cross-attention for the sequences `memory`, one for each of `spans`.
    pub(super) fn sources(
        &self,
        memory: &[f32],
        spans: &[Span],
        buffers: &Buffers,
    ) -> Vec<Arc<Source>> {
        let rows = spans.last().map_or(0, |span| span.rows.end);
        let cross = || self.layers.iter().filter_map(|layer| layer.cross.as_ref());
        let heads: Vec<_> = cross().map(|(cross, _)| cross.heads).collect();
        let mut sources: Vec<SourceBlocks> = (spans.iter())
            .map(|span| SourceBlocks::new(span.rows.len(), &heads))
            .collect();
        for (layer, (cross, _)) in cross().enumerate() {
            let width = 2 * cross.heads.kv_width();
            let mut keys_values = buffers.take(rows * width);
            cross.keys_values(rows, memory, &mut keys_values);
            for (span, source) in spans.iter().zip(&mut sources) {
                let rows = &keys_values[span.rows.start * width..span.rows.end * width];
                store_all(cross.heads, rows, width, 0, source.layer_mut(layer));
            }
        }
        sources
            .into_iter()
            .map(|blocks| Arc::new(Source::Blocks(blocks)))
            .collect()
    }

    /// Computes the positions of `spans`, one for each row of `state`, from their embeddings `x`.
    pub(super) fn extend(
        &self,
        x: &mut [f32],
        positions: &[usize],
        spans: &[Span],
        state: &mut State,
    ) {
        state.reserve(spans);
        let buffers = std::mem::take(&mut state.buffers);
        let together = Together {
            positions,
            spans,
            buffers: &buffers,
        };
        let rows = positions.len();
        let (mut place, mut cell) = (0, 0);
        for (number, layer) in self.layers.iter().enumerate() {
            let residual = &layer.mixer_residual;
            residual.apply(rows, x, &buffers, |x, out| match &layer.mixer {
                Mixer::Attention(attention) => {
                    profile::time(Part::SelfAttention, || {
                        self.attend_earlier(attention, place, together, x, out, state);
                    });
                    place += attention.heads.block_len();
                }
                Mixer::Recurrent(layer) => {
                    let states = &mut state.cells[cell];
                    profile::time(Part::Cells, || {
                        layer.extend(x, spans, states, out, &buffers);
                    });
                    cell += 1;
                }
            });
            if let Some((cross, residual)) = &layer.cross {
                residual.apply(rows, x, &buffers, |x, out| {
                    profile::time(Part::CrossAttention, || {
                        self.attend_sources(cross, number, together, x, out, state);
                    });
                });
            }
            let residual = &layer.feed_forward_residual;
            residual.apply(rows, x, &buffers, |x, out| {
                layer.feed_forward.apply(rows, x, out, &buffers)
            });
        }
        if let Some(norm) = &self.norm {
            norm.replace(rows, x, &buffers);
        }
        state.buffers = buffers;
    }

    /// Causal self-attention, which appends to the cache. The layer's keys and values begin at `place` of a block.
    fn attend_earlier(
        &self,
        attention: &Attention,
        place: usize,
        together: Together<'_>,
        x: &[f32],
        out: &mut [f32],
        state: &mut State,
    ) {
        let Together {
            positions,
            spans,
            buffers,
        } = together;
        let (heads, width) = (attention.heads, attention.joined_width());
        let (d, part) = (heads.query_width(), place..place + heads.block_len());
        let mut joined = buffers.take(positions.len() * width);
        attention.project(&self.relative, positions, x, &mut joined, buffers);
        for (span, row) in spans.iter().zip(&state.rows) {
            let new = joined[span.rows.start * width..span.rows.end * width].chunks_exact(width);
            for (position, new) in (span.first..).zip(new) {
                let block = &mut state.cache.block_mut(&row.table, position)[part.clone()];
                let (keys, values) = new[d..].split_at(heads.kv_width());
                heads.store(block, position % BLOCK, keys, values);
            }
        }
        let mut contexts = buffers.take(positions.len() * d);
        let mut blocks: Vec<&[f32]> = Vec::new();
        for (span, row) in spans.iter().zip(&state.rows) {
            blocks.clear();
            blocks.extend(
                state
                    .cache
                    .blocks(&row.table)
                    .map(|block| &block[part.clone()]),
            );
            let queries = Queries {
                rows: &joined[span.rows.start * width..],
                stride: width,
                first: span.first,
                seen: Seen::Earlier,
            };
            let out = &mut contexts[span.rows.start * d..span.rows.end * d];
            let bias = self.relative.bias.as_ref();
            attention.attend(queries, &blocks, bias, out, None);
        }
        attention.output(positions.len(), &contexts, out);
    }

    /// Cross-attention; neighboring rows of one source are queries of one sequence.
    fn attend_sources(
        &self,
        cross: &Attention,
        layer: usize,
        together: Together<'_>,
        x: &[f32],
        out: &mut [f32],
        state: &mut State,
    ) {
        let Together {
            positions,
            spans,
            buffers,
        } = together;
        let (heads, rows) = (cross.heads, positions.len());
        let d = heads.query_width();
        let mut queries = buffers.take(rows * d);
        cross.queries(rows, x, &mut queries);
        let mut contexts = buffers.take(rows * d);
        let is_top = state.attention.is_some() && layer + 1 == self.layers.len();
        let mut blocks: Vec<&[f32]> = Vec::new();
        let mut weights = Vec::new();
        for group in state.groups() {
            let source = state.rows[group.start].source.as_deref();
            let Some(Source::Blocks(source)) = source else {
                panic!("cross-attention without a source");
            };
            blocks.clear();
            blocks.extend(source.layer(layer));
            let rows = spans[group.start].rows.start..spans[group.end - 1].rows.end;
            let queries = Queries {
                rows: &queries[rows.start * d..],
                stride: d,
                first: 0,
                seen: Seen::All(source.len()),
            };
            let out = &mut contexts[rows.start * d..rows.end * d];
            let mut of_group = is_top.then(|| vec![0.0; rows.len() * source.len()]);
            cross.attend(queries, &blocks, None, out, of_group.as_deref_mut());
            if let Some(of_group) = of_group {
                let len = source.len();
                weights.extend((0..rows.len()).map(|row| of_group[row * len..][..len].to_vec()));
            }
        }
        if is_top {
            let last = spans
                .iter()
                .map(|span| std::mem::take(&mut weights[span.rows.end - 1]));
            state.attention = Some(last.collect());
        }
        cross.output(rows, &contexts, out);
    }
}

impl DecoderLayer {
    fn new(stack: &TransformerStack, products: Products, mut scope: Scope<'_>) -> Self {
        Self {
            mixer: match &stack.mixing {
                SelfMixing::Attention(attention) => Mixer::Attention(Attention::new(
                    attention,
                    products,
                    scope.at("self_attention"),
                )),
                SelfMixing::Recurrent(cell) => Mixer::Recurrent(RecurrentLayer::new(
                    *cell,
                    stack.d_model,
                    scope.at("self_attention"),
                )),
            },
            mixer_residual: Residual::new(stack, scope.at("self_attention_residual")),
            cross: stack.cross.as_ref().map(|cross| {
                let attention =
                    Attention::new(&cross.attention, products, scope.at("cross_attention"));
                let residual = Residual::new(stack, scope.at("cross_attention_residual"));
                (attention, residual)
            }),
            feed_forward: FeedForward::new(&stack.feed_forward, scope.at("feed_forward")),
            feed_forward_residual: Residual::new(stack, scope.at("feed_forward_residual")),
        }
    }

    fn block_len(&self) -> usize {
        match &self.mixer {
            Mixer::Attention(attention) => attention.heads.block_len(),
            Mixer::Recurrent(_) => 0,
        }
    }
}
