//! What this machine can do at most: multiply-adds in registers, with the instructions that the kernels use,
//! and bytes read and copied.

use std::hint::black_box;
use std::sync::Mutex;
use std::time::Instant;

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use crate::gemm::Float;
use crate::packed::Precision;
use crate::simd::BASELINE_IS_FUSED;
use crate::threads::Threads;

/// Runs of each measurement, of which the fastest counts.
const RUNS: usize = 10;
/// Multiply-adds of each sum in a run.
const ROUNDS: usize = 2_000_000;
/// Independent sums, enough to keep all multiply-add units busy.
const SUMS: usize = 12;

/// Returns the operations a second of multiply-adds in registers, two each, with the instructions for
/// products of this type; on the calling thread, or all [`Threads`] together.
pub fn operations(precision: Precision, on: MeasurementThreads) -> f64 {
    let work = work(precision);
    on.fastest(|_| work())
}

/// Returns the bytes per second that are read from `bytes` of memory, divided among the threads, after a
/// first pass.
pub fn read(bytes: usize, on: MeasurementThreads) -> f64 {
    /// Bytes of one run: enough to take milliseconds.
    const LEAST: usize = 1 << 28;
    let numbers = (bytes / 8 / on.count()).next_multiple_of(64);
    let buffers = on.each(|| vec![1u64; numbers]);
    let passes = LEAST.div_ceil(8 * numbers);
    on.fastest(|thread| {
        for _ in 0..passes {
            black_box(touch(black_box(&buffers[thread])));
        }
        (8 * numbers * passes) as f64
    })
}

/// Returns the bytes a second of copying, those read and those written, in memory that no cache holds.
pub fn copy(on: MeasurementThreads) -> f64 {
    /// Numbers of 8 bytes that all threads together copy.
    const NUMBERS: usize = 1 << 25;
    let each = NUMBERS / on.count();
    let buffers = on.each(|| Mutex::new((vec![1u64; each], vec![0; each])));
    on.fastest(|thread| {
        let (from, to) = &mut *buffers[thread].lock().expect("each thread has its own");
        black_box(to).copy_from_slice(black_box(from));
        (16 * each) as f64
    })
}

/// The threads that a measurement uses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MeasurementThreads {
    /// The calling thread.
    One,
    /// All threads of the process.
    All,
}

impl MeasurementThreads {
    /// Returns the number of threads.
    pub fn count(self) -> usize {
        match self {
            Self::One => 1,
            Self::All => Threads::current().count(),
        }
    }

    /// What `make` returns on each thread.
    fn each<T: Send>(self, make: impl Fn() -> T + Sync) -> Vec<T> {
        match self {
            Self::One => vec![make()],
            Self::All => rayon::broadcast(|_| make()),
        }
    }

    /// The highest rate of several runs of `work`, which returns how much it did, on each thread at once.
    fn fastest(self, work: impl Fn(usize) -> f64 + Sync) -> f64 {
        let run = || {
            let start = Instant::now();
            let done = match self {
                Self::One => work(0),
                Self::All => rayon::broadcast(|thread| work(thread.index())).iter().sum(),
            };
            done / start.elapsed().as_secs_f64()
        };
        (0..RUNS).map(|_| run()).fold(0.0, f64::max)
    }
}

/// Reads a number of each cache line, which fetches all of it, from four places in turn, so that more lines
/// are fetched at once.
fn touch(numbers: &[u64]) -> u64 {
    /// Numbers in a cache line.
    const LINE: usize = 8;
    let quarter = numbers.len() / 4 / LINE * LINE;
    let part = |number: usize| numbers[number * quarter..][..quarter].as_chunks::<LINE>().0;
    let [mut a, mut b, mut c, mut d] = [0; 4];
    let parts = part(0).iter().zip(part(1)).zip(part(2)).zip(part(3));
    for (((first, second), third), fourth) in parts {
        a ^= first[0];
        b ^= second[0];
        c ^= third[0];
        d ^= fourth[0];
    }
    a ^ b ^ c ^ d
}

