//! Eight blocks of the random generator Philox at a time, with AVX-512.

use std::arch::x86_64::{
    __m512i, _mm512_add_epi32, _mm512_mul_epu32, _mm512_set1_epi32, _mm512_setr_epi64, _mm512_srli_epi64,
    _mm512_ternarylogic_epi32,
};

use attentive_base::philox::{MULTIPLIERS, ROUNDS, WEYL};

/// The keys of all rounds.
pub(crate) struct RoundKeys([[u32; 2]; ROUNDS]);

impl RoundKeys {
    pub(crate) fn new(key: [u32; 2]) -> Self {
        let mut keys = [key; ROUNDS];
        for round in 1..ROUNDS {
            let [k0, k1] = keys[round - 1];
            keys[round] = [k0.wrapping_add(WEYL[0]), k1.wrapping_add(WEYL[1])];
        }
        Self(keys)
    }

    /// Four random words for each of the counters `[first + i, rest[0], rest[1], rest[2]]`, i from 0 to 7:
    /// vector j holds word j of counter i in the low half of lane i. The high halves are unspecified.
    #[target_feature(enable = "avx512f")]
    #[inline]
    pub(crate) fn eight(&self, first: u32, rest: [u32; 3]) -> [__m512i; 4] {
        let all = |x: u32| _mm512_set1_epi32(x.cast_signed());
        // Only the low halves of the lanes are multiplied.
        let [m0, m1] = MULTIPLIERS.map(all);
        let [mut c1, mut c2, mut c3] = rest.map(all);
        let mut c0 = _mm512_add_epi32(all(first), _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7));
        for [k0, k1] in self.0 {
            let (low, high) = (_mm512_mul_epu32(m0, c0), _mm512_mul_epu32(m1, c2));
            let upper = |x| _mm512_srli_epi64::<32>(x);
            (c0, c1, c2, c3) = (
                _mm512_ternarylogic_epi32::<XOR>(upper(high), c1, all(k0)),
                high,
                _mm512_ternarylogic_epi32::<XOR>(upper(low), c3, all(k1)),
                low,
            );
        }
        [c0, c1, c2, c3]
    }
}

/// The truth table of a ⊕ b ⊕ c.
const XOR: i32 = 0x96;
