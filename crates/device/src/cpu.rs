//! The CPU: every operation is a kernel on slices.

use std::borrow::Cow;

use attentive_kernels::{
    attention, attentive_recurrent, cross_entropy, dropout, elementwise, embedding, linear, mean,
    nonlinearity, norm, optimizer, recurrent, rotary,
};

use crate::cached::{self, *};
use crate::operands::*;
use crate::verdict::{self, VerdictCall};
use crate::{Buffer, Device, Losses, Op};

/// The CPU, with buffers in the memory of the host.
#[derive(Clone, Copy, Debug)]
pub struct Cpu;

/// The elements of an operand.
fn of(buffer: &Buffer) -> &[f32] {
    buffer.host()
}

/// The elements of a result.
fn to(buffer: &mut Buffer) -> &mut [f32] {
    buffer.host_mut()
}

/// The factor of gradients; `None` for an update that changes nothing.
fn factor(verdict: Option<&Buffer>) -> Option<f32> {
    verdict.map_or(Some(1.0), |verdict| verdict::factor(of(verdict)))
}

impl Device for Cpu {
    fn allocate(&self, len: usize) -> Buffer {
        Buffer::of_host(len)
    }

    fn upload(&self, values: Vec<f32>) -> Buffer {
        Buffer::own(values)
    }

