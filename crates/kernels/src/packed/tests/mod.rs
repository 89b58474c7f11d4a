mod columns;
mod int8;
mod layout;
mod parts;

use std::sync::LazyLock;

use super::left::ProductKernel;
use super::product::PackedProduct;
use super::*;
use crate::gemm::int8::IntegerIsa;
use crate::gemm::{Activation, Epilogue, Float, FloatKernel, Isa, PairIsa, Product, View};
use crate::linear::{Affine, LinearCall, linear};
use crate::prefetch::is_far;
use crate::testing::{assert_same_on_all_pools, bits, random};
use crate::tile::TileMut;

const TYPES: [Precision; 3] = [Precision::F32, Precision::Bf16, Precision::Int8];

/// (n, k) at and around the sizes of panels, words, tiles and blocks.
const SHAPES: [(usize, usize); 15] = [
    (1, 1),
    (16, 4),
    (15, 3),
    (17, 5),
    (33, 63),
    (64, 64),
    (31, 65),
    (130, 66),
    (48, 255),
    (128, 128),
    (40, 257),
    (100, 513),
    (20, 1100),
    (0, 7),
    (7, 0),
];

const ROWS: [usize; 15] = [0, 1, 2, 3, 4, 5, 6, 7, 10, 12, 13, 16, 17, 33, 40];

/// All kernels of this CPU for a type of weights.
fn kernels(precision: Precision) -> Vec<ProductKernel> {
    let of_all = |kernel: fn(Isa) -> FloatKernel| Isa::available().into_iter().map(kernel);
    match precision {
        Precision::F32 => of_all(FloatKernel::F32).map(ProductKernel::Float).collect(),
        Precision::Bf16 => {
            let pairs = PairIsa::available().into_iter().map(FloatKernel::Pairs);
            let floats = of_all(FloatKernel::Rounded).chain(pairs);
            floats.map(ProductKernel::Float).collect()
        }
        Precision::Int8 => {
            let isas = IntegerIsa::available().into_iter();
            isas.map(ProductKernel::Integer).collect()
        }
    }
}

/// A product using `kernel`.
fn product_on(
    kernel: ProductKernel,
    rows: usize,
    x: &[f32],
    weight: PackedWeight<'_>,
    bias: Option<&[f32]>,
    activation: Activation,
) -> Vec<f32> {
    let n = weight.n();
    let mut out = vec![7.5; rows * n];
    let mut tile = TileMut::new(&mut out, rows, n, n);
    let epilogue = Epilogue { bias, activation };
    product::with_left(kernel, rows, weight.k(), x, |left| {
        PackedProduct::new(*left, weight, epilogue).write(&mut tile);
    });
    out
}

/// Random numbers whose rows differ in size, some of them extreme, and some of which are zero.
fn rows_of_many_sizes(rows: usize, k: usize, seed: u32) -> Vec<f32> {
    let factors = [1.0, 1e-3, 0.0, 1e30, 2e-36, 1e-38, 1e-42, 5.0, 3e38, 1e-20];
    let mut x = random(rows * k, seed);
    for (row, x) in x.chunks_mut(k.max(1)).enumerate() {
        let factor = if row < 3 { 1.0 } else { factors[row % 10] };
        for (i, x) in x.iter_mut().enumerate() {
            *x *= if i % 7 == 3 { 0.0 } else { factor };
        }
    }
    x
}

/// The scale and the integers of a row, as defined.
fn quantized(x: &[f32]) -> (f32, Vec<i64>) {
    let largest =
        x.iter().fold(0.0, |largest: f32, x| if x.is_finite() { largest.max(x.abs()) } else { f32::NAN });
    if !x.iter().all(|x| x.is_finite()) {
        return (f32::NAN, vec![0; x.len()]);
    }
    if largest < 127.0 * f32::MIN_POSITIVE {
        return (0.0, vec![0; x.len()]);
    }
    let factor = 127.0 / largest;
    let integers = x.iter().map(|x| (x * factor).round_ties_even() as i64);
    (largest / 127.0, integers.collect())
}

/// The bits, with all NaN alike: their signs and payloads may differ.
fn same_bits(x: &[f32]) -> Vec<u32> {
    let one = |x: &f32| if x.is_nan() { f32::NAN } else { *x };
    bits(&x.iter().map(one).collect::<Vec<_>>())
}

fn n_panels(n: usize) -> usize {
    n.div_ceil(PANEL)
}

#[test]
fn the_best_kernel_is_among_the_tested_ones() {
    for precision in TYPES {
        for rows in [1, 100] {
            let best = ProductKernel::detect(precision, rows);
            println!("{precision:?}, {rows} rows: {best:?}");
            assert!(kernels(precision).contains(&best));
        }
        println!("{precision:?}: {:?}", kernels(precision));
    }
}

#[test]
fn float_products_give_the_bits_of_the_same_engine_with_plain_weights() {
    for (n, k) in SHAPES {
        assert_float_products([n, k], &ROWS);
    }
}

