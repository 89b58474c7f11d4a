//! Decoding on a device other than the CPU, such as a GPU.
//!
//! A [`DeviceEngine`] computes what the [`Engine`](crate::engine::Engine) computes, in `f32` and up to
//! rounding, with the weights of a [`Model`], caches, states and logits in the memory of the device. Matrices
//! of weights may be stored in bf16. Every step sends it the new tokens and the numbers of the blocks of its
//! caches; what returns are the likeliest tokens or, where the search reads them, all logits.
//!
//! Layers do to rows what they do in training ([`Sequences`]); only attention and recurrent cells find what
//! came before in the [`DeviceState`].

mod cache;
mod decode;
mod device_memory;
mod piece;
mod rows;
#[cfg(test)]
mod tests;

pub use device_memory::{DeviceMemory, DeviceState};

use std::sync::Arc;

use attentive_architecture::Architecture;
use attentive_base::batch::{Padded, Src, TokenId};
use attentive_decode::{Logits, NextToken, Stepper};
use attentive_device::{Buffer, Device, LargestLogits, LikeliestCall, current, on};
use attentive_tape::{self as tape, Float, TapeEpilogue, Value};

use self::cache::whole;
use self::decode::{IncrementalBatch, Visible};
use self::device_memory::EncodedSources;
use self::piece::{Piece, PieceLimits, Reader, pieces};
use crate::incremental::Candidates;
use crate::model::{self, Model};
use crate::nn::{AdditiveAttention, Decoder, ParameterKind, Pass, RecurrentAttention, Sequences, Trained};
use crate::profile::{self, ProfileSection};
use crate::shortlist::Shortlist;

/// Positions of sources, with padding, that are encoded at a time, unless a single source is longer.
const AT_ONCE: usize = 4096;

/// A model that decodes on a device.
#[derive(Debug)]
pub struct DeviceEngine {
    device: &'static dyn Device,
    model: Model,
    /// The number type of the matrices.
    numbers: Float,
    /// What the causal self-attention adds to the scores of each distance, `[n_heads, max_len]`.
    by_distance: Option<Buffer>,
    shortlist: Option<Arc<Shortlist>>,
}

/// The last layer at the last token of each row.
#[derive(Debug)]
pub struct DeviceLastLayer {
    /// `[rows, d_model]`
    values: Value,
    /// The candidates of each row, with a shortlist.
    lists: Option<Vec<Candidates>>,
}

impl DeviceEngine {
    /// The engine of a model with these `weights`, whose matrices are kept in the memory of `device` in
    /// `numbers`: in bf16, they are rounded and need half of the memory. Products with them are sums in
    /// `f32`, and their other operands are not rounded.
    ///
    /// # Panics
    /// If the model does not decode.
    pub fn with_weights(
        device: &'static dyn Device,
        architecture: &Architecture,
        weights: Vec<model::Parameter>,
        numbers: Float,
    ) -> Self {
        let buffer = |kind, values| match (kind, numbers) {
            (ParameterKind::Matrix, Float::Bf16) => device.upload_bf16(values),
            _ => device.upload(values),
        };
        let model = on(device, || Model::from_parameters(architecture, weights, buffer));
        Self { numbers, ..Self::new(device, model) }
    }

    /// The engine of `model`, whose parameters are in `f32` in the memory of `device`.
    ///
    /// # Panics
    /// If the model does not decode.
    pub fn new(device: &'static dyn Device, model: Model) -> Self {
        let stack = model.layers.body.decoder().expect("a model that decodes");
        let relative = match &stack.layers {
            Decoder::Transformer(stack) => stack.relative.bias.as_ref(),
            Decoder::Recurrent(_) => None,
        };
        let distances = model.architecture().max_len;
        let by_distance = relative.map(|bias| {
            on(device, || {
                let bias = bias.by_distance(distances, &Pass::inference());
                let mut copy = Buffer::take(bias.buffer().len());
                device.copy(bias.buffer(), &mut copy);
                copy
            })
        });
        Self { device, model, numbers: Float::F32, by_distance, shortlist: None }
    }

    /// The same engine with a shortlist; see
    /// [`Engine::with_shortlist`](crate::engine::Engine::with_shortlist). It saves no time here: the logits
    /// of all tokens are computed.
    pub fn with_shortlist(self, shortlist: Option<Arc<Shortlist>>) -> Self {
        Self { shortlist, ..self }
    }

    /// The shortlist, if there is one.
    pub fn shortlist(&self) -> Option<&Arc<Shortlist>> {
        self.shortlist.as_ref()
    }

