use super::isa::PairIsa;
use super::*;
use crate::reference;
use crate::testing::{assert_close, assert_same_on_all_pools, bits, random, wide};
use crate::tile::TileMut;

/// Shapes (m, n, k) at and around every block size.
const SHAPES: [[usize; 3]; 18] = [
    [1, 1, 1],
    [1, 16, 1],
    [6, 16, 8],
    [7, 17, 9],
    [5, 1, 300],
    [13, 31, 257],
    [70, 33, 64],
    [12, 32, 31],
    [32, 32, 32],
    [33, 65, 545],
    [64, 64, 544],
    [2, 530, 3],
    [150, 20, 5],
    [145, 48, 513],
    [3, 0, 4],
    [0, 3, 4],
    [3, 4, 0],
    [64, 515, 70],
];

/// Both operands in both layouts, and the row-major data for the reference.
fn layouts<'a>(m: usize, n: usize, k: usize, data: &'a [Vec<f32>; 4]) -> [(View<'a>, View<'a>); 4] {
    let [a, a_transposed, b, b_transposed] = data;
    let (a, at) = (View::rows(a, k), View::transposed(a_transposed, m));
    let (b, bt) = (View::rows(b, n), View::transposed(b_transposed, k));
    [(a, b), (a, bt), (at, b), (at, bt)]
}

fn operands(m: usize, n: usize, k: usize) -> [Vec<f32>; 4] {
    let transpose = |rows, cols, x: &[f32]| {
        reference::transpose(rows, cols, &wide(x)).iter().map(|&x| x as f32).collect::<Vec<f32>>()
    };
    let (a, b) = (random(m * k, 1), random(k * n, 2));
    let (at, bt) = (transpose(m, k, &a), transpose(k, n, &b));
    [a, at, b, bt]
}

/// All kernels of this CPU.
fn kernels() -> Vec<FloatKernel> {
    let mut kernels = Vec::new();
    for isa in Isa::available() {
        kernels.extend([FloatKernel::F32(isa), FloatKernel::Rounded(isa)]);
    }
    kernels.extend(PairIsa::available().into_iter().map(FloatKernel::Pairs));
    kernels
}

/// The operand as rounded by a kernel.
fn as_operand(kernel: FloatKernel, x: &[f32]) -> Vec<f64> {
    match kernel {
        FloatKernel::F32(_) => wide(x),
        FloatKernel::Rounded(_) | FloatKernel::Pairs(_) => x.iter().map(|&x| bf16::round(x).into()).collect(),
    }
}

/// The product computed by `kernel`, in a new matrix or added to `start`.
fn product(
    kernel: FloatKernel,
    [m, n, k]: [usize; 3],
    a: View<'_>,
    b: View<'_>,
    start: Option<&[f32]>,
) -> Vec<f32> {
    let mut out = start.map_or(vec![f32::NAN; m * n], <[f32]>::to_vec);
    let mut tile = TileMut::new(&mut out, m, n, n);
    of(a, b, k, start.is_some()).write_with(kernel, &mut tile);
    out
}

fn of<'a>(a: View<'a>, b: View<'a>, k: usize, added: bool) -> Product<'a> {
    let product = Product::new(k, a, b);
    if added { product.added() } else { product }
}

#[test]
fn the_best_engine_is_among_the_tested_ones() {
    for precision in [Float::F32, Float::Bf16] {
        let best = FloatKernel::detect(precision);
        println!("{precision:?}: {} ({best:?})", precision.instructions());
        assert!(kernels().contains(&best), "{best:?} is not in {:?}", kernels());
    }
    println!("fastest: {:?}; all: {:?}", Float::fastest(), kernels());
}

#[test]
fn matches_the_reference_in_every_layout() {
    for shape @ [m, n, k] in SHAPES {
        let data = operands(m, n, k);
        let start = random(m * n, 3);
        for kernel in kernels() {
            let (a, b) = (as_operand(kernel, &data[0]), as_operand(kernel, &data[2]));
            let expected = reference::gemm(m, n, k, &a, &b);
            let sum: Vec<f64> = expected.iter().zip(&start).map(|(p, &s)| p + f64::from(s)).collect();
            for (layout, (a, b)) in layouts(m, n, k, &data).into_iter().enumerate() {
                let what = format!("{kernel:?}, {shape:?}, layout {layout}");
                assert_close(&product(kernel, shape, a, b, None), &expected, 1e-5, &what);
                assert_close(&product(kernel, shape, a, b, Some(&start)), &sum, 1e-5, &what);
            }
        }
    }
}

