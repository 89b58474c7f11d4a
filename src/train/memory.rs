//! How much memory training takes, told before the first update.

mod activations;
mod machine;

pub(super) use machine::{high_water_mark, limit};

use self::activations::floats;
use super::optimizer::slots;
use crate::architecture::{Architecture, Decoder, Encoder, Head, Items};
use crate::config::{Config, Matmul};
use crate::data::BatchSize;
use crate::error::{Error, Result};
use crate::ops::Precision;

const MB: f64 = 1e6;
const FLOAT: f64 = 4.0;

/// What the program takes without a model: code, tokenizer.
const PROGRAM: f64 = 56.0 * MB;
/// What each thread takes: its stack, the packed parts of its products, its scores of attention.
const THREAD: f64 = 4.0 * MB;
/// Rows of logits that exist at a time.
const LOGIT_ROWS: f64 = 256.0;
/// What was given back after reading the corpora is not all used again.
const FREED: f64 = 1.05;
/// Buffers are used again for results that are a little smaller, some wait for a batch of their size, and the largest
/// batch of another epoch may be larger: in some hundred updates that adds up to a quarter.
const SLACK: f64 = 1.35;

/// A prediction, in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Memory {
    /// Weights, gradients, the optimiser's memory, and a copy of the weights while a checkpoint is written.
    pub model: f64,
    /// What the forward pass keeps for the backward pass, and the gradients on their way, for the largest batch.
    pub activations: f64,
    /// The encoded corpora.
    pub data: f64,
    /// Everything else.
    pub rest: f64,
}

/// What training is about, but for the size of its batches.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The run's configuration.
    pub config: &'a Config,
    /// The model.
    pub architecture: &'a Architecture,
    /// Bytes of the encoded corpora.
    pub data: usize,
    /// Threads that compute.
    pub threads: usize,
}

impl Memory {
    /// Predicts the peak of training on batches as large as `batch`.
    pub fn predict(subject: &Subject<'_>, batch: BatchSize) -> Self {
        let config = subject.config;
        let architecture = subject.architecture;
        let head = &architecture.head;
        let (d, vocab) = (head.d_in() as f64, head.n_classes() as f64);
        let gradients = if config.train.accumulate > 1 { 2 } else { 1 };
        let copies = (2 + gradients + slots(&config.train.optimizer)) as f64;
        let tied = tied(architecture) as f64;
        let logits = LOGIT_ROWS * (vocab + d);
        let threads = THREAD * subject.threads as f64;
        Self {
            model: FLOAT * (copies * architecture.n_weights() as f64 + tied * vocab * d),
            activations: FLOAT * SLACK * floats(architecture, batch),
            data: subject.data as f64,
            rest: PROGRAM + threads + FLOAT * logits + packed(subject, batch),
        }
    }

    /// All of it.
    pub fn peak(&self) -> f64 {
        self.fixed() + self.activations
    }

    /// The peak of the whole process, in which reading the corpora may have taken more than training will.
    pub(super) fn most(&self) -> f64 {
        let so_far = high_water_mark().unwrap_or(0) as f64;
        self.peak().max(FREED * so_far)
    }

    /// What does not depend on the batches.
    fn fixed(&self) -> f64 {
        self.model + self.data + self.rest
    }

    /// Refuses what does not fit into `limit` bytes. `with_budget` predicts for another `train.batch_tokens`, of which
    /// the longest sentence pair needs `least`.
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
        let place = format!("the {:.0} MB that training may take", limit / MB);
        let smallest = with_budget(least);
        if smallest.fixed() > limit {
            return Err(Error::Config {
                key: "model".into(),
                expected: format!("a model that fits into {place}"),
                found: format!(
                    "one that takes {:.0} MB for weights, gradients, optimiser and data alone",
                    smallest.fixed() / MB
                ),
                hint: Some("make the model or the vocabulary smaller, or free memory; `train.max_memory_mb` sets another limit".into()),
            });
        }
        if smallest.peak() > limit {
            return Err(Error::Config {
                key: "data.max_len".into(),
                expected: format!("sentence pairs so short that each fits into {place}"),
                found: format!(
                    "one of {least} tokens, which takes about {:.0} MB all alone",
                    smallest.peak() / MB
                ),
                hint: Some("lower it to drop long sentences, or make the model smaller; `train.max_memory_mb` sets another limit".into()),
            });
        }
        // `fits` does, `large` does not.
        let (mut fits, mut large) = (least, budget);
        while large - fits > 1 {
            let middle = fits + (large - fits) / 2;
            match with_budget(middle).peak() <= limit {
                true => fits = middle,
                false => large = middle,
            }
        }
        Err(Error::Config {
            key: "train.batch_tokens".into(),
            expected: format!("at most {fits}, which fits into {place}"),
            found: format!("{budget}, which takes about {:.0} MB", self.peak() / MB),
            hint: Some("lower it and raise `train.accumulate` as much, for updates as large as before; `train.max_memory_mb` sets another limit".into()),
        })
    }
}

/// How many more places than one give a gradient to a shared table before they are summed.
fn tied(architecture: &Architecture) -> usize {
    let head = matches!(&architecture.head, Head::Vocabulary(head) if head.tied);
    let inputs = [&architecture.src, &architecture.tgt].into_iter().flatten();
    let shared = inputs.filter(|input| matches!(input.items, Items::Tokens { shared: true, .. }));
    usize::from(head) + shared.count()
}

/// Width of the widest hidden layer: of a feed-forward network, or of the gates of a recurrent layer.
fn d_inner(architecture: &Architecture) -> usize {
    let encoder = match &architecture.encoder {
        Some(Encoder::Transformer(stack)) => stack.feed_forward.d_ff,
        Some(Encoder::Recurrent(stack)) => stack.cell.gates() * stack.d_hidden,
        None => 0,
    };
    let decoder = match &architecture.decoder {
        Some(Decoder::Transformer(stack)) => stack.feed_forward.d_ff,
        Some(Decoder::Recurrent(stack)) => stack.cell.gates() * stack.d_hidden,
        None => 0,
    };
    encoder.max(decoder)
}

/// Bytes of the operands that stand packed for all threads, where instructions multiply pairs of bfloat16 numbers.
fn packed(subject: &Subject<'_>, batch: BatchSize) -> f64 {
    const PACKED: f64 = 2.0;
    let matmul = subject.config.train.matmul;
    let pairs = Precision::fastest() == Precision::Bf16 && matmul != Matmul::F32;
    if !pairs {
        return 0.0;
    }
    let head = &subject.architecture.head;
    let (d, vocab) = (head.d_in() as f64, head.n_classes() as f64);
    let d_inner = d_inner(subject.architecture) as f64;
    let rows = batch.src_tokens.max(batch.tgt_tokens) as f64;
    let projection = (vocab + LOGIT_ROWS) * d + (vocab + d) * LOGIT_ROWS;
    let maps = (rows + d.max(d_inner)) * (3.0 * d + d_inner);
    PACKED * projection.max(maps).max((LOGIT_ROWS + d) * vocab)
}

#[cfg(test)]
mod tests;
