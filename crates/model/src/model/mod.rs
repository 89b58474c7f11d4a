//! The model of any architecture, and its interface for search.

mod forced;
mod parameters;
#[cfg(test)]
pub(crate) mod tests;

pub use parameters::Parameter;

use std::collections::HashMap;
use std::sync::Arc;

use attentive_architecture::{self as architecture, Architecture, Init, Items, Pooling};
use attentive_base::batch::{Batch, IGNORE, Padded, TokenId};
use attentive_decode::argmax;
use attentive_tape::{self as tape, Buffer, CrossEntropy, Epilogue, LossSums, Map, Param, Value};

use crate::nn::{
    Construction, Embedding, Ids, Initial, Initializer, Input, Labels, Pass, RecurrentDecoder,
    RecurrentEncoder, Sequence, TransformerDecoder, TransformerEncoder, Vocabulary,
};

/// The loss of a batch, summed over all targets: a value whose gradients can be computed if the pass records, and plain sums.
pub type Loss = CrossEntropy;

/// Rows whose logits [`Model::predict`] computes at a time.
const PREDICTED_ROWS: usize = 256;
/// The least length by which a vector is divided when it is normalized.
const SHORTEST: f64 = 1e-12;

/// A model of any architecture, with its weights. Clones share them: a change of one is a change of all.
#[derive(Clone, Debug)]
pub struct Model {
    /// The encoder's input.
    pub src: Option<Input>,
    /// The decoder's input.
    pub tgt: Option<Input>,
    /// The encoder.
    pub encoder: Option<Encoder>,
    /// The decoder.
    pub decoder: Option<Decoder>,
    /// The output layer; absent in a model that is only an encoder.
    pub head: Option<Head>,
    architecture: Arc<Architecture>,
    parameters: Vec<Param>,
}

/// A stack that reads whole sequences.
// Each model has only one, so its size does not matter.
#[allow(clippy::large_enum_variant)]
#[derive(Clone, Debug)]
pub enum Encoder {
    /// Transformer layers.
    Transformer(TransformerEncoder),
    /// Recurrent layers.
    Recurrent(RecurrentEncoder),
}

/// A stack that writes token by token.
// Each model has only one, so its size does not matter.
#[allow(clippy::large_enum_variant)]
#[derive(Clone, Debug)]
pub enum Decoder {
    /// Transformer layers.
    Transformer(TransformerDecoder),
    /// Recurrent layers.
    Recurrent(RecurrentDecoder),
}

/// The output layer.
// Each model has only one, so its size does not matter.
#[allow(clippy::large_enum_variant)]
#[derive(Clone, Debug)]
pub enum Head {
    /// A token for every position.
    Vocabulary(Vocabulary),
    /// A label for every position.
    Positions(Labels),
    /// A label for the whole sequence.
    Sequence(Labels),
}

/// The output of an encoder.
#[derive(Clone, Debug)]
pub struct Memory {
    /// An output vector for every position.
    pub sequence: Sequence,
    /// The final state of each layer of a recurrent encoder, `[batch, states · d_hidden]`.
    pub finals: Vec<Value>,
}

impl Model {
    /// Creates a new model, initialized by `init` from `seed`.
    pub fn new(architecture: &Architecture, init: Init, seed: u64) -> Self {
        let initializer = Initializer::new(architecture, init, seed);
        Self::with_values(architecture, &mut |name| initializer.draw(name))
    }

    /// Creates a model without weights, only to [rehearse](attentive_tape::rehearse) with.
    pub fn imagined(architecture: &Architecture) -> Self {
        let shapes: HashMap<String, Vec<usize>> = (architecture.parameters().into_iter())
            .map(|parameter| (parameter.name, parameter.shape))
            .collect();
        Self::with_values(architecture, &mut |name| {
            let shape = shapes[name].clone();
            let values = Buffer::imagined(shape.iter().product());
            Initial { shape, values }
        })
    }

    /// Creates a model whose parameters are `values(name)` for the names of [`Architecture::parameters`].
    pub fn with_values(
        architecture: &Architecture,
        values: &mut dyn FnMut(&str) -> Initial,
    ) -> Self {
        let construction = Construction::new(values);
        let root = construction.root();
        // Dropout sites are numbered in this order, and masks depend on their numbers.
        let encoder = architecture.encoder.as_ref();
        let encoder = encoder.map(|stack| Encoder::new(stack, root.at("encoder")));
        let decoder = architecture.decoder.as_ref();
        let decoder = decoder.map(|stack| Decoder::new(stack, root.at("decoder")));
        let input = |input: &Option<architecture::Input>, name| {
            let input = input.as_ref()?;
            Some(Input::new(input, architecture.max_len, root.at(name)))
        };
        let src = input(&architecture.src, "src");
        let tgt = input(&architecture.tgt, "tgt");
        let head = Head::new(&architecture.head, root.at("head"));
        Self {
            encoder,
            decoder,
            src,
            tgt,
            head,
            architecture: Arc::new(architecture.clone()),
            parameters: parameters::in_order(construction.parameters()),
        }
    }

