//! A second device, to test the first and what computes on it: every operation in double precision, on one
//! thread, by the references that read like the formulas. Its buffers are vectors that the host cannot read
//! as its own.

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
use std::ops::Range;
use std::sync::OnceLock;

use attentive_kernels::optimizer::SUM_CHUNK;
use attentive_kernels::reference;

use self::attention::Attention;
use self::columns::{copied, written};
use self::memory::{narrow, of, put, put_if, sum, to, wide};
use crate::cached::{self, *};
use crate::operands::*;
use crate::verdict::VerdictCall;
use crate::{Buffer, Device, Failure, Hardware, HardwareMemory, Losses};

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
        Cow::Owned(of(buffer).iter().map(|&x| x as f32).collect())
    }

    fn failure(&self) -> Option<Failure> {
        self.failure.get().cloned()
    }

    /// As if it did: what waits for a GPU is tested here too.
    fn computes_later(&self) -> bool {
        true
    }

    fn fill(&self, x: &mut Buffer, value: f32) {
        to(x).fill(value.into());
    }

    fn copy(&self, x: &Buffer, out: &mut Buffer) {
        put(out, of(x).to_vec());
    }

    fn add(&self, total: &mut Buffer, x: &Buffer) {
        sum(to(total), of(x));
    }

    fn scale(&self, x: &mut Buffer, factor: f32) {
        to(x).iter_mut().for_each(|x| *x *= f64::from(factor));
    }

    fn scale_by(&self, x: &mut Buffer, factor: &Buffer) {
        let factor = of(factor)[0];
        to(x).iter_mut().for_each(|x| *x *= factor);
    }

    fn copy_columns(&self, count: usize, from: Columns<&Buffer>, to: Columns<&mut Buffer>) {
        let part = copied(of(from.matrix), from.width, from.first, count);
        written(self::to(to.matrix), to.width, to.first, &part, count);
    }

    fn select_rows(&self, d: usize, x: &Buffer, rows: &[usize], out: &mut Buffer) {
        let row = |&row: &usize| &of(x)[row * d..][..d];
        put(out, rows.iter().flat_map(row).copied().collect());
    }

    fn add_rows(&self, d: usize, x: &Buffer, rows: &[usize], total: &mut Buffer) {
        for (place, &row) in rows.iter().enumerate() {
            sum(&mut to(total)[row * d..][..d], &of(x)[place * d..][..d]);
        }
    }

    fn select_transposed(&self, d: usize, x: &Buffer, rows: &[usize], out: &mut Buffer) {
        let column = |column: usize| rows.iter().map(move |row| of(x)[row * d + column]);
        put(out, (0..d).flat_map(column).collect());
    }

    fn add_transposed(&self, d: usize, x: &Buffer, rows: &[usize], total: &mut Buffer) {
        let columns = reference::transpose(d, rows.len(), of(x));
        for (place, &row) in rows.iter().enumerate() {
            sum(&mut to(total)[row * d..][..d], &columns[place * d..][..d]);
        }
    }

    fn add_to_each(&self, table: &Buffer, part: Range<usize>, sequences: &mut Buffer) {
        let vectors = &of(table)[part];
        for sequence in to(sequences).chunks_exact_mut(vectors.len().max(1)) {
            sum(sequence, vectors);
        }
    }

    fn sum_of_each(&self, sequences: &Buffer, part: Range<usize>, table: &mut Buffer) {
        to(table).fill(0.0);
        for sequence in of(sequences).chunks_exact(part.len().max(1)) {
            sum(&mut to(table)[part.clone()], sequence);
        }
    }

    fn dropout(&self, dropout: Dropout, x: &mut Buffer) {
        linear::dropped(Some(dropout), to(x));
    }

    fn dropout_add(&self, x: &Buffer, residual: Option<&Buffer>, dropout: Option<Dropout>, out: &mut Buffer) {
        let nothing = vec![0.0; x.len()];
        let residual = residual.map_or(&nothing[..], of);
        put(out, reference::dropout_add(of(x), residual, dropout));
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
        let rows = positions.map(|rows| wide(&rows.table[..rows.len * d]));
        let found = reference::embedding(ids, of(table), d, scale.into(), rows.as_deref());
        put(out, found);
    }

    fn embedding_backward(&self, ids: &[u32], grad: &Buffer, d: usize, scale: f32, dtable: &mut Buffer) {
        let vocab = dtable.len() / d.max(1);
        let found = reference::embedding_backward(ids, of(grad), vocab, d, scale.into());
        put(dtable, found);
    }

    fn linear(&self, call: LinearCall, x: &Buffer, maps: &[Affine<&Buffer>], out: &mut Buffer) {
        let maps: Vec<_> = maps.iter().map(|map| map.map(of)).collect();
        put(out, linear::linear(call, of(x), &maps));
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
        let (found, layers) = linear::backward(call, kept, of(grad), gradients.len());
        put_if(dx, found);
        for (layer, [weight, bias]) in gradients.into_iter().zip(layers) {
            put_if(layer.weight, weight);
            put_if(layer.bias, bias);
        }
    }

    fn norm(&self, call: NormCall, x: &Buffer, gain: &Buffer, bias: Option<&Buffer>, out: &mut Buffer) {
        put(out, reference::norm(call, of(x), of(gain), bias.map(of)));
    }

    fn norm_backward(
        &self,
        call: NormCall,
        x: &Buffer,
        gain: &Buffer,
        grad: &Buffer,
        gradients: NormGradients<&mut Buffer>,
    ) {
        let found = reference::norm_backward(call, of(x), of(gain), of(grad));
        layers::put_norm_gradients(gradients, found);
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
        let inputs = inputs.map(of);
        let found = reference::residual_norm(norm, dropout, inputs, of(gain), bias.map(of));
        for (result, found) in sum_and_out.into_iter().zip(found) {
            put(result, found);
        }
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
        let (sum, gain, grad) = (of(sum), of(gain), of(grad));
        let [x, gain, bias, y] = reference::residual_norm_backward(norm, dropout, sum, gain, grad);
        layers::put_norm_gradients(gradients, [x, gain, bias]);
        put(dy, y);
    }

    fn nonlinear(&self, f: ActivationKind, x: &Buffer, out: &mut Buffer) {
        let value = |&x: &f64| reference::nonlinear(f, x)[0];
        put(out, of(x).iter().map(value).collect());
    }

    fn nonlinear_backward(&self, f: ActivationKind, x: &Buffer, grad: &Buffer, dx: &mut Buffer) {
        let slope = |(&x, &grad): (&f64, &f64)| grad * reference::nonlinear(f, x)[1];
        put(dx, of(x).iter().zip(of(grad)).map(slope).collect());
    }

    fn gated(&self, f: ActivationKind, d: usize, x: &Buffer, out: &mut Buffer) {
        let nothing = vec![0.0; out.len()];
        let [found, _] = reference::gated(f, d, of(x), &nothing);
        put(out, found);
    }

    fn gated_backward(&self, f: ActivationKind, d: usize, x: &Buffer, grad: &Buffer, dx: &mut Buffer) {
        let [_, found] = reference::gated(f, d, of(x), of(grad));
        put(dx, found);
    }

    fn tanh(&self, x: &Buffer, out: &mut Buffer) {
        put(out, of(x).iter().map(|x| x.tanh()).collect());
    }

    fn tanh_backward(&self, y: &Buffer, grad: &mut Buffer) {
        for (grad, y) in to(grad).iter_mut().zip(of(y)) {
            *grad *= 1.0 - y * y;
        }
    }

    fn attention(&self, shape: AttentionShape, inputs: AttentionInputs<'_, &Buffer>, out: &mut Buffer) {
        put(out, Attention::new(shape, inputs.map(of)).forward());
    }

    fn attention_backward(
        &self,
        shape: AttentionShape,
        inputs: AttentionInputs<'_, &Buffer>,
        grad: &Buffer,
        gradients: Operands<&mut Buffer>,
        dbias: Option<&mut Buffer>,
    ) {
        let attention = Attention::new(shape, inputs.map(of));
        put_if(dbias, attention.backward(of(grad), gradients.map(to)));
    }

    fn rotary(&self, call: RotaryCall<'_>, turn: Turn, x: &Buffer, out: &mut Buffer) {
        put(out, rotary::rotary(call, turn, of(x)));
    }

    fn recurrent(&self, directions: Vec<RecurrentForward<'_, &Buffer, &mut Buffer>>, states: &mut Buffer) {
        layers::recurrent_forward(directions, to(states));
    }

    fn recurrent_backward(
        &self,
        directions: Vec<RecurrentBackward<'_, &Buffer, &mut Buffer>>,
        _states: &Buffer,
        grad: &Buffer,
    ) {
        layers::recurrent_backward(directions, of(grad));
    }

    fn attentive_recurrent(
        &self,
        call: AttentiveRecurrentCall<'_>,
        inputs: AttentiveRecurrentInputs<'_, &Buffer>,
        projected: &Buffer,
        out: &mut Buffer,
        kept: Option<[&mut Buffer; 2]>,
    ) {
        let projected = of(projected);
        let layer = layers::attentive(call, inputs.map(of), projected);
        let [found, found_weights] = layer.forward();
        put(out, found);
        if let Some([weights, saved]) = kept {
            put(weights, found_weights);
            *to(saved) = projected.to_vec();
        }
    }

    fn attentive_recurrent_backward(
        &self,
        call: AttentiveRecurrentCall<'_>,
        inputs: AttentiveRecurrentInputs<'_, &Buffer>,
        result: AttentiveRecurrentResult<&Buffer>,
        grad: &Buffer,
        gradients: AttentiveRecurrentGradients<&mut Buffer>,
        _room: &mut Buffer,
    ) {
        let layer = layers::attentive(call, inputs.map(of), of(result.saved));
        layers::put_attentive_gradients(gradients, layer.backward(of(grad)));
    }

    fn mean_rows(&self, lengths: &Lengths, d: usize, x: &Buffer, out: &mut Buffer) {
        let nothing = vec![0.0; out.len()];
        let [found, _] = reference::mean_rows(lengths, d, of(x), &nothing);
        put(out, found);
    }

    fn mean_rows_backward(&self, lengths: &Lengths, d: usize, grad: &Buffer, dx: &mut Buffer) {
        let nothing = vec![0.0; dx.len()];
        let [_, found] = reference::mean_rows(lengths, d, &nothing, of(grad));
        put(dx, found);
    }

    fn cross_entropy(
        &self,
        shape: ProjectionShape,
        inputs: ProjectionInputs<'_, &Buffer>,
        gradients: ProjectionGradients<&mut Buffer>,
        loss: &mut Buffer,
    ) -> Losses {
        let inputs = inputs.map(of);
        let smoothing = inputs.label_smoothing.into();
        let (x, weight, bias) = (inputs.x, inputs.weight, inputs.bias);
        let (sums, [x, weight, bias]) =
            reference::cross_entropy(shape, x, weight, bias, inputs.targets, smoothing);
        put_if(gradients.x, x);
        put_if(gradients.weight, weight);
        put_if(gradients.bias, bias);
        put(loss, vec![sums.loss]);
        self::loss::losses(shape, inputs)
    }

    fn adam(
        &self,
        step: AdamStep,
        part: Part<'_>,
        moments: [&mut Buffer; 2],
        grad: &Buffer,
        verdict: Option<&Buffer>,
    ) {
        if let Some(grad) = optimizer::judged(grad, verdict) {
            optimizer::adam(step, part, moments, &grad);
        }
    }

    fn sgd(
        &self,
        step: SgdStep,
        part: Part<'_>,
        velocity: Option<&mut Buffer>,
        grad: &Buffer,
        verdict: Option<&Buffer>,
    ) {
        if let Some(grad) = optimizer::judged(grad, verdict) {
            optimizer::sgd(step, part, velocity, &grad);
        }
    }

    fn verdict(&self, call: VerdictCall<'_>) -> Buffer {
        optimizer::verdict(call)
    }

    fn sums_of_squares(&self, x: &Buffer) -> Vec<f64> {
        let chunks = of(x).chunks(SUM_CHUNK);
        chunks.map(|x| x.iter().map(|x| x * x).sum()).collect()
    }

    fn first_non_finite(&self, x: &Buffer) -> Option<usize> {
        of(x).iter().position(|&x| !(x as f32).is_finite())
    }

    fn put_rows(&self, count: usize, from: Columns<&Buffer>, pairs: RowPairs<'_>, out: &mut Buffer) {
        let Columns { matrix, width, first } = from;
        let (mut found, matrix) = (narrow(out), narrow(matrix));
        cached::put_rows(count, (&matrix, width, first), pairs, &mut found);
        put(out, wide(&found));
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

    fn likeliest(&self, call: LikeliestCall<'_>, logits: &Buffer) -> Vec<LargestLogits> {
        cached::likeliest(call, &narrow(logits))
    }

    fn hardware(&self) -> Option<Hardware> {
        Some(Hardware { name: "double precision".into(), memory: HardwareMemory::Shared, is_software: true })
    }
}