/// Runs `ROUNDS` multiply-adds of each sum and returns the number of operations.
type Work = fn() -> f64;

/// The multiply-adds of the instructions used at this precision.
fn work(precision: Precision) -> Work {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    {
        let instructions = match precision {
            Precision::F32 => Float::F32.instructions(),
            Precision::Bf16 => Float::Bf16.instructions(),
            Precision::Int8 => precision.instructions(),
        };
        #[cfg(target_arch = "x86_64")]
        match instructions {
            // SAFETY: the kernels selected these instructions for this CPU.
            "AVX2" if precision == Precision::Int8 => return || unsafe { x86::avx2_int8() },
            // SAFETY: the kernels selected them for this CPU.
            "AVX2" => return || unsafe { x86::avx2() },
            // SAFETY: the kernels selected them for this CPU.
            "AVX-512" => return || unsafe { x86::avx512() },
            // SAFETY: the kernels selected them for this CPU.
            "AVX-512 BF16" => return || unsafe { x86::avx512_bf16() },
            // SAFETY: the kernels selected them for this CPU.
            "AVX-VNNI" => return || unsafe { x86::avx_vnni() },
            // SAFETY: the kernels selected them for this CPU.
            "AVX-512 VNNI" => return || unsafe { x86::avx512_vnni() },
            // SAFETY: the kernels selected them for this CPU.
            "AMX" => return || unsafe { x86::amx_bf16() },
            // SAFETY: the kernels selected them for this CPU.
            "AMX int8" => return || unsafe { x86::amx_int8() },
            _ => {}
        }
        #[cfg(target_arch = "aarch64")]
        match instructions {
            "Neon" if precision == Precision::Int8 => return arm::neon_int8,
            "Neon" => return arm::neon,
            // SAFETY: the kernels selected them for this CPU.
            "Neon DotProd" => return || unsafe { arm::dotprod() },
            // SAFETY: the kernels selected them for this CPU.
            "Neon I8MM" => return || unsafe { arm::i8mm() },
            // SAFETY: the kernels selected them for this CPU.
            "Neon BF16" => return || unsafe { arm::bf16() },
            _ => {}
        }
    }
    match precision {
        Precision::F32 | Precision::Bf16 => portable,
        Precision::Int8 => portable_int8,
    }
}

/// The baseline of the target; fused only where that is one instruction.
fn portable() -> f64 {
    const WIDTH: usize = 4;
    let (x, y) = (black_box(0.999f32), black_box(0.001));
    let mut sums = [[0.0f32; WIDTH]; SUMS];
    for _ in 0..ROUNDS {
        for lane in sums.as_flattened_mut() {
            *lane = if BASELINE_IS_FUSED { lane.mul_add(x, y) } else { *lane * x + y };
        }
    }
    black_box(sums);
    (2 * SUMS * WIDTH * ROUNDS) as f64
}

