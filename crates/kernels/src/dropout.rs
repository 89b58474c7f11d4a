//! Dropout whose mask is a function of (seed, micro-batch, site, element): it is never stored, but recomputed
//! in the backward pass.

use attentive_base::philox::philox;

use crate::area::{assert_shape, assert_shape_if_any};
use crate::elementwise::add_chunk;
use crate::parallel::for_row_chunks;
#[cfg(target_arch = "x86_64")]
use crate::philox::RoundKeys;
#[cfg(target_arch = "x86_64")]
use crate::simd::has_avx512;

/// Elements whose mask is drawn together: eight Philox counters, eight elements from each.
pub(crate) const GROUP: usize = LANES * 8;
/// Counters drawn together.
const LANES: usize = 8;

/// One dropout layer in one micro-batch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DropoutCall {
    /// Probability that an element is zeroed, rounded to a multiple of 2⁻¹⁶.
    pub rate: f32,
    /// The run's seed.
    pub seed: u64,
    /// Number of the micro-batch within the run.
    pub micro_batch: u64,
    /// Number of the dropout layer within the model.
    pub site: u32,
}

impl DropoutCall {
    /// Applies dropout to `x` in place.
    pub fn apply(&self, x: &mut [f32]) {
        for_row_chunks(x, 1, |start, x| drop_chunk(x, *self, start));
    }

    /// Returns the number that the 16 random bits of an element must reach for it to be kept.
    pub fn threshold(&self) -> u32 {
        (self.rate.clamp(0.0, 1.0) * 65536.0).round() as u32
    }

    /// Returns the factor of kept elements.
    pub fn kept_scale(&self) -> f32 {
        let kept = 65536 - self.threshold();
        if kept == 0 { 0.0 } else { 65536.0 / kept as f32 }
    }

    /// Random bits number `block`.
    #[inline(always)]
    fn draw(&self, block: u32) -> [u32; 4] {
        let [site, low, high] = self.counter();
        philox(self.key(), [block, site, low, high])
    }

    #[inline(always)]
    fn key(&self) -> [u32; 2] {
        [self.seed as u32, (self.seed >> 32) as u32]
    }

    /// The counter of random bits, after their number.
    #[inline(always)]
    fn counter(&self) -> [u32; 3] {
        let micro_batch = self.micro_batch;
        [self.site, micro_batch as u32, (micro_batch >> 32) as u32]
    }

    /// The random bits of the elements from `group * GROUP` on. Element `word * 16 + half * 8 + lane` of the
    /// group uses the low (`half` 0) or high bits of that word of draw number `group * 8 + lane`.
    #[inline(always)]
    fn words(&self, group: usize) -> [[u32; LANES]; 4] {
        let mut words = [[0u32; LANES]; 4];
        for lane in 0..LANES {
            let draw = self.draw((group * LANES + lane) as u32);
            for (words, drawn) in words.iter_mut().zip(draw) {
                words[lane] = drawn;
            }
        }
        words
    }

    /// The factors of the elements from `group * GROUP` on.
    #[inline(always)]
    fn group(&self, group: usize) -> [f32; GROUP] {
        let (threshold, kept) = (self.threshold(), self.kept_scale());
        let words = self.words(group);
        let mut scales = [0.0; GROUP];
        for (scales, words) in scales.as_chunks_mut::<{ 2 * LANES }>().0.iter_mut().zip(&words) {
            let (low, high) = scales.split_at_mut(LANES);
            for ((low, high), &word) in low.iter_mut().zip(high).zip(words) {
                *low = if word & 0xFFFF >= threshold { kept } else { 0.0 };
                *high = if word >> 16 >= threshold { kept } else { 0.0 };
            }
        }
        scales
    }

    /// Calls `apply(range of out, scales)` for the elements `start..start + len`, group by group.
    #[inline(always)]
    fn for_groups(&self, start: usize, len: usize, mut apply: impl FnMut(std::ops::Range<usize>, &[f32])) {
        let mut done = 0;
        while done < len {
            let (group, inside) = ((start + done) / GROUP, (start + done) % GROUP);
            let count = (GROUP - inside).min(len - done);
            apply(done..done + count, &self.group(group)[inside..inside + count]);
            done += count;
        }
    }
}

