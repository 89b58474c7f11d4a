//! Predicts the memory use of training before the first update.

mod dry_run;
mod machine;
mod unread;

pub(super) use machine::{limit, resident};

use attentive_architecture::{Architecture, DecoderSpec, EncoderSpec};
use attentive_base::error::{Error, Result};
use attentive_base::platform::peak_ram;
use attentive_config::{Config, OptimizerKind};
use attentive_data::BatchSize;
use attentive_device::{HardwareMemory, RowLosses};
use attentive_model::nn::{Blueprint, ParameterDeclaration};
use attentive_tape::Float;

use super::frozen::Frozen;
use super::optimizer::slots;
use super::partial_sums::{max_at_once, max_copies};

pub(super) const MB: f64 = 1e6;
const FLOAT: f64 = 4.0;

/// RAM used without a model: code, libraries and tokenizer.
const PROGRAM: f64 = if cfg!(feature = "mpi") { 72.0 } else { 69.0 } * MB;
/// RAM that an MPI library uses for its connections.
const CONNECTIONS: f64 = 16.0 * MB;
/// RAM per thread: its stack, packed matrix panels and attention scores.
const THREAD: f64 = 4.0 * MB;
/// RAM that the driver of a GPU uses, with the shaders of training and of validations. Measured with
/// lavapipe, which computes in software.
const DRIVER: f64 = 150.0 * MB;
/// How much larger a buffer of a GPU may be than what it is needed for, since it is used again for others.
const ROUNDING: f64 = 1.25;
/// The number of rows of logits that the CPU holds at a time.
const LOGIT_ROWS: f64 = 256.0;

/// The predicted use of RAM and of a GPU's memory, in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MemoryEstimate {
    /// RAM for weights, gradients, optimizer state, and a copy of the weights while a checkpoint is written.
    /// With a GPU, which has its own, RAM for copies: of the weights and the optimizer state while a
    /// checkpoint is written, and of the weights to translate with.
    pub model: f64,
    /// RAM for activations kept for the backward pass and gradients in flight, and free buffers, as a
    /// [rehearsal](attentive_tape::rehearse) counts them. With a GPU that shares the RAM, also for logits and
    /// results of updates that are not read yet.
    pub activations: f64,
    /// RAM for the encoded corpora.
    pub data: f64,
    /// RAM for everything else.
    pub rest: f64,
    /// Memory of the GPU for weights, gradients, optimizer state, activations, logits and results of updates
    /// that are not read yet; 0 if they are in RAM. For reuse, the GPU keeps more as long as it has it.
    pub on_gpu: f64,
}

/// The inputs of the prediction, apart from the batch size.
#[derive(Clone, Copy, Debug)]
pub(super) struct Subject<'a> {
    /// The run's configuration.
    pub(super) config: &'a Config,
    /// The model.
    pub(super) architecture: &'a Architecture,
    /// The parameters that are not trained.
    pub(super) frozen: &'a Frozen,
    /// The size of the encoded corpora in bytes.
    pub(super) data: usize,
    /// The RAM that the process uses before the model is made, in bytes; 0 if it is not known. Reading the
    /// corpora may have left more than they take, since allocators keep some of what was freed.
    pub(super) resident: u64,
    /// The number of compute threads.
    pub(super) threads: usize,
    /// The number of processes that share the work.
    pub(super) processes: usize,
    /// Where the buffers of the GPU are; `None` on the CPU.
    pub(super) gpu: Option<HardwareMemory>,
}

