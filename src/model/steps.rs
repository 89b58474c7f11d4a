//! Decoding one token at a time.

use burn::tensor::Tensor;

use super::forced::top_cross_attention;
use super::next_token::{NextToken, likeliest};
use super::watched::{Layout, Watched};
use super::{Decoder, Head, Logits, Model};
use crate::batch::{Batch, Padded, TokenId};
use crate::nn::{AttentionWatch, Pass, RecurrentState, TransformerState};
use crate::ops::{self, Lengths, Starts};

/// The interface of a model for search and sampling.
///
/// A state holds rows, each at its own position of its own sentence. Rows are admitted, repeated and dropped between any
/// two decoding steps, and the results of a row depend on that row only.
pub trait Stepper {
    /// The decoding state of the rows.
    type State;
    /// The last layer, from which the next token of each row is predicted.
    type Last;

    /// A state without rows.
    fn start(&self) -> Self::State;

    /// A state without rows that also keeps the cross-attention of the last decoding step; `None` for a model without
    /// cross-attention.
    fn start_watched(&self) -> Option<Self::State>;

    /// Encodes the sentences of `src` and adds a row for each; a model without an encoder adds as many empty rows.
    fn admit(&self, src: &Padded, state: &mut Self::State);

    /// Reads the next token of each row.
    fn step(&self, next: &[TokenId], state: &mut Self::State) -> Self::Last;

    /// Reads several tokens of each row. Rows at different positions must use [`Stepper::step`].
    ///
    /// # Panics
    /// If a row gets no token, or if rows are at different positions.
    fn read(&self, tokens: &Padded, state: &mut Self::State) -> Self::Last;

    /// Replaces row `i` by the previous row `rows[i]`; rows that are not named are dropped.
    fn select(&self, rows: &[usize], state: &mut Self::State);

    /// The `count` most likely next tokens of each row, without those in `never`; see [`likeliest`]. An implementation need
    /// not compute the logits of all tokens at once.
    fn likeliest(&self, last: Self::Last, count: usize, never: &[TokenId]) -> Vec<Vec<NextToken>>;

    /// The logits of the next token of each row.
    fn logits(&self, last: Self::Last) -> Logits;

    /// The cross-attention of the last [`Stepper::step`]: for each row its weights over the positions of its source, the mean
    /// over the heads of the top layer.
    ///
    /// # Panics
    /// If the state was not made by [`Stepper::start_watched`].
    fn cross_attention(&self, state: &Self::State) -> Vec<Vec<f32>>;

    /// Maximum number of tokens of a row, including the start token.
    fn max_len(&self) -> usize;
}

/// The last layer at the last token of each row, `[rows, d_model]`.
#[derive(Clone, Debug)]
pub struct LastLayer(Tensor<2>);

/// A model with the pass that its decoding steps use.
#[derive(Clone, Copy, Debug)]
pub struct Steps<'a> {
    model: &'a Model,
    pass: Pass<'a>,
}

/// The decoding state of a model.
#[derive(Clone, Debug)]
pub struct State {
    decoder: DecoderState,
    watched: Option<Watched>,
}

// A search has one: its size does not matter.
#[allow(clippy::large_enum_variant)]
#[derive(Clone, Debug)]
enum DecoderState {
    Transformer(TransformerState),
    Recurrent(RecurrentState),
}

impl<'a> Steps<'a> {
    pub(super) fn new(model: &'a Model, pass: Pass<'a>) -> Self {
        Self { model, pass }
    }

