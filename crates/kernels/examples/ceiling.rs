//! Measures the peak performance of this machine: `cargo run --release -p attentive-kernels --example ceiling`.
//!
//! Prints the rate of multiply-adds in registers, in GFLOP/s, with the instructions that the kernels choose for `f32`
//! and, where the CPU supports it, for bfloat16; and the memory bandwidth of reading plus writing, in GB/s; each on
//! one thread and on all.

use std::hint::black_box;
use std::time::Instant;

use attentive_kernels::gemm::Float;
use rayon::prelude::*;

const ROUNDS: usize = 4_000_000;

/// Runs `ROUNDS` rounds of one engine's multiply-adds and returns the number of floating-point operations per round.
type Work = fn() -> usize;

/// The multiply-adds of the instructions used at this precision.
fn work(precision: Float) -> Option<Work> {
    #[cfg(target_arch = "x86_64")]
    match precision.instructions() {
        // SAFETY: the kernels selected these instructions for this CPU.
        "AVX2" => return Some(|| unsafe { x86::avx2() }),
        // SAFETY: as above.
        "AVX-512" => return Some(|| unsafe { x86::avx512() }),
        // SAFETY: as above.
        "AVX-512 BF16" => return Some(|| unsafe { x86::avx512_bf16() }),
        // SAFETY: as above.
        "AMX" => return Some(|| unsafe { x86::amx() }),
        _ => {}
    }
    (precision == Float::F32).then_some(portable)
}

/// The baseline of the target; fused only where that is one instruction.
fn portable() -> usize {
    const FUSED: bool = cfg!(any(target_feature = "fma", target_arch = "aarch64"));
    const SUMS: usize = 12;
    const WIDTH: usize = 4;
    let (x, y) = (black_box(0.999f32), black_box(0.001));
    let mut sums = [[0.0f32; WIDTH]; SUMS];
    for _ in 0..ROUNDS {
        for lane in sums.as_flattened_mut() {
            *lane = if FUSED {
                lane.mul_add(x, y)
            } else {
                *lane * x + y
            };
        }
    }
    black_box(sums);
    2 * SUMS * WIDTH
}

/// Enough independent sums to keep all multiply-add units busy.
#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::asm;
    use std::arch::x86_64::{
        __m512bh, __m512i, _mm256_fmadd_ps, _mm256_set1_ps, _mm512_dpbf16_ps, _mm512_fmadd_ps,
        _mm512_set1_epi16, _mm512_set1_ps,
    };
    use std::hint::black_box;
    use std::mem::transmute;

    use super::ROUNDS;

    const SUMS: usize = 12;

    #[target_feature(enable = "avx2,fma")]
    pub(super) fn avx2() -> usize {
        let (x, y) = (
            _mm256_set1_ps(black_box(0.999)),
            _mm256_set1_ps(black_box(0.001)),
        );
        let mut sums = [y; SUMS];
        for _ in 0..ROUNDS {
            for sum in &mut sums {
                *sum = _mm256_fmadd_ps(*sum, x, y);
            }
        }
        black_box(sums);
        2 * 8 * SUMS
    }

    #[target_feature(enable = "avx512f")]
    pub(super) fn avx512() -> usize {
        let (x, y) = (
            _mm512_set1_ps(black_box(0.999)),
            _mm512_set1_ps(black_box(0.001)),
        );
        let mut sums = [y; SUMS];
        for _ in 0..ROUNDS {
            for sum in &mut sums {
                *sum = _mm512_fmadd_ps(*sum, x, y);
            }
        }
        black_box(sums);
        2 * 16 * SUMS
    }

    #[target_feature(enable = "avx512f,avx512bf16")]
    pub(super) fn avx512_bf16() -> usize {
        // SAFETY: both types are 512 bits.
        let pairs = unsafe { transmute::<__m512i, __m512bh>(_mm512_set1_epi16(black_box(1))) };
        let mut sums = [_mm512_set1_ps(0.0); SUMS];
        for _ in 0..ROUNDS {
            for sum in &mut sums {
                *sum = _mm512_dpbf16_ps(*sum, pairs, pairs);
            }
        }
        black_box(sums);
        2 * 2 * 16 * SUMS
    }

    /// # Safety
    /// The CPU has AMX, and the system lets this process use it.
    pub(super) unsafe fn amx() -> usize {
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
                "tdpbf16ps tmm0, tmm4, tmm6",
                "tdpbf16ps tmm1, tmm4, tmm7",
                "tdpbf16ps tmm2, tmm5, tmm6",
                "tdpbf16ps tmm3, tmm5, tmm7",
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
        4 * 2 * 16 * 16 * 32
    }
}

/// GFLOP/s, best of five.
fn gflops(work: Work) -> f64 {
    let mut flops = 0;
    let seconds = best(|| flops = rayon::broadcast(|_| work()).into_iter().sum());
    (flops * ROUNDS) as f64 / seconds / 1e9
}

/// GB/s read and written, best of five.
fn gigabytes() -> f64 {
    let numbers = 1 << 26;
    let (from, mut to) = (vec![1.0f32; numbers], vec![0.0f32; numbers]);
    let chunk = numbers.div_ceil(rayon::current_num_threads());
    let seconds = best(|| {
        let pairs = from.par_chunks(chunk).zip(to.par_chunks_mut(chunk));
        pairs.for_each(|(from, to)| black_box(to).copy_from_slice(black_box(from)));
    });
    8.0 * numbers as f64 / seconds / 1e9
}

fn best(mut work: impl FnMut()) -> f64 {
    let mut time = || {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64()
    };
    (0..5).map(|_| time()).fold(f64::INFINITY, f64::min)
}

fn main() {
    let all = rayon::current_num_threads();
    // Bfloat16 is listed separately only if it has its own instructions.
    let distinct = Float::Bf16.instructions() != Float::F32.instructions();
    let precisions = [(Float::F32, "f32"), (Float::Bf16, "bf16")];
    let precisions = precisions.into_iter().take(if distinct { 2 } else { 1 });
    for threads in [1, all] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let pool = pool.expect("a thread pool");
        for (precision, name) in precisions.clone() {
            if let Some(work) = work(precision) {
                let (gflops, by) = (pool.install(|| gflops(work)), precision.instructions());
                println!("{threads} threads: {gflops:.0} GFLOP/s of {name} in registers ({by})");
            }
        }
        println!("{threads} threads: {:.1} GB/s", pool.install(gigabytes));
    }
}