#[test]
fn gemm_uses_the_best_engine() {
    let (m, n, k) = (13, 31, 257);
    let shape = [m, n, k];
    let data = operands(m, n, k);
    for precision in [Float::F32, Float::Bf16] {
        for (a, b) in layouts(m, n, k, &data) {
            let mut out = vec![f32::NAN; m * n];
            Product::new(k, a, b).write(precision, [m, n], &mut out);
            let expected = product(FloatKernel::detect(precision), shape, a, b, None);
            assert!(bits(&out) == bits(&expected), "{precision:?}");
        }
    }
}

#[test]
fn all_vector_engines_give_the_same_bits() {
    let isas: Vec<Isa> = Isa::available().into_iter().filter(|&isa| isa != Isa::Portable).collect();
    for shape @ [m, n, k] in SHAPES {
        let data = operands(m, n, k);
        for (a, b) in layouts(m, n, k, &data) {
            let all: Vec<_> =
                isas.iter().map(|&isa| bits(&product(FloatKernel::F32(isa), shape, a, b, None))).collect();
            assert!(all.windows(2).all(|two| two[0] == two[1]), "{shape:?}");
        }
    }
}

#[test]
fn a_matrix_strided_in_both_directions_is_read_correctly() {
    let (m, n, k) = (19, 37, 45);
    let (a, b) = (random(2 * 3 * m * k, 1), random(2 * 3 * k * n, 2));
    let gaps = |data, rows: usize| View { data, row_stride: 2, col_stride: 3 * rows };
    let dense = |data: &[f32], rows: usize, cols: usize| -> Vec<f32> {
        (0..rows * cols).map(|i| data[i / cols * 2 + i % cols * 3 * rows]).collect()
    };
    let (dense_a, dense_b) = (dense(&a, m, k), dense(&b, k, n));
    for kernel in kernels() {
        let shape = [m, n, k];
        let found = product(kernel, shape, gaps(&a, m), gaps(&b, k), None);
        let (a, b) = (View::rows(&dense_a, k), View::rows(&dense_b, n));
        assert!(bits(&found) == bits(&product(kernel, shape, a, b, None)), "{kernel:?}");
    }
}

#[test]
fn a_row_does_not_depend_on_the_number_of_rows() {
    // So many columns that few rows use wide tiles.
    let (n, k) = (170, 600);
    let (a, w) = (random(70 * k, 1), random(n * k, 2));
    for kernel in kernels() {
        let rows = |m: usize| {
            let (a, b) = (View::rows(&a, k), View::transposed(&w, k));
            bits(&product(kernel, [m, n, k], a, b, None))
        };
        let all = rows(70);
        for m in 1..70 {
            assert!(rows(m) == all[..m * n], "{kernel:?}: {m} rows differ from the first of 70");
        }
    }
}

#[test]
fn a_column_does_not_depend_on_the_number_of_columns() {
    let k = 300;
    let w = random(600 * k, 2);
    for m in [1, 2, 7] {
        let a = random(m * k, 1);
        for kernel in kernels() {
            let last_row = |n: usize| {
                let (a, b) = (View::rows(&a, k), View::transposed(&w, k));
                bits(&product(kernel, [m, n, k], a, b, None)[(m - 1) * n..])
            };
            let all = last_row(600);
            for n in [1, 15, 16, 17, 31, 32, 33, 100, 511, 512, 513] {
                assert!(
                    last_row(n) == all[..n],
                    "{kernel:?}: {m} rows: {n} columns differ from the first of 600"
                );
            }
        }
    }
}

