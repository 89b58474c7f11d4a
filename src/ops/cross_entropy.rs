//! The output projection and the label-smoothed cross-entropy behind it, in one operation.

use std::sync::{Arc, OnceLock};

use attentive_kernels::cross_entropy::{
    IGNORE, LossSums, ProjectionShape, cross_entropy as kernel, cross_entropy_with_gradients,
};
use attentive_kernels::elementwise::scale;
use burn::tensor::activation::log_softmax;
use burn::tensor::{Int, Tensor, TensorData};

use super::fused::{self, Context, Kernel, Pass};
use super::{Finish, Precision, buffers};

/// What [`cross_entropy`] gives.
#[derive(Clone, Debug)]
pub struct CrossEntropy {
    /// The smoothed loss, summed over the real tokens: `[1]`, with its gradient.
    pub loss: Tensor<1>,
    /// The same sum and its companions as plain numbers.
    pub sums: LossSums,
}

/// Label-smoothed cross-entropy of `logits = x·weightᵀ + bias` against `targets`, summed over all rows whose target is
/// not [`IGNORE`] (Szegedy et al. 2016, section 7; *Attention Is All You Need*, section 5.4).
///
/// The target distribution is `(1 − label_smoothing)` on the target and `label_smoothing / vocab` on every entry. On the
/// CPU the logits exist for a few rows at a time only.
///
/// # Shapes
/// - `x`: `[rows, d_model]`
/// - `weight`: `[vocab, d_model]`
/// - `bias`: `[vocab]`
/// - `targets`: `rows` numbers below `vocab`, or [`IGNORE`]
pub fn cross_entropy(
    x: Tensor<2>,
    weight: Tensor<2>,
    bias: Option<Tensor<1>>,
    targets: &[u32],
    label_smoothing: f64,
    precision: Precision,
) -> CrossEntropy {
    if !fused::applies(&x) {
        return portable(x, weight, bias, targets, label_smoothing);
    }
    let [rows, d_model] = x.dims();
    let [vocab, _] = weight.dims();
    let kernel = CrossEntropyKernel {
        shape: ProjectionShape {
            rows,
            d_model,
            vocab,
            precision,
        },
        targets: targets.into(),
        label_smoothing: label_smoothing as f32,
        sums: Arc::default(),
    };
    let sums = Arc::clone(&kernel.sums);
    let mut operands = vec![x.into(), weight.into()];
    operands.extend(bias.map(Into::into));
    let loss = fused::apply(kernel, operands, [1]);
    CrossEntropy {
        loss,
        sums: sums.get().copied().unwrap_or_default(),
    }
}

pub(super) fn portable(
    x: Tensor<2>,
    weight: Tensor<2>,
    bias: Option<Tensor<1>>,
    targets: &[u32],
    label_smoothing: f64,
) -> CrossEntropy {
    let device = x.device();
    let [vocab, _] = weight.dims();
    let real: Vec<i64> = (0..targets.len() as i64)
        .filter(|&row| targets[row as usize] != IGNORE)
        .collect();
    let n_tokens = real.len();
    let golds: Vec<i64> = real
        .iter()
        .map(|&row| i64::from(targets[row as usize]))
        .collect();
    let indices = |values: Vec<i64>| {
        Tensor::<1, Int>::from_data(TensorData::new(values, [n_tokens]), &device)
    };
    let golds = indices(golds).unsqueeze_dim::<2>(1);
    let logits = super::linear::portable(
        x.select(0, indices(real)),
        vec![(weight, bias)],
        Finish::plain(Precision::F32),
    );
    let log_probs = log_softmax(logits.clone(), 1);
    let nll = -log_probs.clone().gather(1, golds.clone()).sum();
    let loss =
        nll.clone() * (1.0 - label_smoothing) - log_probs.sum() * (label_smoothing / vocab as f64);
    let n_correct = logits.argmax(1).equal(golds).int().sum();
    CrossEntropy {
        sums: LossSums {
            loss: loss.clone().into_scalar(),
            nll: nll.into_scalar(),
            n_tokens,
            n_correct: n_correct.into_scalar::<i64>() as usize,
        },
        loss,
    }
}

/// Inputs: x, weight and, if there is one, bias.
#[derive(Clone, Debug)]
struct CrossEntropyKernel {
    shape: ProjectionShape,
    targets: Arc<[u32]>,
    label_smoothing: f32,
    sums: Arc<OnceLock<LossSums>>,
}

impl Kernel for CrossEntropyKernel {
    const NAME: &'static str = "projection and loss";
    /// The gradients of the summed loss: they come almost free with the forward pass.
    type Saved = Vec<Vec<f32>>;

    /// The gradients' products are part of the forward pass.
    fn flops(&self) -> [f64; 2] {
        let ProjectionShape {
            rows,
            d_model,
            vocab,
            ..
        } = self.shape;
        [6.0 * (rows * d_model * vocab) as f64, 0.0]
    }

    fn keeps_input(&self, _input: usize) -> bool {
        false
    }

    fn forward(&self, inputs: &[&[f32]], pass: Pass) -> (Vec<f32>, Self::Saved) {
        let bias = inputs.get(2).copied();
        let (shape, targets) = (self.shape, &*self.targets);
        let (sums, gradients) = match pass {
            Pass::Plain => {
                let sums = kernel(
                    shape,
                    inputs[0],
                    inputs[1],
                    bias,
                    targets,
                    self.label_smoothing,
                );
                (sums, Vec::new())
            }
            Pass::Tracked => {
                let [mut dx, mut dweight] = [0, 1].map(|i| buffers::take(inputs[i].len()));
                let mut dbias = bias.map(|bias| vec![0.0; bias.len()]);
                let sums = cross_entropy_with_gradients(
                    shape,
                    inputs[0],
                    inputs[1],
                    bias,
                    targets,
                    self.label_smoothing,
                    &mut dx,
                    &mut dweight,
                    dbias.as_deref_mut(),
                );
                (sums, [dx, dweight].into_iter().chain(dbias).collect())
            }
        };
        // Set once: a kernel runs forward once.
        let _ = self.sums.set(sums);
        (vec![sums.loss as f32], gradients)
    }

    fn backward(&self, context: Context<'_, Self::Saved>) -> Vec<Option<Vec<f32>>> {
        let factor = context.grad[0];
        let mut gradients = context.saved;
        if factor != 1.0 {
            gradients
                .iter_mut()
                .for_each(|values| scale(values, factor));
        }
        gradients.into_iter().map(Some).collect()
    }
}
