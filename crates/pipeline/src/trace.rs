//! Every operation of a model for one sentence.

use attentive_architecture::DecoderSpec;
use attentive_base::batch::{Batch, Padded};
use attentive_base::body::Body;
use attentive_base::error::{Error, Result};
use attentive_config::Task;
use attentive_model::trace::{GradientNorms, TraceOptions, TracedOperation};

use super::inspect::{InspectionInput, InspectionTarget, batch_of};
use super::{Pipeline, Warning};

/// The most tokens or labels by which the columns of logits are named.
const MOST_CLASSES: usize = 1000;

/// What to trace.
#[derive(Clone, Debug, Default)]
pub struct TraceRequest<'a> {
    /// The translation that the decoder reads; the model's own if there is none.
    pub target: Option<&'a str>,
    /// What is shown.
    pub options: TraceOptions,
    /// The predictions whose loss goes backward.
    pub backward: Option<LossPosition>,
}

/// The predictions whose loss goes backward.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossPosition {
    /// All predictions.
    All,
    /// The prediction at this position of the decoder's input, counted from 0.
    At(usize),
    /// The last prediction.
    Last,
}

/// A traced sentence. Tokens are spelled as in the vocabulary.
#[derive(Clone, Debug)]
pub struct Trace {
    /// The tokens that the encoder reads; empty for a model without an encoder.
    pub src: Vec<String>,
    /// The tokens that the decoder reads; empty for a model without a decoder.
    pub tgt: Vec<String>,
    /// The token that follows each of them; may be missing for the last.
    pub next: Vec<String>,
    /// The tokens or labels of the columns of logits; empty if there are too many to be shown.
    pub classes: Vec<String>,
    /// The prediction whose loss went backward, if it was only one.
    pub backward_from: Option<usize>,
    /// The operations in the order of computation.
    pub operations: Vec<TracedOperation>,
    /// The gradients of the loss, if wanted.
    pub gradients: Option<GradientNorms>,
    /// Problems with the text.
    pub warnings: Vec<Warning>,
}

impl Trace {
    /// Returns the tokens of the rows of an operation's result: `None` if its rows are no positions.
    pub fn row_tokens<'a>(&'a self, operation: &TracedOperation) -> Option<&'a [String]> {
        let name = &operation.name;
        let is_of_source = reads_source(name) && (name.ends_with(".key") || name.ends_with(".value"));
        let tokens = match operation.position {
            _ if is_of_source => &self.src[..],
            Some(position) => self.tgt.get(position..=position)?,
            None => self.own_tokens(name),
        };
        let shape = &operation.result.shape;
        (shape[shape.len() - 2] == tokens.len()).then_some(tokens)
    }

    /// Returns the tokens of the columns of an operation's result: `None` if its columns are features.
    pub fn column_tokens<'a>(&'a self, operation: &TracedOperation) -> Option<&'a [String]> {
        let name = &operation.name;
        let (_, part) = name.rsplit_once('.')?;
        if matches!(&**name, "head.logits" | "head.probabilities") {
            return (!self.classes.is_empty()).then_some(&self.classes);
        }
        let tokens = if reads_source(name) { &self.src[..] } else { self.own_tokens(name) };
        let fits = operation.result.shape.last() == Some(&tokens.len());
        (fits && matches!(part, "scores" | "bias" | "mask" | "weights")).then_some(tokens)
    }

    /// Returns true if what has this name belongs to the side of the source.
    pub fn is_source(&self, name: &str) -> bool {
        matches!(name.split('.').next(), Some("src" | "encoder")) || self.tgt.is_empty()
    }

    /// The tokens of the stack to which the operation belongs.
    fn own_tokens(&self, name: &str) -> &[String] {
        if self.is_source(name) { &self.src } else { &self.tgt }
    }
}

impl InspectionInput {
    /// Returns every operation of the model for the sentence.
    ///
    /// # Errors
    /// Those of [`Pipeline::trace`].
    pub fn trace(self, pipeline: &Pipeline) -> Result<Trace> {
        pipeline.trace_of(self, &TraceRequest::default())
    }
}

/// Whether the operation belongs to the attention of a decoder to the source.
fn reads_source(name: &str) -> bool {
    name.contains(".cross_attention.") || name.starts_with("decoder.attention.")
}