#[test]
fn the_thread_count_changes_nothing() {
    for (m, n, k) in [(300, 700, 300), (1, 5000, 600), (2000, 10, 300), (100, 200, 2000)] {
        let (shape, a, b) = ([m, n, k], random(m * k, 1), random(k * n, 2));
        let pairs = PairIsa::available().into_iter().map(FloatKernel::Pairs);
        let single = [FloatKernel::F32, FloatKernel::Rounded].map(|kernel| kernel(Isa::detect()));
        for kernel in pairs.chain(single) {
            assert_same_on_all_pools(|| {
                let plain = product(kernel, shape, View::rows(&a, k), View::rows(&b, n), None);
                let (a, b) = (View::transposed(&a, m), View::transposed(&b, k));
                [plain, product(kernel, shape, a, b, None)].concat()
            });
        }
    }
}

#[test]
fn the_epilogue_is_applied_last() {
    for [m, n, k] in SHAPES {
        let (data, bias, start) = (operands(m, n, k), random(n, 4), random(m * n, 3));
        let (a, b) = (View::rows(&data[0], k), View::rows(&data[2], n));
        for kernel in kernels() {
            for added in [false, true] {
                let before = added.then_some(&start[..]);
                let expected: Vec<f32> = product(kernel, [m, n, k], a, b, before)
                    .iter()
                    .enumerate()
                    .map(|(i, x)| (x + bias[i % n]).max(0.0))
                    .collect();
                let mut out = start.clone();
                let mut tile = TileMut::new(&mut out, m, n, n);
                let epilogue = Epilogue { bias: Some(&bias), activation: Activation::Relu };
                let product = of(a, b, k, added).then(epilogue);
                product.write_with(kernel, &mut tile);
                assert_eq!(out, expected, "{kernel:?}, added: {added}, [{m}, {k}] · [{k}, {n}]");
            }
        }
    }
}

#[test]
fn nan_and_infinity_stay_in_their_rows_and_columns() {
    let (m, n, k) = (37, 41, 70);
    let [mut a, _, mut b, _] = operands(m, n, k);
    (a[3 * k + 69], a[20 * k], b[5 * n + 33]) = (f32::NAN, f32::INFINITY, f32::NEG_INFINITY);
    // Subnormal numbers, which some kernels flush to zero.
    (a[30 * k + 1], b[n + 1]) = (1e-40, -1e-40);
    for kernel in kernels() {
        let (left, right) = (View::rows(&a, k), View::rows(&b, n));
        let found = product(kernel, [m, n, k], left, right, None);
        let (a, b) = (as_operand(kernel, &a), as_operand(kernel, &b));
        let expected = reference::gemm(m, n, k, &a, &b);
        for (i, (&found, &expected)) in found.iter().zip(&expected).enumerate() {
            let same = if expected.is_finite() {
                (f64::from(found) - expected).abs() < 1e-5 * (1.0 + expected.abs())
            } else {
                found.is_nan() == expected.is_nan() && (found.is_nan() || f64::from(found) == expected)
            };
            assert!(same, "{kernel:?}: ({}, {}) is {found}, not {expected}", i / n, i % n);
        }
    }
}

#[test]
fn columns_outside_the_tile_stay_untouched() {
    for (m, n, k, width) in [(1, 140, 33, 160), (2, 20, 5, 50), (9, 20, 5, 50), (40, 70, 33, 90)] {
        let (a, b) = (random(m * k, 1), random(k * n, 2));
        let (left, right) = (View::rows(&a, k), View::rows(&b, n));
        for kernel in kernels() {
            let mut out = vec![7.0; m * width];
            let whole = TileMut::new(&mut out, m, width, width);
            // SAFETY: nothing else accesses `whole`.
            let mut part = unsafe { whole.part(0, 11, m, n) };
            Product::new(k, left, right).write_with(kernel, &mut part);
            let product = reference::gemm(m, n, k, &as_operand(kernel, &a), &as_operand(kernel, &b));
            for (row, product) in out.chunks(width).zip(product.chunks(n)) {
                assert_close(&row[11..11 + n], product, 1e-5, "inside");
                let outside = || row[..11].iter().chain(&row[11 + n..]);
                assert!(outside().all(|&x| x == 7.0), "{kernel:?}: outside");
            }
        }
    }
}

#[test]
#[should_panic(expected = "`b` needs 12 elements but has 11")]
fn a_short_operand_is_refused() {
    let (a, b) = (View::rows(&[1.0; 6], 3), View::rows(&[1.0; 11], 4));
    Product::new(3, a, b).write(Float::F32, [2, 4], &mut [0.0; 8]);
}

