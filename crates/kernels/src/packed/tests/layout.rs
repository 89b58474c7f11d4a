//! How weights are stored.

use super::*;
use crate::packed::lines::{PanelLine, numbers};

#[test]
fn rows_of_the_weight_are_those_that_were_packed() {
    for (n, k) in SHAPES {
        let weight = rows_of_many_sizes(n, k, 1);
        let of = |precision| PackedWeightBuf::pack(precision, &weight, n, k);
        let packed = TYPES.map(of);
        for row in 0..n {
            let exact = &weight[row * k..][..k];
            let (scale, integers) = quantized(exact);
            let expected: [Vec<f32>; 3] = [
                exact.to_vec(),
                exact.iter().map(|&x| crate::gemm::bf16::round(x)).collect(),
                integers.iter().map(|&q| q as f32 * scale).collect(),
            ];
            for (packed, expected) in packed.iter().zip(expected) {
                let mut out = vec![f32::NAN; k];
                packed.view().row(row, &mut out);
                assert_eq!(out, expected, "row {row} of [{n}, {k}]");
            }
        }
    }
}

#[test]
fn bytes_make_the_same_weight_and_are_padded_with_zeros() {
    for (n, k) in SHAPES {
        let weight = random(n * k, 1);
        let f32 = PackedF32Buf::pack(&weight, n, k);
        assert_eq!(f32.view().values().len(), n_panels(n) * 16 * k);
        let bf16 = PackedBf16Buf::pack(&weight, n, k);
        let again = PackedBf16::from_bytes(n, k, bf16.view().as_bytes()).unwrap();
        assert_eq!(again.values(), bf16.view().values());
        let int8 = PackedInt8Buf::pack(&weight, n, k);
        let [values, scales, sums] = int8.view().as_bytes();
        let again = PackedInt8::from_bytes(n, k, values, scales, sums).unwrap();
        assert_eq!(again.values(), int8.view().values());
        assert_eq!(again.scales(), int8.view().scales());
        let zeros = again.values().iter().filter(|&&q| q == 0).count();
        assert!(zeros >= again.values().len() - n * k);
        for (row, &sum) in again.sums().iter().enumerate() {
            let total: i32 = quantized(&weight[row * k..][..k]).1.iter().sum::<i64>() as i32;
            assert_eq!(sum, total);
        }
        assert!(f32.view().values().as_ptr().addr().is_multiple_of(64));
        assert!(values.as_ptr().addr().is_multiple_of(64));
    }
}

#[test]
fn the_layout_is_the_documented_one() {
    let (n, k) = (17, 7);
    let weight: Vec<f32> = (0..n * k).map(|i| i as f32).collect();
    let at = |row: usize, depth: usize| {
        if row < n && depth < k { weight[row * k + depth] } else { 0.0 }
    };
    let f32 = PackedF32Buf::pack(&weight, n, k);
    for (i, &x) in f32.view().values().iter().enumerate() {
        assert_eq!(x, at(i / (k * 16) * 16 + i % 16, i / 16 % k));
    }
    let bf16 = PackedBf16Buf::pack(&weight, n, k);
    for (i, &x) in bf16.view().values().iter().enumerate() {
        let (panel, pair, col) = (i / (8 * 16), i / 32 % 4, i / 2 % 16);
        assert_eq!(crate::gemm::bf16::widen(x), at(panel * 16 + col, 2 * pair + i % 2));
    }
    let int8 = PackedInt8Buf::pack(&weight, n, k);
    for (i, &q) in int8.view().values().iter().enumerate() {
        let (panel, group, col) = (i / (8 * 16), i / 64 % 2, i / 4 % 16);
        let (row, depth) = (panel * 16 + col, 4 * group + i % 4);
        let expected = if row < n && depth < k { quantized(&weight[row * k..][..k]).1[depth] } else { 0 };
        assert_eq!(i64::from(q), expected);
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let lines = vec![PanelLine::ZERO; 8];
    let bytes: &[u8] = numbers(&lines);
    let message = |error: PackedError| error.to_string();
    assert_eq!(
        message(PackedBf16::from_bytes(16, 13, bytes).unwrap_err()),
        "a packed matrix has 256 values, but its shape needs 224"
    );
    assert_eq!(
        message(PackedBf16::from_bytes(16, 15, &bytes[1..]).unwrap_err()),
        "the values of a packed matrix do not start or end at a multiple of their size in bytes"
    );
    assert_eq!(
        PackedBf16::from_bytes(16, 15, &bytes[..511]).unwrap_err(),
        PackedError::Alignment { what: "values" }
    );
    assert!(PackedBf16::from_bytes(16, 15, bytes).is_ok());
    assert!(matches!(
        PackedBf16::from_bytes(usize::MAX, 8, bytes).unwrap_err(),
        PackedError::Length { expected: None, .. }
    ));
    let int8 = |n, k, scales: &[u8]| PackedInt8::from_bytes(n, k, bytes, scales, &bytes[..64]).unwrap_err();
    assert_eq!(message(int8(16, 29, &bytes[..60])), "a packed matrix has 15 scales, but its shape needs 16");
    assert_eq!(
        message(int8(16, 131_072, &bytes[..64])),
        "a matrix with 131072 columns cannot be multiplied in 8-bit integers: at most 131071 are possible"
    );
}
