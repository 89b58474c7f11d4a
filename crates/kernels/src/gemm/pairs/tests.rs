use super::*;
use crate::gemm::bf16::round;
use crate::testing::{bits, random};

/// `x` times the identity, or the identity times `x`, so that each sum has only one nonzero product.
fn through(isa: PairIsa, size: usize, x: View<'_>, left: bool) -> Vec<f32> {
    let identity: Vec<f32> = (0..size * size).map(|i| f32::from(u8::from(i / size == i % size))).collect();
    let identity = View::rows(&identity, size);
    let mut out = vec![f32::NAN; size * size];
    let mut tile = TileMut::new(&mut out, size, size, size);
    let (a, b) = if left { (x, identity) } else { (identity, x) };
    product(isa, &Product::new(size, PairsOperand::Plain(a), PairsOperand::Plain(b)), &mut tile);
    out
}

#[test]
fn packing_rounds_to_the_nearest_even() {
    let size = 75;
    let mut x: Vec<f32> = random(size * size, 1);
    // Ties, neighbors of ties, and the ends of the range.
    for (i, x) in x.iter_mut().enumerate().filter(|(i, _)| i % 3 > 0) {
        let low = [0x8000, 0x7FFF, 0x8001, 0xFFFF, 0][i % 5];
        *x = f32::from_bits(x.to_bits() & 0xFFFF_0000 | low);
    }
    x[..4].copy_from_slice(&[f32::MIN_POSITIVE, -f32::MIN_POSITIVE, 3.38e38, -3.38e38]);
    let transposed: Vec<f32> = (0..size * size).map(|i| x[i % size * size + i / size]).collect();
    let expected: Vec<f32> = x.iter().map(|&x| round(x)).collect();
    for isa in PairIsa::available() {
        for left in [true, false] {
            for x in [View::rows(&x, size), View::transposed(&transposed, size)] {
                let found = through(isa, size, x, left);
                assert!(bits(&found) == bits(&expected), "{isa:?}, left: {left}");
            }
        }
    }
}

#[test]
fn special_values_are_kept_and_subnormals_may_become_zero() {
    let (size, denormal) = (20, 1e-40);
    let special = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, denormal];
    let quiet_nan_by_rounding = f32::from_bits(0x7F80_0001);
    for isa in PairIsa::available() {
        for special in special.into_iter().chain([quiet_nan_by_rounding]) {
            let mut x = vec![1.0; size * size];
            x[3 * size + 5] = special;
            let found = through(isa, size, View::rows(&x, size), true);
            for (i, &y) in found.iter().enumerate() {
                let right = match (i / size, i % size) {
                    (3, 5) if special == denormal => y == 0.0 || y == round(special),
                    (3, 5) if special.is_infinite() => y == special,
                    // 0 · ∞ is NaN.
                    (3, _) if !special.is_finite() => y.is_nan(),
                    _ => y == 1.0,
                };
                assert!(right, "{isa:?}, {special}: element {i} is {y}");
            }
        }
    }
}

#[test]
fn blocks_are_as_large_and_as_aligned_as_a_tile_register() {
    assert_eq!((size_of::<PairBlock>(), align_of::<PairBlock>()), (1024, 64));
    for len in [0, 1, 5] {
        with_blocks(len, |blocks| assert_eq!(blocks.len(), len));
    }
}