    pub fn device(&self) -> &'static dyn Device {
        self.device
    }

    /// The model for whole sequences, whose weights are in the memory of the device.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The number type in which matrices of weights are kept.
    pub fn numbers(&self) -> Float {
        self.numbers
    }

    /// The name of the device that computes, with its driver.
    pub fn hardware(&self) -> String {
        let hardware = self.device.hardware();
        hardware.map_or_else(|| "the CPU".into(), |hardware| hardware.name)
    }

    /// See [`Engine::encoder_outputs`](crate::engine::Engine::encoder_outputs).
    pub fn encoder_outputs(&self, src: &Padded) -> Option<Vec<Vec<f32>>> {
        let encoder = self.model.layers.body.encoder()?;
        let (values, width) = on(self.device, || {
            let memory = self.model.encode_with(encoder, &src.clone().into(), &Pass::inference());
            let [_, d] = memory.sequence.x.shape();
            (memory.sequence.x.into_vec(), d * src.width())
        });
        let rows = values.chunks_exact(width.max(1)).zip(src.lens());
        Some(rows.map(|(row, &len)| row[..width / src.width() * len].to_vec()).collect())
    }

    /// Copies of all weights.
    pub fn parameters(&self) -> Vec<model::Parameter> {
        on(self.device, || self.model.copied())
    }

    fn decoder(&self) -> &Decoder<Trained> {
        let stack = self.model.layers.body.decoder();
        &stack.expect("checked by `new`").layers
    }

    /// Encodes `src` and adds a row for each of its sequences.
    fn admit_some(&self, src: Padded, state: &mut DeviceState) {
        let rows = src.rows();
        let pass = Pass::inference();
        let encoder = self.model.layers.body.encoder();
        let sources = encoder.map(|encoder| {
            let encoded = self.model.encode_with(encoder, &Src::Tokens(src), &pass);
            EncodedSources {
                layers: self.keys_and_values(&encoded.sequence, &pass),
                lengths: encoded.sequence.lengths,
                finals: encoded.finals,
            }
        });
        let initial = match (self.decoder(), &sources) {
            (Decoder::Recurrent(stack), Some(sources)) => stack.initial(rows, &sources.finals),
            _ => {
                let widths = state.widths.cells.iter();
                widths.map(|&width| Value::zeros([rows, width])).collect()
            }
        };
        state.admit(rows, sources, &initial);
    }

    /// What the attention of each layer reads of `memory`: keys, then values of each position.
    fn keys_and_values(&self, memory: &crate::nn::Sequence, pass: &Pass<'_>) -> Vec<Value> {
        let sequences = Sequences::new(&memory.lengths, pass);
        match self.decoder() {
            Decoder::Transformer(stack) => {
                let cross = stack.layers.iter().filter_map(|layer| layer.cross.as_ref());
                let maps = cross.map(|cross| [&cross.attention.key, &cross.attention.value]);
                maps.map(|maps| sequences.side_by_side(&memory.x, &maps)).collect()
            }
            Decoder::Recurrent(stack) => {
                let attention = stack.attention.iter();
                let keys = |attention: &RecurrentAttention<Trained>| match attention {
                    RecurrentAttention::Additive(AdditiveAttention { scores, .. })
                    | RecurrentAttention::Concat(scores) => sequences.side_by_side(&memory.x, &[&scores.key]),
                    RecurrentAttention::Multiplicative(_) => memory.x.clone(),
                };
                attention.map(|attention| tape::join(vec![keys(attention), memory.x.clone()])).collect()
            }
        }
    }

    /// Reads the tokens of each row in pieces within `limits`, and returns the last layer at the last of
    /// them.
    fn read_within(&self, limits: PieceLimits, tokens: &Padded, state: &mut DeviceState) -> DeviceLastLayer {
        assert_eq!(tokens.rows(), state.rows.len(), "tokens of every row");
        assert!(tokens.lens().iter().all(|&len| len > 0), "a token to read");
        profile::count(|counts| {
            counts.steps += 1;
            counts.rows += tokens.rows();
        });
        let readers = state.rows.iter().enumerate().map(|(row, state)| Reader {
            row,
            position: state.position,
            src_len: state.source.len,
            tokens: &tokens.ids[row * tokens.width()..][..tokens.lens()[row]],
        });
        let at_once = tokens.width() <= 1 || !self.decoder().feeds_input();
        let limits = if at_once { limits } else { PieceLimits::ONE_POSITION };
        let pieces = pieces(readers.collect(), limits);
        let work = || self.read_pieces(pieces, state);
        profile::time(ProfileSection::DecoderRest, || on(self.device, work))
    }

    /// Reads `pieces` of tokens, which are of every row, and returns the last layer at the last token of
    /// each.
    fn read_pieces(&self, pieces: Vec<Piece>, state: &mut DeviceState) -> DeviceLastLayer {
        let rows = state.rows.len();
        let values = match &pieces[..] {
            [piece] => self.extend(&piece.tokens, &piece.rows, state),
            pieces => {
                let width = self.model.architecture().head.d_in();
                let mut all = Buffer::take(rows * width);
                for Piece { rows, tokens } in pieces {
                    let values = self.extend(tokens, rows, state);
                    let pairs = rows.iter().enumerate().map(|(from, &to)| [from, to]);
                    let pairs: Vec<[usize; 2]> = pairs.collect();
                    // The last piece of a row prevails.
                    current().put_rows(width, whole(values.buffer(), width), &pairs, &mut all);
                }
                Value::new(all, [rows, width])
            }
        };
        assert_eq!(values.shape()[0], rows, "a result for every row");
        let lists = self.shortlist.is_some().then(|| state.candidates());
        DeviceLastLayer { values, lists }
    }

    /// Reads the tokens of some `rows`, and returns the last layer at the last of each, `[rows, d_model]`.
    fn extend(&self, tokens: &Padded, rows: &[usize], state: &mut DeviceState) -> Value {
        let positions = state.positions(tokens, rows);
        state.reserve(tokens.lens(), rows);
        let visible = Visible::of(state, rows, &tokens.lengths);
        let pass = Pass::inference();
        let stack = self.model.layers.body.decoder();
        let stack = stack.expect("checked by `new`");
        let mut batch = IncrementalBatch {
            sequences: Sequences::new(&tokens.lengths, &pass),
            lengths: &tokens.lengths,
            rows,
            positions: &positions,
            visible,
            by_distance: self.by_distance.as_ref(),
            pass: &pass,
            state,
        };
        let table = self.model.layers.tgt_table();
        let x = stack.input.forward(&tokens.ids, table, &mut batch);
        let x = stack.layers.forward(x, &mut batch);
        let x = match tokens.width() {
            1 => x,
            _ => tape::select_rows(x, &tokens.lengths.last_rows()),
        };
        let values = self.model.head().prepared(x, &mut batch.sequences);
        state.advance(rows.iter().copied(), tokens.lens());
        values
    }

    /// The logits of all tokens, `[rows, vocab]`.
    fn all_logits(&self, last: Value) -> Value {
        let map = self.model.projection(&Pass::inference());
        tape::linear(last, vec![map], TapeEpilogue::plain(Float::F32))
    }

    fn largest(&self, last: DeviceLastLayer, count: usize, never: &[TokenId]) -> Vec<LargestLogits> {
        let work = || {
            let logits = self.all_logits(last.values);
            let lists: Option<Vec<&[TokenId]>> =
                last.lists.as_ref().map(|lists| lists.iter().map(|list| &**list).collect());
            let [_, vocab] = logits.shape();
            let call = LikeliestCall { vocab, count, never, lists: lists.as_deref() };
            current().likeliest(call, logits.buffer())
        };
        profile::time(ProfileSection::Projection, || on(self.device, work))
    }
}

