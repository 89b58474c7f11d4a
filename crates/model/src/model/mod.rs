//! The model of any architecture, and its interface for search.

mod forced;
mod parameters;
#[cfg(test)]
pub(crate) mod tests;

pub use forced::AlignmentHead;
pub use parameters::Parameter;

use std::collections::HashMap;
use std::sync::Arc;

use attentive_architecture::{self as architecture, Architecture, Body, Init, Pooling};
use attentive_base::batch::{Batch, IGNORE, Padded, Src, TokenId};
use attentive_decode::argmax;
use attentive_tape::{
    self as tape, AffineMap, Buffer, CrossEntropy, Lengths, LossSums, Losses, Param, TapeEpilogue, Value,
};

use crate::nn::{
    Decoder, Encoded, Encoder, Head, Initializer, Input, ParameterDeclaration, ParameterKind, Parameters,
    Pass, Sequence, Sequences, Stack, Stacks, Trained,
};

/// The loss of a batch, summed over all targets: a value whose gradients can be computed if the pass records,
/// and plain sums.
pub type Loss = CrossEntropy;

/// Rows whose logits [`Model::predict`] computes at a time.
const PREDICTED_ROWS: usize = 256;
/// The least length by which a vector is divided when it is normalized.
const SHORTEST: f64 = 1e-12;

/// A model of any architecture, with its weights. Clones share them: a change of one is a change of all.
#[derive(Clone, Debug)]
pub struct Model {
    pub layers: Stacks<Trained>,
    architecture: Arc<Architecture>,
    parameters: Vec<Param>,
}

/// The output of an encoder.
#[derive(Clone, Debug)]
pub struct EncoderOutput {
    /// An output vector for every position.
    pub sequence: Sequence,
    /// The final state of each layer of a recurrent encoder, `[batch, states · d_hidden]`.
    pub finals: Vec<Value>,
}

impl Model {
    /// Creates a new model, initialized by `init` from `seed`.
    pub fn new(architecture: &Architecture, init: Init, seed: u64) -> Self {
        let initializer = Initializer::new(architecture, init, seed);
        Self::with_values(architecture, &mut |declaration| initializer.draw(&declaration.name).into())
    }

    /// Creates a model without weights, only to [rehearse](attentive_tape::rehearse) with.
    pub fn imagined(architecture: &Architecture) -> Self {
        Self::with_values(architecture, &mut |declaration| Buffer::imagined(declaration.size()))
    }

    /// Creates a model of these `parameters`, which are those of the architecture; `buffer` puts the numbers
    /// of each into the memory of the [current device](attentive_device::current).
    pub fn from_parameters(
        architecture: &Architecture,
        parameters: Vec<Parameter>,
        buffer: impl Fn(ParameterKind, Vec<f32>) -> Buffer,
    ) -> Self {
        let mut parameters: HashMap<String, Parameter> =
            (parameters.into_iter()).map(|parameter| (parameter.name.clone(), parameter)).collect();
        Self::with_values(architecture, &mut |declaration| {
            let found = parameters.remove(&declaration.name).expect("no parameter is missing");
            buffer(declaration.kind, found.values)
        })
    }

    /// Creates a model whose parameters have the elements `values(declaration)`, row after row.
    pub fn with_values(
        architecture: &Architecture,
        values: &mut dyn FnMut(&ParameterDeclaration) -> Buffer,
    ) -> Self {
        let mut parameters = Parameters::new(values);
        Self {
            layers: Stacks::new(architecture, &mut parameters),
            architecture: Arc::new(architecture.clone()),
            parameters: parameters::in_order(parameters.into_made()),
        }
    }

    /// Returns the model without its weights.
    pub fn architecture(&self) -> &Architecture {
        &self.architecture
    }

    /// Encodes the source; `None` for a model without an encoder, or a batch without a source.
    pub fn encode(&self, batch: &Batch, pass: &Pass<'_>) -> Option<EncoderOutput> {
        let encoder = self.layers.body.encoder();
        let (encoder, src) = encoder.zip(batch.src())?;
        Some(self.encode_with(encoder, src, pass))
    }

    /// Encodes `src` with the layers of `encoder`.
    pub(crate) fn encode_with(
        &self,
        encoder: &Stack<Trained, Encoder<Trained>>,
        src: &Src,
        pass: &Pass<'_>,
    ) -> EncoderOutput {
        let lengths = src.lengths().clone();
        let mut sequences = Sequences::new(&lengths, pass);
        let x = match src {
            Src::Vectors { values, d_input, .. } => {
                let vectors = Value::new(values.clone(), [lengths.positions(), *d_input]);
                encoder.input.read_vectors(vectors, &mut sequences)
            }
            Src::Tokens(tokens) => {
                let table = self.layers.src_table();
                encoder.input.forward(&tokens.ids, table, &mut sequences)
            }
        };
        let x = pass.observe(|| "src".into(), x);
        let Encoded { memory: x, finals } = encoder.layers.forward(x, &mut sequences);
        EncoderOutput { sequence: Sequence { x, lengths }, finals }
    }