/// Which elements are kept, one bit for each. What was drawn last is remembered, so that elements asked for
/// in order are drawn once.
pub(crate) struct DropoutBits {
    dropout: DropoutCall,
    #[cfg(target_arch = "x86_64")]
    keys: RoundKeys,
    threshold: u32,
    /// The group drawn last, and its bits.
    last: Option<(usize, u64)>,
}

impl DropoutBits {
    pub(crate) fn new(dropout: DropoutCall) -> Self {
        Self {
            dropout,
            #[cfg(target_arch = "x86_64")]
            keys: RoundKeys::new(dropout.key()),
            threshold: dropout.threshold(),
            last: None,
        }
    }

    /// Bit i tells whether element `start + i` is kept, for i below `len`; `len` is at most [`GROUP`], and
    /// the other bits are unspecified.
    #[inline(always)]
    pub(crate) fn bits(&mut self, start: usize, len: usize) -> u64 {
        let (group, inside) = (start / GROUP, start % GROUP);
        let mut bits = 0;
        for number in 0..(inside + len).div_ceil(GROUP) {
            let drawn = self.group(group + number);
            bits |= match number {
                0 => drawn >> inside,
                _ => drawn << (GROUP - inside),
            };
        }
        bits
    }

    #[inline(always)]
    fn group(&mut self, group: usize) -> u64 {
        match self.last {
            Some((last, bits)) if last == group => bits,
            _ => {
                let bits = self.draw(group);
                self.last = Some((group, bits));
                bits
            }
        }
    }

    /// Which of the elements from `group * GROUP` on are kept.
    #[inline(always)]
    fn draw(&self, group: usize) -> u64 {
        #[cfg(target_arch = "x86_64")]
        if has_avx512() {
            // SAFETY: the CPU has these parts of AVX-512.
            return unsafe { self.draw_avx512(group) };
        }
        let mut bits = [0u64; LANES];
        for (number, words) in self.dropout.words(group).iter().enumerate() {
            for (lane, (bits, &word)) in bits.iter_mut().zip(words).enumerate() {
                let bit = 1 << (number * 2 * LANES + lane);
                *bits |= if word & 0xFFFF >= self.threshold { bit } else { 0 };
                *bits |= if word >> 16 >= self.threshold { bit << LANES } else { 0 };
            }
        }
        bits.iter().fold(0, |all, bits| all | bits)
    }

    /// [`Self::draw`] with AVX-512.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512bw")]
    #[inline]
    fn draw_avx512(&self, group: usize) -> u64 {
        use std::arch::x86_64::{
            _mm512_cmpge_epu16_mask, _mm512_loadu_epi16, _mm512_permutex2var_epi16, _mm512_set1_epi16,
        };

        let Ok(threshold) = u16::try_from(self.threshold) else {
            return 0;
        };
        let threshold = _mm512_set1_epi16(threshold.cast_signed());
        let words = self.keys.eight((group * LANES) as u32, self.dropout.counter());
        // SAFETY: there are 32 numbers.
        let order = unsafe { _mm512_loadu_epi16(ORDER.as_ptr()) };
        let mut bits = 0;
        for (pair, words) in words.as_chunks::<2>().0.iter().enumerate() {
            let numbers = _mm512_permutex2var_epi16(words[0], order, words[1]);
            let kept = _mm512_cmpge_epu16_mask(numbers, threshold);
            bits |= u64::from(kept) << (32 * pair);
        }
        bits
    }
}

/// The order of the elements among the 16-bit numbers of two vectors whose lanes of 64 bits begin with a
/// random word: the low halves of the first vector's words, the high halves, and the same of the second
/// vector.
#[cfg(target_arch = "x86_64")]
const ORDER: [i16; 32] = {
    let mut order = [0; 32];
    let mut element = 0;
    while element < 32 {
        let (vector, half, lane) = (element / 16, element / 8 % 2, element % 8);
        order[element] = (vector * 32 + lane * 4 + half) as i16;
        element += 1;
    }
    order
};

vectorized! {
    /// `out = x ⊙ scales`, for the elements from `start` on.
    fn scale_chunk(x: &[f32], dropout: DropoutCall, start: usize, out: &mut [f32]) {
        dropout.for_groups(start, out.len(), |range, scales| {
            for ((out, &x), &scale) in out[range.clone()].iter_mut().zip(&x[range]).zip(scales) {
                *out = x * scale;
            }
        });
    }
}

