//! Fused output projection and label-smoothed cross-entropy.

use std::sync::Arc;

use attentive_device::{
    LossSums, Losses, ProjectionGradients, ProjectionInputs, ProjectionShape, Twin, current,
};

use super::AffineMap;
use crate::op::{Context, Mode, OpOutput, OperandInfo, TapeOp, apply_with_side};
use crate::{Buffer, Float, Value};

/// Result of [`cross_entropy`].
#[derive(Clone, Debug)]
pub struct CrossEntropy {
    /// The smoothed loss summed over the real tokens, `[1, 1]`, differentiable.
    pub loss: Value,
    /// The same sum and related statistics as plain numbers, once the device has computed them.
    pub losses: Losses,
}

impl CrossEntropy {
    /// Returns the sum and related statistics, for which this waits.
    pub fn sums(&self) -> LossSums {
        self.losses.sums()
    }
}

/// Label-smoothed cross-entropy of `logits = x·weightᵀ + bias` against `targets`, summed over all rows whose
/// target is not [`IGNORE`](attentive_kernels::cross_entropy::IGNORE) (Szegedy et al. 2016, section 7;
/// *Attention Is All You Need*, section 5.4).
///
/// The target distribution puts `(1 − label_smoothing)` on the target and `label_smoothing / vocab` on every
/// class. Only a few rows of logits exist at a time.
///
/// # Shapes
/// - `x`: `[rows, d_model]`
/// - `projection`: weight `[vocab, d_model]` and bias `[vocab]`
/// - `targets`: `rows` class numbers below `vocab`, or `IGNORE`
/// - `row_weights`: `rows` factors of the losses; `None` for 1
pub fn cross_entropy(
    x: Value,
    projection: AffineMap,
    targets: &[u32],
    row_weights: Option<&[f32]>,
    label_smoothing: f64,
    precision: Float,
) -> CrossEntropy {
    loss(x, None, projection, targets, row_weights, [label_smoothing, 0.0], precision)
}

/// [`cross_entropy`] of two passes over the same rows, plus what their predictions p and q differ: per row,
/// the mean of both losses plus `strength` · ½ (KL(p‖q) + KL(q‖p)) (R-Drop: Wu et al. 2021, equation 4). Only
/// the CPU computes it.
///
/// # Shapes
/// - `passes`: two of `[rows, d_model]`
/// - the others: as in [`cross_entropy`]
pub fn consistent_cross_entropy(
    passes: [Value; 2],
    projection: AffineMap,
    targets: &[u32],
    row_weights: Option<&[f32]>,
    label_smoothing: f64,
    strength: f64,
    precision: Float,
) -> CrossEntropy {
    let [x, twin] = passes;
    loss(x, Some(twin), projection, targets, row_weights, [label_smoothing, strength], precision)
}

fn loss(
    x: Value,
    twin: Option<Value>,
    projection: AffineMap,
    targets: &[u32],
    row_weights: Option<&[f32]>,
    [label_smoothing, strength]: [f64; 2],
    precision: Float,
) -> CrossEntropy {
    let [rows, d_model] = x.shape();
    let vocab = projection.d_out();
    let op = CrossEntropyOp {
        shape: ProjectionShape { rows, d_model, vocab, precision },
        targets: targets.into(),
        row_weights: row_weights.map(Arc::from),
        label_smoothing: label_smoothing as f32,
        strength: strength as f32,
    };
    let operands = ProjectionOperands { x, twin, weight: projection.weight, bias: projection.bias };
    let (loss, losses) = apply_with_side(op, operands, [1, 1]);
    CrossEntropy { loss, losses }
}

operands! {
    struct ProjectionOperands {
        x: One,
        twin: Maybe,
        weight: One,
        bias: Maybe,
    }
}

struct CrossEntropyOp {
    shape: ProjectionShape,
    targets: Arc<[u32]>,
    row_weights: Option<Arc<[f32]>>,
    label_smoothing: f32,
    /// The factor of the divergence of two passes.
    strength: f32,
}

impl TapeOp for CrossEntropyOp {
    const NAME: &'static str = "projection and loss";
    type Operands = ProjectionOperands<()>;
    /// The gradients of the summed loss, which cost little extra in the forward pass.
    type Saved = Option<ProjectionOperands<Option<Buffer>>>;
    type Side = Losses;

    /// The products of the gradients are part of the forward pass.
    fn flops(&self) -> [f64; 2] {
        let ProjectionShape { rows, d_model, vocab, .. } = self.shape;
        let passes = if self.strength > 0.0 { 2.0 } else { 1.0 };
        [6.0 * passes * (rows * d_model * vocab) as f64, 0.0]
    }

    fn forward(&self, inputs: ProjectionOperands<&Buffer>, mode: Mode<Self>) -> OpOutput<Self> {
        let ProjectionOperands { x, twin, weight, bias } = inputs;
        let mut saved = mode.map(|operands| operands.map(OperandInfo::room));
        let gradients = match &mut saved {
            Some(saved) => ProjectionGradients {
                x: saved.x.as_mut(),
                twin: saved.twin.as_mut().and_then(Option::as_mut),
                weight: saved.weight.as_mut(),
                bias: saved.bias.as_mut().and_then(Option::as_mut),
            },
            None => ProjectionGradients::default(),
        };
        let inputs = ProjectionInputs {
            x,
            weight,
            bias,
            targets: &self.targets,
            row_weights: self.row_weights.as_deref(),
            label_smoothing: self.label_smoothing,
            twin: twin.map(|x| Twin { x, strength: self.strength }),
        };
        let mut loss = Buffer::take(1);
        let losses = current().cross_entropy(self.shape, inputs, gradients, &mut loss);
        OpOutput { values: loss, saved, side: losses }
    }

    fn backward(&self, context: Context<'_, Self>) -> ProjectionOperands<Option<Buffer>> {
        let scaled = |gradient: Option<Buffer>| {
            let mut gradient = gradient?;
            current().scale_by(&mut gradient, &context.grad);
            Some(gradient)
        };
        let gradients = context.saved.expect("a tracked forward pass saves them");
        gradients.map(scaled)
    }
}
