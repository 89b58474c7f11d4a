//! The counter-based random generator Philox 4×32-10 (Salmon et al., *Parallel Random Numbers: As Easy as 1,
//! 2, 3*, 2011).
//!
//! The output is a pure function of a key and a counter: there is no state to save, the numbers do not depend
//! on the number of threads, and any element can be drawn again independently of the others.

/// The factors of the two products of a round.
pub const MULTIPLIERS: [u32; 2] = [0xD251_1F53, 0xCD9E_8D57];
/// What the words of the key grow by in each round.
pub const WEYL: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];
/// The number of rounds.
pub const ROUNDS: usize = 10;

/// Four random words for `counter` under `key`.
#[inline(always)]
pub fn philox(key: [u32; 2], counter: [u32; 4]) -> [u32; 4] {
    let [mut k0, mut k1] = key;
    let [mut c0, mut c1, mut c2, mut c3] = counter;
    for _ in 0..ROUNDS {
        let low = u64::from(MULTIPLIERS[0]) * u64::from(c0);
        let high = u64::from(MULTIPLIERS[1]) * u64::from(c2);
        (c0, c1, c2, c3) =
            ((high >> 32) as u32 ^ c1 ^ k0, high as u32, (low >> 32) as u32 ^ c3 ^ k1, low as u32);
        k0 = k0.wrapping_add(WEYL[0]);
        k1 = k1.wrapping_add(WEYL[1]);
    }
    [c0, c1, c2, c3]
}

#[cfg(test)]
mod tests {
    use super::philox;

    /// Known answers published with the authors' Random123 library.
    #[test]
    fn matches_the_published_test_vectors() {
        assert_eq!(philox([0, 0], [0; 4]), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        assert_eq!(
            philox([u32::MAX; 2], [u32::MAX; 4]),
            [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]
        );
        assert_eq!(
            philox([0xa409_3822, 0x299f_31d0], [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344]),
            [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]
        );
    }
}