fn portable_int8() -> f64 {
    const WIDTH: usize = 4;
    let mut sums = [[0i32; WIDTH]; SUMS];
    for _ in 0..ROUNDS {
        let (x, y) = (black_box(3i8), black_box(5i8));
        for lane in sums.as_flattened_mut() {
            *lane = lane.wrapping_add(i32::from(x) * i32::from(y));
        }
        black_box(&mut sums);
    }
    (2 * SUMS * WIDTH * ROUNDS) as f64
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::asm;
    use std::arch::x86_64::{
        __m512bh, __m512i, _mm256_add_epi32, _mm256_dpbusd_avx_epi32, _mm256_fmadd_ps, _mm256_madd_epi16,
        _mm256_maddubs_epi16, _mm256_set1_epi8, _mm256_set1_epi16, _mm256_set1_ps, _mm256_xor_si256,
        _mm512_dpbf16_ps, _mm512_dpbusd_epi32, _mm512_fmadd_ps, _mm512_set1_epi8, _mm512_set1_epi16,
        _mm512_set1_ps,
    };
    use std::hint::black_box;
    use std::mem::transmute;

    use super::{ROUNDS, SUMS};

    /// Operations of `ROUNDS` instructions for each sum, which add `products` products to each of `lanes`.
    fn done(lanes: usize, products: usize) -> f64 {
        (2 * lanes * products * SUMS * ROUNDS) as f64
    }

    #[target_feature(enable = "avx2,fma")]
    pub(super) fn avx2() -> f64 {
        let (x, y) = (_mm256_set1_ps(black_box(0.999)), _mm256_set1_ps(black_box(0.001)));
        let mut sums = [y; SUMS];
        for _ in 0..ROUNDS {
            for sum in &mut sums {
                *sum = _mm256_fmadd_ps(*sum, x, y);
            }
        }
        black_box(sums);
        done(8, 1)
    }

    #[target_feature(enable = "avx512f")]
    pub(super) fn avx512() -> f64 {
        let (x, y) = (_mm512_set1_ps(black_box(0.999)), _mm512_set1_ps(black_box(0.001)));
        let mut sums = [y; SUMS];
        for _ in 0..ROUNDS {
            for sum in &mut sums {
                *sum = _mm512_fmadd_ps(*sum, x, y);
            }
        }
        black_box(sums);
        done(16, 1)
    }

    #[target_feature(enable = "avx512f,avx512bf16")]
    pub(super) fn avx512_bf16() -> f64 {
        // SAFETY: both types are 512 bits.
        let pairs = unsafe { transmute::<__m512i, __m512bh>(_mm512_set1_epi16(black_box(1))) };
        let mut sums = [_mm512_set1_ps(0.0); SUMS];
        for _ in 0..ROUNDS {
            for sum in &mut sums {
                *sum = _mm512_dpbf16_ps(*sum, pairs, pairs);
            }
        }
        black_box(sums);
        done(16, 2)
    }

    /// The kernel needs four instructions for the products of a vector.
    #[target_feature(enable = "avx2")]
    pub(super) fn avx2_int8() -> f64 {
        let (x, ones) = (_mm256_set1_epi8(black_box(3)), _mm256_set1_epi16(1));
        let mut sums = [_mm256_set1_epi8(0); SUMS];
        for _ in 0..ROUNDS {
            for sum in &mut sums {
                let signed = _mm256_xor_si256(x, *sum);
                let pairs = _mm256_maddubs_epi16(x, signed);
                *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(pairs, ones));
            }
        }
        black_box(sums);
        done(8, 4)
    }

    #[target_feature(enable = "avx2,avxvnni")]
    pub(super) fn avx_vnni() -> f64 {
        let bytes = _mm256_set1_epi8(black_box(1));
        let mut sums = [bytes; SUMS];
        for _ in 0..ROUNDS {
            for sum in &mut sums {
                *sum = _mm256_dpbusd_avx_epi32(*sum, bytes, bytes);
            }
        }
        black_box(sums);
        done(8, 4)
    }

    #[target_feature(enable = "avx512f,avx512vnni")]
    pub(super) fn avx512_vnni() -> f64 {
        let bytes = _mm512_set1_epi8(black_box(1));
        let mut sums = [bytes; SUMS];
        for _ in 0..ROUNDS {
            for sum in &mut sums {
                *sum = _mm512_dpbusd_epi32(*sum, bytes, bytes);
            }
        }
        black_box(sums);
        done(16, 4)
    }

    /// Runs `ROUNDS` rounds of four products of tiles with instruction `$product`, and returns the number of
    /// operations if each adds `$products` products to a sum.
    macro_rules! tiles {
        ($name:ident, $product:literal, $products:literal) => {
            /// # Safety
            /// The CPU has the instruction, and the system lets this process use it.
            pub(super) unsafe fn $name() -> f64 {
                #[repr(C, align(64))]
                struct Configuration([u8; 64]);
                let mut full = Configuration([0; 64]);
                full.0[0] = 1;
                for tile in 0..8 {
                    (full.0[16 + 2 * tile], full.0[48 + tile]) = (64, 16);
                }
                // SAFETY: guaranteed by the caller; all eight tiles are configured before use.
                unsafe {
                    asm!(
                        "ldtilecfg [{full}]",
                        "tilezero tmm4", "tilezero tmm5", "tilezero tmm6", "tilezero tmm7",
                        "2:",
                        concat!($product, " tmm0, tmm4, tmm6"),
                        concat!($product, " tmm1, tmm4, tmm7"),
                        concat!($product, " tmm2, tmm5, tmm6"),
                        concat!($product, " tmm3, tmm5, tmm7"),
                        "dec {rounds}",
                        "jnz 2b",
                        "tilerelease",
                        full = in(reg) &raw const full,
                        rounds = inout(reg) ROUNDS => _,
                        out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
                        out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
                        options(nostack),
                    );
                }
                (2 * 4 * 16 * 16 * $products * ROUNDS) as f64
            }
        };
    }

    tiles!(amx_bf16, "tdpbf16ps", 32);
    tiles!(amx_int8, "tdpbssd", 64);
}

