//! Products in 8-bit integers, against their definition.

use super::*;

/// [`linear_packed`] in 8-bit integers, as defined.
fn reference_int8(
    x: &[f32],
    weight: &[f32],
    k: usize,
    bias: Option<&[f32]>,
    activation: Activation,
) -> Vec<f32> {
    let weight: Vec<_> = weight.chunks(k).map(quantized).collect();
    let mut out = Vec::new();
    for (scale, x) in x.chunks(k).map(quantized) {
        for (n, (col_scale, w)) in weight.iter().enumerate() {
            let sum: i64 = x.iter().zip(w).map(|(x, w)| x * w).sum();
            let product = sum as i32 as f32 * (scale * col_scale);
            let y = bias.map_or(product, |bias| product + bias[n]);
            out.push(match activation {
                Activation::Relu if y < 0.0 => 0.0,
                _ => y,
            });
        }
    }
    out
}

#[test]
fn integer_products_equal_the_definition_on_every_instruction_set() {
    for (n, k) in SHAPES.into_iter().filter(|shape| shape.1 > 0) {
        assert_defined([n, k], ROWS);
    }
}

#[test]
fn integer_products_of_any_number_of_rows_equal_the_definition() {
    // The last tile has any number of rows, and the last columns do not fill a panel.
    assert_defined([45, 20], 1..150);
}

#[test]
fn integer_products_with_long_weights_equal_the_definition() {
    let (n, k) = FAR;
    assert!(is_far(n * k));
    assert_defined([n, k], ROWS_OF_FAR);
}

/// Asserts that products with a weight `[n, k]` are those of the definition, by every kernel.
fn assert_defined([n, k]: [usize; 2], rows: impl IntoIterator<Item = usize>) {
    let (weight, bias) = (rows_of_many_sizes(n, k, 1), random(n, 2));
    let packed = PackedInt8Buf::pack(&weight, n, k);
    for rows in rows {
        let x = rows_of_many_sizes(rows, k, 3);
        for bias in [None, Some(&bias[..])] {
            for activation in [Activation::Identity, Activation::Relu] {
                let expected = reference_int8(&x, &weight, k, bias, activation);
                for kernel in kernels(Precision::Int8) {
                    let weight = PackedWeight::Int8(packed.view());
                    let found = product_on(kernel, rows, &x, weight, bias, activation);
                    assert!(
                        same_bits(&found) == same_bits(&expected),
                        "{kernel:?}: {rows} rows, [{n}, {k}], {activation:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn integer_products_without_depth_are_the_bias() {
    let bias = [-1.0, 2.0, -0.0];
    let packed = PackedInt8Buf::pack(&[], 3, 0);
    for kernel in kernels(Precision::Int8) {
        let weight = PackedWeight::Int8(packed.view());
        let of = |bias, activation| product_on(kernel, 2, &[], weight, bias, activation);
        assert_eq!(of(None, Activation::Identity), [0.0; 6], "{kernel:?}");
        assert_eq!(of(Some(&bias[..]), Activation::Identity), bias.repeat(2), "{kernel:?}");
        assert_eq!(of(Some(&bias[..]), Activation::Relu), [0.0, 2.0, 0.0].repeat(2), "{kernel:?}");
    }
}

#[test]
fn integer_products_are_exact_at_the_ends_of_the_range() {
    let (n, k) = (18, 8192);
    let weight: Vec<f32> = (0..n * k).map(|i| if i / k % 2 == 0 { 1.0 } else { -1.0 }).collect();
    let packed = PackedInt8Buf::pack(&weight, n, k);
    for rows in [1, 4, 20] {
        let x: Vec<f32> = (0..rows * k).map(|i| if i / k % 3 == 0 { -2.0 } else { 2.0 }).collect();
        let expected = reference_int8(&x, &weight, k, None, Activation::Identity);
        assert_eq!(expected[0].abs(), 127.0 * 127.0 * 8192.0 * (2.0 / 127.0 * (1.0 / 127.0)));
        for kernel in kernels(Precision::Int8) {
            let weight = PackedWeight::Int8(packed.view());
            let found = product_on(kernel, rows, &x, weight, None, Activation::Identity);
            assert!(bits(&found) == bits(&expected), "{kernel:?}");
        }
    }
}

#[test]
fn values_of_a_file_may_be_any_bytes() {
    let (n, k) = (21, 131);
    let words = n_panels(n) * 33;
    let values: Vec<i8> = (0..words * 64).map(|i| [-128, 127, -1, -127, 0][i % 5]).collect();
    let full = |row: usize| -> Vec<i64> {
        let mut integers = vec![f32::NAN; k];
        crate::packed::layout::unpack_row(&values, [n, k], row, &mut integers, f32::from);
        integers.iter().map(|&q| q as i64).collect()
    };
    let sums: Vec<i32> = (0..n).map(|row| full(row).iter().sum::<i64>() as i32).collect();
    let scales = vec![0.5; n];
    let packed = PackedInt8::new(n, k, &values, &scales, &sums).unwrap();
    let x: Vec<f32> = (0..5 * k).map(|i| (i % 255) as f32 - 127.0).collect();
    let mut expected = Vec::new();
    for (scale, x) in x.chunks(k).map(quantized) {
        for row in 0..n {
            let sum: i64 = x.iter().zip(full(row)).map(|(x, w)| x * w).sum();
            expected.push(sum as f32 * (scale * 0.5));
        }
    }
    for kernel in kernels(Precision::Int8) {
        let weight = PackedWeight::Int8(packed);
        // As many rows as a tile of AVX2 has, whose products differ, and others.
        for rows in [1, 2, 4, 5] {
            let found = product_on(kernel, rows, &x[..rows * k], weight, None, Activation::Identity);
            assert!(bits(&found) == bits(&expected[..rows * n]), "{kernel:?}, {rows} rows");
        }
    }
}

#[test]
fn numbers_that_are_not_finite_stay_in_their_rows_and_columns() {
    let (rows, n, k) = (20, 40, 70);
    let (mut x, mut weight) = (random(rows * k, 1), random(n * k, 2));
    (x[3 * k + 69], x[11 * k], x[19 * k + 5]) = (f32::NAN, f32::INFINITY, f32::NEG_INFINITY);
    weight[33 * k + 2] = f32::INFINITY;
    let bias = random(n, 3);
    let packed = PackedInt8Buf::pack(&weight, n, k);
    for kernel in kernels(Precision::Int8) {
        let weight = PackedWeight::Int8(packed.view());
        for activation in [Activation::Identity, Activation::Relu] {
            let found = product_on(kernel, rows, &x, weight, Some(&bias), activation);
            for (i, y) in found.iter().enumerate() {
                let nan = [3, 11, 19].contains(&(i / n)) || i % n == 33;
                assert_eq!(y.is_nan(), nan, "{kernel:?}, {activation:?}: {i} is {y}");
            }
        }
    }
}

#[test]
fn rows_of_zeros_give_the_bias() {
    let (n, k) = (40, 70);
    let (weight, bias) = (random(n * k, 2), random(n, 3));
    let x = [vec![0.0; k], vec![1e-40; k], vec![-0.0; k]].concat();
    let packed = PackedInt8Buf::pack(&weight, n, k);
    for kernel in kernels(Precision::Int8) {
        let weight = PackedWeight::Int8(packed.view());
        let found = product_on(kernel, 3, &x, weight, Some(&bias), Activation::Identity);
        assert_eq!(found, bias.repeat(3), "{kernel:?}");
    }
}