impl Pipeline {
    /// Runs the model on `text`, and returns every operation with its values, under teacher forcing.
    ///
    /// # Errors
    /// [`Error::Usage`] for a blank sentence, for a target with a model that does not translate, for models
    /// that read vectors, for gradients of a model that does not predict token after token, and for a
    /// position that there is not.
    pub fn trace(&self, text: &str, request: &TraceRequest<'_>) -> Result<Trace> {
        let target = request.target.map_or(InspectionTarget::Own, InspectionTarget::Text);
        self.trace_of(self.sentence(text, target)?, request)
    }

    fn trace_of(&self, input: InspectionInput, request: &TraceRequest<'_>) -> Result<Trace> {
        let InspectionInput { example, warnings } = input;
        let Some(example) = example else {
            return Err(Error::usage("the sentence is blank", "give some text"));
        };
        let (model, batch) = (self.model(), batch_of(&example));
        self.check_position(request.options.only.position, example.tgt_in().len())?;
        let operations = model.trace(&batch, request.options.clone());
        let (backward_from, gradients) = match request.backward {
            None => (None, None),
            Some(position) => {
                let (position, gradients) = self.gradients(&batch, &example.tgt_out, position)?;
                (position, Some(gradients))
            }
        };
        let n_classes = self.architecture.head.n_classes();
        let classes: Vec<u32> =
            if n_classes <= MOST_CLASSES { (0..n_classes as u32).collect() } else { Vec::new() };
        let (tgt_tokenizer, [src, tgt]) = (self.tokenizers.tgt(), self.tokens_read(&example));
        Ok(Trace {
            src,
            tgt,
            next: match self.config.model.family.task() {
                Task::Translate | Task::Generate => tgt_tokenizer.spelled(&example.tgt_out),
                _ => Vec::new(),
            },
            classes: tgt_tokenizer.spelled(&classes),
            backward_from,
            operations,
            gradients,
            warnings,
        })
    }

    /// Refuses a position that is not computed by itself.
    fn check_position(&self, position: Option<usize>, len: usize) -> Result<()> {
        let Some(position) = position else { return Ok(()) };
        if !matches!(self.architecture.decoder(), Some(DecoderSpec::Recurrent(_))) {
            let problem = "this model computes all positions at once";
            return Err(Error::usage(problem, "leave out the position: each is a row of the values"));
        }
        if position >= len {
            let problem = format!("there is no position {position}: the decoder reads {len}");
            return Err(Error::usage(problem, "positions are counted from 0"));
        }
        Ok(())
    }

    /// The gradients, and the prediction whose loss went backward if it was only one.
    fn gradients(
        &self,
        batch: &Batch,
        targets: &[u32],
        position: LossPosition,
    ) -> Result<(Option<usize>, GradientNorms)> {
        let task = self.config.model.family.task();
        if !matches!(task, Task::Translate | Task::Generate) {
            let problem = "this model does not predict one token after the other";
            return Err(Error::usage(problem, "leave out the backward pass"));
        }
        if targets.is_empty() {
            let problem = "one token alone predicts nothing that is known";
            return Err(Error::usage(problem, "give a longer text, or leave out the backward pass"));
        }
        let position = match position {
            LossPosition::All => None,
            LossPosition::Last => Some(targets.len() - 1),
            LossPosition::At(position) => Some(position),
        };
        if let Some(position) = position.filter(|&position| position >= targets.len()) {
            let problem =
                format!("there is no prediction at position {position}: there are {}", targets.len());
            return Err(Error::usage(problem, "positions are counted from 0"));
        }
        // The last token of a stream predicts nothing that is known.
        let read = |tgt_in: &Padded| Padded::single(&tgt_in.ids[..targets.len().min(tgt_in.ids.len())]);
        let inputs = match &batch.inputs {
            Body::Decoder(tgt_in) => Body::Decoder(read(tgt_in)),
            Body::EncoderDecoder(src, tgt_in) => Body::EncoderDecoder(src.clone(), read(tgt_in)),
            Body::Encoder(src) => Body::Encoder(src.clone()),
        };
        let batch = Batch { tgt_out: Padded::single(targets), ..Batch::of(inputs) };
        Ok((position, self.model().gradient_norms(&batch, position)))
    }
}