/// A weight that may come from RAM, so that kernels prefetch its panels: longer than a block of 512 columns,
/// with a last panel that is not full, and depths that do not fill a word.
const FAR: (usize, usize) = (559, 601);
const ROWS_OF_FAR: [usize; 13] = [1, 2, 3, 4, 5, 6, 8, 9, 10, 13, 33, 40, 150];

#[test]
fn float_products_with_long_weights_give_the_same_bits() {
    let (n, k) = FAR;
    assert!(is_far(n * k * size_of::<u16>()));
    assert_float_products([n, k], &ROWS_OF_FAR);
}

/// Asserts that products with a weight `[n, k]` have the bits of those with the plain weight.
fn assert_float_products([n, k]: [usize; 2], rows: &[usize]) {
    let (weight, bias) = (random(n * k, 1), random(n, 2));
    let epilogue = Epilogue { bias: Some(&bias), activation: Activation::Relu };
    for precision in [Precision::F32, Precision::Bf16] {
        let packed = PackedWeightBuf::pack(precision, &weight, n, k);
        for &rows in rows {
            let x = random(rows * k, 3);
            for kernel in kernels(precision) {
                let ProductKernel::Float(float) = kernel else { unreachable!("a float kernel") };
                let mut plain = vec![7.5; rows * n];
                let mut tile = TileMut::new(&mut plain, rows, n, n);
                let (a, b) = (View::rows(&x, k), View::transposed(&weight, k));
                let product = Product::new(k, a, b).then(epilogue);
                product.write_with(float, &mut tile);
                let relu = Activation::Relu;
                let found = product_on(kernel, rows, &x, packed.view(), Some(&bias), relu);
                assert!(bits(&found) == bits(&plain), "{kernel:?}: {rows} rows, [{n}, {k}]");
            }
        }
    }
}

#[test]
fn layers_give_the_bits_of_training() {
    for precision in [Float::F32, Float::Bf16] {
        for (rows, d_in, d_out) in [(1, 300, 512), (5, 300, 33), (70, 64, 700), (40, 600, 1100)] {
            let call =
                LinearCall { rows, d_in, d_out, activation: Activation::Relu, dropout: None, precision };
            let (x, weight, bias) = (random(rows * d_in, 1), random(d_out * d_in, 2), random(d_out, 3));
            let bias = Some(&bias[..]);
            let mut expected = vec![f32::NAN; rows * d_out];
            let weight_and_bias = Affine { weight: &weight[..], bias };
            linear(call, &x, &[weight_and_bias], &mut expected);
            let packed = PackedWeightBuf::pack(precision.into(), &weight, d_out, d_in);
            let mut out = vec![f32::NAN; rows * d_out];
            linear_packed(rows, &x, packed.view(), bias, Activation::Relu, &mut out);
            assert!(bits(&out) == bits(&expected), "{call:?}");
        }
    }
}

#[test]
fn a_row_does_not_depend_on_the_number_of_rows() {
    let (n, k) = (170, 600);
    let (x, weight) = (random(70 * k, 1), random(n * k, 2));
    for precision in TYPES {
        let packed = PackedWeightBuf::pack(precision, &weight, n, k);
        for kernel in kernels(precision) {
            let run = |first: usize, rows: usize| {
                let x = &x[first * k..][..rows * k];
                let (weight, none) = (packed.view(), Activation::Identity);
                bits(&product_on(kernel, rows, x, weight, None, none))
            };
            let all = run(0, 70);
            for rows in 1..70 {
                assert!(run(0, rows) == all[..rows * n], "{kernel:?}: {rows} rows");
            }
            for row in [1, 15, 16, 31, 69] {
                assert!(run(row, 1) == all[row * n..][..n], "{kernel:?}: row {row}");
            }
        }
    }
}

#[test]
fn the_thread_count_changes_nothing() {
    static WEIGHT: LazyLock<Vec<f32>> = LazyLock::new(|| random(3000 * 700, 1));
    for precision in TYPES {
        for (n, k) in [(3000, 700), (700, 3000)] {
            let packed = PackedWeightBuf::pack(precision, &WEIGHT, n, k);
            for rows in [1, 40, 300] {
                let (x, bias) = (random(rows * k, 2), random(n, 3));
                assert_same_on_all_pools(|| {
                    let mut out = vec![f32::NAN; rows * n];
                    let bias = Some(&bias[..]);
                    linear_packed(rows, &x, packed.view(), bias, Activation::Relu, &mut out);
                    out
                });
            }
        }
    }
}

#[test]
#[should_panic(expected = "prepared for another type")]
fn a_left_operand_of_another_type_is_refused() {
    let packed = PackedF32Buf::pack(&[1.0; 16], 16, 1);
    let mut buffer = LeftOperandBuf::default();
    let left = LeftOperand::prepare(Precision::Int8, 1, 1, &[1.0], &mut buffer);
    let weight = PackedWeight::F32(packed.view());
    linear_packed_columns(&left, weight, None, Activation::Identity, 0..16, &mut [0.0; 16]);
}