    /// The output of the last layer at every predicted position, under teacher forcing: `[rows, d]`.
    ///
    /// # Panics
    /// If the batch is for a model with other parts.
    fn last_layer(&self, batch: &Batch, pass: &Pass<'_>) -> Value {
        let (x, lengths) = match (&self.layers.body, &batch.inputs) {
            (Body::Encoder(encoder), Body::Encoder(src)) => {
                let memory = self.encode_with(encoder, src, pass);
                let x = match self.architecture.head {
                    architecture::HeadSpec::Sequence { pooling, .. } => pool(pooling, &memory),
                    _ => memory.sequence.x,
                };
                (x, src.lengths())
            }
            (Body::Decoder(decoder), Body::Decoder(tgt_in)) => {
                let x = self.embed_target(&decoder.input, tgt_in, pass);
                let lengths = &tgt_in.lengths;
                (decode(&decoder.layers, x, lengths, None, pass), lengths)
            }
            (Body::EncoderDecoder(encoder, decoder), Body::EncoderDecoder(src, tgt_in)) => {
                // First the target: the gradient of a table that both share is the sum of those of the
                // projection, the source and the target, in this order.
                let x = self.embed_target(&decoder.input, tgt_in, pass);
                let memory = self.encode_with(encoder, src, pass);
                let lengths = &tgt_in.lengths;
                let x = decode(&decoder.layers, x, lengths, Some(&memory), pass);
                (x, lengths)
            }
            _ => panic!("a batch for a model with other parts"),
        };
        self.head().prepared(x, &mut Sequences::new(lengths, pass))
    }

    /// The decoder's input.
    fn embed_target(&self, input: &Input<Trained>, tgt_in: &Padded, pass: &Pass<'_>) -> Value {
        let sequences = &mut Sequences::new(&tgt_in.lengths, pass);
        let x = input.forward(&tgt_in.ids, self.layers.tgt_table(), sequences);
        pass.observe(|| "tgt".into(), x)
    }

    /// Returns the pooled vector of each source of the batch, `[batch, d]`.
    ///
    /// # Panics
    /// If the model has no vector for a whole sequence.
    pub fn vectors(&self, batch: &Batch, pass: &Pass<'_>) -> Value {
        let pooling = match self.architecture.head {
            architecture::HeadSpec::Sequence { pooling, .. }
            | architecture::HeadSpec::Vector { pooling, .. } => Some(pooling),
            architecture::HeadSpec::Vocabulary(_) | architecture::HeadSpec::Positions(_) => None,
        };
        let (pooling, memory) = pooling.zip(self.encode(batch, pass)).expect("a vector");
        let vectors = pool(pooling, &memory);
        match self.architecture.head {
            architecture::HeadSpec::Vector { unit: true, .. } => {
                let [rows, d] = vectors.shape();
                let mut values = vectors.into_vec();
                values.chunks_exact_mut(d).for_each(normalize);
                Value::new(values, [rows, d])
            }
            _ => vectors,
        }
    }

    pub(crate) fn head(&self) -> &Head<Trained> {
        self.layers.head.as_ref().expect("a model that predicts")
    }

    /// The linear map from the output of the last layer to logits.
    pub(crate) fn projection(&self, pass: &Pass<'_>) -> AffineMap {
        self.layers.projection().as_map(pass)
    }

    /// Returns the label-smoothed loss of a batch, summed over all targets.
    pub fn loss(&self, batch: &Batch, label_smoothing: f64, pass: &Pass<'_>) -> Loss {
        self.loss_of(batch, &targets(&batch.tgt_out), label_smoothing, pass)
    }

    /// Like [`Model::loss`], for two passes over `batch` with different dropout, whose predictions are to
    /// agree (R-Drop: Wu et al. 2021): the mean of their losses, plus `strength` times the symmetric
    /// Kullback–Leibler divergence of their predictions. The pass is recorded by a probe for the first of
    /// them alone.
    pub fn consistent_loss(
        &self,
        batch: &Batch,
        label_smoothing: f64,
        strength: f64,
        pass: &Pass<'_>,
    ) -> Loss {
        let passes = [self.last_layer(batch, pass), self.last_layer(batch, &pass.twin())];
        let (projection, precision) = (self.projection(pass), pass.precision());
        let (targets, weights) = (targets(&batch.tgt_out), row_weights(batch));
        let weights = weights.as_deref();
        let Loss { loss, losses } = tape::consistent_cross_entropy(
            passes,
            projection,
            &targets,
            weights,
            label_smoothing,
            strength,
            precision,
        );
        Loss { loss: pass.observe(|| "projection".into(), loss), losses }
    }

