//! The operations of a GPU.

use std::borrow::Cow;
use std::ops::Range;

use attentive_device::*;
use attentive_kernels::gemm::Float;

use crate::adapter::AdapterKind;
use crate::bf16;
use crate::gpu::Gpu;
use crate::memory::numbers_of;
use crate::ops::{
    attention, attentive_recurrent, decoding, dropout, elementwise, linear, loss, nonlinearity, norm,
    optimizer, recurrent, rows,
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

    fn fill(&self, x: &mut Buffer, value: f32) {
        elementwise::fill(&mut self.record(), x, value);
    }

    fn copy(&self, x: &Buffer, out: &mut Buffer) {
        elementwise::copy(&mut self.record(), x, out);
    }

    fn add(&self, total: &mut Buffer, x: &Buffer) {
        elementwise::add(&mut self.record(), x, total);
    }

    fn scale(&self, x: &mut Buffer, factor: f32) {
        elementwise::scale(&mut self.record(), x, factor);
    }

    fn scale_by(&self, x: &mut Buffer, factor: &Buffer) {
        elementwise::scale_by(&mut self.record(), factor, x);
    }

    fn copy_columns(&self, count: usize, from: Columns<&Buffer>, to: Columns<&mut Buffer>) {
        let to = Columns { matrix: &*to.matrix, width: to.width, first: to.first };
        rows::copy_columns(&mut self.record(), count, from, to);
    }

    fn select_rows(&self, d: usize, x: &Buffer, rows: &[usize], out: &mut Buffer) {
        rows::select_rows(&mut self.record(), d, x, rows, out);
    }

    fn add_rows(&self, d: usize, x: &Buffer, rows: &[usize], total: &mut Buffer) {
        rows::add_rows(&mut self.record(), d, x, rows, total);
    }

    fn select_transposed(&self, d: usize, x: &Buffer, rows: &[usize], out: &mut Buffer) {
        rows::select_transposed(&mut self.record(), d, x, rows, out);
    }

    fn add_transposed(&self, d: usize, x: &Buffer, rows: &[usize], total: &mut Buffer) {
        rows::add_transposed(&mut self.record(), d, x, rows, total);
    }

    fn add_to_each(&self, table: &Buffer, part: Range<usize>, sequences: &mut Buffer) {
        rows::add_to_each(&mut self.record(), table, part, sequences);
    }

    fn sum_of_each(&self, sequences: &Buffer, part: Range<usize>, table: &mut Buffer) {
        rows::sum_of_each(&mut self.record(), sequences, part, table);
    }

    fn dropout(&self, dropout: Dropout, x: &mut Buffer) {
        dropout::dropout(&mut self.record(), dropout, x);
    }

    fn dropout_add(&self, x: &Buffer, residual: Option<&Buffer>, dropout: Option<Dropout>, out: &mut Buffer) {
        dropout::dropout_add(&mut self.record(), x, residual, dropout, out);
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
        rows::embedding(&mut self.record(), ids, table, d, scale, positions, out);
    }

    fn embedding_backward(&self, ids: &[u32], grad: &Buffer, d: usize, scale: f32, dtable: &mut Buffer) {
        rows::embedding_backward(&mut self.record(), ids, grad, d, scale, dtable);
    }

    fn linear(&self, call: LinearCall, x: &Buffer, maps: &[Affine<&Buffer>], out: &mut Buffer) {
        linear::linear(&mut self.record(), call, x, maps, out);
    }

    fn linear_backward(
        &self,
        call: LinearCall,
        kept: LinearKept<'_, &Buffer>,
        grad: &mut Buffer,
        dx: Option<&mut Buffer>,
        gradients: Vec<AffineGradients<&mut Buffer>>,
    ) {
        linear::linear_backward(&mut self.record(), call, kept, grad, dx, gradients);
    }

    fn norm(&self, call: NormCall, x: &Buffer, gain: &Buffer, bias: Option<&Buffer>, out: &mut Buffer) {
        norm::norm(&mut self.record(), call, x, gain, bias, out);
    }

    fn norm_backward(
        &self,
        call: NormCall,
        x: &Buffer,
        gain: &Buffer,
        grad: &Buffer,
        gradients: NormGradients<&mut Buffer>,
    ) {
        let gradients = gradients.map(|gradient| &*gradient);
        norm::norm_backward(&mut self.record(), call, x, gain, grad, gradients);
    }

    fn residual_norm(
        &self,
        call: ResidualNormCall,
        inputs: [&Buffer; 2],
        gain: &Buffer,
        bias: Option<&Buffer>,
        sum_and_out: [&mut Buffer; 2],
    ) {
        let results = sum_and_out.map(|result| &*result);
        norm::residual_norm(&mut self.record(), call, inputs, gain, bias, results);
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
        let gradients = gradients.map(|gradient| &*gradient);
        norm::residual_norm_backward(&mut self.record(), call, sum, gain, grad, gradients, dy);
    }

    fn nonlinear(&self, f: ActivationKind, x: &Buffer, out: &mut Buffer) {
        nonlinearity::nonlinear(&mut self.record(), f, x, out);
    }

    fn nonlinear_backward(&self, f: ActivationKind, x: &Buffer, grad: &Buffer, dx: &mut Buffer) {
        nonlinearity::nonlinear_backward(&mut self.record(), f, [x, grad], dx);
    }

    fn gated(&self, f: ActivationKind, d: usize, x: &Buffer, out: &mut Buffer) {
        nonlinearity::gated(&mut self.record(), f, d, x, out);
    }

    fn gated_backward(&self, f: ActivationKind, d: usize, x: &Buffer, grad: &Buffer, dx: &mut Buffer) {
        nonlinearity::gated_backward(&mut self.record(), f, d, [x, grad], dx);
    }

    fn tanh(&self, x: &Buffer, out: &mut Buffer) {
        elementwise::tanh(&mut self.record(), x, out);
    }

    fn tanh_backward(&self, y: &Buffer, grad: &mut Buffer) {
        elementwise::tanh_backward(&mut self.record(), y, grad);
    }

    fn attention(&self, shape: AttentionShape, inputs: AttentionInputs<'_, &Buffer>, out: &mut Buffer) {
        attention::attention(&mut self.record(), shape, inputs, out);
    }

    fn attention_backward(
        &self,
        shape: AttentionShape,
        inputs: AttentionInputs<'_, &Buffer>,
        grad: &Buffer,
        gradients: Operands<&mut Buffer>,
        dbias: Option<&mut Buffer>,
    ) {
        let recording = &mut self.record();
        attention::attention_backward(recording, shape, inputs, grad, gradients, dbias);
    }

    fn rotary(&self, call: RotaryCall<'_>, turn: Turn, x: &Buffer, out: &mut Buffer) {
        rows::rotary(&mut self.record(), call, turn, x, out);
    }

    fn recurrent(&self, directions: Vec<RecurrentForward<'_, &Buffer, &mut Buffer>>, states: &mut Buffer) {
        recurrent::recurrent(&mut self.record(), directions, states);
    }

    fn recurrent_backward(
        &self,
        directions: Vec<RecurrentBackward<'_, &Buffer, &mut Buffer>>,
        states: &Buffer,
        grad: &Buffer,
    ) {
        recurrent::recurrent_backward(&mut self.record(), directions, states, grad);
    }

    fn attentive_recurrent(
        &self,
        call: AttentiveRecurrentCall<'_>,
        inputs: AttentiveRecurrentInputs<'_, &Buffer>,
        projected: &Buffer,
        out: &mut Buffer,
        kept: Option<[&mut Buffer; 2]>,
    ) {
        let (recording, kept) = (&mut self.record(), kept.map(|kept| kept.map(|kept| &*kept)));
        attentive_recurrent::attentive_recurrent(recording, call, inputs, projected, out, kept);
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
        let (recording, gradients) = (&mut self.record(), gradients.map(|gradient| &*gradient));
        attentive_recurrent::attentive_recurrent_backward(
            recording, call, inputs, result, grad, gradients, room,
        );
    }

    fn mean_rows(&self, lengths: &Lengths, d: usize, x: &Buffer, out: &mut Buffer) {
        rows::mean_rows(&mut self.record(), lengths, d, x, out);
    }

    fn mean_rows_backward(&self, lengths: &Lengths, d: usize, grad: &Buffer, dx: &mut Buffer) {
        rows::mean_rows_backward(&mut self.record(), lengths, d, grad, dx);
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

    fn adam(
        &self,
        step: AdamStep,
        part: Part<'_>,
        moments: [&mut Buffer; 2],
        grad: &Buffer,
        verdict: Option<&Buffer>,
    ) {
        let moments = moments.map(|moment| &*moment);
        optimizer::adam(&mut self.record(), step, part, moments, grad, verdict);
    }

    fn sgd(
        &self,
        step: SgdStep,
        part: Part<'_>,
        velocity: Option<&mut Buffer>,
        grad: &Buffer,
        verdict: Option<&Buffer>,
    ) {
        let velocity = velocity.map(|velocity| &*velocity);
        optimizer::sgd(&mut self.record(), step, part, velocity, grad, verdict);
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

    fn put_rows(&self, count: usize, from: Columns<&Buffer>, pairs: RowPairs<'_>, to: &mut Buffer) {
        decoding::put_rows(&mut self.record(), count, from, pairs, to);
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
        let to = [&*out, &*weights];
        decoding::cached_attention(&mut self.record(), call, scores, queries, cache, to);
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
