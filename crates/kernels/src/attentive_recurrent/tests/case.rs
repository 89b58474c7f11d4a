//! A layer with random inputs, run by the kernel and by the reference.

use super::*;
use crate::reference::{AttentiveRecurrent, Recurrent, ReferenceAdditiveAttention};
use crate::testing::{assert_close, random, wide};

/// src_len, d, d_key, d_value
pub(super) type Sizes = (usize, usize, usize, usize);

/// A call with random inputs, NaN at padding.
#[derive(Clone)]
pub(super) struct Case {
    pub(super) cell: CellKind,
    pub(super) direction: Direction,
    pub(super) precision: Float,
    pub(super) lengths: Lengths,
    pub(super) sizes: Sizes,
    pub(super) projected: Vec<f32>,
    pub(super) weight: Vec<f32>,
    pub(super) bias: Option<Vec<f32>>,
    pub(super) initial: Option<Vec<f32>>,
    pub(super) query_weight: Vec<f32>,
    pub(super) context_weight: Vec<f32>,
    pub(super) keys: Vec<f32>,
    pub(super) values: Vec<f32>,
    pub(super) src_lengths: Option<Lengths>,
    pub(super) v: Vec<f32>,
    pub(super) grad: Vec<f32>,
}

/// Output, attention weights, and gradients of projections, hidden weight and bias, initial states, the two
/// projections, keys, values and v.
pub(super) type Results = [Vec<f32>; 11];
impl Case {
    pub(super) fn new(cell: CellKind, lens: &[usize], len: usize, sizes: Sizes) -> Self {
        let (src_len, d, d_key, d_value) = sizes;
        let (gates, states) = (cell.gates() * d, cell.states() * d);
        let (batch, rows) = (lens.len(), lens.len() * len);
        // Keeps long sums from saturating the gates.
        let scaled = |len: usize, cols: usize, seed: u32| -> Vec<f32> {
            let scale = 2.0 / (1.0 + cols as f32).sqrt();
            random(len, seed).iter().map(|x| scale * x).collect()
        };
        let out_cols = states + d_value;
        let mut case = Self {
            cell,
            direction: Direction::Forward,
            precision: Float::F32,
            lengths: Lengths::new(lens, len),
            sizes,
            projected: random(rows * gates, 1),
            weight: scaled(cell.hidden_gates() * d * d, d, 2),
            bias: Some(random(cell.hidden_gates() * d, 3)),
            initial: Some(random(batch * states, 4)),
            query_weight: scaled(d_key * d, d, 5),
            context_weight: scaled(gates * d_value, d_value, 6),
            keys: random(batch * src_len * d_key, 7),
            values: random(batch * src_len * d_value, 8),
            src_lengths: None,
            v: scaled(d_key, d_key, 9),
            grad: random(rows * out_cols, 10),
        };
        for (sequence, &real) in lens.iter().enumerate() {
            let padding = sequence * len + real..(sequence + 1) * len;
            case.projected[padding.start * gates..padding.end * gates].fill(f32::NAN);
            case.grad[padding.start * out_cols..padding.end * out_cols].fill(f32::NAN);
        }
        case
    }

    /// Gives sentence i `len(i)` keys, and fills the padding after them with NaN.
    pub(super) fn pad(mut self, len: impl Fn(usize) -> usize) -> Self {
        let (src_len, _, d_key, d_value) = self.sizes;
        let lens: Vec<usize> = (0..self.lengths.rows()).map(|sentence| len(sentence).min(src_len)).collect();
        let lengths = Lengths::new(lens, src_len);
        for (key, _) in lengths.mask().enumerate().filter(|&(_, pad)| pad) {
            self.keys[key * d_key..][..d_key].fill(f32::NAN);
            self.values[key * d_value..][..d_value].fill(f32::NAN);
        }
        self.src_lengths = Some(lengths);
        self
    }

    fn has_hidden(&self) -> bool {
        self.cell.hidden_gates() > 0
    }