vectorized! {
    /// `x = x ⊙ scales`, for the elements from `start` on.
    fn drop_chunk(x: &mut [f32], dropout: DropoutCall, start: usize) {
        dropout.for_groups(start, x.len(), |range, scales| {
            for (x, &scale) in x[range].iter_mut().zip(scales) {
                *x *= scale;
            }
        });
    }
}

/// `out` = `residual` + dropout(`x`), all of the same length, for the elements from `first` on. Without
/// `dropout` nothing is dropped.
///
/// # Panics
/// If the lengths differ.
pub fn dropout_add(
    first: usize,
    x: &[f32],
    residual: Option<&[f32]>,
    dropout: Option<DropoutCall>,
    out: &mut [f32],
) {
    assert_shape("x", x, [out.len()]);
    assert_shape_if_any("residual", residual, [out.len()]);
    for_row_chunks(out, 1, |start, out| {
        let part = start..start + out.len();
        match dropout {
            Some(dropout) => scale_chunk(&x[part.clone()], dropout, first + start, out),
            None => out.copy_from_slice(&x[part.clone()]),
        }
        if let Some(residual) = residual {
            add_chunk(out, &residual[part]);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::dropout_scale;
    use crate::testing::{assert_same_on_all_pools, random};

    const DROPOUT: DropoutCall =
        DropoutCall { rate: 0.1, seed: 1 << 40 | 3, micro_batch: 1 << 33 | 5, site: 7 };

    #[test]
    fn kept_elements_match_the_reference_at_any_start() {
        for rate in [0.0, 0.1, 0.9999, 1.0] {
            let dropout = DropoutCall { rate, ..DROPOUT };
            let mut kept = DropoutBits::new(dropout);
            for start in [0, 1, 63, 64, 1000] {
                for len in [1, 5, 63, 64] {
                    let bits = kept.bits(start, len);
                    for i in 0..len {
                        assert_eq!(
                            bits >> i & 1 == 1,
                            dropout_scale(dropout, start + i) != 0.0,
                            "element {i} from {start} at rate {rate}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn the_kept_fraction_and_the_mean_are_right() {
        let mut scales = vec![1.0; 200_000];
        DROPOUT.apply(&mut scales);
        let kept = scales.iter().filter(|&&scale| scale != 0.0).count() as f64 / scales.len() as f64;
        let mean = scales.iter().map(|&scale| f64::from(scale)).sum::<f64>() / scales.len() as f64;
        assert!((kept - 0.9).abs() < 0.003, "kept {kept}");
        assert!((mean - 1.0).abs() < 0.004, "mean {mean}");
    }

    #[test]
    fn seed_micro_batch_and_site_change_the_mask() {
        let mask = |dropout: DropoutCall| {
            let mut scales = vec![1.0; 256];
            dropout.apply(&mut scales);
            scales
        };
        let first = mask(DROPOUT);
        assert_ne!(first, mask(DropoutCall { seed: 3, ..DROPOUT }));
        assert_ne!(first, mask(DropoutCall { micro_batch: 5, ..DROPOUT }));
        assert_ne!(first, mask(DropoutCall { site: 8, ..DROPOUT }));
    }

    #[test]
    fn rates_0_and_1_keep_everything_and_nothing() {
        let x = random(100, 1);
        let mut out = vec![0.0; 100];
        dropout_add(0, &x, None, Some(DropoutCall { rate: 0.0, ..DROPOUT }), &mut out);
        assert_eq!(out, x);
        dropout_add(0, &x, None, Some(DropoutCall { rate: 1.0, ..DROPOUT }), &mut out);
        assert!(out.iter().all(|&x| x == 0.0));
    }

    #[test]
    fn results_depend_on_neither_size_nor_thread_count() {
        let (x, residual) = (random(100_003, 1), random(100_003, 2));
        let run = |len: usize| {
            let mut out = vec![f32::NAN; len];
            dropout_add(0, &x[..len], Some(&residual[..len]), Some(DROPOUT), &mut out);
            out
        };
        assert_same_on_all_pools(|| run(x.len()));
        let all = run(x.len());
        assert_eq!(run(777), all[..777]);
        for i in [0, 776, 16_384, 100_002] {
            assert_eq!(all[i], x[i] * dropout_scale(DROPOUT, i) as f32 + residual[i], "element {i}");
        }
        let mut dx = vec![0.0; x.len()];
        dropout_add(0, &x, None, Some(DROPOUT), &mut dx);
        assert!(dx.iter().zip(&all).zip(&residual).all(|((dx, y), r)| dx + r == *y));
    }
}
