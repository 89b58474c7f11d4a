//! The CPU: every operation is a kernel on slices.

use std::borrow::Cow;
use std::ops::Range;

use attentive_kernels::{
    attention, attentive_recurrent, cross_entropy, dropout, elementwise, embedding, linear, mean,
    nonlinearity, norm, optimizer, recurrent, rotary,
};

use crate::cached::{self, *};
use crate::operands::*;
use crate::verdict::{self, VerdictCall};
use crate::{Buffer, Device, Losses};

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

    fn fill(&self, x: &mut Buffer, value: f32) {
        elementwise::fill(to(x), value);
    }

    fn copy(&self, x: &Buffer, out: &mut Buffer) {
        to(out).copy_from_slice(of(x));
    }

    fn add(&self, total: &mut Buffer, x: &Buffer) {
        elementwise::add(to(total), of(x));
    }

    fn scale(&self, x: &mut Buffer, factor: f32) {
        elementwise::scale(to(x), factor);
    }

    fn scale_by(&self, x: &mut Buffer, factor: &Buffer) {
        let factor = of(factor)[0];
        if factor != 1.0 {
            self.scale(x, factor);
        }
    }

    fn copy_columns(&self, count: usize, from: Columns<&Buffer>, to: Columns<&mut Buffer>) {
        let from = (of(from.matrix), from.width, from.first);
        elementwise::copy_columns(count, from, (self::to(to.matrix), to.width, to.first));
    }

    fn select_rows(&self, d: usize, x: &Buffer, rows: &[usize], out: &mut Buffer) {
        let (x, out) = (of(x), to(out));
        for (place, &row) in rows.iter().enumerate() {
            out[place * d..][..d].copy_from_slice(&x[row * d..][..d]);
        }
    }

    fn add_rows(&self, d: usize, x: &Buffer, rows: &[usize], total: &mut Buffer) {
        let (x, total) = (of(x), to(total));
        for (place, &row) in rows.iter().enumerate() {
            elementwise::add(&mut total[row * d..][..d], &x[place * d..][..d]);
        }
    }

    fn select_transposed(&self, d: usize, x: &Buffer, rows: &[usize], out: &mut Buffer) {
        let (x, out) = (of(x), to(out));
        for (place, &row) in rows.iter().enumerate() {
            for (column, &value) in x[row * d..][..d].iter().enumerate() {
                out[column * rows.len() + place] = value;
            }
        }
    }

    fn add_transposed(&self, d: usize, x: &Buffer, rows: &[usize], total: &mut Buffer) {
        let (x, total) = (of(x), to(total));
        for (place, &row) in rows.iter().enumerate() {
            for (column, total) in total[row * d..][..d].iter_mut().enumerate() {
                *total += x[column * rows.len() + place];
            }
        }
    }

    fn add_to_each(&self, table: &Buffer, part: Range<usize>, sequences: &mut Buffer) {
        let vectors = &of(table)[part];
        for sequence in to(sequences).chunks_exact_mut(vectors.len().max(1)) {
            elementwise::add(sequence, vectors);
        }
    }

    fn sum_of_each(&self, sequences: &Buffer, part: Range<usize>, table: &mut Buffer) {
        let table = to(table);
        table.fill(0.0);
        let sum = &mut table[part];
        for sequence in of(sequences).chunks_exact(sum.len().max(1)) {
            elementwise::add(sum, sequence);
        }
    }

    fn dropout(&self, dropout: Dropout, x: &mut Buffer) {
        dropout.apply(to(x));
    }

    fn dropout_add(&self, x: &Buffer, residual: Option<&Buffer>, dropout: Option<Dropout>, out: &mut Buffer) {
        dropout::dropout_add(0, of(x), residual.map(of), dropout, to(out));
    }

    fn embedding(
        &self,
        ids: &[u32],
        table: &Buffer,
        d: usize,
        scale: f32,
        positions: Option<PositionRows<'_>>,
        out: &mut Buffer,
    ) {
        embedding::embedding(ids, of(table), d, scale, positions, to(out));
    }

    fn embedding_backward(&self, ids: &[u32], grad: &Buffer, d: usize, scale: f32, dtable: &mut Buffer) {
        embedding::embedding_backward(ids, of(grad), d, scale, to(dtable));
    }

    fn linear(&self, call: LinearCall, x: &Buffer, maps: &[Affine<&Buffer>], out: &mut Buffer) {
        let maps: Vec<_> = maps.iter().map(|map| map.map(of)).collect();
        linear::linear(call, of(x), &maps, to(out));
    }

    fn linear_backward(
        &self,
        call: LinearCall,
        kept: LinearKept<'_, &Buffer>,
        grad: &mut Buffer,
        dx: Option<&mut Buffer>,
        gradients: Vec<AffineGradients<&mut Buffer>>,
    ) {
        let weights: Vec<_> = kept.weights.iter().copied().map(of).collect();
        let kept = LinearKept { x: of(kept.x), weights: &weights, out: of(kept.out) };
        let gradients = gradients.into_iter().map(|layer| layer.map(to));
        let mut gradients: Vec<_> = gradients.collect();
        linear::linear_backward(call, kept, to(grad), dx.map(to), &mut gradients);
    }

    fn norm(&self, call: NormCall, x: &Buffer, gain: &Buffer, bias: Option<&Buffer>, out: &mut Buffer) {
        norm::norm(call, of(x), of(gain), bias.map(of), to(out));
    }

    fn norm_backward(
        &self,
        call: NormCall,
        x: &Buffer,
        gain: &Buffer,
        grad: &Buffer,
        gradients: NormGradients<&mut Buffer>,
    ) {
        norm::norm_backward(call, of(x), of(gain), of(grad), gradients.map(to));
    }

    fn residual_norm(
        &self,
        call: ResidualNormCall,
        inputs: [&Buffer; 2],
        gain: &Buffer,
        bias: Option<&Buffer>,
        sum_and_out: [&mut Buffer; 2],
    ) {
        let ResidualNormCall { norm, dropout } = call;
        let (inputs, [sum, out]) = (inputs.map(of), sum_and_out.map(to));
        norm::residual_norm(norm, dropout, inputs, of(gain), bias.map(of), sum, out);
    }

    fn residual_norm_backward(
        &self,
        call: ResidualNormCall,
        sum: &Buffer,
        gain: &Buffer,
        grad: &Buffer,
        gradients: NormGradients<&mut Buffer>,
        dy: &mut Buffer,
    ) {
        let ResidualNormCall { norm, dropout } = call;
        let (gain, grad, gradients) = (of(gain), of(grad), gradients.map(to));
        norm::residual_norm_backward(norm, dropout, of(sum), gain, grad, gradients, to(dy));
    }

    fn nonlinear(&self, f: ActivationKind, x: &Buffer, out: &mut Buffer) {
        match f {
            // With the error function of `libm`, so that runs go on with the same bits.
            ActivationKind::Gelu => nonlinearity::exact_gelu(of(x), to(out)),
            f => nonlinearity::nonlinear(f, of(x), to(out)),
        }
    }

    fn nonlinear_backward(&self, f: ActivationKind, x: &Buffer, grad: &Buffer, dx: &mut Buffer) {
        match f {
            ActivationKind::Gelu => nonlinearity::exact_gelu_backward(of(x), of(grad), to(dx)),
            f => nonlinearity::nonlinear_backward(f, of(x), of(grad), to(dx)),
        }
    }

    fn gated(&self, f: ActivationKind, d: usize, x: &Buffer, out: &mut Buffer) {
        nonlinearity::gated(f, d, of(x), to(out));
    }

    fn gated_backward(&self, f: ActivationKind, d: usize, x: &Buffer, grad: &Buffer, dx: &mut Buffer) {
        nonlinearity::gated_backward(f, d, of(x), of(grad), to(dx));
    }

    fn tanh(&self, x: &Buffer, out: &mut Buffer) {
        nonlinearity::tanh(of(x), to(out));
    }

    fn tanh_backward(&self, y: &Buffer, grad: &mut Buffer) {
        nonlinearity::tanh_backward(of(y), to(grad));
    }

    fn attention(&self, shape: AttentionShape, inputs: AttentionInputs<'_, &Buffer>, out: &mut Buffer) {
        attention::attention(shape, inputs.map(of), to(out));
    }

    fn attention_backward(
        &self,
        shape: AttentionShape,
        inputs: AttentionInputs<'_, &Buffer>,
        grad: &Buffer,
        gradients: Operands<&mut Buffer>,
        dbias: Option<&mut Buffer>,
    ) {
        let (inputs, gradients) = (inputs.map(of), gradients.map(to));
        attention::attention_backward(shape, inputs, of(grad), gradients, dbias.map(to));
    }

    fn rotary(&self, call: RotaryCall<'_>, turn: Turn, x: &Buffer, out: &mut Buffer) {
        rotary::rotary(call, turn, of(x), to(out));
    }

    fn recurrent(&self, directions: Vec<RecurrentForward<'_, &Buffer, &mut Buffer>>, states: &mut Buffer) {
        let directions = directions.into_iter().map(|one| one.map(of, to));
        recurrent::recurrent(directions.collect(), to(states));
    }

    fn recurrent_backward(
        &self,
        directions: Vec<RecurrentBackward<'_, &Buffer, &mut Buffer>>,
        states: &Buffer,
        grad: &Buffer,
    ) {
        let directions = directions.into_iter().map(|one| one.map(of, to));
        recurrent::recurrent_backward(directions.collect(), of(states), of(grad));
    }

    fn attentive_recurrent(
        &self,
        call: AttentiveRecurrentCall<'_>,
        inputs: AttentiveRecurrentInputs<'_, &Buffer>,
        projected: &Buffer,
        out: &mut Buffer,
        kept: Option<[&mut Buffer; 2]>,
    ) {
        let (weights, saved) = kept.map(|kept| kept.map(to).into()).unzip();
        let (inputs, projected) = (inputs.map(of), of(projected));
        attentive_recurrent::attentive_recurrent(call, inputs, projected, to(out), weights, saved);
    }

    fn attentive_recurrent_backward(
        &self,
        call: AttentiveRecurrentCall<'_>,
        inputs: AttentiveRecurrentInputs<'_, &Buffer>,
        result: AttentiveRecurrentResult<&Buffer>,
        grad: &Buffer,
        gradients: AttentiveRecurrentGradients<&mut Buffer>,
        room: &mut Buffer,
    ) {
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

    fn mean_rows(&self, lengths: &Lengths, d: usize, x: &Buffer, out: &mut Buffer) {
        mean::mean_rows(lengths, d, of(x), to(out));
    }

    fn mean_rows_backward(&self, lengths: &Lengths, d: usize, grad: &Buffer, dx: &mut Buffer) {
        mean::mean_rows_backward(lengths, d, of(grad), to(dx));
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

    fn adam(
        &self,
        mut step: AdamStep,
        part: Part<'_>,
        moments: [&mut Buffer; 2],
        grad: &Buffer,
        verdict: Option<&Buffer>,
    ) {
        let Some(factor) = factor(verdict) else {
            return;
        };
        step.grad_scale *= factor;
        let (param, [mean, square]) = (&mut to(part.buffer)[part.range], moments.map(to));
        optimizer::adam(param, mean, square, of(grad), step);
    }

    fn sgd(
        &self,
        mut step: SgdStep,
        part: Part<'_>,
        velocity: Option<&mut Buffer>,
        grad: &Buffer,
        verdict: Option<&Buffer>,
    ) {
        let Some(factor) = factor(verdict) else {
            return;
        };
        step.grad_scale *= factor;
        let param = &mut to(part.buffer)[part.range];
        optimizer::sgd(param, velocity.map(to), of(grad), step);
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

    fn put_rows(&self, count: usize, from: Columns<&Buffer>, pairs: RowPairs<'_>, out: &mut Buffer) {
        let Columns { matrix, width, first } = from;
        cached::put_rows(count, (of(matrix), width, first), pairs, to(out));
    }

    fn cached_attention(
        &self,
        call: CachedAttentionCall<'_>,
        scores: CachedScores<&Buffer>,
        queries: Columns<&Buffer>,
        cache: &Buffer,
        out: &mut Buffer,
        weights: &mut Buffer,
    ) {
        let Columns { matrix, width, first } = queries;
        let queries = (of(matrix), width, first);
        let (out, weights) = (to(out), to(weights));
        cached::cached_attention(call, scores.map(of), queries, of(cache), out, weights);
    }

    fn likeliest(&self, call: LikeliestCall<'_>, logits: &Buffer) -> Vec<LargestLogits> {
        cached::likeliest(call, of(logits))
    }
}
