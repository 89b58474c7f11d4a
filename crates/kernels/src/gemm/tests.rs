use super::*;
use crate::reference;
use crate::testing::{assert_close, assert_same_on_all_pools, bits, random, wide};

/// Shapes (m, n, k) at and around every block size.
const SHAPES: [(usize, usize, usize); 14] = [
    (1, 1, 1),
    (1, 16, 1),
    (6, 16, 8),
    (7, 17, 9),
    (5, 1, 300),
    (13, 31, 257),
    (70, 33, 64),
    (2, 530, 3),
    (150, 20, 5),
    (145, 48, 513),
    (3, 0, 4),
    (0, 3, 4),
    (3, 4, 0),
    (64, 515, 70),
];

/// Both operands in both layouts, with the row-major data for the twin.
fn layouts<'a>(m: usize, n: usize, k: usize, data: &'a [Vec<f32>; 4]) -> [(View<'a>, View<'a>); 4] {
    let [a, a_transposed, b, b_transposed] = data;
    let (a, at) = (View::rows(a, k), View::transposed(a_transposed, m));
    let (b, bt) = (View::rows(b, n), View::transposed(b_transposed, k));
    [(a, b), (a, bt), (at, b), (at, bt)]
}

fn operands(m: usize, n: usize, k: usize) -> [Vec<f32>; 4] {
    let transpose = |rows, cols, x: &[f32]| {
        reference::transpose(rows, cols, &wide(x))
            .iter()
            .map(|&x| x as f32)
            .collect::<Vec<f32>>()
    };
    let (a, b) = (random(m * k, 1), random(k * n, 2));
    let (at, bt) = (transpose(m, k, &a), transpose(k, n, &b));
    [a, at, b, bt]
}

#[test]
fn matches_the_twin_in_every_layout() {
    for (m, n, k) in SHAPES {
        let data = operands(m, n, k);
        let product = reference::gemm(m, n, k, &wide(&data[0]), &wide(&data[2]));
        let start = random(m * n, 3);
        let sum: Vec<f64> = product
            .iter()
            .zip(&start)
            .map(|(p, &s)| p + f64::from(s))
            .collect();
        for (layout, (a, b)) in layouts(m, n, k, &data).into_iter().enumerate() {
            let what = format!("[{m}, {k}] · [{k}, {n}], layout {layout}");
            let mut out = vec![f32::NAN; m * n];
            gemm(
                GemmShape { m, n, k },
                a,
                b,
                &mut out,
                Accumulate::Overwrite,
                Precision::F32,
            );
            assert_close(&out, &product, 1e-5, &what);
            out.copy_from_slice(&start);
            gemm(
                GemmShape { m, n, k },
                a,
                b,
                &mut out,
                Accumulate::Add,
                Precision::F32,
            );
            assert_close(&out, &sum, 1e-5, &what);
        }
    }
}

#[test]
fn the_portable_tile_matches_the_twin() {
    for (m, n, k) in SHAPES {
        if m * n * k == 0 {
            continue;
        }
        let data = operands(m, n, k);
        let product = reference::gemm(m, n, k, &wide(&data[0]), &wide(&data[2]));
        for (a, b) in layouts(m, n, k, &data) {
            let mut out = vec![f32::NAN; m * n];
            let mut tile = TileMut::new(&mut out, m, n, n);
            let (overwrite, none) = (Accumulate::Overwrite, Epilogue::NONE);
            // The packed part of `b` is made for `TASK_COLS` columns at most, but any number works.
            column_block(Isa::Portable, k, a, b, &mut tile, overwrite, none);
            assert_close(&out, &product, 1e-5, "portable");
        }
    }
}

#[test]
fn a_row_does_not_depend_on_the_number_of_rows() {
    let (n, k) = (130, 700);
    let (a, w) = (random(70 * k, 1), random(n * k, 2));
    let rows = |m: usize| {
        let mut out = vec![0.0; m * n];
        gemm(
            GemmShape { m, n, k },
            View::rows(&a, k),
            View::transposed(&w, k),
            &mut out,
            Accumulate::Overwrite,
            Precision::F32,
        );
        bits(&out)
    };
    let all = rows(70);
    for m in 1..70 {
        assert!(
            rows(m) == all[..m * n],
            "{m} rows differ from the first of 70"
        );
    }
}

