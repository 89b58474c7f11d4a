//! Decoding: a model in the form in which search reads it.
//!
//! An [`Engine`] is built once from an architecture and its weights, which it packs for products. It computes
//! what [`crate::model::Model`] computes, to the bit in `f32`, but on rows that come and go between any two
//! steps: every row has its own position and its own source, and the encoder reads sequences without padding.
//! Keys and values are appended to blocks that rows with a common beginning share; those of a source are
//! stored once for all hypotheses.

mod buffers;
mod by_position;
mod cache;
mod columns;
mod decode;
mod encode;
mod encoder;
mod input_probe;
mod linear;
mod matrix;
mod packed;
mod projection;
mod ram;
mod recurrent;
mod rows;
mod source;
#[cfg(test)]
mod tests;
mod weights;

pub use attentive_kernels::packed::Precision;
pub use encoder::EncoderEngine;
pub use input_probe::InputProbe;
pub use matrix::{Matrix, PackedRanges};
pub use ram::{Ram, RamState};
pub use weights::{Dense, Weight, Weights, parameters};

use std::sync::{Arc, Mutex};

use attentive_architecture::Architecture;
use attentive_base::batch::{Padded, TokenId};
use attentive_decode::{Answer, Logits, NextToken, Question, Stepper};
use attentive_kernels::gemm::Float;

use self::buffers::{ScratchBuffer, ScratchPool};
use self::columns::{Columns, CommonColumns, Listed};
use self::decode::CachedContext;
use self::encode::encode;
use self::packed::Packed;
use self::projection::Projection;
use self::rows::{Rows, Span};
use self::source::sources;
use self::weights::Recorder;
use crate::nn::{Decoder, Head, RecurrentLayer, Stack, Stacks};
use crate::profile::{self, ProfileSection};
use crate::shortlist::Shortlist;

/// A model that decodes, with its weights packed.
#[derive(Debug)]
pub struct Engine {
    layers: Stacks<Packed>,
    projection: Projection,
    shortlist: Option<Arc<Shortlist>>,
    /// The columns of the projection that all sentences need, with a shortlist.
    common_columns: Option<Arc<CommonColumns>>,
    max_len: usize,
    precision: Precision,
    /// The number type of keys and values.
    cache: Float,
    weights: Vec<(String, Weight)>,
}

/// The last layer at the last token of each row, `[rows, d_model]`.
#[derive(Clone, Debug)]
pub struct LastLayer {
    rows: usize,
    values: Vec<f32>,
    /// The candidates, with a shortlist.
    listed: Option<Listed>,
}

impl Engine {
    /// The engine of `architecture` with these weights.
    ///
    /// # Panics
    /// If the model does not decode; see [`attentive_architecture::Task`].
    pub fn new(architecture: &Architecture, weights: &mut dyn Weights) -> Self {
        let precision = weights.precision();
        let mut recorder = Recorder::new(weights);
        let layers = Stacks::new(architecture, &mut recorder);
        assert!(layers.body.decoder().is_some(), "a model that decodes");
        let Some(Head::Vocabulary(head)) = &layers.head else {
            panic!("a model that predicts tokens");
        };
        assert!(head.transform.is_none(), "of masked language models only");
        Self {
            projection: Projection::new(layers.projection(), head.scale),
            layers,
            shortlist: None,
            common_columns: None,
            max_len: architecture.max_len,
            precision,
            cache: Float::F32,
            weights: recorder.all,
        }
    }

    /// The same engine, in which the likeliest tokens of a sentence are searched among its candidates by
    /// `shortlist`, and probabilities sum to 1 over them; among all tokens without one. [`Stepper::logits`]
    /// always gives those of all tokens.
    ///
    /// # Panics
    /// If the shortlist is of another target vocabulary.
    pub fn with_shortlist(self, shortlist: Option<Arc<Shortlist>>) -> Self {
        if let Some(shortlist) = &shortlist {
            let vocab = self.projection.d_out();
            assert_eq!(shortlist.tgt_vocab(), vocab, "tokens of the shortlist");
        }
        let common = shortlist.as_ref().map(|list| Arc::new(self.projection.common_columns(&list.always())));
        Self { shortlist, common_columns: common, ..self }
    }

