//! The memory of buffers during an update, from a rehearsal.

use attentive_architecture::{Items, Task};
use attentive_base::batch::{Batch, Padded};
use attentive_data::BatchSize;
use attentive_model::model::Model;
use attentive_model::nn::Pass;
use attentive_tape::{Float, Lengths, rehearse};

use super::Subject;

/// The most numbers that the buffers of a forward and backward pass hold while `batches` are trained on, one after another.
pub(super) fn floats(subject: &Subject<'_>, batches: &[BatchSize]) -> f64 {
    let model = Model::imagined(subject.architecture);
    subject.frozen.apply(&model);
    let smoothing = subject.config.train.label_smoothing;
    // The precision of the products changes no buffer.
    let pass = Pass::training(subject.config.seed, 0, Float::F32);
    let count = rehearse(|| {
        for &size in batches {
            let loss = model.loss(&batch(subject, size), smoothing, &pass);
            model.take_gradients(&mut loss.loss.backward());
        }
    });
    count.most as f64
}

/// A batch of sequences of equal length.
fn batch(subject: &Subject<'_>, size: BatchSize) -> Batch {
    let BatchSize {
        rows,
        src_len,
        tgt_len,
    } = size;
    let (src, tgt) = (padded(rows, src_len), padded(rows, tgt_len));
    match subject.architecture.task() {
        Task::Translate => Batch {
            src,
            tgt_in: tgt.clone(),
            tgt_out: tgt,
            ..Batch::default()
        },
        Task::Generate => Batch {
            tgt_in: tgt.clone(),
            tgt_out: tgt,
            ..Batch::default()
        },
        Task::Fill | Task::Tag | Task::Classify | Task::Embed => Batch {
            vectors: vectors(subject, size),
            src,
            tgt_out: tgt,
            ..Batch::default()
        },
    }
}

fn padded(rows: usize, len: usize) -> Padded {
    Padded {
        ids: vec![0; rows * len],
        lengths: Lengths::full(rows, len),
    }
}

/// The vectors that the encoder reads; none if it reads tokens.
fn vectors(subject: &Subject<'_>, size: BatchSize) -> Vec<f32> {
    match subject.architecture.src() {
        Some(input) if matches!(input.items, Items::Vectors) => {
            vec![0.0; size.src_tokens() * input.d_model]
        }
        _ => Vec::new(),
    }
}
