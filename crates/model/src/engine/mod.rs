//! Decoding: a model in the form in which search reads it.
//!
//! An [`Engine`] is built once from an architecture and its weights, which it packs for products. It computes what
//! [`crate::model::Model`] computes, to the bit in `f32`, but on rows that come and go between any two steps: every row has
//! its own position and its own source, and the encoder reads sequences without padding. Keys and values are appended to
//! blocks that rows with a common beginning share; those of a source are stored once for all hypotheses.

mod additive_attention;
mod attention;
mod buffers;
mod cache;
mod columns;
mod encoder;
mod feed_forward;
mod input;
mod linear;
mod matrix;
mod norm;
pub mod profile;
mod projection;
mod recurrent;
mod recurrent_decoder;
mod recurrent_encoder;
mod source;
mod state;
#[cfg(test)]
mod tests;
mod transformer;
mod weights;

pub use attentive_kernels::packed::Precision;
pub use matrix::{Matrix, Places};
pub use state::State;
pub use weights::{Dense, Weight, Weights};

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use attentive_architecture::{self as architecture, Architecture, Head};
use attentive_base::batch::{Padded, TokenId};
use attentive_decode::{Logits, NextToken, Stepper};
use attentive_kernels::cached_attention::Products;

use self::columns::Listed;
use self::encoder::{Encoded, Encoder};
use self::input::Input;
use self::projection::Projection;
use self::recurrent_decoder::RecurrentDecoder;
use self::transformer::TransformerDecoder;
use self::weights::{Recorder, Scope};
use crate::model::Parameter;
use crate::shortlist::Shortlist;

/// A model that decodes, with its weights packed.
#[derive(Debug)]
pub struct Engine {
    encoder: Option<Encoder>,
    tgt: Input,
    decoder: Decoder,
    projection: Projection,
    shortlist: Option<Arc<Shortlist>>,
    max_len: usize,
    precision: Precision,
    weights: Vec<(String, Weight)>,
}

// An engine has one, so its size does not matter.
#[allow(clippy::large_enum_variant)]
#[derive(Debug)]
enum Decoder {
    Transformer(TransformerDecoder),
    Recurrent(RecurrentDecoder),
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
    /// If the model does not decode; see [`architecture::Task`].
    pub fn new(architecture: &Architecture, weights: &mut dyn Weights) -> Self {
        let (Some(decoder), Some(tgt)) = (&architecture.decoder, &architecture.tgt) else {
            panic!("a model that decodes");
        };
        let Head::Vocabulary(head) = &architecture.head else {
            panic!("a model that predicts tokens");
        };
        assert!(head.transform.is_none(), "of masked language models only");
        let max_len = architecture.max_len;
        // With integers, all results are the same for every instruction set.
        let products = match weights.precision() {
            Precision::F32 | Precision::Bf16 => Products::AsInMatrixProducts,
            Precision::Int8 => Products::Fused,
        };
        let precision = weights.precision();
        let mut recorder = Recorder::new(weights);
        let mut root = Scope::root(&mut recorder);
        let encoder = Encoder::new(architecture, products, &mut root);
        let shared = encoder.as_ref().map(Encoder::table);
        let tgt = Input::new(tgt, max_len, shared, &mut root.at("tgt"));
        let scope = root.at("decoder");
        let decoder = match decoder {
            architecture::Decoder::Transformer(stack) => {
                Decoder::Transformer(TransformerDecoder::new(stack, max_len, products, scope))
            }
            architecture::Decoder::Recurrent(stack) => {
                Decoder::Recurrent(RecurrentDecoder::new(stack, products, scope))
            }
        };
        let projection = Projection::new(head, tgt.table(), root.at("head"));
        Self {
            encoder,
            tgt,
            decoder,
            projection,
            shortlist: None,
            max_len,
            precision,
            weights: recorder.all,
        }
    }

    /// The same engine, in which the likeliest tokens of a sentence are searched among its candidates by `shortlist`, and
    /// probabilities sum to 1 over them; among all tokens without one. [`Stepper::logits`] always gives those of all tokens.
    ///
    /// # Panics
    /// If the shortlist is of another target vocabulary.
    pub fn with_shortlist(self, shortlist: Option<Arc<Shortlist>>) -> Self {
        if let Some(shortlist) = &shortlist {
            let vocab = self.projection.d_out();
            assert_eq!(shortlist.tgt_vocab(), vocab, "tokens of the shortlist");
        }
        Self { shortlist, ..self }
    }

    /// The shortlist, if there is one.
    pub fn shortlist(&self) -> Option<&Arc<Shortlist>> {
        self.shortlist.as_ref()
    }

    /// The number type of the weights.
    pub fn precision(&self) -> Precision {
        self.precision
    }

    /// The instructions of the products, for logs and reports.
    pub fn instructions(&self) -> String {
        self.projection.instructions()
    }

    /// All weights, by the names of [`Architecture::parameters`].
    pub fn weights(&self) -> &[(String, Weight)] {
        &self.weights
    }

    /// All weights as `f32`; those of an engine in `f32` equal the ones that it was built from.
    pub fn parameters(&self, architecture: &Architecture) -> Vec<Parameter> {
        let weights: HashMap<&str, &Weight> = (self.weights.iter())
            .map(|(name, weight)| (name.as_str(), weight))
            .collect();
        let parameters = architecture.parameters().into_iter();
        let values = |name: &str| match weights[name] {
            Weight::Matrix(matrix) => matrix.unpacked(),
            Weight::Vector(values) => values.clone(),
        };
        parameters
            .map(|parameter| Parameter {
                values: values(&parameter.name),
                shape: parameter.shape,
                name: parameter.name,
            })
            .collect()
    }

