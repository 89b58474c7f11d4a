//! How much memory training takes, told before the first update.

use sysinfo::System;

use super::optimizer::slots;
use crate::config::{
    ActivationKind, Config, DropoutPosition, ModelConfig, NormPosition, TieEmbeddings,
};
use crate::data::BatchSize;
use crate::error::{Error, Result};

const MB: f64 = 1e6;
const FLOAT: f64 = 4.0;

/// What the program takes without a model: code, tokenizer, thread stacks, packed operands.
const PROGRAM: f64 = 60.0 * MB;
/// Rows of logits that exist at a time.
const LOGIT_ROWS: f64 = 256.0;
/// Buffers are used again for results that are a little smaller, and batches differ from epoch to epoch.
const SLACK: f64 = 1.15;

/// A prediction, in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Memory {
    /// Weights, gradients, the optimiser's memory, and a copy of the weights while a checkpoint is written.
    pub model: f64,
    /// What the forward pass keeps for the backward pass, and the gradients on their way, for the largest batch.
    pub activations: f64,
    /// Everything else.
    pub rest: f64,
}

impl Memory {
    /// Predicts the peak of training as `config` says, with `n_parameters` in all and a target vocabulary of `vocab`, on
    /// batches as large as `batch`.
    pub fn predict(config: &Config, n_parameters: usize, vocab: usize, batch: BatchSize) -> Self {
        let ModelConfig { d_model, .. } = config.model;
        let (d, vocab) = (d_model as f64, vocab as f64);
        let gradients = if config.train.accumulate > 1 { 2 } else { 1 };
        let copies = (2 + gradients + slots(&config.train.optimizer)) as f64;
        // Gradients of one table that come from several places before they are summed.
        let tied = match config.model.tie_embeddings {
            TieEmbeddings::All => 2.0,
            TieEmbeddings::Decoder => 1.0,
            TieEmbeddings::None => 0.0,
        };
        let logits = LOGIT_ROWS * (vocab + d);
        Self {
            model: FLOAT * (copies * n_parameters as f64 + tied * vocab * d),
            activations: FLOAT * SLACK * floats(&config.model, batch),
            rest: PROGRAM + FLOAT * logits,
        }
    }

    /// All of it.
    pub fn peak(&self) -> f64 {
        self.model + self.activations + self.rest
    }

    /// Refuses what does not fit into `limit` bytes.
    ///
    /// # Errors
    /// [`Error::Config`] with the largest token budget that fits, if one does.
    pub fn check(&self, config: &Config, limit: f64) -> Result<()> {
        if self.peak() <= limit {
            return Ok(());
        }
        let budget = config.train.batch_tokens;
        let room = limit - self.model - self.rest;
        let fits = (budget as f64 * room / self.activations).floor();
        let limit = format!("the {:.0} MB that training may take", limit / MB);
        if fits < 1.0 {
            return Err(Error::Config {
                key: "model".into(),
                expected: format!("a model that fits into {limit}"),
                found: format!(
                    "one that takes {:.0} MB for weights, gradients and optimiser alone",
                    (self.model + self.rest) / MB
                ),
                hint: Some("make the model or the vocabulary smaller, or free memory; `train.max_memory_mb` sets another limit".into()),
            });
        }
        Err(Error::Config {
            key: "train.batch_tokens".into(),
            expected: format!("at most {fits:.0}, which fits into {limit}"),
            found: format!("{budget}, which takes about {:.0} MB", self.peak() / MB),
            hint: Some("lower it and raise `train.accumulate` as much, for updates as large as before; `train.max_memory_mb` sets another limit".into()),
        })
    }
}

/// Bytes that training may take: what `train.max_memory_mb` says, else what the machine, or the container, has free.
/// `None` where the system does not tell.
pub(super) fn limit(config: &Config) -> Option<f64> {
    if config.train.max_memory_mb > 0 {
        return Some(config.train.max_memory_mb as f64 * MB);
    }
    let mut system = System::new().ok()?;
    system.refresh_memory();
    let free = system.available_memory() as f64;
    let container = system
        .cgroup_limits()
        .map(|limits| limits.free_memory as f64);
    let free = container.map_or(free, |container| free.min(container));
    (free > 0.0).then_some(free)
}

/// Numbers that live at the end of a forward pass and in the first steps back.
fn floats(model: &ModelConfig, batch: BatchSize) -> f64 {
    let BatchSize {
        src_tokens,
        tgt_tokens,
    } = batch;
    let (src, tgt) = (src_tokens as f64, tgt_tokens as f64);
    let (d, d_ff) = (model.d_model as f64, model.d_ff as f64);
    // What a sublayer's end keeps: the sum and its norm, or their mirror image before the sublayer.
    let residual = match (model.norm_position, model.dropout_position) {
        (_, DropoutPosition::Sublayer) => 2.0 * d,
        (NormPosition::Post | NormPosition::Pre, DropoutPosition::AfterNorm) => 3.0 * d,
    };
    let hidden = match model.activation {
        ActivationKind::Relu => d_ff,
        // Before and after, what Burn keeps in between, and after dropout.
        ActivationKind::Gelu => 4.0 * d_ff,
    };
    // Queries, keys, values and what they gather.
    let self_attention = 4.0 * d + residual;
    let memory_attention = 2.0 * d + residual;
    let feed_forward = hidden + residual;
    let encoder = src * (self_attention + feed_forward);
    let decoder = tgt * (self_attention + memory_attention + feed_forward) + src * 2.0 * d;
    let kept = model.n_encoder_layers as f64 * encoder
        + model.n_decoder_layers as f64 * decoder
        + (src + tgt) * d;
    // The loss's gradient, and the first feed-forward network's: hidden layer, masked, and its input.
    let on_the_way = tgt * (2.0 * d_ff + 5.0 * d) + src * 2.0 * d;
    kept + on_the_way
}
