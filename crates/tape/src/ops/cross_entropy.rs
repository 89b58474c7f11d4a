//! Fused output projection and label-smoothed cross-entropy.

use std::sync::Arc;

use attentive_kernels::cross_entropy::{
    LossSums, ProjectionGradients, ProjectionInputs, ProjectionShape, cross_entropy as kernel,
};
use attentive_kernels::elementwise::scale;

use super::Map;
use crate::kernel::{Context, Kept, Kernel, Mode, Output, apply_with_side};
use crate::{Buffer, Precision, Value};

/// Result of [`cross_entropy`].
#[derive(Clone, Debug)]
pub struct CrossEntropy {
    /// The smoothed loss summed over the real tokens, `[1, 1]`, differentiable.
    pub loss: Value,
    /// The same sum and related statistics as plain numbers.
    pub sums: LossSums,
}

/// Label-smoothed cross-entropy of `logits = x·weightᵀ + bias` against `targets`, summed over all rows whose target is
/// not [`IGNORE`](attentive_kernels::cross_entropy::IGNORE) (Szegedy et al. 2016, section 7; *Attention Is All You Need*, section 5.4).
///
/// The target distribution puts `(1 − label_smoothing)` on the target and `label_smoothing / vocab` on every class.
/// Only a few rows of logits exist at a time.
///
/// # Shapes
/// - `x`: `[rows, d_model]`
/// - `projection`: weight `[vocab, d_model]` and bias `[vocab]`
/// - `targets`: `rows` class numbers below `vocab`, or `IGNORE`
pub fn cross_entropy(
    x: Value,
    projection: Map,
    targets: &[u32],
    label_smoothing: f64,
    precision: Precision,
) -> CrossEntropy {
    let [rows, d_model] = x.shape();
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
        x,
        weight: projection.weight,
        bias: projection.bias,
    };
    let (loss, sums) = apply_with_side(kernel, operands, [1, 1]);
    CrossEntropy { loss, sums }
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
    type Saved = Option<ProjectionOperands<Buffer>>;
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
        let mut saved = (mode == Mode::Tracked).then(|| ProjectionOperands {
            x: Buffer::take(x.len()),
            weight: Buffer::take(weight.len()),
            bias: bias.map(|bias| Buffer::take(bias.len())),
        });
        let gradients = match &mut saved {
            Some(saved) => ProjectionGradients {
                x: Some(&mut saved.x),
                weight: Some(&mut saved.weight),
                bias: saved.bias.as_deref_mut(),
            },
            None => ProjectionGradients::default(),
        };
        let inputs = ProjectionInputs {
            x,
            weight,
            bias,
            targets: &self.targets,
            label_smoothing: self.label_smoothing,
        };
        let sums = kernel(self.shape, inputs, gradients);
        Output {
            values: vec![sums.loss as f32].into(),
            saved,
            side: sums,
        }
    }

    fn backward(&self, context: Context<'_, Self>) -> ProjectionOperands<Option<Buffer>> {
        let factor = context.grad[0];
        let scaled = |mut values: Buffer| {
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
