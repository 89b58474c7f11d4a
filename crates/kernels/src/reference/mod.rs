//! Naive reference implementations of the kernels in double precision: loops that read like the formulas.
//!
//! The kernels are tested against these, and these against central finite differences. They allocate their
//! results and check nothing.

mod additive_attention;
mod attention;
mod attentive_recurrent;
mod mean;
mod nonlinearity;
mod norm;
mod recurrent;

pub use crate::additive_attention::AdditiveAttentionShape;
pub use additive_attention::ReferenceAdditiveAttention;
pub use attention::ReferenceAttention;
pub use attentive_recurrent::AttentiveRecurrent;
pub use mean::mean_rows;
pub use nonlinearity::{gated, nonlinear};
pub use norm::{dropout_add, norm, norm_backward, residual_norm, residual_norm_backward};
pub use recurrent::Recurrent;

use attentive_base::philox::philox;

use crate::cross_entropy::{IGNORE, LossSums, ProjectionShape};
use crate::dropout::DropoutCall;
use crate::gemm::Activation;
use crate::gemm::{Float, bf16};
use crate::linear::LinearCall;
use crate::muon::{self, MuonStep};
use crate::optimizer::{AdamStep, SgdStep};

/// `a` `[m, k]` · `b` `[k, n]`, both row-major.
pub fn gemm(m: usize, n: usize, k: usize, a: &[f64], b: &[f64]) -> Vec<f64> {
    let mut out = vec![0.0; m * n];
    for i in 0..m {
        for j in 0..n {
            out[i * n + j] = (0..k).map(|p| a[i * k + p] * b[p * n + j]).sum();
        }
    }
    out
}

/// The transpose of a row-major matrix.
pub fn transpose(rows: usize, cols: usize, x: &[f64]) -> Vec<f64> {
    (0..rows * cols).map(|i| x[i % rows * cols + i / rows]).collect()
}

/// Rounds an operand to the given precision.
pub fn operand(precision: Float, x: &[f64]) -> Vec<f64> {
    let one = |&x: &f64| match precision {
        Float::F32 => x,
        Float::Bf16 => bf16::round(x as f32).into(),
    };
    x.iter().map(one).collect()
}

/// [`crate::linear::linear`] with one layer.
pub fn linear(call: LinearCall, x: &[f64], weight: &[f64], bias: Option<&[f64]>) -> Vec<f64> {
    let LinearCall { rows, d_in, d_out, .. } = call;
    let [x, weight] = [x, weight].map(|x| operand(call.precision, x));
    let mut out = gemm(rows, d_out, d_in, &x, &transpose(d_out, d_in, &weight));
    for (i, y) in out.iter_mut().enumerate() {
        *y += bias.map_or(0.0, |bias| bias[i % d_out]);
        if call.activation == Activation::Relu {
            *y = y.max(0.0);
        }
        *y *= call.dropout.map_or(1.0, |dropout| dropout_scale(dropout, i));
    }
    out
}

/// [`crate::linear::linear_backward`] of one layer: the gradients of input, weight and bias.
pub fn linear_backward(
    call: LinearCall,
    x: &[f64],
    weight: &[f64],
    out: &[f64],
    grad_out: &[f64],
) -> [Vec<f64>; 3] {
    let LinearCall { rows, d_in, d_out, .. } = call;
    let passes = |y: f64| call.activation == Activation::Identity || y > 0.0;
    let scale = |i| call.dropout.map_or(1.0, |dropout| dropout_scale(dropout, i));
    let grad: Vec<f64> =
        (0..out.len()).map(|i| if passes(out[i]) { grad_out[i] * scale(i) } else { 0.0 }).collect();
    let [x, weight, rounded] = [x, weight, &grad].map(|x| operand(call.precision, x));
    let dx = gemm(rows, d_in, d_out, &rounded, &weight);
    let dweight = gemm(d_out, d_in, rows, &transpose(rows, d_out, &rounded), &x);
    let dbias = (0..d_out).map(|j| (0..rows).map(|i| grad[i * d_out + j]).sum()).collect();
    [dx, dweight, dbias]
}

/// The factor that [`DropoutCall`] applies to one element.
pub fn dropout_scale(dropout: DropoutCall, element: usize) -> f64 {
    let (group, inside) = (element / 64, element % 64);
    let (word, half, lane) = (inside / 16, inside / 8 % 2, inside % 8);
    let key = [dropout.seed as u32, (dropout.seed >> 32) as u32];
    let counter = [
        (group * 8 + lane) as u32,
        dropout.site,
        dropout.micro_batch as u32,
        (dropout.micro_batch >> 32) as u32,
    ];
    let bits = philox(key, counter)[word] >> (16 * half) & 0xFFFF;
    let dropped = (f64::from(dropout.rate) * 65536.0).round();
    if f64::from(bits) >= dropped { 65536.0 / (65536.0 - dropped) } else { 0.0 }
}

