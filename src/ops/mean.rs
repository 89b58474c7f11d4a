//! The mean over the real positions of each sequence.

use attentive_kernels::mean::{mean_rows as kernel, mean_rows_backward};
use burn::tensor::{Tensor, TensorData};

use super::fused::{self, Context, Kept, Kernel, Mode, Output};
use super::{Lengths, buffers};

/// The mean over the real positions of each sequence; zero for an empty one.
///
/// Positions are added one by one, so padding does not change the result.
///
/// # Shapes
/// - `x`: `[rows · width, d]`
/// - result: `[rows, d]`
pub fn mean_rows(x: Tensor<2>, lengths: &Lengths) -> Tensor<2> {
    if !fused::applies(&x) {
        return portable(x, lengths);
    }
    let [_, d] = x.dims();
    let lengths = lengths.clone();
    let shape = [lengths.rows(), d];
    fused::apply(Mean { lengths, d }, MeanOperands { x: x.into() }, shape)
}

pub(super) fn portable(x: Tensor<2>, lengths: &Lengths) -> Tensor<2> {
    let [_, d] = x.dims();
    let (rows, width) = (lengths.rows(), lengths.width());
    let options = (&x.device(), x.dtype());
    let share = |position| {
        let lens = lengths.lens().iter();
        let shares = lens.map(|&len| {
            if position < len {
                1.0 / len as f64
            } else {
                0.0
            }
        });
        let data = TensorData::new(shares.collect::<Vec<f64>>(), [rows, 1]);
        Tensor::<2>::from_data(data.convert_dtype(options.1), options)
    };
    let x = x.reshape([rows, width, d]);
    let mut sum = Tensor::<2>::zeros([rows, d], options);
    for position in 0..width {
        let vectors = x.clone().narrow(1, position, 1).reshape([rows, d]);
        sum = sum + vectors * share(position);
    }
    sum
}

operands! {
    struct MeanOperands {
        x: One,
    }
}

#[derive(Clone, Debug)]
struct Mean {
    lengths: Lengths,
    d: usize,
}

impl Kernel for Mean {
    const NAME: &'static str = "mean";
    type Operands = MeanOperands<()>;
    type Saved = ();
    type Side = ();

    fn forward(&self, inputs: MeanOperands<&[f32]>, _mode: Mode) -> Output<Self> {
        let mut out = buffers::take(self.lengths.rows() * self.d);
        kernel(&self.lengths, self.d, inputs.x, &mut out);
        Output::new(out, ())
    }

    fn backward(&self, context: Context<'_, Self>) -> MeanOperands<Option<Vec<f32>>> {
        let mut dx = buffers::take(self.lengths.positions() * self.d);
        mean_rows_backward(&self.lengths, self.d, context.grad, &mut dx);
        MeanOperands { x: Some(dx) }
    }

    fn keeps(&self) -> Kept {
        Kept::Nothing
    }
}
