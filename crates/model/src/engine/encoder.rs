//! Models that are only an encoder.

use std::sync::Arc;

use attentive_architecture::{ActivationKind, Architecture, Body, HeadSpec, LabelLayer, Pooling};
use attentive_base::batch::{Padded, TokenId};
use attentive_base::lengths::Lengths;
use attentive_decode::NextToken;
use attentive_kernels::mean::mean_rows;
use attentive_kernels::nonlinearity::nonlinear;

use super::buffers::{ScratchBuffer, ScratchPool};
use super::encode::{WholeSequences, encode};
use super::packed::Packed;
use super::projection::Projection;
use super::rows::{Rows, Span};
use super::weights::Recorder;
use super::{LastLayer, Matrix, Precision, Weight, Weights};
use crate::model::normalize;
use crate::nn::{Backend, Encoded, Encoder, Head, Stack, Stacks};

/// A model that is only an encoder of tokens, with its weights packed. It computes what
/// [`Model`](crate::model::Model) computes, to the bit in `f32`, on sequences without padding.
#[derive(Debug)]
pub struct EncoderEngine {
    layers: Stacks<Packed>,
    /// Absent in a model that predicts nothing.
    projection: Option<Projection>,
    /// How a sequence becomes one vector, if it does.
    pooling: Option<Pooling>,
    /// Whether such vectors are scaled to length 1.
    unit: bool,
    precision: Precision,
    weights: Vec<(String, Weight)>,
}

impl EncoderEngine {
    /// The encoder of `architecture` with these weights.
    ///
    /// # Panics
    /// If the model is not only an encoder, or does not read tokens.
    pub fn new(architecture: &Architecture, weights: &mut dyn Weights) -> Self {
        let precision = weights.precision();
        let mut recorder = Recorder::new(weights);
        let layers = Stacks::new(architecture, &mut recorder);
        assert!(matches!(layers.body, Body::Encoder(_)), "a model that is only an encoder");
        let projection = layers.head.as_ref().map(|head| {
            let scale = match head {
                Head::Vocabulary(head) => head.scale,
                Head::Positions(_) | Head::Sequence(_) => 1.0,
            };
            Projection::new(layers.projection(), scale)
        });
        let (pooling, unit) = match architecture.head {
            HeadSpec::Sequence { pooling, .. } => (Some(pooling), false),
            HeadSpec::Vector { pooling, unit, .. } => (Some(pooling), unit),
            HeadSpec::Vocabulary(_) | HeadSpec::Positions(_) => (None, false),
        };
        Self { layers, projection, pooling, unit, precision, weights: recorder.all }
    }

    /// The number type of the weights.
    pub fn precision(&self) -> Precision {
        self.precision
    }

    /// All weights, by the names of the model's [`Blueprint`](crate::nn::Blueprint).
    pub fn weights(&self) -> &[(String, Weight)] {
        &self.weights
    }

    /// The output at every position of each sequence of `src`, `[len, d]`.
    pub fn outputs(&self, src: &Padded) -> Vec<Vec<f32>> {
        outputs(self.stack(), self.layers.src_table(), src, self.precision)
    }

    /// The vector of each sequence of `src`.
    ///
    /// # Panics
    /// If the model has no vector for a whole sequence.
    pub fn vectors(&self, src: &Padded) -> Vec<Vec<f32>> {
        let mut vectors = Vec::with_capacity(src.rows());
        self.each(src, |encoded, rows| {
            let pooled = self.pooled(&encoded, rows);
            vectors.extend(pooled.chunks_exact(pooled.len() / rows.spans.len()).map(<[f32]>::to_vec));
        });
        if self.unit {
            vectors.iter_mut().for_each(|vector| normalize(vector));
        }
        vectors
    }

    /// The `count` likeliest tokens or labels, without those in `never`, at each position of `src` that has a
    /// token that is `wanted`; for a classifier of whole sequences, those of each sequence.
    ///
    /// # Panics
    /// If the model predicts nothing.
    pub fn likeliest(
        &self,
        src: &Padded,
        wanted: impl Fn(TokenId) -> bool,
        count: usize,
        never: &[TokenId],
    ) -> Vec<Vec<NextToken>> {
        let (head, projection) =
            self.layers.head.as_ref().zip(self.projection.as_ref()).expect("a model that predicts");
        let mut found = Vec::new();
        let mut sequences = src.ids.chunks_exact(src.width().max(1)).zip(src.lens());
        self.each(src, |encoded, rows| {
            let tokens = sequences.by_ref().take(rows.spans.len());
            let tokens = tokens.flat_map(|(ids, &len)| &ids[..len]);
            let x = match head {
                Head::Sequence(_) => {
                    tokens.for_each(drop);
                    self.pooled(&encoded, rows)
                }
                Head::Positions(_) | Head::Vocabulary(_) => {
                    let d = encoded.memory.len() / rows.positions.len().max(1);
                    let positions = tokens.zip(encoded.memory.chunks_exact(d));
                    let wanted = positions.filter(|(token, _)| wanted(**token));
                    wanted.flat_map(|(_, x)| x).copied().collect()
                }
            };
            if !x.is_empty() {
                let values = self.prepared(head, &x, rows.buffers);
                let rows = values.len() / projection.d_in();
                found.extend(projection.likeliest(LastLayer { rows, values, listed: None }, count, never));
            }
        });
        found
    }