    /// Returns the model without its weights.
    pub fn architecture(&self) -> &Architecture {
        &self.architecture
    }

    /// Encodes the source.
    ///
    /// # Panics
    /// If the model has no encoder.
    pub fn encode(&self, batch: &Batch, pass: &Pass<'_>) -> Memory {
        let (input, encoder) = (self.src.as_ref())
            .zip(self.encoder.as_ref())
            .expect("a model with an encoder");
        let lengths = batch.src.lengths.clone();
        let rows = lengths.rows();
        let x = match &self.architecture.src {
            Some(architecture::Input {
                items: Items::Vectors,
                d_model,
                ..
            }) => {
                let vectors = batch.vectors.clone();
                let vectors = Value::new(vectors, [lengths.positions(), *d_model]);
                input.read_vectors(vectors, rows, pass)
            }
            _ => {
                let ids = Ids {
                    ids: &batch.src.ids,
                    rows,
                };
                input.forward(self.src_table(), ids, pass)
            }
        };
        pass.observe(|| "src".into(), &x);
        encoder.forward(Sequence { x, lengths }, pass)
    }

    /// The output of the last layer at every predicted position, under teacher forcing: `[rows, d]`.
    fn last_layer(&self, batch: &Batch, pass: &Pass<'_>) -> Value {
        // First the target: the gradient of a table that both share is the sum of those of the projection, the source and
        // the target, in this order.
        let tgt = self.tgt.as_ref();
        let tgt = tgt.map(|input| self.embed_target(input, &batch.tgt_in, pass));
        let memory = self.encoder.as_ref().map(|_| self.encode(batch, pass));
        match (self.head(), self.decoder.as_ref().zip(tgt), memory) {
            (Head::Vocabulary(head), Some((decoder, tgt)), memory) => {
                head.prepared(decoder.forward(tgt, memory.as_ref(), pass), pass)
            }
            (Head::Vocabulary(head), None, Some(memory)) => head.prepared(memory.sequence.x, pass),
            (Head::Positions(labels), _, Some(memory)) => labels.prepared(memory.sequence.x, pass),
            (Head::Sequence(labels), _, Some(memory)) => labels.prepared(self.pool(&memory), pass),
            (_, _, None) => panic!("a model without a stack"),
        }
    }

    /// The decoder's input.
    fn embed_target(&self, input: &Input, tgt_in: &Padded, pass: &Pass<'_>) -> Sequence {
        let ids = Ids {
            ids: &tgt_in.ids,
            rows: tgt_in.rows(),
        };
        let x = input.forward(self.tgt_table(), ids, pass);
        pass.observe(|| "tgt".into(), &x);
        let lengths = tgt_in.lengths.clone();
        Sequence { x, lengths }
    }

    /// Pools each sequence into one vector, `[batch, d]`.
    fn pool(&self, memory: &Memory) -> Value {
        let pooling = match self.architecture.head {
            architecture::Head::Sequence { pooling, .. }
            | architecture::Head::Vector { pooling, .. } => pooling,
            _ => panic!("a head over whole sequences"),
        };
        let Memory { sequence, finals } = memory;
        match (pooling, finals.last()) {
            (Pooling::Mean, _) => tape::mean_rows(sequence.x.clone(), &sequence.lengths),
            (Pooling::First, _) => {
                tape::select_rows(sequence.x.clone(), &sequence.lengths.first_rows())
            }
            (Pooling::Last, Some(state)) => {
                let [_, d] = sequence.x.shape();
                tape::columns(state.clone(), 0..d)
            }
            (Pooling::Last, None) => {
                tape::select_rows(sequence.x.clone(), &sequence.lengths.last_rows())
            }
        }
    }

    /// Returns the pooled vector of each source of the batch, `[batch, d]`.
    ///
    /// # Panics
    /// If the model has no vector for a whole sequence.
    pub fn vectors(&self, batch: &Batch, pass: &Pass<'_>) -> Value {
        let vectors = self.pool(&self.encode(batch, pass));
        match self.architecture.head {
            architecture::Head::Vector { unit: true, .. } => {
                let [rows, d] = vectors.shape();
                let mut values = vectors.into_vec();
                values.chunks_exact_mut(d).for_each(normalize);
                Value::new(values, [rows, d])
            }
            _ => vectors,
        }
    }

    fn head(&self) -> &Head {
        self.head.as_ref().expect("a model that predicts")
    }

    fn src_table(&self) -> &Embedding {
        let table = self.src.as_ref().and_then(|src| src.embedding.as_ref());
        table.expect("an encoder of tokens has a table of embeddings")
    }

    fn tgt_table(&self) -> &Embedding {
        let own = self.tgt.as_ref().and_then(|tgt| tgt.embedding.as_ref());
        own.unwrap_or_else(|| self.src_table())
    }

