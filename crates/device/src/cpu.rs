//! The CPU: an operation is a kernel on slices. Only the loops that select, add and transpose rows are here,
//! and what only decoding needs is in [`crate::cached`].

use std::borrow::Cow;

use attentive_kernels::{
    additive_attention, attention, attentive_recurrent, cross_entropy, dropout, elementwise, embedding,
    linear, mean, nonlinearity, norm, optimizer, recurrent, rotary,
};

use crate::cached::{self, *};
use crate::operands::*;
use crate::verdict::{self, VerdictCall};
use crate::{Buffer, Device, Losses, Op};

/// The CPU, with buffers in the memory of the host.
#[derive(Clone, Copy, Debug)]
pub struct Cpu;

/// The elements of an operand.
fn host(buffer: &Buffer) -> &[f32] {
    buffer.host()
}

/// The elements of a result.
fn host_mut(buffer: &mut Buffer) -> &mut [f32] {
    buffer.host_mut()
}

/// The factor of gradients; `None` for an update that changes nothing.
fn factor(verdict: Option<&Buffer>) -> Option<f32> {
    verdict.map_or(Some(1.0), |verdict| verdict::factor(host(verdict)))
}

impl Device for Cpu {
    fn allocate(&self, len: usize) -> Buffer {
        Buffer::of_host(len)
    }

    fn upload(&self, values: Vec<f32>) -> Buffer {
        Buffer::own(values)
    }