/// [`crate::cross_entropy::cross_entropy`]: the sums and the gradients of input, weight and bias.
pub fn cross_entropy(
    shape: ProjectionShape,
    x: &[f64],
    weight: &[f64],
    bias: Option<&[f64]>,
    targets: &[u32],
    row_weights: Option<&[f32]>,
    label_smoothing: f64,
) -> (LossSums, [Vec<f64>; 3]) {
    let ProjectionShape { rows, d_model, vocab, precision } = shape;
    let layer = LinearCall {
        rows,
        d_in: d_model,
        d_out: vocab,
        activation: Activation::Identity,
        dropout: None,
        precision,
    };
    let logits = linear(layer, x, weight, bias);
    let mut dlogits = vec![0.0; logits.len()];
    let mut sums = LossSums::default();
    for (row, &target) in targets.iter().enumerate().filter(|(_, target)| **target != IGNORE) {
        let logits = &logits[row * vocab..][..vocab];
        let log_sum = logits.iter().map(|z| z.exp()).sum::<f64>().ln();
        let weight = row_weights.map_or(1.0, |weights| f64::from(weights[row]));
        for (class, &z) in logits.iter().enumerate() {
            let hot = if class == target as usize { 1.0 } else { 0.0 };
            let wanted = (1.0 - label_smoothing) * hot + label_smoothing / vocab as f64;
            sums.loss -= weight * wanted * (z - log_sum);
            sums.nll -= hot * (z - log_sum);
            dlogits[row * vocab + class] = weight * ((z - log_sum).exp() - wanted);
        }
        let best = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        sums.n_tokens += 1;
        sums.n_correct += usize::from(logits.iter().position(|&z| z == best) == Some(target as usize));
    }
    (sums, linear_backward(layer, x, weight, &logits, &dlogits))
}

/// [`crate::cross_entropy::cross_entropy`] with a twin, from its definition: the sums and the gradients of
/// both inputs, weight and bias. The two numbers are the label smoothing and the factor of the divergence.
pub fn consistent_cross_entropy(
    shape: ProjectionShape,
    passes: [&[f64]; 2],
    weight: &[f64],
    bias: Option<&[f64]>,
    targets: &[u32],
    row_weights: Option<&[f32]>,
    [label_smoothing, strength]: [f64; 2],
) -> (LossSums, [Vec<f64>; 4]) {
    let ProjectionShape { rows, d_model, vocab, precision } = shape;
    let activation = Activation::Identity;
    let layer = LinearCall { rows, d_in: d_model, d_out: vocab, activation, dropout: None, precision };
    let logits = passes.map(|x| linear(layer, x, weight, bias));
    let mut dlogits = [(); 2].map(|()| vec![0.0; rows * vocab]);
    let mut sums = LossSums::default();
    for (row, &target) in targets.iter().enumerate().filter(|(_, target)| **target != IGNORE) {
        let factor = row_weights.map_or(1.0, |weights| f64::from(weights[row]));
        let [p, q] = [0, 1].map(|pass| -> Vec<f64> {
            let logits = &logits[pass][row * vocab..][..vocab];
            let log_sum = logits.iter().map(|z| z.exp()).sum::<f64>().ln();
            logits.iter().map(|z| z - log_sum).collect()
        });
        // Of log probabilities.
        let divergence = |p: &[f64], q: &[f64]| p.iter().zip(q).map(|(p, q)| p.exp() * (p - q)).sum::<f64>();
        let both = [divergence(&p, &q), divergence(&q, &p)];
        sums.loss += factor * strength * 0.5 * (both[0] + both[1]);
        for (pass, [own, other]) in [[&p, &q], [&q, &p]].into_iter().enumerate() {
            for class in 0..vocab {
                let hot = if class == target as usize { 1.0 } else { 0.0 };
                let wanted = (1.0 - label_smoothing) * hot + label_smoothing / vocab as f64;
                sums.loss -= factor * 0.5 * wanted * own[class];
                sums.nll -= 0.5 * hot * own[class];
                // The derivatives of KL(own‖other) and KL(other‖own) by a logit of `own`.
                let (a, b) = (own[class].exp(), other[class].exp());
                let derivatives = a * (own[class] - other[class] - both[pass]) + (a - b);
                let of_loss = 0.5 * (a - wanted) + strength * 0.5 * derivatives;
                dlogits[pass][row * vocab + class] = factor * of_loss;
            }
        }
        let first = &logits[0][row * vocab..][..vocab];
        let best = first.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        sums.n_tokens += 1;
        sums.n_correct += usize::from(first.iter().position(|&z| z == best) == Some(target as usize));
    }
    let [first, second] =
        [0, 1].map(|pass| linear_backward(layer, passes[pass], weight, &logits[pass], &dlogits[pass]));
    let ([dx, dweight, dbias], [dtwin, dweight2, dbias2]) = (first, second);
    let add = |a: Vec<f64>, b: Vec<f64>| a.into_iter().zip(b).map(|(a, b)| a + b).collect();
    (sums, [dx, dtwin, add(dweight, dweight2), add(dbias, dbias2)])
}