    fn download<'a>(&self, buffer: &'a Buffer) -> Cow<'a, [f32]> {
        Cow::Borrowed(of(buffer))
    }

    fn run(&self, op: Op<'_>) {
        match op {
            Op::Fill { x, value } => elementwise::fill(to(x), value),
            Op::Copy { x, out } => to(out).copy_from_slice(of(x)),
            Op::Add { total, x } => elementwise::add(to(total), of(x)),
            Op::Scale { x, factor } => elementwise::scale(to(x), factor),
            Op::ScaleBy { x, factor } => {
                let factor = of(factor)[0];
                if factor != 1.0 {
                    elementwise::scale(to(x), factor);
                }
            }
            Op::CopyColumns { count, from, to } => {
                let from = (of(from.matrix), from.width, from.first);
                elementwise::copy_columns(count, from, (self::to(to.matrix), to.width, to.first));
            }
            Op::SelectRows { d, x, rows, out } => {
                let (x, out) = (of(x), to(out));
                for (place, &row) in rows.iter().enumerate() {
                    out[place * d..][..d].copy_from_slice(&x[row * d..][..d]);
                }
            }
            Op::AddRows { d, x, rows, total } => {
                let (x, total) = (of(x), to(total));
                for (place, &row) in rows.iter().enumerate() {
                    elementwise::add(&mut total[row * d..][..d], &x[place * d..][..d]);
                }
            }
            Op::SelectTransposed { d, x, rows, out } => {
                let (x, out) = (of(x), to(out));
                for (place, &row) in rows.iter().enumerate() {
                    for (column, &value) in x[row * d..][..d].iter().enumerate() {
                        out[column * rows.len() + place] = value;
                    }
                }
            }
            Op::AddTransposed { d, x, rows, total } => {
                let (x, total) = (of(x), to(total));
                for (place, &row) in rows.iter().enumerate() {
                    for (column, total) in total[row * d..][..d].iter_mut().enumerate() {
                        *total += x[column * rows.len() + place];
                    }
                }
            }
            Op::AddToEach { table, part, sequences } => {
                let vectors = &of(table)[part];
                for sequence in to(sequences).chunks_exact_mut(vectors.len().max(1)) {
                    elementwise::add(sequence, vectors);
                }
            }
            Op::SumOfEach { sequences, part, table } => {
                let table = to(table);
                table.fill(0.0);
                let sum = &mut table[part];
                for sequence in of(sequences).chunks_exact(sum.len().max(1)) {
                    elementwise::add(sum, sequence);
                }
            }
            Op::Dropout { dropout, x } => dropout.apply(to(x)),
            Op::DropoutAdd { x, residual, dropout, out } => {
                dropout::dropout_add(0, of(x), residual.map(of), dropout, to(out))
            }
            Op::Embedding { ids, table, d, scale, positions, out } => {
                embedding::embedding(ids, of(table), d, scale, positions, to(out))
            }
            Op::EmbeddingBackward { ids, grad, d, scale, dtable } => {
                embedding::embedding_backward(ids, of(grad), d, scale, to(dtable))
            }
            Op::Linear { call, x, maps, out } => {
                let maps: Vec<_> = maps.iter().map(|map| map.map(of)).collect();
                linear::linear(call, of(x), &maps, to(out));
            }
            Op::LinearBackward { call, kept, grad, dx, gradients } => {
                let weights: Vec<_> = kept.weights.iter().copied().map(of).collect();
                let kept = LinearKept { x: of(kept.x), weights: &weights, out: of(kept.out) };
                let gradients = gradients.into_iter().map(|layer| layer.map(to));
                let mut gradients: Vec<_> = gradients.collect();
                linear::linear_backward(call, kept, to(grad), dx.map(to), &mut gradients);
            }
            Op::Norm { call, x, gain, bias, out } => norm::norm(call, of(x), of(gain), bias.map(of), to(out)),
            Op::NormBackward { call, x, gain, grad, gradients } => {
                norm::norm_backward(call, of(x), of(gain), of(grad), gradients.map(to))
            }
            Op::ResidualNorm { call, inputs, gain, bias, sum_and_out } => {
                let ResidualNormCall { norm, dropout } = call;
                let (inputs, [sum, out]) = (inputs.map(of), sum_and_out.map(to));
                norm::residual_norm(norm, dropout, inputs, of(gain), bias.map(of), sum, out);
            }
            Op::ResidualNormBackward { call, sum, gain, grad, gradients, dy } => {
                let ResidualNormCall { norm, dropout } = call;
                let (gain, grad, gradients) = (of(gain), of(grad), gradients.map(to));
                norm::residual_norm_backward(norm, dropout, of(sum), gain, grad, gradients, to(dy));
            }
            Op::Nonlinear { f, x, out } => {
                match f {
                    // With the error function of `libm`, so that runs go on with the same bits.
                    ActivationKind::Gelu => nonlinearity::exact_gelu(of(x), to(out)),
                    f => nonlinearity::nonlinear(f, of(x), to(out)),
                }
            }
            Op::NonlinearBackward { f, x, grad, dx } => match f {
                ActivationKind::Gelu => nonlinearity::exact_gelu_backward(of(x), of(grad), to(dx)),
                f => nonlinearity::nonlinear_backward(f, of(x), of(grad), to(dx)),
            },
            Op::Gated { f, d, x, out } => nonlinearity::gated(f, d, of(x), to(out)),
            Op::GatedBackward { f, d, x, grad, dx } => {
                nonlinearity::gated_backward(f, d, of(x), of(grad), to(dx))
            }
            Op::Tanh { x, out } => nonlinearity::tanh(of(x), to(out)),
            Op::TanhBackward { y, grad } => nonlinearity::tanh_backward(of(y), to(grad)),
            Op::Attention { shape, inputs, out } => attention::attention(shape, inputs.map(of), to(out)),
            Op::AttentionBackward { shape, inputs, grad, gradients, dbias } => {
                let (inputs, gradients) = (inputs.map(of), gradients.map(to));
                attention::attention_backward(shape, inputs, of(grad), gradients, dbias.map(to));
            }
            Op::Rotary { call, turn, x, out } => rotary::rotary(call, turn, of(x), to(out)),
            Op::Recurrent { directions, states } => {
                let directions = directions.into_iter().map(|one| one.map(of, to));
                recurrent::recurrent(directions.collect(), to(states));
            }
            Op::RecurrentBackward { directions, states, grad } => {
                let directions = directions.into_iter().map(|one| one.map(of, to));
                recurrent::recurrent_backward(directions.collect(), of(states), of(grad));
            }
            Op::AttentiveRecurrent { call, inputs, projected, out, kept } => {
                let (weights, saved) = kept.map(|kept| kept.map(to).into()).unzip();
                let (inputs, projected) = (inputs.map(of), of(projected));
                attentive_recurrent::attentive_recurrent(call, inputs, projected, to(out), weights, saved);
            }
            Op::AttentiveRecurrentBackward { call, inputs, result, grad, gradients, room } => {
                let (inputs, result, gradients) = (inputs.map(of), result.map(of), gradients.map(to));
                attentive_recurrent::attentive_recurrent_backward(
                    call,
                    inputs,
                    result,
                    of(grad),
                    gradients,
                    to(room),
                );
            }
            Op::MeanRows { lengths, d, x, out } => mean::mean_rows(lengths, d, of(x), to(out)),
            Op::MeanRowsBackward { lengths, d, grad, dx } => {
                mean::mean_rows_backward(lengths, d, of(grad), to(dx))
            }
            Op::Adam { mut step, part, moments, grad, verdict } => {
                let Some(factor) = factor(verdict) else {
                    return;
                };
                step.grad_scale *= factor;
                let (param, [mean, square]) = (&mut to(part.buffer)[part.range], moments.map(to));
                optimizer::adam(param, mean, square, of(grad), step);
            }
            Op::Sgd { mut step, part, velocity, grad, verdict } => {
                let Some(factor) = factor(verdict) else {
                    return;
                };
                step.grad_scale *= factor;
                let param = &mut to(part.buffer)[part.range];
                optimizer::sgd(param, velocity.map(to), of(grad), step);
            }
            Op::PutRows { count, from, pairs, out } => {
                let MatrixColumns { matrix, width, first } = from;
                cached::put_rows(count, (of(matrix), width, first), pairs, to(out));
            }
            Op::CachedAttention { call, scores, queries, cache, out, weights } => {
                let MatrixColumns { matrix, width, first } = queries;
                let queries = (of(matrix), width, first);
                let (out, weights) = (to(out), to(weights));
                cached::cached_attention(call, scores.map(of), queries, of(cache), out, weights);
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
        let sums = cross_entropy::cross_entropy(shape, inputs.map(of), gradients.map(to));
        to(loss)[0] = sums.loss as f32;
        Losses::Known(sums)
    }

    fn verdict(&self, call: VerdictCall<'_>) -> Buffer {
        let (loss, before) = (of(call.loss)[0], call.before.map(of));
        verdict::verdict(call, loss, of(call.squares), before).to_vec().into()
    }

    fn sums_of_squares(&self, x: &Buffer) -> Vec<f64> {
        optimizer::sums_of_squares(of(x))
    }

    fn first_non_finite(&self, x: &Buffer) -> Option<usize> {
        optimizer::first_non_finite(of(x))
    }

    fn likeliest(&self, call: LikeliestCall<'_>, logits: &Buffer) -> Vec<LargestLogits> {
        cached::likeliest(call, of(logits))
    }
}