#[test]
#[should_panic(expected = "larger than the address space")]
fn an_overflowing_shape_is_refused() {
    let (side, none) = (1 << (usize::BITS / 2), View::rows(&[], 1));
    Product::new(0, none, none).write(Float::F32, [side, side], &mut []);
}

#[test]
#[should_panic(expected = "larger than the address space")]
fn overflowing_strides_are_refused() {
    let a = View { data: &[1.0], row_stride: 1 << (usize::BITS - 1), col_stride: 1 };
    let b = View::rows(&[1.0], 1);
    Product::new(1, a, b).write(Float::F32, [3, 1], &mut [0.0; 3]);
}

#[test]
fn a_right_operand_packed_at_once_gives_the_same_bits() {
    for shape @ [m, n, k] in SHAPES {
        let data = operands(m, n, k);
        let (start, bias) = (random(m * n, 3), random(n, 4));
        for (a, b) in layouts(m, n, k, &data) {
            for isa in Isa::available() {
                for precision in [Float::F32, Float::Bf16] {
                    for added in [false, true] {
                        let single = Single::new(isa, precision);
                        let product = of(a, b, k, added).then(Epilogue::bias(Some(&bias)));
                        let compute = |right: RightOperand<'_>| {
                            let mut out = start.clone();
                            let mut tile = TileMut::new(&mut out, m, n, n);
                            single.rectangle(&product.with(a, right), &mut tile);
                            bits(&out)
                        };
                        let plain = compute(RightOperand::Plain(b));
                        let packed = single.with_panels(b, [k, n], |b| compute(RightOperand::F32(b, 0)));
                        assert!(plain == packed, "{isa:?}, {precision:?}, {shape:?}, {added}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_product_on_one_thread_keeps_little_scratch() {
    let (m, n, k) = (256, 64, 20_000);
    let (a, b) = (vec![0.5; m * k], vec![0.5; k * n]);
    let single = [FloatKernel::F32, FloatKernel::Rounded].map(|kernel| kernel(Isa::detect()));
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    let kept = pool.expect("a pool").install(|| {
        for kernel in single {
            let (a, b) = (View::rows(&a, k), View::rows(&b, n));
            product(kernel, [m, n, k], a, b, None);
        }
        crate::scratch::kept()
    });
    assert!((1..1 << 18).contains(&kept), "{kept} elements are kept");
}

#[test]
fn a_product_on_several_threads_keeps_one_copy_of_the_right_operand() {
    let (m, n, k) = (256, 64, 20_000);
    let (a, b) = (vec![0.5; m * k], vec![0.5; k * n]);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build();
    let pool = pool.expect("a pool");
    pool.install(|| {
        let (a, b) = (View::rows(&a, k), View::rows(&b, n));
        product(FloatKernel::F32(Isa::detect()), [m, n, k], a, b, None)
    });
    let kept: usize = pool.broadcast(|_| crate::scratch::kept()).iter().sum();
    let most = n * k + (1 << 18);
    assert!((1..most).contains(&kept), "{kept} elements are kept");
}

#[test]
fn prepared_operands_give_the_same_bits() {
    for [m, n, k] in SHAPES {
        let data = operands(m, n, k);
        for (a, b) in layouts(m, n, k, &data) {
            for precision in [Float::F32, Float::Bf16] {
                let mut expected = vec![f32::NAN; m * n];
                Product::new(k, a, b).write(precision, [m, n], &mut expected);
                let mut out = vec![f32::NAN; m * n];
                with_prepared_right(precision, b, [k, n], |b| {
                    Product::new(k, a, b).write_to(&mut TileMut::new(&mut out, m, n, n));
                });
                assert!(bits(&out) == bits(&expected), "right: {precision:?}, {m} × {n} × {k}");
                out.fill(f32::NAN);
                with_prepared_left(precision, a, [m, k], |a| {
                    Product::new(k, a, b).write_to(&mut TileMut::new(&mut out, m, n, n));
                });
                assert!(bits(&out) == bits(&expected), "left: {precision:?}, {m} × {n} × {k}");
            }
        }
    }
}