#[cfg(target_arch = "aarch64")]
mod arm {
    use std::arch::aarch64::{
        vdupq_n_f32, vdupq_n_s8, vdupq_n_s32, vdupq_n_u32, vfmaq_f32, vget_low_s8, vmlal_s8, vmull_s8,
        vpadalq_s16, vreinterpretq_s8_s32,
    };
    use std::hint::black_box;

    use super::ROUNDS;
    use crate::neon::{bfmmla, sdot, smmla};

    /// Independent sums: enough for four units that take four cycles.
    const SUMS: usize = 20;

    /// Operations of `ROUNDS` rounds, each of which adds `products` products to each of `SUMS` vectors.
    fn done(products: usize) -> f64 {
        (2 * products * SUMS * ROUNDS) as f64
    }

    pub(super) fn neon() -> f64 {
        // SAFETY: every CPU of this architecture has Neon.
        unsafe {
            let (x, y) = (vdupq_n_f32(black_box(0.999)), vdupq_n_f32(black_box(0.001)));
            let mut sums = [y; SUMS];
            for _ in 0..ROUNDS {
                for sum in &mut sums {
                    *sum = vfmaq_f32(*sum, x, y);
                }
            }
            black_box(sums);
        }
        done(4)
    }

    /// The kernel needs three instructions for 16 products.
    pub(super) fn neon_int8() -> f64 {
        // SAFETY: every CPU of this architecture has Neon.
        unsafe {
            let x = vget_low_s8(vdupq_n_s8(black_box(3)));
            let mut sums = [vdupq_n_s32(0); SUMS];
            for _ in 0..ROUNDS {
                for sum in &mut sums {
                    let y = vget_low_s8(vreinterpretq_s8_s32(*sum));
                    *sum = vpadalq_s16(*sum, vmlal_s8(vmull_s8(x, y), x, x));
                }
            }
            black_box(sums);
        }
        done(16)
    }

    /// A function that runs `$product` with `$a` and `$b` as operands, which adds `$products` products.
    macro_rules! products {
        ($name:ident, $feature:literal, $product:ident, $a:expr, $products:literal) => {
            #[target_feature(enable = $feature)]
            pub(super) fn $name() -> f64 {
                let (a, b, zero) = ($a, vdupq_n_u32(black_box(0)), vdupq_n_u32(0));
                let mut sums = [zero; SUMS];
                for _ in 0..ROUNDS {
                    for sum in &mut sums {
                        *sum = $product(*sum, a, b);
                    }
                }
                black_box(sums);
                done($products)
            }
        };
    }

    products!(dotprod, "dotprod", sdot, black_box(0.0), 16);
    products!(i8mm, "neon,i8mm", smmla, vdupq_n_u32(black_box(0)), 32);
    products!(bf16, "neon,bf16", bfmmla, vdupq_n_u32(black_box(0)), 16);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ceiling_is_a_rate() {
        for on in [MeasurementThreads::One, MeasurementThreads::All] {
            for precision in Precision::ALL {
                let found = operations(precision, on);
                assert!(found > 1e6 && found.is_finite(), "{precision:?}: {found}");
            }
            assert!(read(1 << 16, on) > 1e6);
        }
    }
}