impl Stepper for DeviceEngine {
    type State = DeviceState;
    type Last = DeviceLastLayer;

    fn start(&self) -> DeviceState {
        DeviceState::new(self.decoder().kept_widths())
    }

    fn start_watched(&self) -> Option<DeviceState> {
        let state = DeviceState { attention: Some(Vec::new()), ..self.start() };
        state.attends().then_some(state)
    }

    fn admit(&self, src: &Padded, state: &mut DeviceState) {
        let before = state.rows.len();
        let work = || {
            let sequence = |row: usize| &src.ids[row * src.width()..][..src.lens()[row]];
            let mut first = 0;
            while first < src.rows() {
                let (mut end, mut width) = (first, 0);
                while end < src.rows() {
                    width = width.max(src.lens()[end]);
                    if end > first && width * (end + 1 - first) > AT_ONCE {
                        break;
                    }
                    end += 1;
                }
                let some: Vec<&[TokenId]> = (first..end).map(sequence).collect();
                self.admit_some(Padded::new(&some, 0), state);
                first = end;
            }
        };
        profile::time(ProfileSection::Encoder, || on(self.device, work));
        if let Some(shortlist) = &self.shortlist {
            state.list_candidates(before, src, shortlist);
        }
    }

    fn step(&self, next: &[TokenId], state: &mut DeviceState) -> DeviceLastLayer {
        let tokens: Vec<&[TokenId]> = next.chunks(1).collect();
        self.read(&Padded::new(&tokens, 0), state)
    }

    fn read(&self, tokens: &Padded, state: &mut DeviceState) -> DeviceLastLayer {
        self.read_within(PieceLimits::DEFAULT, tokens, state)
    }

    fn select(&self, rows: &[usize], state: &mut DeviceState) {
        on(self.device, || state.select(rows));
    }

    fn likeliest(&self, last: DeviceLastLayer, count: usize, never: &[TokenId]) -> Vec<Vec<NextToken>> {
        let next = |row: LargestLogits| {
            let next = |(logit, token)| NextToken::new(token, logit, row.log_sum);
            row.largest.into_iter().map(next).collect()
        };
        let rows = self.largest(last, count, never).into_iter();
        rows.map(next).collect()
    }

    fn most_likely(&self, last: DeviceLastLayer, never: &[TokenId]) -> Vec<Option<TokenId>> {
        let rows = self.largest(last, 1, never).into_iter();
        rows.map(|row| row.largest.first().map(|&(_, token)| token)).collect()
    }

    fn logits(&self, last: DeviceLastLayer) -> Logits {
        let work = || self.all_logits(last.values).into();
        profile::time(ProfileSection::Projection, || on(self.device, work))
    }

    fn cross_attention(&self, state: &DeviceState) -> Vec<Vec<f32>> {
        state.attention.clone().expect("a watched state")
    }

    fn max_len(&self) -> usize {
        self.model.architecture().max_len
    }
}