    /// The shortlist, if there is one.
    pub fn shortlist(&self) -> Option<&Arc<Shortlist>> {
        self.shortlist.as_ref()
    }

    /// The same engine, in which keys and values of attention are kept in `numbers`; in `f32` without this
    /// call. Encoders attend in `f32`.
    pub fn with_cache(self, numbers: Float) -> Self {
        Self { cache: numbers, ..self }
    }

    /// The number type of the weights.
    pub fn precision(&self) -> Precision {
        self.precision
    }

    /// The instructions of the products, for logs and reports.
    pub fn instructions(&self) -> String {
        self.projection.instructions()
    }

    /// All weights, by the names of the model's [`Blueprint`](crate::nn::Blueprint).
    pub fn weights(&self) -> &[(String, Weight)] {
        &self.weights
    }

    /// The encoder's output at every position of each sequence of `src`, `[len, d]`; `None` without an
    /// encoder.
    pub fn encoder_outputs(&self, src: &Padded) -> Option<Vec<Vec<f32>>> {
        let encoder = self.layers.body.encoder()?;
        Some(encoder::outputs(encoder, self.layers.src_table(), src, self.precision))
    }

    /// Reads `lens[i]` of `tokens` for each row i, and returns the last layer at the last token of each.
    fn extend(&self, tokens: &[TokenId], lens: &[usize], state: &mut RamState) -> LastLayer {
        assert_eq!(lens.len(), state.rows.len(), "tokens of every row");
        assert!(lens.iter().all(|&len| len > 0), "a token to read");
        profile::count(|counts| {
            counts.steps += 1;
            counts.rows += lens.len();
        });
        let spans = state.spans(lens);
        let positions = (spans.iter()).flat_map(|span| span.first..span.first + span.rows.len());
        let positions: Vec<usize> = positions.collect();
        state.reserve(&spans);
        let buffers = std::mem::take(&mut state.store.buffers);
        let values = self.last_layer(tokens, &positions, &spans, &buffers, state);
        state.store.buffers = buffers;
        state.advance(0..lens.len(), lens);
        let rows = spans.len();
        let columns = state.store.columns.as_ref();
        let listed = columns.map(|columns| Listed { rows: state.candidates(), columns: Arc::clone(columns) });
        LastLayer { rows, values, listed }
    }
}

/// The layers that decode.
impl Engine {
    fn decoder_stack(&self) -> &Stack<Packed, Decoder<Packed>> {
        self.layers.body.decoder().expect("checked by `new`")
    }

    fn decoder(&self) -> &Decoder<Packed> {
        &self.decoder_stack().layers
    }

    /// The last layer at the last position of each span, `[spans, d_model]`.
    fn last_layer(
        &self,
        tokens: &[TokenId],
        positions: &[usize],
        spans: &[Span],
        buffers: &ScratchPool,
        state: &mut RamState,
    ) -> Vec<f32> {
        let Stack { input, layers } = self.decoder_stack();
        let mut rows = Rows {
            positions,
            spans,
            buffers,
            precision: self.precision,
            across: CachedContext { state, numbers: self.cache },
        };
        let x = input.forward(tokens, self.layers.tgt_table(), &mut rows);
        let x = layers.forward(x, &mut rows);
        if positions.len() == spans.len() {
            return x.to_vec();
        }
        let d = self.projection.d_in();
        let last = |span: &Span| &x[(span.rows.end - 1) * d..][..d];
        spans.iter().flat_map(last).copied().collect()
    }

