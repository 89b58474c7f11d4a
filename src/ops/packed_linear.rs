//! Linear layers with packed weights, for inference.

use std::sync::Arc;

use attentive_kernels::gemm::{Activation, Precision};
use attentive_kernels::packed::{
    PackedAffine, PackedF32Buf, PackedWeight, linear_packed_joined as kernel,
};
use burn::tensor::Tensor;

use super::buffers;
use super::epilogue::Epilogue;
use super::fused::{self, Context, Kernel, Mode, Operand, Output};
use super::weight::{Map, Weight};

/// [`super::linear`] with packed weights, to the same bits; `None` unless all are packed and no gradient can be asked for.
pub(super) fn linear(x: &Tensor<2>, maps: &[Map], epilogue: Epilogue) -> Option<Tensor<2>> {
    let plain = epilogue.dropout.is_none() && epilogue.precision == Precision::F32;
    if !plain || x.is_autodiff() || !fused::applies(x) {
        return None;
    }
    let packed = maps.iter().map(|map| match &map.weight {
        Weight::Packed { packed, .. } => Some(packed.clone()),
        Weight::Dense(_) => None,
    });
    let maps_packed: Vec<Arc<PackedF32Buf>> = packed.collect::<Option<_>>()?;
    let rows = x.dims()[0];
    let width = maps_packed.iter().map(|packed| packed.view().n()).sum();
    let kernel = PackedLinear {
        rows,
        width,
        maps: maps_packed,
        activation: epilogue.activation,
    };
    let biases = maps.iter().filter_map(|map| map.bias.clone());
    let operands = PackedOperands {
        x: x.clone().into(),
        biases: biases.map(Operand::from).collect(),
    };
    Some(fused::apply(kernel, operands, [rows, width]))
}

operands! {
    /// Either all layers have a bias or none.
    struct PackedOperands {
        x: One,
        biases: Many,
    }
}

#[derive(Clone, Debug)]
struct PackedLinear {
    rows: usize,
    width: usize,
    maps: Vec<Arc<PackedF32Buf>>,
    activation: Activation,
}

impl Kernel for PackedLinear {
    const NAME: &'static str = "linear";
    type Operands = PackedOperands<()>;
    type Saved = ();
    type Side = ();

    fn flops(&self) -> [f64; 2] {
        let products = self.maps.iter().map(|map| map.view().k() * map.view().n());
        [2.0 * (self.rows * products.sum::<usize>()) as f64, 0.0]
    }

    fn forward(&self, inputs: PackedOperands<&[f32]>, _mode: Mode) -> Output<Self> {
        let biases = inputs.biases.iter().copied().map(Some);
        let maps: Vec<PackedAffine<'_>> = self
            .maps
            .iter()
            .zip(biases.chain(std::iter::repeat(None)))
            .map(|(weight, bias)| PackedAffine {
                weight: PackedWeight::F32(weight.view()),
                bias,
            })
            .collect();
        let mut out = buffers::take(self.rows * self.width);
        kernel(self.rows, inputs.x, &maps, self.activation, &mut out);
        Output::new(out, ())
    }

    fn backward(&self, _: Context<'_, Self>) -> PackedOperands<Option<Vec<f32>>> {
        unreachable!("packed weights are for inference")
    }
}
