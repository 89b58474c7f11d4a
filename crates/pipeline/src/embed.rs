//! Text vectors.

use attentive_architecture::{InputSpec, Items};
use attentive_base::batch::{Padded, Src};
use attentive_base::error::{Error, Result};
use attentive_base::interrupt::Interrupt;
use attentive_config::Task;
use attentive_data::Example;
use serde::Serialize;

use super::batches::batches;
use super::tokenized_line::TokenizedLine;
use super::{Pipeline, Warning};

/// The vector of a line.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Embedded {
    /// `model.d_model` values (for a recurrent encoder `model.recurrent.d_hidden`); `None` for a blank line.
    pub vector: Option<Vec<f32>>,
    /// Problems with the line.
    pub warnings: Vec<Warning>,
}

impl Pipeline {
    /// Refuses a model that [`Pipeline::embed`] cannot use.
    ///
    /// # Errors
    /// [`Error::Usage`] for a model without a text encoder.
    pub fn require_encoder(&self) -> Result<()> {
        let reads_tokens = |input: &InputSpec| matches!(input.items, Items::Tokens { .. });
        let architecture = self.architecture();
        let labels = matches!(architecture.task(), Task::Tag);
        if architecture.src().is_some_and(reads_tokens) && !labels { Ok(()) } else { Err(no_encoder()) }
    }

    /// Returns the vector of each line: the average of the encoder's outputs over the line's tokens, without
    /// special tokens. For a model that is only an encoder, the configuration selects the pooling, which
    /// includes the special tokens.
    ///
    /// Control characters are read as blanks, and only the beginning of a line that is too long for the model
    /// is read; both cause warnings.
    ///
    /// # Errors
    /// [`Error::Usage`] for a model without a text encoder; [`Error::Data`] if its outputs are NaN or
    /// infinite.
    pub fn embed<L: AsRef<str> + Sync>(&self, first_line: usize, lines: &[L]) -> Result<Vec<Embedded>> {
        self.require_encoder()?;
        let sources = TokenizedLine::read_all(first_line, lines, |line| TokenizedLine::read(line, self))?;
        let examples = sources.iter().enumerate();
        let examples = examples
            .filter(|(_, source)| !source.ids.is_empty())
            .map(|(line, source)| Example::tokens(source.ids.clone(), line))
            .collect();
        let mut vectors = vec![None; lines.len()];
        for batch in batches(examples, self.tokenizers.src().special(), None)? {
            Interrupt::check()?;
            let Some(Src::Tokens(tokens)) = batch.src() else {
                return Err(no_encoder());
            };
            let found = self.computing(|| match self.architecture().task() {
                Task::Embed => Ok(self.encoder().vectors(tokens)),
                _ => Ok(self.means(tokens)),
            })?;
            for (&line, vector) in batch.lines.iter().zip(found) {
                if !vector.iter().all(|value| value.is_finite()) {
                    return Err(Error::damaged_model("the model gives a text no vector"));
                }
                vectors[line] = Some(vector);
            }
        }
        let answers = vectors.into_iter().zip(sources);
        Ok(answers.map(|(vector, source)| Embedded { vector, warnings: source.warnings }).collect())
    }

    /// The average of each sequence's vectors, excluding the special tokens around the text.
    fn means(&self, src: &Padded) -> Vec<Vec<f32>> {
        let outputs = if self.decodes() {
            self.stepper().encoder_outputs(src).expect("an encoder was required")
        } else {
            self.encoder().outputs(src)
        };
        let special = self.tokenizers.src().special();
        let (first, last) = (special.n_first(), special.n_last());
        let means = outputs.iter().zip(src.lens()).map(|(output, &len)| {
            let width = output.len() / len;
            mean(&output[first * width..(len - last) * width], width)
        });
        means.collect()
    }
}

fn no_encoder() -> Error {
    Error::usage(
        "this model has no text encoder",
        "use a model of the family `encoder`, `encoder_only`, `transformer`, `seq2seq` or `classifier`",
    )
}

/// The average of vectors of width `width`.
fn mean(vectors: &[f32], width: usize) -> Vec<f32> {
    let mut sums = vec![0.0; width];
    for vector in vectors.chunks_exact(width) {
        for (sum, &value) in sums.iter_mut().zip(vector) {
            *sum += f64::from(value);
        }
    }
    let count = (vectors.len() / width) as f64;
    sums.into_iter().map(|sum| (sum / count) as f32).collect()
}
