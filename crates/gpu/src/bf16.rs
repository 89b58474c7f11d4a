//! Numbers in bf16, two in a word of 32 bits: the first of them in the lower half.

use std::borrow::Cow;

use attentive_kernels::gemm::Float;
use attentive_kernels::gemm::bf16::{narrow, widen};

/// The words that `len` numbers take.
pub(crate) fn words(len: usize) -> usize {
    len.div_ceil(2)
}

/// The words of `values`, which are rounded.
pub(crate) fn packed(values: &[f32]) -> Vec<u32> {
    let word = |pair: &[f32]| {
        let half = |index: usize| pair.get(index).map_or(0, |&x| u32::from(narrow(x)));
        half(0) | half(1) << 16
    };
    values.chunks(2).map(word).collect()
}

/// The first `len` numbers in `words`.
pub(crate) fn unpacked(words: &[u32], len: usize) -> Vec<f32> {
    let pair = |word: &u32| [widen(*word as u16), widen((word >> 16) as u16)];
    words.iter().flat_map(pair).take(len).collect()
}

/// A function `name` in WGSL that returns a number of the buffer at `binding`, which is stored in `numbers`.
pub(crate) fn reader(name: &str, binding: usize, numbers: Float) -> Cow<'static, str> {
    let body = match numbers {
        Float::F32 => format!("return a{binding}[i];"),
        // An f32 whose lower half is 0 has the upper half's bits.
        Float::Bf16 => format!(
            "let word = u{binding}[i >> 1u]; \
             return bitcast<f32>(select(word << 16u, word & 0xFFFF0000u, (i & 1u) == 1u));"
        ),
    };
    format!("fn {name}(i: u32) -> f32 {{ {body} }}\n").into()
}

#[cfg(test)]
mod tests {
    use attentive_kernels::gemm::bf16::round;

    use super::*;

    #[test]
    fn numbers_are_rounded_to_halves_of_words() {
        for values in [&[][..], &[1.0], &[1.0, -2.0], &[0.1, 1e-30, -3.3]] {
            let found = packed(values);
            assert_eq!(found.len(), words(values.len()));
            let rounded: Vec<f32> = values.iter().map(|&x| round(x)).collect();
            assert_eq!(unpacked(&found, values.len()), rounded);
        }
        assert_eq!(packed(&[1.0, -2.0]), [0xC000_3F80]);
    }
}