    /// # Panics
    /// If the model has no decoder; see [`crate::architecture::Task`].
    fn decoder(&self) -> &'a Decoder {
        let decoder = self.model.decoder.as_ref();
        decoder.expect("a model that decodes")
    }

    /// Reads the next positions of every row, and records cross-attention if the state is watched.
    fn extend(&self, ids: &[TokenId], real: &Lengths, state: &mut State) -> Tensor<2> {
        let Some(watched) = &mut state.watched else {
            return self.extend_with(ids, real, &mut state.decoder, &self.pass);
        };
        let watch = AttentionWatch::default();
        let pass = self.pass.watched(&watch);
        let x = self.extend_with(ids, real, &mut state.decoder, &pass);
        let layout = match &state.decoder {
            DecoderState::Transformer(_) => Layout::BySource,
            DecoderState::Recurrent(_) => Layout::ByRow,
        };
        if let Some(map) = top_cross_attention(watch) {
            watched.record(map.weights, layout);
        }
        x
    }

    fn extend_with(
        &self,
        ids: &[TokenId],
        real: &Lengths,
        state: &mut DecoderState,
        pass: &Pass<'_>,
    ) -> Tensor<2> {
        let starts = match state {
            DecoderState::Transformer(state) => state.starts(),
            DecoderState::Recurrent(_) => Starts::All(0),
        };
        let x = (self.model).embed_target(ids, real.rows(), &starts, pass);
        let x = match (self.decoder(), state) {
            (Decoder::Transformer(stack), DecoderState::Transformer(state)) => {
                stack.extend(x, real, state, pass)
            }
            (Decoder::Recurrent(stack), DecoderState::Recurrent(state)) => {
                stack.extend(x, real, state, pass)
            }
            _ => panic!("the state of another model"),
        };
        match &self.model.head {
            Head::Vocabulary(head) => head.scaled(x),
            Head::Positions(_) | Head::Sequence(_) => panic!("a model that predicts tokens"),
        }
    }
}

impl Stepper for Steps<'_> {
    type State = State;
    type Last = LastLayer;

    fn start(&self) -> State {
        let decoder = match self.decoder() {
            Decoder::Transformer(stack) => DecoderState::Transformer(stack.start()),
            Decoder::Recurrent(stack) => DecoderState::Recurrent(stack.start()),
        };
        State {
            decoder,
            watched: None,
        }
    }

    fn start_watched(&self) -> Option<State> {
        let watched = Some(Watched::default());
        let attends = self.model.architecture.has_cross_attention();
        attends.then(|| State {
            watched,
            ..self.start()
        })
    }

    fn admit(&self, src: &Padded, state: &mut State) {
        let memory = self.model.encoder.as_ref().map(|_| {
            let batch = Batch {
                src: src.clone(),
                ..Batch::default()
            };
            self.model.encode(&batch, &self.pass)
        });
        let sequence = memory.as_ref().map(|memory| &memory.sequence);
        match (self.decoder(), &mut state.decoder) {
            (Decoder::Transformer(stack), DecoderState::Transformer(state)) => {
                stack.admit(src.rows(), sequence, state, &self.pass);
            }
            (Decoder::Recurrent(stack), DecoderState::Recurrent(state)) => {
                let finals = memory.as_ref().map_or(&[][..], |memory| &memory.finals);
                stack.admit(src.rows(), sequence, finals, state, &self.pass);
            }
            _ => panic!("the state of another model"),
        }
        if let Some(watched) = &mut state.watched {
            watched.admit(src.lens());
        }
    }

    fn step(&self, next: &[TokenId], state: &mut State) -> LastLayer {
        LastLayer(self.extend(next, &Lengths::full(next.len(), 1), state))
    }

    fn read(&self, tokens: &Padded, state: &mut State) -> LastLayer {
        let real = tokens.lengths.clone();
        assert!(real.lens().iter().all(|&len| len > 0), "a token to read");
        let x = self.extend_with(&tokens.ids, &real, &mut state.decoder, &self.pass);
        LastLayer(ops::select_rows(x, &real.last_rows()))
    }

    fn select(&self, rows: &[usize], state: &mut State) {
        match &mut state.decoder {
            DecoderState::Transformer(state) => state.select(rows),
            DecoderState::Recurrent(state) => state.select(rows),
        }
        if let Some(watched) = &mut state.watched {
            watched.select(rows);
        }
    }

    fn likeliest(&self, last: LastLayer, count: usize, never: &[TokenId]) -> Vec<Vec<NextToken>> {
        likeliest(self.logits(last), count, never)
    }

    fn logits(&self, LastLayer(x): LastLayer) -> Logits {
        self.model.logits(x, &self.pass).into()
    }

    fn cross_attention(&self, state: &State) -> Vec<Vec<f32>> {
        let watched = state.watched.as_ref();
        watched.expect("a watched state").weights()
    }

    fn max_len(&self) -> usize {
        self.model.max_len()
    }
}