impl MemoryEstimate {
    /// Predicts the peak memory use of training with batches of these sizes.
    pub(super) fn predict(subject: &Subject<'_>, batches: &[BatchSize]) -> Self {
        let config = subject.config;
        let architecture = subject.architecture;
        let head = &architecture.head;
        let (d, vocab) = (head.d_in() as f64, head.n_classes() as f64);
        let (n_batches, n) = (config.train.micro_batches_per_update as u64, subject.processes as u64);
        // Includes the gradients that are sent and received.
        let gradients = match n {
            1 => f64::from(max_at_once(n_batches)),
            n => max_copies(n_batches, n) as f64,
        };
        let processes = n as f64;
        let slots = slots(&config.train) as f64 / processes;
        let connections = if n == 1 { 0.0 } else { CONNECTIONS };
        let n_weights = Blueprint::new(architecture).n_weights() as f64;
        let n_trained = n_weights - subject.frozen.n_weights() as f64;
        let logits = |rows: f64| FLOAT * rows * (vocab + d);
        let threads = THREAD * subject.threads as f64;
        let held = FLOAT * (n_weights + (gradients + slots) * n_trained);
        // What a run keeps from its beginning to its end.
        let lasting = FLOAT * (n_weights + slots * n_trained);
        let activations = FLOAT * (dry_run::floats(subject, batches) - n_trained).max(0.0);
        let unread = || FLOAT * unread::floats(subject, batches);
        let scratch = || {
            let targets = batches.iter().map(BatchSize::tgt_tokens).max().unwrap_or(0);
            logits(targets.min(RowLosses::rows_at_once(head.n_classes())) as f64)
        };
        // The differences of the logits of two passes.
        let twins = config.train.consistency > 0.0;
        let copy = FLOAT * n_weights;
        let (model, activations, on_gpu) = match subject.gpu {
            None => (held + copy, activations, 0.0),
            Some(HardwareMemory::Shared) => {
                // It comes to the GPU through further memory, and goes back through more.
                let model = ROUNDING * held + 2.0 * lasting + copy;
                (model, ROUNDING * (activations + unread() + scratch()), 0.0)
            }
            Some(HardwareMemory::Own) => {
                let on_gpu = ROUNDING * (held + activations + unread() + scratch());
                (lasting + copy, 0.0, on_gpu)
            }
        };
        let computing = match subject.gpu {
            None => {
                let logits = logits(LOGIT_ROWS) * if twins { 1.5 } else { 1.0 };
                packed(subject, batches) + logits + FLOAT * orthogonalized(subject)
            }
            Some(_) => DRIVER,
        };
        // What reading the corpora has left is used for the model first.
        let left = subject.resident as f64 - subject.data as f64 - PROGRAM - model;
        Self {
            model,
            activations,
            data: subject.data as f64,
            rest: PROGRAM + left.max(0.0) + connections + threads + computing,
            on_gpu,
        }
    }

    /// Returns the predicted peak of RAM in training.
    pub fn peak(&self) -> f64 {
        self.fixed() + self.activations
    }

    /// The peak of the whole process, which may occur while the corpora are read.
    pub(super) fn most(&self) -> f64 {
        self.peak().max(peak_ram(None).unwrap_or(0) as f64)
    }

    /// The part that does not depend on the batches.
    fn fixed(&self) -> f64 {
        self.model + self.data + self.rest
    }

    /// Refuses a prediction above `limit` bytes. `with_budget` predicts the memory for another value of
    /// `train.batch_tokens`, which must be at least `least` for the longest sentence pair.
    ///
    /// # Errors
    /// [`Error::Config`] with the largest token budget that fits, if one does.
    pub fn check(
        &self,
        budget: usize,
        limit: f64,
        least: usize,
        with_budget: impl Fn(usize) -> Self,
    ) -> Result<()> {
        if self.peak() <= limit {
            return Ok(());
        }
        let fits = Self::largest(limit, least, budget, with_budget)?;
        Err(Error::Config {
            key: "train.batch_tokens".into(),
            expected: format!("at most {fits}, which fits into {}", place(limit)),
            found: format!("{budget}, which needs about {:.0} MB", self.peak() / MB),
            hint: Some(
                "lower it and raise `train.micro_batches_per_update` by the same factor to keep the size of \
                        updates; `train.max_memory_mb` changes the limit"
                    .into(),
            ),
        })
    }

