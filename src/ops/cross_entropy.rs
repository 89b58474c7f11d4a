//! Fused output projection and label-smoothed cross-entropy.

use std::sync::Arc;

use attentive_kernels::cross_entropy::{
    IGNORE, LossSums, ProjectionShape, cross_entropy as kernel, cross_entropy_with_gradients,
};
use attentive_kernels::elementwise::scale;
use burn::tensor::activation::log_softmax;
use burn::tensor::{Int, Tensor, TensorData};

use super::fused::{self, Context, Kept, Kernel, Mode, Output};
use super::{Epilogue, Map, Precision, buffers};

/// Result of [`cross_entropy`].
#[derive(Clone, Debug)]
pub struct CrossEntropy {
    /// The smoothed loss summed over the real tokens, `[1]`, differentiable.
    pub loss: Tensor<1>,
    /// The same sum and related statistics as plain numbers.
    pub sums: LossSums,
}

/// Label-smoothed cross-entropy of `logits = x·weightᵀ + bias` against `targets`, summed over all rows whose target is
/// not [`IGNORE`] (Szegedy et al. 2016, section 7; *Attention Is All You Need*, section 5.4).
///
/// The target distribution puts `(1 − label_smoothing)` on the target and `label_smoothing / vocab` on every class.
/// On the CPU only a few rows of logits exist at a time.
///
/// # Shapes
/// - `x`: `[rows, d_model]`
/// - `projection`: weight `[vocab, d_model]` and bias `[vocab]`
/// - `targets`: `rows` class numbers below `vocab`, or [`IGNORE`]
pub fn cross_entropy(
    x: Tensor<2>,
    projection: Map,
    targets: &[u32],
    label_smoothing: f64,
    precision: Precision,
) -> CrossEntropy {
    if !fused::applies(&x) {
        return portable(x, projection, targets, label_smoothing, precision);
    }
    let [rows, d_model] = x.dims();
    let vocab = projection.d_out();
    let kernel = CrossEntropyKernel {
        shape: ProjectionShape {
            rows,
            d_model,
            vocab,
            precision,
        },
        targets: targets.into(),
        label_smoothing: label_smoothing as f32,
    };
    let operands = ProjectionOperands {
        x: x.into(),
        weight: projection.weight.into(),
        bias: projection.bias.map(Into::into),
    };
    let (loss, sums) = fused::apply_with_side(kernel, operands, [1]);
    CrossEntropy { loss, sums }
}

pub(super) fn portable(
    x: Tensor<2>,
    projection: Map,
    targets: &[u32],
    label_smoothing: f64,
    precision: Precision,
) -> CrossEntropy {
    let device = x.device();
    let vocab = projection.d_out();
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
        vec![projection],
        Epilogue::plain(precision),
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

operands! {
    struct ProjectionOperands {
        x: One,
        weight: One,
        bias: Maybe,
    }
}

#[derive(Clone, Debug)]
struct CrossEntropyKernel {
    shape: ProjectionShape,
    targets: Arc<[u32]>,
    label_smoothing: f32,
}

impl Kernel for CrossEntropyKernel {
    const NAME: &'static str = "projection and loss";
    type Operands = ProjectionOperands<()>;
    /// The gradients of the summed loss, which cost little extra in the forward pass.
    type Saved = Option<ProjectionOperands<Vec<f32>>>;
    type Side = LossSums;

    /// The products of the gradients are part of the forward pass.
    fn flops(&self) -> [f64; 2] {
        let ProjectionShape {
            rows,
            d_model,
            vocab,
            ..
        } = self.shape;
        [6.0 * (rows * d_model * vocab) as f64, 0.0]
    }

    fn keeps(&self) -> Kept {
        Kept::Nothing
    }

    fn forward(&self, inputs: ProjectionOperands<&[f32]>, mode: Mode) -> Output<Self> {
        let ProjectionOperands { x, weight, bias } = inputs;
        let (shape, targets, smoothing) = (self.shape, &*self.targets, self.label_smoothing);
        let (sums, saved) = match mode {
            Mode::Plain => {
                let sums = kernel(shape, x, weight, bias, targets, smoothing);
                (sums, None)
            }
            Mode::Tracked => {
                let mut gradients = ProjectionOperands {
                    x: buffers::take(x.len()),
                    weight: buffers::take(weight.len()),
                    bias: bias.map(|bias| vec![0.0; bias.len()]),
                };
                let sums = cross_entropy_with_gradients(
                    shape,
                    x,
                    weight,
                    bias,
                    targets,
                    smoothing,
                    &mut gradients.x,
                    &mut gradients.weight,
                    gradients.bias.as_deref_mut(),
                );
                (sums, Some(gradients))
            }
        };
        Output {
            values: vec![sums.loss as f32],
            saved,
            side: sums,
        }
    }

    fn backward(&self, context: Context<'_, Self>) -> ProjectionOperands<Option<Vec<f32>>> {
        let factor = context.grad[0];
        let scaled = |mut values: Vec<f32>| {
            if factor != 1.0 {
                scale(&mut values, factor);
            }
            Some(values)
        };
        let gradients = context
            .saved
            .expect("a tracked forward pass saves its gradients");
        ProjectionOperands {
            x: scaled(gradients.x),
            weight: scaled(gradients.weight),
            bias: gradients.bias.map(scaled),
        }
    }
}