/// [`crate::embedding::embedding`].
pub fn embedding(ids: &[u32], table: &[f64], d: usize, scale: f64, positions: Option<&[f64]>) -> Vec<f64> {
    let mut out = Vec::new();
    for (i, &id) in ids.iter().enumerate() {
        for c in 0..d {
            let position = positions.map_or(0.0, |rows| rows[(i * d + c) % rows.len()]);
            out.push(scale * table[id as usize * d + c] + position);
        }
    }
    out
}

/// [`crate::embedding::embedding_backward`] for a table of `vocab` rows.
pub fn embedding_backward(ids: &[u32], grad_out: &[f64], vocab: usize, d: usize, scale: f64) -> Vec<f64> {
    let mut dtable = vec![0.0; vocab * d];
    for (i, &id) in ids.iter().enumerate() {
        for c in 0..d {
            dtable[id as usize * d + c] += scale * grad_out[i * d + c];
        }
    }
    dtable
}

/// [`crate::optimizer::adam`] for one parameter: its new value, mean and square.
pub fn adam(param: f64, mean: f64, square: f64, grad: f64, step: AdamStep) -> [f64; 3] {
    let (beta1, beta2, t) = (f64::from(step.beta1), f64::from(step.beta2), step.step as i32);
    let (rate, decay) = (f64::from(step.learning_rate), f64::from(step.weight_decay));
    let grad = grad * f64::from(step.grad_scale) + f64::from(step.l2) * param;
    let mean = beta1 * mean + (1.0 - beta1) * grad;
    let square = beta2 * square + (1.0 - beta2) * grad * grad;
    let denominator = square.sqrt() / (1.0 - beta2.powi(t)).sqrt() + f64::from(step.epsilon);
    let param = param * (1.0 - rate * decay) - rate / (1.0 - beta1.powi(t)) * mean / denominator;
    [param, mean, square]
}

/// [`crate::optimizer::sgd`] for one parameter: its new value and velocity.
pub fn sgd(param: f64, velocity: f64, grad: f64, step: SgdStep) -> [f64; 2] {
    let grad = grad * f64::from(step.grad_scale) + f64::from(step.l2) * param;
    let velocity = f64::from(step.momentum) * velocity + grad;
    [param - f64::from(step.learning_rate) * velocity, velocity]
}

/// [`crate::muon::muon_direction`]: the new average, and the direction.
pub fn muon_direction(mean: &[f32], grad: &[f32], cols: usize, step: MuonStep) -> (Vec<f64>, Vec<f64>) {
    let momentum = f64::from(step.momentum);
    let mean: Vec<f64> = mean.iter().map(|&m| f64::from(m)).collect();
    let grad: Vec<f64> = grad.iter().map(|&g| f64::from(g) * f64::from(step.grad_scale)).collect();
    let mixed = |mean: &[f64]| -> Vec<f64> {
        mean.iter().zip(&grad).map(|(m, g)| momentum * m + (1.0 - momentum) * g).collect()
    };
    let mean = mixed(&mean);
    let mut x = mixed(&mean);
    let norm = x.iter().map(|x| x * x).sum::<f64>().sqrt() + muon::EPSILON;
    x.iter_mut().for_each(|x| *x /= norm);
    let rows = x.len() / cols;
    let [a, b, c] = muon::COEFFICIENTS.map(f64::from);
    for _ in 0..muon::ITERATIONS {
        // A = XXᵀ, X ← aX + bAX + cA²X.
        let gram = gemm(rows, rows, cols, &x, &transpose(rows, cols, &x));
        let first = gemm(rows, cols, rows, &gram, &x);
        let second = gemm(rows, cols, rows, &gram, &first);
        let terms = x.iter().zip(first.iter().zip(&second));
        x = terms.map(|(x, (first, second))| a * x + b * first + c * second).collect();
    }
    (mean, x)
}

#[cfg(test)]
mod tests;