    fn download<'a>(&self, buffer: &'a Buffer) -> Cow<'a, [f32]> {
        Cow::Borrowed(host(buffer))
    }

    fn run(&self, op: Op<'_>) {
        match op {
            Op::Fill { x, value } => elementwise::fill(host_mut(x), value),
            Op::Copy { x, out } => host_mut(out).copy_from_slice(host(x)),
            Op::Add { total, x } => elementwise::add(host_mut(total), host(x)),
            Op::Scale { x, factor } => elementwise::scale(host_mut(x), factor),
            Op::ScaleBy { x, factor } => {
                let factor = host(factor)[0];
                if factor != 1.0 {
                    elementwise::scale(host_mut(x), factor);
                }
            }
            Op::CopyColumns { count, from, to } => {
                let from = (host(from.matrix), from.width, from.first);
                elementwise::copy_columns(count, from, (host_mut(to.matrix), to.width, to.first));
            }
            Op::SelectRows { d, x, rows, out } => {
                let (x, out) = (host(x), host_mut(out));
                for (index, &row) in rows.iter().enumerate() {
                    out[index * d..][..d].copy_from_slice(&x[row * d..][..d]);
                }
            }
            Op::AddRows { d, x, rows, total } => {
                let (x, total) = (host(x), host_mut(total));
                for (index, &row) in rows.iter().enumerate() {
                    elementwise::add(&mut total[row * d..][..d], &x[index * d..][..d]);
                }
            }
            Op::SelectTransposed { d, x, rows, out } => {
                let (x, out) = (host(x), host_mut(out));
                for (index, &row) in rows.iter().enumerate() {
                    for (column, &value) in x[row * d..][..d].iter().enumerate() {
                        out[column * rows.len() + index] = value;
                    }
                }
            }
            Op::AddTransposed { d, x, rows, total } => {
                let (x, total) = (host(x), host_mut(total));
                for (index, &row) in rows.iter().enumerate() {
                    for (column, total) in total[row * d..][..d].iter_mut().enumerate() {
                        *total += x[column * rows.len() + index];
                    }
                }
            }
            Op::AddToEach { table, part, sequences } => {
                let vectors = &host(table)[part];
                for sequence in host_mut(sequences).chunks_exact_mut(vectors.len().max(1)) {
                    elementwise::add(sequence, vectors);
                }
            }
            Op::SumOfEach { sequences, part, table } => {
                let table = host_mut(table);
                table.fill(0.0);
                let sum = &mut table[part];
                for sequence in host(sequences).chunks_exact(sum.len().max(1)) {
                    elementwise::add(sum, sequence);
                }
            }
            Op::Dropout { dropout, x } => dropout.apply(host_mut(x)),
            Op::DropoutAdd { x, residual, dropout, out } => {
                dropout::dropout_add(0, host(x), residual.map(host), dropout, host_mut(out))
            }
            Op::Embedding { ids, table, d, scale, positions, out } => {
                embedding::embedding(ids, host(table), d, scale, positions, host_mut(out))
            }
            Op::EmbeddingBackward { ids, grad, d, scale, dtable } => {
                embedding::embedding_backward(ids, host(grad), d, scale, host_mut(dtable))
            }
            Op::Linear { call, x, maps, out } => {
                let maps: Vec<_> = maps.iter().map(|map| map.map(host)).collect();
                linear::linear(call, host(x), &maps, host_mut(out));
            }
            Op::LinearBackward { call, kept, grad, dx, gradients } => {
                let weights: Vec<_> = kept.weights.iter().copied().map(host).collect();
                let kept = LinearKept { x: host(kept.x), weights: &weights, out: host(kept.out) };
                let gradients = gradients.into_iter().map(|layer| layer.map(host_mut));
                let mut gradients: Vec<_> = gradients.collect();
                linear::linear_backward(call, kept, host_mut(grad), dx.map(host_mut), &mut gradients);
            }
            Op::Norm { call, x, gain, bias, out } => {
                norm::norm(call, host(x), host(gain), bias.map(host), host_mut(out))
            }
            Op::NormBackward { call, x, gain, grad, gradients } => {
                norm::norm_backward(call, host(x), host(gain), host(grad), gradients.map(host_mut))
            }
            Op::ResidualNorm { call, inputs, gain, bias, sum_and_out } => {
                let ResidualNormCall { norm, dropout } = call;
                let (inputs, [sum, out]) = (inputs.map(host), sum_and_out.map(host_mut));
                norm::residual_norm(norm, dropout, inputs, host(gain), bias.map(host), sum, out);
            }
            Op::ResidualNormBackward { call, sum, gain, grad, gradients, dy } => {
                let ResidualNormCall { norm, dropout } = call;
                let (gain, grad, gradients) = (host(gain), host(grad), gradients.map(host_mut));
                norm::residual_norm_backward(norm, dropout, host(sum), gain, grad, gradients, host_mut(dy));
            }
            Op::Nonlinear { f, x, out } => {
                match f {
                    // With the error function of `libm`, so that runs go on with the same bits.
                    ActivationKind::Gelu => nonlinearity::exact_gelu(host(x), host_mut(out)),
                    f => nonlinearity::nonlinear(f, host(x), host_mut(out)),
                }
            }
            Op::NonlinearBackward { f, x, grad, dx } => match f {
                ActivationKind::Gelu => nonlinearity::exact_gelu_backward(host(x), host(grad), host_mut(dx)),
                f => nonlinearity::nonlinear_backward(f, host(x), host(grad), host_mut(dx)),
            },
            Op::Gated { f, d, x, out } => nonlinearity::gated(f, d, host(x), host_mut(out)),
            Op::GatedBackward { f, d, x, grad, dx } => {
                nonlinearity::gated_backward(f, d, host(x), host(grad), host_mut(dx))
            }
            Op::Tanh { x, out } => nonlinearity::tanh(host(x), host_mut(out)),
            Op::TanhBackward { y, grad } => nonlinearity::tanh_backward(host(y), host_mut(grad)),
            Op::Attention { shape, inputs, out } => {
                attention::attention(shape, inputs.map(host), host_mut(out))
            }
            Op::AttentionBackward { shape, inputs, grad, gradients, dbias } => {
                let (inputs, gradients) = (inputs.map(host), gradients.map(host_mut));
                attention::attention_backward(shape, inputs, host(grad), gradients, dbias.map(host_mut));
            }
            Op::Rotary { call, turn, x, out } => rotary::rotary(call, turn, host(x), host_mut(out)),
            Op::Recurrent { directions, states } => {
                let directions = directions.into_iter().map(|one| one.map(host, host_mut));
                recurrent::recurrent(directions.collect(), host_mut(states));
            }
            Op::RecurrentBackward { directions, states, grad } => {
                let directions = directions.into_iter().map(|one| one.map(host, host_mut));
                recurrent::recurrent_backward(directions.collect(), host(states), host(grad));
            }
            Op::AttentiveRecurrent { call, inputs, projected, out, kept } => {
                let (weights, saved) = kept.map(|kept| kept.map(host_mut).into()).unzip();
                let (inputs, projected) = (inputs.map(host), host(projected));
                attentive_recurrent::attentive_recurrent(
                    call,
                    inputs,
                    projected,
                    host_mut(out),
                    weights,
                    saved,
                );
            }
            Op::AttentiveRecurrentBackward { call, inputs, result, grad, gradients, room } => {
                let (inputs, result, gradients) =
                    (inputs.map(host), result.map(host), gradients.map(host_mut));
                attentive_recurrent::attentive_recurrent_backward(
                    call,
                    inputs,
                    result,
                    host(grad),
                    gradients,
                    host_mut(room),
                );
            }
            Op::AdditiveAttention { shape, inputs, out, weights } => {
                let (inputs, out, weights) = (inputs.map(host), host_mut(out), host_mut(weights));
                additive_attention::additive_attention_of_each(shape, inputs, out, weights);
            }
            Op::AdditiveAttentionBackward { shape, inputs, weights, grad, gradients } => {
                let (inputs, gradients) = (inputs.map(host), gradients.map(host_mut));
                let (weights, grad) = (host(weights), host(grad));
                additive_attention::additive_attention_backward(shape, inputs, weights, grad, gradients);
            }
            Op::MeanRows { lengths, d, x, out } => mean::mean_rows(lengths, d, host(x), host_mut(out)),
            Op::MeanRowsBackward { lengths, d, grad, dx } => {
                mean::mean_rows_backward(lengths, d, host(grad), host_mut(dx))
            }
            Op::Optimize { step, part, state, grad, verdict } => {
                let Some(factor) = factor(verdict) else {
                    return;
                };
                let step = step.with_gradients_scaled(factor);
                let state = state.into_iter().map(host_mut).collect();
                step.apply(&mut host_mut(part.buffer)[part.range], state, host(grad));
            }
            Op::PutRows { count, from, pairs, out } => {
                let MatrixColumns { matrix, width, first } = from;
                cached::put_rows(count, (host(matrix), width, first), pairs, host_mut(out));
            }
            Op::CachedAttention { call, scores, queries, cache, out, weights } => {
                let MatrixColumns { matrix, width, first } = queries;
                let queries = (host(matrix), width, first);
                let (out, weights) = (host_mut(out), host_mut(weights));
                cached::cached_attention(call, scores.map(host), queries, host(cache), out, weights);
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
        let sums = cross_entropy::cross_entropy(shape, inputs.map(host), gradients.map(host_mut));
        host_mut(loss)[0] = sums.loss as f32;
        Losses::Known(sums)
    }

    fn verdict(&self, call: VerdictCall<'_>) -> Buffer {
        let (loss, before) = (host(call.loss)[0], call.before.map(host));
        verdict::verdict(call, loss, host(call.squares), before).to_vec().into()
    }

    fn sums_of_squares(&self, x: &Buffer) -> Vec<f64> {
        optimizer::sums_of_squares(host(x))
    }

    fn first_non_finite(&self, x: &Buffer) -> Option<usize> {
        optimizer::first_non_finite(host(x))
    }

    fn likeliest(&self, call: LikeliestCall<'_>, logits: &Buffer) -> Vec<LargestLogits> {
        cached::likeliest(call, host(logits))
    }
}