#[test]
fn a_column_does_not_depend_on_the_number_of_columns() {
    let (m, k) = (7, 300);
    let (a, w) = (random(m * k, 1), random(600 * k, 2));
    let last_row = |n: usize| {
        let mut out = vec![0.0; m * n];
        gemm(
            GemmShape { m, n, k },
            View::rows(&a, k),
            View::transposed(&w, k),
            &mut out,
            Accumulate::Overwrite,
            Precision::F32,
        );
        bits(&out[(m - 1) * n..])
    };
    let all = last_row(600);
    for n in [1, 15, 16, 17, 100, 511, 512, 513] {
        assert!(
            last_row(n) == all[..n],
            "{n} columns differ from the first of 600"
        );
    }
}

#[test]
fn threads_change_nothing() {
    for (m, n, k) in [
        (300, 700, 300),
        (1, 5000, 600),
        (2000, 10, 300),
        (100, 200, 2000),
    ] {
        let (a, b) = (random(m * k, 1), random(k * n, 2));
        assert_same_on_all_pools(|| {
            let mut out = vec![0.0; 2 * m * n];
            let (left, right) = out.split_at_mut(m * n);
            gemm(
                GemmShape { m, n, k },
                View::rows(&a, k),
                View::rows(&b, n),
                left,
                Accumulate::Overwrite,
                Precision::F32,
            );
            gemm(
                GemmShape { m, n, k },
                View::transposed(&a, m),
                View::transposed(&b, k),
                right,
                Accumulate::Overwrite,
                Precision::F32,
            );
            out
        });
    }
}

#[test]
fn columns_of_a_wider_matrix_stay_untouched() {
    let (m, n, k, width) = (9, 20, 5, 50);
    let (a, b) = (random(m * k, 1), random(k * n, 2));
    let mut out = vec![7.0; m * width];
    {
        let whole = TileMut::new(&mut out, m, width, width);
        // SAFETY: nothing else uses `whole`.
        let mut part = unsafe { whole.part(0, 11, m, n) };
        gemm_tile(
            k,
            View::rows(&a, k),
            View::rows(&b, n),
            &mut part,
            Accumulate::Overwrite,
            Epilogue::NONE,
        );
    }
    let product = reference::gemm(m, n, k, &wide(&a), &wide(&b));
    for (row, product) in out.chunks(width).zip(product.chunks(n)) {
        assert_close(&row[11..11 + n], product, 1e-5, "inside");
        assert!(
            row[..11].iter().chain(&row[11 + n..]).all(|&x| x == 7.0),
            "outside"
        );
    }
}

#[test]
#[should_panic(expected = "`b` needs 12 numbers, it has 11")]
fn a_short_operand_is_refused() {
    let mut out = [0.0; 8];
    gemm(
        GemmShape { m: 2, n: 4, k: 3 },
        View::rows(&[1.0; 6], 3),
        View::rows(&[1.0; 11], 4),
        &mut out,
        Accumulate::Overwrite,
        Precision::F32,
    );
}

#[test]
fn rounding_goes_to_the_nearest_even_bfloat16() {
    let cases = [
        (1.0, 1.0),
        (1.0 + 1.0 / 256.0, 1.0),
        (1.0 + 3.0 / 256.0, 1.0 + 4.0 / 256.0),
        (1.0 + 1.01 / 256.0, 1.0 + 2.0 / 256.0),
        (-0.0, -0.0),
        (f32::INFINITY, f32::INFINITY),
        (f32::MAX, f32::INFINITY),
        (f32::MIN_POSITIVE, f32::MIN_POSITIVE),
    ];
    for (x, rounded) in cases {
        assert_eq!(bf16::round(x).to_bits(), f32::to_bits(rounded), "{x}");
    }
    assert!(bf16::round(f32::from_bits(0x7F80_0001)).is_nan());
    assert!(bf16::round(f32::from_bits(0xFFFF_FFFF)).is_nan());
}

#[test]
fn bf16_products_are_those_of_rounded_operands() {
    for (m, n, k) in SHAPES {
        let data = operands(m, n, k);
        let rounded =
            |x: &[f32]| -> Vec<f64> { x.iter().map(|&x| bf16::round(x).into()).collect() };
        let product = reference::gemm(m, n, k, &rounded(&data[0]), &rounded(&data[2]));
        for (layout, (a, b)) in layouts(m, n, k, &data).into_iter().enumerate() {
            let what = format!("[{m}, {k}] · [{k}, {n}], layout {layout}");
            let shape = GemmShape { m, n, k };
            let mut out = vec![f32::NAN; m * n];
            gemm(
                shape,
                a,
                b,
                &mut out,
                Accumulate::Overwrite,
                Precision::Bf16,
            );
            assert_close(&out, &product, 1e-5, &what);
            gemm(shape, a, b, &mut out, Accumulate::Add, Precision::Bf16);
            let twice: Vec<f64> = product.iter().map(|x| 2.0 * x).collect();
            assert_close(&out, &twice, 2e-5, &what);
        }
    }
}
