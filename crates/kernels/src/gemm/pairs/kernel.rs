//! What multiplies the panels of a task.

#[cfg(target_arch = "aarch64")]
use super::neon;
use super::operand::Panels;
use super::{PairIsa, WIDTH};
#[cfg(target_arch = "x86_64")]
use super::{amx, avx512};
#[cfg(target_arch = "x86_64")]
use crate::gemm::amx::AmxSession;
use crate::tile::TileMut;

/// What multiplies panels, ready for use on the calling thread.
pub(super) enum PairKernel {
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "x86_64")]
    Amx(AmxSession),
    #[cfg(target_arch = "aarch64")]
    Neon,
}

impl PairKernel {
    pub(super) fn new(isa: PairIsa) -> Self {
        match isa {
            #[cfg(target_arch = "x86_64")]
            PairIsa::Avx512(_) => Self::Avx512,
            #[cfg(target_arch = "x86_64")]
            PairIsa::Amx(proof) => Self::Amx(AmxSession::bf16(proof)),
            #[cfg(target_arch = "aarch64")]
            PairIsa::Neon(_) => Self::Neon,
        }
    }

    /// Replaces `out` with the product of the panels, or adds it if `add`.
    pub(super) fn product(&self, left: &Panels<'_>, right: &Panels<'_>, out: &mut TileMut<'_>, add: bool) {
        match *self {
            #[cfg(target_arch = "x86_64")]
            Self::Amx(ref unit) if out.rows() <= WIDTH => {
                for_each_tile(left, right, out, add, Following::Ignored, |tile| {
                    // SAFETY: the tile lies in the panels and in `out`.
                    unsafe { amx::multiply(tile, |operands, out| unit.wide(operands, out)) }
                });
            }
            #[cfg(target_arch = "x86_64")]
            Self::Amx(ref unit) => for_each_tile(left, right, out, add, Following::Ignored, |tile| {
                // SAFETY: the tile lies in the panels and in `out`.
                unsafe { amx::multiply(tile, |operands, out| unit.square(operands, out)) }
            }),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 if out.rows() <= avx512::WIDE_ROWS && !right.is_far() => {
                for_each_tile(left, right, out, add, Following::Ignored, |tile| {
                    // SAFETY: the tile lies in the panels and in `out`, and this kernel is made from a proof
                    // that the CPU has the instructions.
                    unsafe { avx512::multiply_wide(tile) }
                });
            }
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => for_each_tile(left, right, out, add, Following::Prefetched, |tile| {
                // SAFETY: as above.
                unsafe { avx512::multiply(tile) }
            }),
            #[cfg(target_arch = "aarch64")]
            Self::Neon if out.rows() == 1 => {
                for_each_tile(left, right, out, add, Following::Ignored, |tile| {
                    // SAFETY: the tile lies in the panels and in `out`, and this kernel is made from a proof
                    // that the CPU has the instructions.
                    unsafe { neon::multiply_row(tile) }
                });
            }
            #[cfg(target_arch = "aarch64")]
            Self::Neon => for_each_tile(left, right, out, add, Following::Prefetched, |tile| {
                // SAFETY: as above.
                unsafe { neon::multiply(tile) }
            }),
        }
    }
}

/// Panels of each operand, from some depth on, and the output of their product.
pub(super) struct PairTile<const LEFT: usize, const RIGHT: usize> {
    pub(super) left: [*const u16; LEFT],
    pub(super) right: [*const u16; RIGHT],
    /// The panels to prefetch, see [`crate::prefetch::Prefetcher`]. That of AMX does not.
    pub(super) next: Option<[*const u16; RIGHT]>,
    /// Lines of the panels, of which those of the left operand are padded to whole blocks.
    pub(super) lines: usize,
    pub(super) out: *mut f32,
    pub(super) out_row: usize,
    /// The wanted part of the product, at most `LEFT` · 16 by `RIGHT` · 16.
    pub(super) rows: usize,
    pub(super) cols: usize,
    pub(super) add: bool,
}

/// What is done about the output of the next tile.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Following {
    /// It is prefetched.
    Prefetched,
    /// Nothing: a wide tile writes little, and whether it helps AMX was not measured.
    Ignored,
}

/// Calls `multiply` for each tile of `LEFT` by `RIGHT` panels. A panel that is missing at the end is replaced
/// by the last one; its part of the product is not wanted.
fn for_each_tile<const LEFT: usize, const RIGHT: usize>(
    left: &Panels<'_>,
    right: &Panels<'_>,
    out: &mut TileMut<'_>,
    add: bool,
    following: Following,
    multiply: impl Fn(&PairTile<LEFT, RIGHT>),
) {
    let (m, n) = (out.rows(), out.cols());
    for col in (0..n).step_by(RIGHT * WIDTH) {
        let right_panels = right.some(col / WIDTH);
        let next = right.after(col / WIDTH + RIGHT);
        for row in (0..m).step_by(LEFT * WIDTH) {
            if following == Following::Prefetched {
                let after =
                    if row + LEFT * WIDTH < m { [row + LEFT * WIDTH, col] } else { [0, col + RIGHT * WIDTH] };
                out.prefetch_part(after, [LEFT * WIDTH, RIGHT * WIDTH]);
            }
            multiply(&PairTile {
                left: left.some(row / WIDTH),
                right: right_panels,
                next: next.filter(|_| row == 0),
                lines: right.lines(),
                out: out.address(row, col),
                out_row: out.row_stride(),
                rows: (LEFT * WIDTH).min(m - row),
                cols: (RIGHT * WIDTH).min(n - col),
                add,
            });
        }
    }
}
