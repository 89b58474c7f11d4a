//! The operations of a GPU.

use std::borrow::Cow;

use attentive_device::*;
use attentive_kernels::gemm::Float;

use crate::adapter::AdapterKind;
use crate::bf16;
use crate::gpu::Gpu;
use crate::memory::numbers_of;
use crate::ops::{
    additive_attention, attention, attentive_recurrent, decoding, dropout, elementwise, linear, loss,
    nonlinearity, norm, optimizer, recurrent, rows,
};

impl Device for Gpu {
    fn allocate(&self, len: usize) -> Buffer {
        Buffer::elsewhere(len, self.memory(4 * len as u64))
    }

    fn upload(&self, values: Vec<f32>) -> Buffer {
        let buffer = self.allocate(values.len());
        self.write(&buffer, &values);
        buffer
    }

    fn upload_bf16(&self, values: Vec<f32>) -> Buffer {
        let words = bf16::packed(&values);
        let memory = self.memory(4 * words.len() as u64).of(Float::Bf16);
        let buffer = Buffer::elsewhere(values.len(), memory);
        self.write(&buffer, &words);
        buffer
    }

    fn download<'a>(&self, buffer: &'a Buffer) -> Cow<'a, [f32]> {
        Cow::Owned(self.download_all(&[buffer]).concat())
    }

    fn download_all(&self, buffers: &[&Buffer]) -> Vec<Vec<f32>> {
        let numbers = |(buffer, words): (&&Buffer, Vec<u32>)| match numbers_of(buffer) {
            Float::F32 => words.into_iter().map(f32::from_bits).collect(),
            Float::Bf16 => bf16::unpacked(&words, buffer.len()),
        };
        let read = self.read(buffers);
        buffers.iter().zip(read).map(numbers).collect()
    }

    fn computes_later(&self) -> bool {
        true
    }

    fn run(&self, op: Op<'_>) {
        let recording = &mut self.record();
        match op {
            Op::Fill { x, value } => elementwise::fill(recording, x, value),
            Op::Copy { x, out } => elementwise::copy(recording, x, out),
            Op::Add { total, x } => elementwise::add(recording, x, total),
            Op::Scale { x, factor } => elementwise::scale(recording, x, factor),
            Op::ScaleBy { x, factor } => elementwise::scale_by(recording, factor, x),
            Op::CopyColumns { count, from, to } => {
                let to = MatrixColumns { matrix: &*to.matrix, width: to.width, first: to.first };
                rows::copy_columns(recording, count, from, to);
            }
            Op::SelectRows { d, x, rows, out } => rows::select_rows(recording, d, x, rows, out),
            Op::AddRows { d, x, rows, total } => rows::add_rows(recording, d, x, rows, total),
            Op::SelectTransposed { d, x, rows, out } => rows::select_transposed(recording, d, x, rows, out),
            Op::AddTransposed { d, x, rows, total } => rows::add_transposed(recording, d, x, rows, total),
            Op::AddToEach { table, part, sequences } => rows::add_to_each(recording, table, part, sequences),
            Op::SumOfEach { sequences, part, table } => rows::sum_of_each(recording, sequences, part, table),
            Op::Dropout { dropout, x } => dropout::dropout(recording, dropout, x),
            Op::DropoutAdd { x, residual, dropout, out } => {
                dropout::dropout_add(recording, x, residual, dropout, out)
            }
            Op::Embedding { ids, table, d, scale, positions, out } => {
                rows::embedding(recording, ids, table, d, scale, positions, out)
            }
            Op::EmbeddingBackward { ids, grad, d, scale, dtable } => {
                rows::embedding_backward(recording, ids, grad, d, scale, dtable)
            }
            Op::Linear { call, x, maps, out } => linear::linear(recording, call, x, maps, out),
            Op::LinearBackward { call, kept, grad, dx, gradients } => {
                linear::linear_backward(recording, call, kept, grad, dx, gradients)
            }
            Op::Norm { call, x, gain, bias, out } => norm::norm(recording, call, x, gain, bias, out),
            Op::NormBackward { call, x, gain, grad, gradients } => {
                let gradients = gradients.map(|gradient| &*gradient);
                norm::norm_backward(recording, call, x, gain, grad, gradients);
            }
            Op::ResidualNorm { call, inputs, gain, bias, sum_and_out } => {
                let results = sum_and_out.map(|result| &*result);
                norm::residual_norm(recording, call, inputs, gain, bias, results);
            }
            Op::ResidualNormBackward { call, sum, gain, grad, gradients, dy } => {
                let gradients = gradients.map(|gradient| &*gradient);
                norm::residual_norm_backward(recording, call, sum, gain, grad, gradients, dy);
            }
            Op::Nonlinear { f, x, out } => nonlinearity::nonlinear(recording, f, x, out),
            Op::NonlinearBackward { f, x, grad, dx } => {
                nonlinearity::nonlinear_backward(recording, f, [x, grad], dx)
            }
            Op::Gated { f, d, x, out } => nonlinearity::gated(recording, f, d, x, out),
            Op::GatedBackward { f, d, x, grad, dx } => {
                nonlinearity::gated_backward(recording, f, d, [x, grad], dx)
            }
            Op::Tanh { x, out } => elementwise::tanh(recording, x, out),
            Op::TanhBackward { y, grad } => elementwise::tanh_backward(recording, y, grad),
            Op::Attention { shape, inputs, out } => attention::attention(recording, shape, inputs, out),
            Op::AttentionBackward { shape, inputs, grad, gradients, dbias } => {
                attention::attention_backward(recording, shape, inputs, grad, gradients, dbias)
            }
            Op::Rotary { call, turn, x, out } => rows::rotary(recording, call, turn, x, out),
            Op::Recurrent { directions, states } => recurrent::recurrent(recording, directions, states),
            Op::RecurrentBackward { directions, states, grad } => {
                recurrent::recurrent_backward(recording, directions, states, grad)
            }
            Op::AttentiveRecurrent { call, inputs, projected, out, kept } => {
                let kept = kept.map(|kept| kept.map(|kept| &*kept));
                attentive_recurrent::attentive_recurrent(recording, call, inputs, projected, out, kept);
            }
            Op::AttentiveRecurrentBackward { call, inputs, result, grad, gradients, room } => {
                let gradients = gradients.map(|gradient| &*gradient);
                attentive_recurrent::attentive_recurrent_backward(
                    recording, call, inputs, result, grad, gradients, room,
                );
            }
            Op::AdditiveAttention { shape, inputs, out, weights } => {
                additive_attention::additive_attention(recording, shape, inputs, out, weights);
            }
            Op::AdditiveAttentionBackward { shape, inputs, weights, grad, gradients } => {
                let gradients = gradients.map(|gradient| &*gradient);
                additive_attention::additive_attention_backward(
                    recording, shape, inputs, weights, grad, gradients,
                );
            }
            Op::MeanRows { lengths, d, x, out } => rows::mean_rows(recording, lengths, d, x, out),
            Op::MeanRowsBackward { lengths, d, grad, dx } => {
                rows::mean_rows_backward(recording, lengths, d, grad, dx)
            }
            Op::Optimize { step, part, state, grad, verdict } => {
                let state: Vec<&Buffer> = state.into_iter().map(|state| &*state).collect();
                optimizer::optimize(recording, step, part, &state, grad, verdict);
            }
            Op::PutRows { count, from, pairs, out: to } => {
                decoding::put_rows(recording, count, from, pairs, to)
            }
            Op::CachedAttention { call, scores, queries, cache, out, weights } => {
                let to = [&*out, &*weights];
                decoding::cached_attention(recording, call, scores, queries, cache, to);
            }
        }
    }

    fn cross_entropy(
        &self,
        shape: ProjectionShape,
        inputs: ProjectionInputs<'_, &Buffer>,
        gradients: ProjectionGradients<&mut Buffer>,
        loss: &mut Buffer,
    ) -> Losses {
        loss::cross_entropy(&mut self.record(), shape, inputs, gradients, loss)
    }

    fn verdict(&self, call: VerdictCall<'_>) -> Buffer {
        optimizer::verdict(&mut self.record(), call)
    }

    fn squares(&self, all: &[&Buffer]) -> Buffer {
        optimizer::squares(&mut self.record(), all)
    }

    fn sums_of_squares(&self, x: &Buffer) -> Vec<f64> {
        self.all_sums_of_squares(&[x]).concat()
    }

    fn all_sums_of_squares(&self, all: &[&Buffer]) -> Vec<Vec<f64>> {
        optimizer::all_sums_of_squares(self, all)
    }

    fn first_non_finite(&self, x: &Buffer) -> Option<usize> {
        optimizer::first_non_finite(self, x)
    }

    fn likeliest(&self, call: LikeliestCall<'_>, logits: &Buffer) -> Vec<LargestLogits> {
        decoding::likeliest(self, call, logits)
    }

    fn failure(&self) -> Option<Failure> {
        Gpu::failure(self)
    }

    fn hardware(&self) -> Option<Hardware> {
        let adapter = self.adapter();
        Some(Hardware {
            name: adapter.described(),
            memory: match adapter.kind {
                AdapterKind::Discrete | AdapterKind::Virtual | AdapterKind::Other => HardwareMemory::Own,
                AdapterKind::Integrated | AdapterKind::Software => HardwareMemory::Shared,
            },
            is_software: adapter.kind == AdapterKind::Software,
        })
    }
}
