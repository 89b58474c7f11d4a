//! A second device, to test the first and what computes on it: operations in double precision, on one thread,
//! by the references that read like the formulas. What only decoding uses and the verdict on an update are
//! computed as on the CPU: here, they test that all else goes through a device. Its buffers are vectors that
//! the host cannot read as its own.

mod attention;
mod columns;
mod layers;
mod linear;
mod loss;
mod memory;
mod optimizer;
mod rotary;

use std::borrow::Cow;
use std::fmt::{self, Debug, Formatter};
use std::sync::OnceLock;

use attentive_kernels::optimizer::SUM_CHUNK;
use attentive_kernels::reference;

use self::attention::OracleAttention;
use self::columns::{copied, written};
use self::memory::{elements, elements_mut, narrow, put, put_if, sum, wide};
use attentive_device::*;

/// The slow device that tests share, so that none may lose it.
pub static PLAIN: Plain = Plain::new();

/// A slow device.
#[derive(Default)]
pub struct Plain {
    /// Why it can compute no more.
    failure: OnceLock<Failure>,
}

impl Plain {
    /// Returns a device that can be lost without harm to others.
    pub const fn new() -> Self {
        Self { failure: OnceLock::new() }
    }

    /// Fails like a GPU that is lost: from now on, this ends all that is computed on this device.
    pub fn lose(&self, failure: Failure) {
        _ = self.failure.set(failure);
    }
}

impl Debug for Plain {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("Plain")
    }
}

impl Device for Plain {
    fn allocate(&self, len: usize) -> Buffer {
        if let Some(failure) = self.failure() {
            failure.raise();
        }
        Buffer::elsewhere(len, vec![0.0f64; len])
    }

    fn upload(&self, values: Vec<f32>) -> Buffer {
        Buffer::elsewhere(values.len(), wide(&values))
    }