    /// The loss of the `targets` of all rows; [`IGNORE`] for none.
    pub(crate) fn loss_of(
        &self,
        batch: &Batch,
        targets: &[u32],
        label_smoothing: f64,
        pass: &Pass<'_>,
    ) -> Loss {
        let x = self.last_layer(batch, pass);
        let (projection, precision) = (self.projection(pass), pass.precision());
        let weights = row_weights(batch);
        let Loss { loss, losses } =
            tape::cross_entropy(x, projection, targets, weights.as_deref(), label_smoothing, precision);
        Loss { loss: pass.observe(|| "projection".into(), loss), losses }
    }

    /// Returns the sums of the teacher-forced loss of `batches`, without dropout.
    pub fn sums(&self, batches: &[Batch], label_smoothing: f64) -> LossSums {
        let mut total = LossSums::default();
        let each = self.sums_of_each(batches, label_smoothing).into_iter();
        each.for_each(|sums| total += sums);
        total
    }

    /// Like [`Model::sums`], for each batch.
    pub fn sums_of_each(&self, batches: &[Batch], label_smoothing: f64) -> Vec<LossSums> {
        let pass = Pass::inference();
        let losses = |batch| self.loss(batch, label_smoothing, &pass).losses;
        Losses::all(&Vec::from_iter(batches.iter().map(losses)))
    }

    /// Returns the logits `[rows, classes]` of every position of the batch (or every sequence, for a
    /// classifier), under teacher forcing.
    pub fn forward(&self, batch: &Batch, pass: &Pass<'_>) -> Value {
        self.logits(self.last_layer(batch, pass), pass)
    }

    /// Returns the most likely token or label of every position of the batch (or every sequence), under
    /// teacher forcing.
    pub fn predict(&self, batch: &Batch) -> Vec<TokenId> {
        let pass = &Pass::inference();
        let x = self.last_layer(batch, pass);
        let [rows, _] = x.shape();
        let chunks = (0..rows).step_by(PREDICTED_ROWS);
        let predict = |first| {
            let rows = tape::row_range(x.clone(), first..rows.min(first + PREDICTED_ROWS));
            argmax(self.logits(rows, pass))
        };
        chunks.flat_map(predict).collect()
    }

    /// Applies the projection.
    fn logits(&self, x: Value, pass: &Pass<'_>) -> Value {
        tape::linear(x, vec![self.projection(pass)], TapeEpilogue::plain(pass.precision()))
    }
}

/// The last layer of a decoder at every position of the embedded targets `x`.
fn decode(
    decoder: &Decoder<Trained>,
    x: Value,
    lengths: &Lengths,
    memory: Option<&EncoderOutput>,
    pass: &Pass<'_>,
) -> Value {
    let sequences = Sequences::new(lengths, pass).with_memory(memory.map(|memory| &memory.sequence));
    match decoder {
        Decoder::Transformer(stack) => stack.forward(x, &mut { sequences }),
        Decoder::Recurrent(stack) => {
            let finals = memory.map_or(&[][..], |memory| &memory.finals);
            stack.decode(x, sequences.starting_from(stack.initial(lengths.rows(), finals)))
        }
    }
}

/// Pools each sequence into one vector, `[batch, d]`.
fn pool(pooling: Pooling, EncoderOutput { sequence, finals }: &EncoderOutput) -> Value {
    match (pooling, finals.last()) {
        (Pooling::Mean, _) => tape::mean_rows(sequence.x.clone(), &sequence.lengths),
        (Pooling::First, _) => tape::select_rows(sequence.x.clone(), &sequence.lengths.first_rows()),
        (Pooling::Last, Some(state)) => {
            let [_, d] = sequence.x.shape();
            tape::columns(state.clone(), 0..d)
        }
        (Pooling::Last, None) => tape::select_rows(sequence.x.clone(), &sequence.lengths.last_rows()),
    }
}

/// Divides a vector by its length.
pub(crate) fn normalize(vector: &mut [f32]) {
    let squares = vector.iter().map(|&x| f64::from(x) * f64::from(x));
    let length = squares.sum::<f64>().sqrt().max(SHORTEST);
    for x in vector {
        *x = (f64::from(*x) / length) as f32;
    }
}

/// The factors of the losses of all positions of `batch`; `None` if all are 1.
fn row_weights(batch: &Batch) -> Option<Vec<f32>> {
    let width = batch.tgt_out.width();
    let each = |&weight: &f32| std::iter::repeat_n(weight, width);
    (!batch.weights.is_empty()).then(|| batch.weights.iter().flat_map(each).collect())
}

/// The target of every row; [`IGNORE`] at padding.
pub(crate) fn targets(tgt_out: &Padded) -> Vec<u32> {
    let lengths = tgt_out.lengths.clone();
    let ids = lengths.mask().zip(&tgt_out.ids);
    ids.map(|(ignored, &id)| if ignored { IGNORE } else { id }).collect()
}