    /// Returns the largest token budget up to `most` that fits into `limit` bytes, and is at least `least`.
    /// `with_budget` predicts the memory.
    ///
    /// # Errors
    /// [`Error::Config`] if none fits.
    pub(super) fn largest(
        limit: f64,
        least: usize,
        most: usize,
        with_budget: impl Fn(usize) -> Self,
    ) -> Result<usize> {
        let place = place(limit);
        let smallest = with_budget(least);
        if smallest.fixed() > limit {
            return Err(Error::Config {
                key: "model".into(),
                expected: format!("a model that fits into {place}"),
                found: format!(
                    "one that needs {:.0} MB for weights, gradients, optimizer and data alone",
                    smallest.fixed() / MB
                ),
                hint: Some(
                    "make the model or the vocabulary smaller, or free some RAM; `train.max_memory_mb` \
                            changes the limit"
                        .into(),
                ),
            });
        }
        if smallest.peak() > limit {
            return Err(Error::Config {
                key: "data.max_len".into(),
                expected: format!("sentence pairs short enough to fit into {place}"),
                found: format!(
                    "one of {least} tokens, which needs about {:.0} MB on its own",
                    smallest.peak() / MB
                ),
                hint: Some(
                    "lower it to drop long sentences, or make the model smaller; `train.max_memory_mb` \
                            changes the limit"
                        .into(),
                ),
            });
        }
        // Predictions for much more than what fits would take long.
        let (mut fits, mut large) = (least, least.saturating_mul(2));
        while with_budget(large).peak() <= limit {
            if large >= most {
                return Ok(most);
            }
            (fits, large) = (large, large.saturating_mul(2));
        }
        // Invariant: `fits` fits, `large` does not.
        while large - fits > 1 {
            let middle = fits + (large - fits) / 2;
            if with_budget(middle).peak() <= limit { fits = middle } else { large = middle }
        }
        Ok(fits.min(most))
    }
}

/// The memory of which `limit` is the size.
fn place(limit: f64) -> String {
    format!("the {:.0} MB that training may use", limit / MB)
}

/// The width of the widest hidden layer: of a feed-forward network, or of the gates of a recurrent layer.
fn d_inner(architecture: &Architecture) -> usize {
    let encoder = match architecture.encoder() {
        Some(EncoderSpec::Transformer(stack)) => stack.feed_forward.d_ff,
        Some(EncoderSpec::Recurrent(stack)) => stack.cell.gates() * stack.d_hidden,
        None => 0,
    };
    let decoder = match architecture.decoder() {
        Some(DecoderSpec::Transformer(stack)) => stack.feed_forward.d_ff,
        Some(DecoderSpec::Recurrent(stack)) => stack.cell.gates() * stack.d_hidden,
        None => 0,
    };
    encoder.max(decoder)
}

/// The number of bytes of the packed operands shared by all threads.
fn packed(subject: &Subject<'_>, batches: &[BatchSize]) -> f64 {
    let wanted = subject.config.train.products();
    // On CPUs with bfloat16 dot-product instructions, all operands are packed.
    let pairs = Float::fastest() == Float::Bf16 && wanted == Float::Bf16;
    let head = &subject.architecture.head;
    let (d, vocab) = (head.d_in() as f64, head.n_classes() as f64);
    let d_inner = d_inner(subject.architecture) as f64;
    let rows = batches.iter().map(|batch| batch.src_tokens().max(batch.tgt_tokens()));
    let rows = rows.max().unwrap_or(0) as f64;
    // The weight of the projection for both directions, and the input or the weight of a layer.
    let (projection, input) = (2.0 * vocab * d, rows.max(d) * d.max(d_inner));
    if pairs {
        let maps = (rows + d.max(d_inner)) * (3.0 * d + d_inner);
        2.0 * (projection + (vocab + d) * LOGIT_ROWS).max(maps)
    } else {
        4.0 * projection.max(input)
    }
}

/// The number of elements of the matrices with which Muon orthogonalizes the largest one.
fn orthogonalized(subject: &Subject<'_>) -> f64 {
    if subject.config.train.optimizer.kind != OptimizerKind::Muon {
        return 0.0;
    }
    let parameters = Blueprint::new(subject.architecture).into_parameters();
    let hidden = parameters.iter().filter(|parameter| parameter.is_hidden_matrix());
    // The direction before and after an iteration, the products of its shorter side, and the gradient.
    5.0 * hidden.map(ParameterDeclaration::size).max().unwrap_or(0) as f64
}

#[cfg(test)]
mod tests;