    fn download<'a>(&self, buffer: &'a Buffer) -> Cow<'a, [f32]> {
        Cow::Owned(elements(buffer).iter().map(|&x| x as f32).collect())
    }

    fn failure(&self) -> Option<Failure> {
        self.failure.get().cloned()
    }

    /// As if it did: what waits for a GPU is tested here too.
    fn computes_later(&self) -> bool {
        true
    }

    fn run(&self, op: Op<'_>) {
        match op {
            Op::Fill { x, value } => elements_mut(x).fill(value.into()),
            Op::Copy { x, out } => put(out, elements(x).to_vec()),
            Op::Add { total, x } => sum(elements_mut(total), elements(x)),
            Op::Scale { x, factor } => elements_mut(x).iter_mut().for_each(|x| *x *= f64::from(factor)),
            Op::ScaleBy { x, factor } => {
                let factor = elements(factor)[0];
                elements_mut(x).iter_mut().for_each(|x| *x *= factor);
            }
            Op::CopyColumns { count, from, to } => {
                let part = copied(elements(from.matrix), from.width, from.first, count);
                written(elements_mut(to.matrix), to.width, to.first, &part, count);
            }
            Op::SelectRows { d, x, rows, out } => {
                let row = |&row: &usize| &elements(x)[row * d..][..d];
                put(out, rows.iter().flat_map(row).copied().collect());
            }
            Op::AddRows { d, x, rows, total } => {
                for (index, &row) in rows.iter().enumerate() {
                    sum(&mut elements_mut(total)[row * d..][..d], &elements(x)[index * d..][..d]);
                }
            }
            Op::SelectTransposed { d, x, rows, out } => {
                let column = |column: usize| rows.iter().map(move |row| elements(x)[row * d + column]);
                put(out, (0..d).flat_map(column).collect());
            }
            Op::AddTransposed { d, x, rows, total } => {
                let columns = reference::transpose(d, rows.len(), elements(x));
                for (index, &row) in rows.iter().enumerate() {
                    sum(&mut elements_mut(total)[row * d..][..d], &columns[index * d..][..d]);
                }
            }
            Op::AddToEach { table, part, sequences } => {
                let vectors = &elements(table)[part];
                for sequence in elements_mut(sequences).chunks_exact_mut(vectors.len().max(1)) {
                    sum(sequence, vectors);
                }
            }
            Op::SumOfEach { sequences, part, table } => {
                elements_mut(table).fill(0.0);
                for sequence in elements(sequences).chunks_exact(part.len().max(1)) {
                    sum(&mut elements_mut(table)[part.clone()], sequence);
                }
            }
            Op::Dropout { dropout, x } => linear::dropped(Some(dropout), elements_mut(x)),
            Op::DropoutAdd { x, residual, dropout, out } => {
                let nothing = vec![0.0; x.len()];
                let residual = residual.map_or(&nothing[..], elements);
                put(out, reference::dropout_add(elements(x), residual, dropout));
            }
            Op::Embedding { ids, table, d, scale, positions, out } => {
                let rows = positions.map(|rows| wide(&rows.table[..rows.len * d]));
                let found = reference::embedding(ids, elements(table), d, scale.into(), rows.as_deref());
                put(out, found);
            }
            Op::EmbeddingBackward { ids, grad, d, scale, dtable } => {
                let vocab = dtable.len() / d.max(1);
                let found = reference::embedding_backward(ids, elements(grad), vocab, d, scale.into());
                put(dtable, found);
            }
            Op::Linear { call, x, maps, out } => {
                let maps: Vec<_> = maps.iter().map(|map| map.map(elements)).collect();
                put(out, linear::linear(call, elements(x), &maps));
            }
            Op::LinearBackward { call, kept, grad, dx, gradients } => {
                let weights: Vec<_> = kept.weights.iter().copied().map(elements).collect();
                let kept = LinearKept { x: elements(kept.x), weights: &weights, out: elements(kept.out) };
                let (found, layers) = linear::backward(call, kept, elements(grad), gradients.len());
                put_if(dx, found);
                for (layer, [weight, bias]) in gradients.into_iter().zip(layers) {
                    put_if(layer.weight, weight);
                    put_if(layer.bias, bias);
                }
            }
            Op::Norm { call, x, gain, bias, out } => {
                put(out, reference::norm(call, elements(x), elements(gain), bias.map(elements)))
            }
            Op::NormBackward { call, x, gain, grad, gradients } => {
                let found = reference::norm_backward(call, elements(x), elements(gain), elements(grad));
                layers::put_norm_gradients(gradients, found);
            }
            Op::ResidualNorm { call, inputs, gain, bias, sum_and_out } => {
                let ResidualNormCall { norm, dropout } = call;
                let inputs = inputs.map(elements);
                let found =
                    reference::residual_norm(norm, dropout, inputs, elements(gain), bias.map(elements));
                for (result, found) in sum_and_out.into_iter().zip(found) {
                    put(result, found);
                }
            }
            Op::ResidualNormBackward { call, sum, gain, grad, gradients, dy } => {
                let ResidualNormCall { norm, dropout } = call;
                let (sum, gain, grad) = (elements(sum), elements(gain), elements(grad));
                let [x, gain, bias, y] = reference::residual_norm_backward(norm, dropout, sum, gain, grad);
                layers::put_norm_gradients(gradients, [x, gain, bias]);
                put(dy, y);
            }
            Op::Nonlinear { f, x, out } => {
                let value = |&x: &f64| reference::nonlinear(f, x)[0];
                put(out, elements(x).iter().map(value).collect());
            }
            Op::NonlinearBackward { f, x, grad, dx } => {
                let slope = |(&x, &grad): (&f64, &f64)| grad * reference::nonlinear(f, x)[1];
                put(dx, elements(x).iter().zip(elements(grad)).map(slope).collect());
            }
            Op::Gated { f, d, x, out } => {
                let nothing = vec![0.0; out.len()];
                let [found, _] = reference::gated(f, d, elements(x), &nothing);
                put(out, found);
            }
            Op::GatedBackward { f, d, x, grad, dx } => {
                let [_, found] = reference::gated(f, d, elements(x), elements(grad));
                put(dx, found);
            }
            Op::Tanh { x, out } => put(out, elements(x).iter().map(|x| x.tanh()).collect()),
            Op::TanhBackward { y, grad } => {
                for (grad, y) in elements_mut(grad).iter_mut().zip(elements(y)) {
                    *grad *= 1.0 - y * y;
                }
            }
            Op::Attention { shape, inputs, out } => {
                put(out, OracleAttention::new(shape, inputs.map(elements)).forward())
            }
            Op::AttentionBackward { shape, inputs, grad, gradients, dbias } => {
                let attention = OracleAttention::new(shape, inputs.map(elements));
                put_if(dbias, attention.backward(elements(grad), gradients.map(elements_mut)));
            }
            Op::Rotary { call, turn, x, out } => put(out, rotary::rotary(call, turn, elements(x))),
            Op::Recurrent { directions, states } => {
                layers::recurrent_forward(directions, elements_mut(states))
            }
            Op::RecurrentBackward { directions, states: _, grad } => {
                layers::recurrent_backward(directions, elements(grad))
            }
            Op::AttentiveRecurrent { call, inputs, projected, out, kept } => {
                let projected = elements(projected);
                let layer = layers::attentive(call, inputs.map(elements), projected);
                let [found, found_weights] = layer.forward();
                put(out, found);
                if let Some([weights, saved]) = kept {
                    put(weights, found_weights);
                    *elements_mut(saved) = projected.to_vec();
                }
            }
            Op::AttentiveRecurrentBackward { call, inputs, result, grad, gradients, room: _ } => {
                let layer = layers::attentive(call, inputs.map(elements), elements(result.saved));
                layers::put_attentive_gradients(gradients, layer.backward(elements(grad)));
            }
            Op::AdditiveAttention { shape, inputs, out, weights } => {
                let attention = layers::additive(shape, inputs.map(elements));
                put(out, attention.forward());
                put(weights, attention.weights());
            }
            Op::AdditiveAttentionBackward { shape, inputs, weights: _, grad, gradients } => {
                let attention = layers::additive(shape, inputs.map(elements));
                let [queries, keys, values, v] = attention.backward(elements(grad));
                put(gradients.queries, queries);
                put(gradients.keys, keys);
                put(gradients.values, values);
                put(gradients.v, v);
            }
            Op::MeanRows { lengths, d, x, out } => {
                let nothing = vec![0.0; out.len()];
                let [found, _] = reference::mean_rows(lengths, d, elements(x), &nothing);
                put(out, found);
            }
            Op::MeanRowsBackward { lengths, d, grad, dx } => {
                let nothing = vec![0.0; dx.len()];
                let [_, found] = reference::mean_rows(lengths, d, &nothing, elements(grad));
                put(dx, found);
            }
            Op::Optimize { step, part, state, grad, verdict } => {
                if let Some(grad) = optimizer::judged(grad, verdict) {
                    optimizer::optimize(step, part, state, &grad);
                }
            }
            Op::PutRows { count, from, pairs, out } => {
                let MatrixColumns { matrix, width, first } = from;
                let (mut found, matrix) = (narrow(out), narrow(matrix));
                cached::put_rows(count, (&matrix, width, first), pairs, &mut found);
                put(out, wide(&found));
            }
            Op::CachedAttention { call, scores, queries, cache, out, weights } => {
                let scores = scores.map(narrow);
                let scores = match &scores {
                    CachedScores::Dot { scale, by_distance } => {
                        CachedScores::Dot { scale: *scale, by_distance: by_distance.as_deref() }
                    }
                    CachedScores::Additive(v) => CachedScores::Additive(v.as_slice()),
                };
                let (matrix, cache) = (narrow(queries.matrix), narrow(cache));
                let (mut contexts, mut all) = (vec![0.0; out.len()], vec![0.0; weights.len()]);
                let queries = (&matrix[..], queries.width, queries.first);
                cached::cached_attention(call, scores, queries, &cache, &mut contexts, &mut all);
                put(out, wide(&contexts));
                put(weights, wide(&all));
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
        assert!(inputs.twin.is_none(), "a loss of two passes, which only the CPU computes");
        let inputs = inputs.map(elements);
        let smoothing = inputs.label_smoothing.into();
        let (x, weight, bias) = (inputs.x, inputs.weight, inputs.bias);
        let (sums, [x, weight, bias]) =
            reference::cross_entropy(shape, x, weight, bias, inputs.targets, inputs.row_weights, smoothing);
        put_if(gradients.x, x);
        put_if(gradients.weight, weight);
        put_if(gradients.bias, bias);
        put(loss, vec![sums.loss]);
        self::loss::losses(shape, inputs)
    }

    fn verdict(&self, call: VerdictCall<'_>) -> Buffer {
        optimizer::verdict(call)
    }

    fn sums_of_squares(&self, x: &Buffer) -> Vec<f64> {
        let chunks = elements(x).chunks(SUM_CHUNK);
        chunks.map(|x| x.iter().map(|x| x * x).sum()).collect()
    }

    fn first_non_finite(&self, x: &Buffer) -> Option<usize> {
        elements(x).iter().position(|&x| !(x as f32).is_finite())
    }

    fn likeliest(&self, call: LikeliestCall<'_>, logits: &Buffer) -> Vec<LargestLogits> {
        cached::likeliest(call, &narrow(logits))
    }

    fn hardware(&self) -> Option<Hardware> {
        Some(Hardware { name: "double precision".into(), memory: HardwareMemory::Shared, is_software: true })
    }
}