    /// The states from which the layers of sequence `number` start, given the final states of the encoder's
    /// layers.
    fn starts<'f>(&self, finals: &'f [ScratchBuffer<'_>], number: usize) -> Vec<Option<&'f [f32]>> {
        let Decoder::Recurrent(stack) = self.decoder() else {
            return Vec::new();
        };
        let starts = stack.starts(finals).into_iter().zip(&stack.layers);
        let of_sequence = |(start, layer): (Option<&'f ScratchBuffer<'_>>, &RecurrentLayer<Packed>)| {
            let width = layer.state_width();
            start.map(|start| &start[number * width..][..width])
        };
        starts.map(of_sequence).collect()
    }
}

impl Stepper for Engine {
    type State = RamState;
    type Last = LastLayer;

    fn start(&self) -> RamState {
        let mut state = RamState::new(self.decoder().kept_widths(), self.cache);
        let columns = |common: &Arc<_>| Arc::new(Mutex::new(Columns::new(Arc::clone(common))));
        state.store.columns = self.common_columns.as_ref().map(columns);
        state
    }

    fn start_watched(&self) -> Option<RamState> {
        let state = RamState { attention: Some(Vec::new()), ..self.start() };
        state.attends().then_some(state)
    }

    fn admit(&self, src: &Padded, state: &mut RamState) {
        let Some(encoder) = self.layers.body.encoder() else {
            (0..src.rows()).for_each(|_| state.admit(None, &[]));
            return;
        };
        let buffers = std::mem::take(&mut state.store.buffers);
        let first = state.rows.len();
        profile::time(ProfileSection::Encoder, || {
            encode(encoder, self.layers.src_table(), src, self.precision, &buffers, |encoded, rows| {
                let sources = sources(self.decoder(), self.cache, &encoded.memory, rows);
                for (number, source) in sources.into_iter().enumerate() {
                    state.admit(source, &self.starts(&encoded.finals, number));
                }
            });
        });
        state.store.buffers = buffers;
        if let Some(shortlist) = &self.shortlist {
            state.list_candidates(first, src, shortlist);
        }
    }

    fn step(&self, next: &[TokenId], state: &mut RamState) -> LastLayer {
        profile::time(ProfileSection::DecoderRest, || self.extend(next, &vec![1; next.len()], state))
    }

    fn read(&self, tokens: &Padded, state: &mut RamState) -> LastLayer {
        let width = tokens.width();
        let real = tokens.lens().iter().zip(tokens.ids.chunks_exact(width.max(1)));
        let ids: Vec<TokenId> = real.flat_map(|(&len, row)| &row[..len]).copied().collect();
        let one_by_one = width > 1 && self.decoder().feeds_input();
        let extend = if one_by_one { Self::extend_by_position } else { Self::extend };
        profile::time(ProfileSection::DecoderRest, || extend(self, &ids, tokens.lens(), state))
    }

    fn select(&self, rows: &[usize], state: &mut RamState) {
        state.select(rows);
    }

    fn likeliest(&self, last: LastLayer, count: usize, never: &[TokenId]) -> Vec<Vec<NextToken>> {
        profile::time(ProfileSection::Projection, || self.projection.likeliest(last, count, never))
    }

    fn most_likely(&self, last: LastLayer, never: &[TokenId]) -> Vec<Option<TokenId>> {
        profile::time(ProfileSection::Projection, || self.projection.most_likely(last, never))
    }

    fn answers(&self, last: LastLayer, questions: &[Question]) -> Vec<Answer> {
        profile::time(ProfileSection::Projection, || self.projection.answers(last, questions))
    }

    fn logits(&self, last: LastLayer) -> Logits {
        profile::time(ProfileSection::Projection, || self.projection.logits(last))
    }

    fn cross_attention(&self, state: &RamState) -> Vec<Vec<f32>> {
        state.attention.clone().expect("a watched state")
    }

    fn max_len(&self) -> usize {
        self.max_len
    }
}