    /// Reads `lens[i]` of `tokens` for each row i, and returns the last layer at the last token of each.
    fn extend(&self, tokens: &[TokenId], lens: &[usize], state: &mut State) -> LastLayer {
        assert_eq!(lens.len(), state.rows.len(), "tokens of every row");
        assert!(lens.iter().all(|&len| len > 0), "a token to read");
        profile::count(|counts| {
            counts.steps += 1;
            counts.rows += lens.len();
        });
        let spans = state.spans(lens.iter().copied());
        let positions = (spans.iter()).flat_map(|span| span.first..span.first + span.rows.len());
        let positions: Vec<usize> = positions.collect();
        let d = self.projection.d_in();
        let mut x = vec![0.0; tokens.len() * d];
        self.tgt.apply(tokens, &positions, &mut x, &state.buffers);
        match &self.decoder {
            Decoder::Transformer(stack) => stack.extend(&mut x, &positions, &spans, state),
            Decoder::Recurrent(stack) => profile::time(profile::Part::Cells, || {
                stack.extend(&mut x, &spans, state);
            }),
        }
        state.advance(&spans);
        let rows = spans.len();
        let values = if tokens.len() == rows {
            x
        } else {
            let last = |span: &attention::Span| x[(span.rows.end - 1) * d..][..d].to_vec();
            spans.iter().flat_map(last).collect()
        };
        let candidates = state.rows.iter().map(|row| row.candidates.clone());
        let listed = state.columns.as_ref().map(|columns| Listed {
            rows: candidates.collect(),
            columns: Arc::clone(columns),
        });
        LastLayer {
            rows,
            values,
            listed,
        }
    }
}

impl Stepper for Engine {
    type State = State;
    type Last = LastLayer;

    fn start(&self) -> State {
        let mut state = match &self.decoder {
            Decoder::Transformer(stack) => State::new(stack.block_len(), stack.state_widths()),
            Decoder::Recurrent(stack) => State::new(0, stack.state_widths()),
        };
        let columns = || Arc::new(Mutex::new(self.projection.columns()));
        state.columns = self.shortlist.is_some().then(columns);
        state
    }

    fn start_watched(&self) -> Option<State> {
        let attends = match &self.decoder {
            Decoder::Transformer(stack) => stack.attends(),
            Decoder::Recurrent(stack) => stack.attends(),
        };
        attends.then(|| {
            let mut state = self.start();
            state.attention = Some(Vec::new());
            state
        })
    }

    fn admit(&self, src: &Padded, state: &mut State) {
        let Some(encoder) = &self.encoder else {
            (0..src.rows()).for_each(|_| state.admit(None, None));
            return;
        };
        let buffers = std::mem::take(&mut state.buffers);
        let first = state.rows.len();
        let each = |encoded: Encoded<'_>| {
            let (memory, spans) = (encoded.memory, encoded.spans);
            match &self.decoder {
                Decoder::Transformer(stack) => {
                    for source in stack.sources(memory, spans, &buffers) {
                        state.admit(Some(source), None);
                    }
                }
                Decoder::Recurrent(stack) => {
                    let sources = stack.sources(memory, spans, &buffers);
                    for (number, source) in sources.into_iter().enumerate() {
                        let initial = stack.initial(encoded.finals, number);
                        state.admit(source, initial.as_deref());
                    }
                }
            }
        };
        profile::time(profile::Part::Encoder, || encoder.read(src, &buffers, each));
        state.buffers = buffers;
        if let Some(shortlist) = &self.shortlist {
            let rows = src.ids.chunks_exact(src.width().max(1)).zip(src.lens());
            for (row, (ids, &len)) in state.rows[first..].iter_mut().zip(rows) {
                row.candidates = shortlist.candidates(&ids[..len]).into();
            }
        }
    }

    fn step(&self, next: &[TokenId], state: &mut State) -> LastLayer {
        profile::time(profile::Part::DecoderRest, || {
            self.extend(next, &vec![1; next.len()], state)
        })
    }

    fn read(&self, tokens: &Padded, state: &mut State) -> LastLayer {
        let width = tokens.width();
        let real = tokens
            .lens()
            .iter()
            .zip(tokens.ids.chunks_exact(width.max(1)));
        let ids: Vec<TokenId> = real.flat_map(|(&len, row)| &row[..len]).copied().collect();
        profile::time(profile::Part::DecoderRest, || {
            self.extend(&ids, tokens.lens(), state)
        })
    }

    fn select(&self, rows: &[usize], state: &mut State) {
        state.select(rows);
    }

    fn likeliest(&self, last: LastLayer, count: usize, never: &[TokenId]) -> Vec<Vec<NextToken>> {
        profile::time(profile::Part::Projection, || {
            self.projection.likeliest(last, count, never)
        })
    }

    fn most_likely(&self, last: LastLayer, never: &[TokenId]) -> Vec<Option<TokenId>> {
        profile::time(profile::Part::Projection, || {
            self.projection.most_likely(last, never)
        })
    }

    fn logits(&self, last: LastLayer) -> Logits {
        profile::time(profile::Part::Projection, || self.projection.logits(last))
    }

    fn cross_attention(&self, state: &State) -> Vec<Vec<f32>> {
        state.attention.clone().expect("a watched state")
    }

    fn max_len(&self) -> usize {
        self.max_len
    }
}