    pub(super) fn call(&self) -> AttentiveRecurrentCall<'_> {
        let (src_len, d, d_key, d_value) = self.sizes;
        AttentiveRecurrentCall {
            recurrent: RecurrentCall {
                cell: self.cell,
                direction: self.direction,
                lengths: &self.lengths,
                d,
                precision: self.precision,
            },
            src_len,
            d_key,
            d_value,
        }
    }

    pub(super) fn inputs(&self) -> AttentiveRecurrentInputs<'_, &[f32]> {
        AttentiveRecurrentInputs {
            recurrence: Recurrence {
                hidden: self
                    .has_hidden()
                    .then(|| Affine { weight: &self.weight[..], bias: self.bias.as_deref() }),
                initial: self.initial.as_deref(),
            },
            query_weight: &self.query_weight[..],
            context_weight: &self.context_weight[..],
            keys: &self.keys[..],
            values: &self.values[..],
            src_lengths: self.src_lengths.as_ref(),
            v: &self.v[..],
        }
    }

    /// The output alone, without saving anything for the backward pass.
    pub(super) fn out(&self) -> Vec<f32> {
        let mut out = vec![f32::NAN; self.grad.len()];
        let projected = &self.projected;
        attentive_recurrent(self.call(), self.inputs(), projected, &mut out, None, None);
        out
    }

    pub(super) fn run(&self) -> Results {
        let (call, inputs) = (self.call(), self.inputs());
        let (src_len, d, d_key, _) = self.sizes;
        let (rows, batch) = (self.lengths.positions(), self.lengths.rows());
        let mut saved = vec![f32::NAN; rows * self.cell.saved() * d];
        let mut results = [
            self.grad.len(),
            rows * src_len,
            self.projected.len(),
            self.weight.len(),
            self.cell.hidden_gates() * d,
            batch * self.cell.states() * d,
            self.query_weight.len(),
            self.context_weight.len(),
            self.keys.len(),
            self.values.len(),
            d_key,
        ]
        .map(|len| vec![f32::NAN; len]);
        let [out, weights, gradients @ ..] = &mut results;
        let (kept, gates) = (Some(&mut weights[..]), Some(&mut saved[..]));
        attentive_recurrent(call, inputs, &self.projected, out, kept, gates);
        assert!(bits(out) == bits(&self.out()), "without saved results");
        let result =
            AttentiveRecurrentResult { out: &out[..], attention_weights: &weights[..], saved: &saved[..] };
        let [projected, weight, bias, initial, query_weight, context_weight, keys, values, v] = gradients;
        let gradients = AttentiveRecurrentGradients {
            recurrence: RecurrentGradients {
                projected,
                weight: self.has_hidden().then_some(weight),
                bias: self.has_hidden().then_some(bias),
                initial: Some(initial),
            },
            query_weight: Some(query_weight),
            context_weight: Some(context_weight),
            keys,
            values,
            v,
        };
        let room = &mut vec![f32::NAN; call.room()];
        attentive_recurrent_backward(
            call,
            inputs,
            result,
            &self.grad,
            gradients.map(Vec::as_mut_slice),
            room,
        );
        results
    }

    pub(super) fn assert_matches_the_reference(&self, tolerance: f64) {
        let [projected, weight, query_weight, context_weight, keys, values, v] = [
            &self.projected,
            &self.weight,
            &self.query_weight,
            &self.context_weight,
            &self.keys,
            &self.values,
            &self.v,
        ]
        .map(|x| wide(x));
        let [bias, initial] = [&self.bias, &self.initial].map(|x| x.as_ref().map(|x| wide(x)));
        let twin = AttentiveRecurrent {
            recurrent: Recurrent {
                call: self.call().recurrent,
                projected: &projected,
                weight: self.has_hidden().then_some(&weight),
                bias: bias.as_deref(),
                initial: initial.as_deref(),
            },
            attention: ReferenceAdditiveAttention {
                shape: self.call().attention(self.lengths.rows()),
                queries: &[],
                keys: &keys,
                values: &values,
                lens: self.src_lengths.as_ref().map(Lengths::lens),
                v: &v,
            },
            query_weight: &query_weight,
            context_weight: &context_weight,
        };
        let mut expected = twin.forward().to_vec();
        expected.extend(twin.backward(&wide(&self.grad)));
        for (number, (found, expected)) in self.run().iter().zip(&expected).enumerate() {
            let what = format!("result {number} of {:?}", self.call());
            assert_close(found, expected, tolerance, &what);
        }
    }

    /// One sequence in rows of `len`, with `extra` additional padded keys.
    pub(super) fn alone(&self, sequence: usize, len: usize, extra: usize) -> Self {
        let (src_len, d, d_key, d_value) = self.sizes;
        let (gates, states) = (self.cell.gates() * d, self.cell.states() * d);
        let take = |matrix: &[f32], from: usize, cols: usize, kept: usize, wanted: usize| {
            let mut rows = matrix[sequence * from * cols..][..kept * cols].to_vec();
            rows.resize(wanted * cols, f32::NAN);
            rows
        };
        let real = self.lengths.lens()[sequence];
        let of_target = |matrix: &[f32], cols: usize| take(matrix, self.lengths.width(), cols, real, len);
        let of_source = |matrix: &[f32], cols: usize| take(matrix, src_len, cols, src_len, src_len + extra);
        let lengths = self.src_lengths.as_ref();
        let n_keys = lengths.map_or(src_len, |lengths| lengths.lens()[sequence]);
        let initial = self.initial.as_ref();
        Self {
            lengths: Lengths::new([real], len),
            sizes: (src_len + extra, d, d_key, d_value),
            projected: of_target(&self.projected, gates),
            grad: of_target(&self.grad, states + d_value),
            keys: of_source(&self.keys, d_key),
            values: of_source(&self.values, d_value),
            src_lengths: Some(Lengths::new([n_keys], src_len + extra)),
            initial: initial.map(|initial| initial[sequence * states..][..states].to_vec()),
            ..self.clone()
        }
    }
}
