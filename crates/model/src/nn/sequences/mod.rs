//! Layers on whole sequences, with gradients.
//!
//! A batch of sequences is one matrix of `[batch · len, d_model]` rows, so that every linear map is one
//! matrix product. A [`Pass`] carries what differs between passes: dropout, precision, probes, recording of
//! attention.

mod attend;
mod attention_map;
mod decode;
mod distance_bias;
mod encode;
mod head;
mod initializer;
mod pass;
mod trained;

pub use attention_map::{AttentionMap, AttentionPlace, AttentionSite, AttentionWatch};
pub use distance_bias::DistanceBias;
pub(crate) use encode::hidden_part;
pub use initializer::Initializer;
pub use pass::{AttentionGuidance, GradientWatch, Pass, Probe};
pub use trained::{Parameters, RelativeEncoding, Trained};

use attentive_architecture::ActivationKind;
use attentive_base::batch::TokenId;
use attentive_tape::{
    self as tape, Activation, AffineMap, Lengths, Param, RowSelection, TapeEpilogue, TapePositionRows, Value,
    add_positions,
};

use super::{Backend, Dropout, Input, Linear, Norm, PositionEncoding};

/// Activations of a batch of padded sequences.
#[derive(Clone, Debug)]
pub struct Sequence {
    /// `[batch · width, d]`: all positions of the first sequence, then of the second, …
    pub x: Value,
    /// The number of real positions of each sequence, and their common width.
    pub lengths: Lengths,
}

/// A batch of whole sequences in one pass.
#[derive(Clone, Debug)]
pub struct Sequences<'a> {
    pass: &'a Pass<'a>,
    lengths: &'a Lengths,
    /// What cross-attention reads.
    memory: Option<&'a Sequence>,
    /// The state from which each recurrent layer starts, `[batch, states · d]`, zeros if there is none; then
    /// what is fed. For sequences of one position, they become those behind it.
    states: Vec<Value>,
    /// The keys of additive attention to the memory, once they are known.
    keys: Option<Value>,
    /// The number of the only position, of sequences that are computed position by position.
    position: u32,
    /// The bias of the scores of the stack's self-attention, `[n_heads, len · len]`.
    bias: Option<Value>,
}

impl<'a> Sequences<'a> {
    /// Computes sequences of these lengths in `pass`.
    pub fn new(lengths: &'a Lengths, pass: &'a Pass<'a>) -> Self {
        Self { pass, lengths, memory: None, states: Vec::new(), keys: None, position: 0, bias: None }
    }

    /// The same sequences, which attend to `memory`.
    pub fn with_memory(self, memory: Option<&'a Sequence>) -> Self {
        Self { memory, ..self }
    }

    /// The same sequences, whose recurrent layers start from these states, `[batch, states · d]`, and read
    /// what the last of them feeds, if there is one more.
    pub fn starting_from(self, states: Vec<Value>) -> Self {
        Self { states, ..self }
    }

    /// Sequences that have only the position behind the only one of these.
    fn into_next(self) -> Self {
        Self { position: self.position + 1, ..self }
    }

    fn batch(&self) -> usize {
        self.lengths.rows()
    }

    /// The results of several maps side by side.
    pub(crate) fn side_by_side(&self, x: &Value, maps: &[&Linear<Trained>]) -> Value {
        let maps: Vec<AffineMap> = maps.iter().map(|map| map.as_map(self.pass)).collect();
        let same = maps.iter().all(|map| map.d_out() == maps[0].d_out());
        let epilogue = TapeEpilogue::plain(self.pass.precision());
        if same {
            return tape::linear(x.clone(), maps, epilogue);
        }
        let parts = maps.into_iter();
        tape::join(parts.map(|map| tape::linear(x.clone(), vec![map], epilogue)).collect())
    }
}

impl Linear<Trained> {
    /// Weight and bias as operands.
    pub(crate) fn as_map(&self, pass: &Pass<'_>) -> AffineMap {
        AffineMap { weight: pass.read(&self.weight), bias: self.bias.as_ref().map(|bias| pass.read(bias)) }
    }
}

impl Norm<Trained> {
    fn read(&self, pass: &Pass<'_>) -> (Value, Option<Value>) {
        let bias = self.bias.as_ref().map(|bias| pass.read(bias));
        (pass.read(&self.gain), bias)
    }
}