    /// The linear map from the output of the last layer to logits.
    fn projection(&self, pass: &Pass<'_>) -> Map {
        match (self.head(), &self.decoder) {
            (Head::Vocabulary(head), Some(_)) => head.as_map(Some(self.tgt_table()), pass),
            (Head::Vocabulary(head), None) => {
                let table = self.src.as_ref().and_then(|src| src.embedding.as_ref());
                head.as_map(table, pass)
            }
            (Head::Positions(labels) | Head::Sequence(labels), _) => labels.as_map(pass),
        }
    }

    /// Returns the label-smoothed loss of a batch, summed over all targets.
    pub fn loss(&self, batch: &Batch, label_smoothing: f64, pass: &Pass<'_>) -> Loss {
        let x = self.last_layer(batch, pass);
        let (projection, targets) = (self.projection(pass), targets(&batch.tgt_out));
        let precision = pass.precision();
        let loss = tape::cross_entropy(x, projection, &targets, label_smoothing, precision);
        pass.observe(|| "projection".into(), &loss.loss);
        loss
    }

    /// Returns the sums of the teacher-forced loss of `batches`, without dropout.
    pub fn sums(&self, batches: &[Batch], label_smoothing: f64) -> LossSums {
        let mut total = LossSums::default();
        for batch in batches {
            total += self.loss(batch, label_smoothing, &Pass::inference()).sums;
        }
        total
    }

    /// Returns the logits `[rows, classes]` of every position of the batch (or every sequence, for a classifier), under teacher
    /// forcing.
    pub fn forward(&self, batch: &Batch, pass: &Pass<'_>) -> Value {
        self.logits(self.last_layer(batch, pass), pass)
    }

    /// Returns the most likely token or label of every position of the batch (or every sequence), under teacher forcing.
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
        tape::linear(
            x,
            vec![self.projection(pass)],
            Epilogue::plain(pass.precision()),
        )
    }
}

impl Encoder {
    fn new(stack: &architecture::Encoder, scope: crate::nn::Scope<'_>) -> Self {
        match stack {
            architecture::Encoder::Transformer(stack) => {
                Self::Transformer(TransformerEncoder::new(stack, scope))
            }
            architecture::Encoder::Recurrent(stack) => {
                Self::Recurrent(RecurrentEncoder::new(stack, scope))
            }
        }
    }

    fn forward(&self, src: Sequence, pass: &Pass<'_>) -> Memory {
        match self {
            Self::Transformer(stack) => Memory {
                sequence: stack.forward(src, pass),
                finals: Vec::new(),
            },
            Self::Recurrent(stack) => {
                let encoded = stack.forward(src.x, &src.lengths, pass);
                Memory {
                    sequence: Sequence {
                        x: encoded.memory,
                        lengths: src.lengths,
                    },
                    finals: encoded.finals,
                }
            }
        }
    }
}

impl Decoder {
    fn new(stack: &architecture::Decoder, scope: crate::nn::Scope<'_>) -> Self {
        match stack {
            architecture::Decoder::Transformer(stack) => {
                Self::Transformer(TransformerDecoder::new(stack, scope))
            }
            architecture::Decoder::Recurrent(stack) => {
                Self::Recurrent(RecurrentDecoder::new(stack, scope))
            }
        }
    }

    fn forward(&self, tgt: Sequence, memory: Option<&Memory>, pass: &Pass<'_>) -> Value {
        let sequence = memory.map(|memory| &memory.sequence);
        match self {
            Self::Transformer(stack) => stack.forward(tgt, sequence, pass),
            Self::Recurrent(stack) => {
                let finals = memory.map_or(&[][..], |memory| &memory.finals);
                stack.forward(tgt, sequence, finals, pass)
            }
        }
    }
}

impl Head {
    fn new(head: &architecture::Head, scope: crate::nn::Scope<'_>) -> Option<Self> {
        Some(match head {
            architecture::Head::Vocabulary(head) => Self::Vocabulary(Vocabulary::new(head, scope)),
            architecture::Head::Positions(labels) => Self::Positions(Labels::new(labels, scope)),
            architecture::Head::Sequence { labels, .. } => {
                Self::Sequence(Labels::new(labels, scope))
            }
            architecture::Head::Vector { .. } => return None,
        })
    }
}

/// Divides a vector by its length.
fn normalize(vector: &mut [f32]) {
    let squares = vector.iter().map(|&x| f64::from(x) * f64::from(x));
    let length = squares.sum::<f64>().sqrt().max(SHORTEST);
    for x in vector {
        *x = (f64::from(*x) / length) as f32;
    }
}

/// The target of every row; [`IGNORE`] at padding.
fn targets(tgt_out: &Padded) -> Vec<u32> {
    let lengths = tgt_out.lengths.clone();
    let ids = lengths.mask().zip(&tgt_out.ids);
    ids.map(|(ignored, &id)| if ignored { IGNORE } else { id })
        .collect()
}
