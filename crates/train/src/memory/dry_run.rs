//! The memory of buffers during an update, from a rehearsal.

use attentive_architecture::{EncoderSpec, Items, StackSpec};
use attentive_base::batch::{Batch, Padded, Src};
use attentive_data::BatchSize;
use attentive_model::model::Model;
use attentive_model::nn::Pass;
use attentive_tape::{Float, Lengths, rehearse};

use super::Subject;
use crate::objective::Objective;

/// The most numbers that the buffers of a forward and backward pass hold while `batches` are trained on, one
/// after another.
pub(super) fn floats(subject: &Subject<'_>, batches: &[BatchSize]) -> f64 {
    let model = Model::imagined(subject.architecture);
    subject.frozen.apply(&model);
    let objective = Objective::of(subject.config);
    // The precision of the products changes no buffer.
    let pass = Pass::training(subject.config.seed, 0, Float::F32);
    let count = rehearse(|| {
        for &size in batches {
            let loss = objective.loss(&model, &batch(subject, size), &pass);
            model.take_gradients(&mut loss.loss.backward());
        }
    });
    count.most as f64
}

/// A batch of sequences of equal length.
fn batch(subject: &Subject<'_>, size: BatchSize) -> Batch {
    let BatchSize { rows, src_len, tgt_len } = size;
    let src = |encoder: &StackSpec<EncoderSpec>| match encoder.input.items {
        Items::Tokens { .. } => padded(rows, src_len).into(),
        Items::Vectors => Src::Vectors {
            values: vec![0.0; size.src_tokens() * encoder.input.d_model],
            d_input: encoder.input.d_model,
            lengths: Lengths::full(rows, src_len),
        },
    };
    let body = subject.architecture.body.as_ref();
    Batch { tgt_out: padded(rows, tgt_len), ..Batch::of(body.map(src, |_| padded(rows, tgt_len))) }
}

fn padded(rows: usize, len: usize) -> Padded {
    Padded { ids: vec![0; rows * len], lengths: Lengths::full(rows, len) }
}