impl PositionEncoding<Trained> {
    /// Adds the vectors of positions 0, 1, … to sequences of `len` positions, `[batch · len, d_model]`.
    pub(crate) fn add(&self, x: Value, len: usize, pass: &Pass<'_>) -> Value {
        match self {
            Self::None => x,
            Self::Fixed(table) => {
                let [_, d] = x.shape();
                let vectors = Value::new(table.first(len)[..len * d].to_vec(), [len, d]);
                add_positions(x, vectors, 0, len)
            }
            Self::Learned { table, offset } => add_positions(x, pass.read(table), *offset, len),
        }
    }
}

impl Input<Trained> {
    /// norm(vector + position), without dropout, of `vectors` `[batch · len, d_model]`.
    pub(crate) fn read_vectors(&self, vectors: Value, sequences: &mut Sequences<'_>) -> Value {
        let len = sequences.lengths.width();
        let x = self.positions.add(vectors, len, sequences.pass);
        match &self.norm {
            Some(norm) => norm.forward(&x, sequences),
            None => x,
        }
    }
}

impl Backend for Sequences<'_> {
    type Storage = Trained;
    type Value = Value;

    fn enter(&mut self, relative: &RelativeEncoding) {
        let bias = relative.bias.as_ref();
        self.bias = bias.map(|bias| bias.forward(self.lengths.width(), self.pass));
    }

    fn embed(
        &mut self,
        ids: &[TokenId],
        table: &Param,
        input: &Input<Trained>,
        dropout: Option<Dropout>,
    ) -> Value {
        let len = self.lengths.width();
        let table = self.pass.read_rows(table, RowSelection::Of(ids));
        let dropout = dropout.and_then(|dropout| self.pass.dropout(dropout));
        let embed = |positions, dropout| tape::embedding(ids, table, input.scale, positions, dropout);
        match &input.positions {
            PositionEncoding::None => embed(None, dropout),
            PositionEncoding::Fixed(table) => {
                embed(Some(TapePositionRows { table: table.first(len), len }), dropout)
            }
            learned @ PositionEncoding::Learned { .. } => {
                let x = learned.add(embed(None, None), len, self.pass);
                tape::dropout_add(x, None, dropout)
            }
        }
    }

    fn linear(&mut self, x: &Value, maps: &[&Linear<Trained>]) -> Value {
        self.side_by_side(x, maps)
    }

    fn activated(
        &mut self,
        x: &Value,
        map: &Linear<Trained>,
        activation: ActivationKind,
        dropout: Option<Dropout>,
    ) -> Value {
        let (map, precision) = (map.as_map(self.pass), self.pass.precision());
        let dropout = dropout.and_then(|dropout| self.pass.dropout(dropout));
        match activation {
            ActivationKind::Relu => {
                let activation = Activation::Relu;
                let epilogue = TapeEpilogue { activation, dropout, precision };
                tape::linear(x.clone(), vec![map], epilogue)
            }
            kind => {
                let x = tape::linear(x.clone(), vec![map], TapeEpilogue::plain(precision));
                tape::dropout_add(tape::nonlinear(kind, x), None, dropout)
            }
        }
    }

    fn gated(&mut self, both: Value, activation: ActivationKind, dropout: Dropout) -> Value {
        let x = tape::gated(activation, both);
        tape::dropout_add(x, None, self.pass.dropout(dropout))
    }

    fn norm(&mut self, x: &Value, norm: &Norm<Trained>) -> Value {
        let (gain, bias) = norm.read(self.pass);
        tape::norm(norm.kind, x.clone(), gain, bias, norm.epsilon)
    }

    fn residual_norm(&mut self, x: Value, y: Value, dropout: Option<Dropout>, norm: &Norm<Trained>) -> Value {
        let dropout = dropout.and_then(|dropout| self.pass.dropout(dropout));
        let (gain, bias) = norm.read(self.pass);
        tape::residual_norm(norm.kind, [x, y], dropout, gain, bias, norm.epsilon)
    }

    fn add(&mut self, x: Value, y: Value, dropout: Option<Dropout>) -> Value {
        match dropout {
            Some(dropout) => tape::dropout_add(y, Some(x), self.pass.dropout(dropout)),
            None => tape::add(x, y),
        }
    }

    fn dropout(&mut self, x: Value, dropout: Dropout) -> Value {
        // Positions that are computed one after the other have masks of their own.
        let site = dropout.site ^ (self.position << 16);
        tape::dropout_add(x, None, self.pass.dropout(Dropout { site, ..dropout }))
    }

    fn tanh(&mut self, x: Value) -> Value {
        tape::tanh(x)
    }

    fn join(&mut self, parts: Vec<Value>) -> Value {
        tape::join(parts)
    }

    fn observe(&mut self, name: impl FnOnce() -> String, output: Value) -> Value {
        self.pass.observe(name, output)
    }
}