    /// The input of the linear map to logits, from rows `x` of the last layer.
    fn prepared(&self, head: &Head<Packed>, x: &[f32], buffers: &ScratchPool) -> Vec<f32> {
        let layer = match head {
            Head::Vocabulary(head) => head.transform.as_ref().map(|transform| &transform.linear),
            Head::Positions(labels) | Head::Sequence(labels) => labels.layer.as_ref(),
        };
        let Some(layer) = layer else {
            return x.to_vec();
        };
        let positions = vec![0; x.len() / layer.d_in()];
        let precision = self.precision;
        let mut rows = Rows { positions: &positions, spans: &[], buffers, precision, across: WholeSequences };
        let mut copy = buffers.take(x.len());
        copy.copy_from_slice(x);
        let prepared = match head {
            Head::Vocabulary(head) => match &head.transform {
                Some(transform) => transform.forward(&copy, &mut rows),
                None => copy,
            },
            Head::Positions(labels) | Head::Sequence(labels) => {
                let x = rows.linear(&copy, &[layer]);
                match labels.function {
                    LabelLayer::None => x,
                    LabelLayer::Tanh => rows.tanh(x),
                    LabelLayer::Relu => {
                        nonlinear(ActivationKind::Relu, &x, &mut copy);
                        copy
                    }
                }
            }
        };
        prepared.to_vec()
    }

    fn stack(&self) -> &Stack<Packed, Encoder<Packed>> {
        self.layers.body.encoder().expect("checked by `new`")
    }

    /// Encodes `src`, a few sequences at a time, and passes on each output with its rows.
    fn each(
        &self,
        src: &Padded,
        each: impl for<'b> FnMut(Encoded<ScratchBuffer<'b>>, &mut Rows<'b, WholeSequences>),
    ) {
        let buffers = ScratchPool::default();
        encode(self.stack(), self.layers.src_table(), src, self.precision, &buffers, each);
    }

    /// The vectors of the sequences of `rows`, one after the other.
    fn pooled(
        &self,
        Encoded { memory, finals }: &Encoded<ScratchBuffer<'_>>,
        rows: &Rows<'_, WholeSequences>,
    ) -> Vec<f32> {
        let pooling = self.pooling.expect("a vector for a whole sequence");
        let d = memory.len() / rows.positions.len().max(1);
        let mut vectors = vec![0.0; rows.spans.len() * d];
        for (number, (span, out)) in rows.spans.iter().zip(vectors.chunks_exact_mut(d.max(1))).enumerate() {
            let of_sequence = &memory[span.rows.start * d..span.rows.end * d];
            match (pooling, finals.last()) {
                (Pooling::Mean, _) => mean_rows(&Lengths::full(1, span.rows.len()), d, of_sequence, out),
                (Pooling::First, _) => out.copy_from_slice(&of_sequence[..d]),
                (Pooling::Last, Some(states)) => {
                    let width = states.len() / rows.spans.len();
                    out.copy_from_slice(&states[number * width..][..d]);
                }
                (Pooling::Last, None) => out.copy_from_slice(&of_sequence[of_sequence.len() - d..]),
            }
        }
        vectors
    }
}

/// The output at every position of each sequence of `src`, whose tokens have embeddings in `table`.
pub(super) fn outputs(
    encoder: &Stack<Packed, Encoder<Packed>>,
    table: &Arc<Matrix>,
    src: &Padded,
    precision: Precision,
) -> Vec<Vec<f32>> {
    let mut outputs = Vec::with_capacity(src.rows());
    encode(encoder, table, src, precision, &ScratchPool::default(), |encoded, rows| {
        let d = encoded.memory.len() / rows.positions.len().max(1);
        let of_span = |span: &Span| encoded.memory[span.rows.start * d..span.rows.end * d].to_vec();
        outputs.extend(rows.spans.iter().map(of_span));
    });
    outputs
}
