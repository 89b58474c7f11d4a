//! The matrix unit, AMX. It is used through assembly because stable Rust has no intrinsics for tile
//! registers.
//!
//! A tile register holds 16 lines of 64 bytes. A tile product adds, to each element of a tile of sums, the
//! products of a line of the left operand with a column of words of the right one; instructions follow each
//! other along the depth, starting from the current output or from zero.

use core::arch::asm;
use std::cell::Cell;

use super::isa::{AmxBf16, AmxInt8};

/// Bytes of a line.
pub(super) const LINE: usize = 64;
/// Lines of a tile register.
pub(super) const LINES: usize = 16;
/// Bytes of a tile register.
pub(super) const TILE: usize = LINES * LINE;

/// Operand of `ldtilecfg`.
#[repr(C, align(64))]
struct Configuration {
    palette: u8,
    start_row: u8,
    reserved: [u8; 14],
    row_bytes: [u16; 16],
    rows: [u8; 16],
}

/// All eight tile registers at full size.
static FULL: Configuration = Configuration {
    palette: 1,
    start_row: 0,
    reserved: [0; 14],
    row_bytes: [64, 64, 64, 64, 64, 64, 64, 64, 0, 0, 0, 0, 0, 0, 0, 0],
    rows: [16, 16, 16, 16, 16, 16, 16, 16, 0, 0, 0, 0, 0, 0, 0, 0],
};

thread_local! {
    /// Whether the AMX unit of this thread is configured.
    static IN_USE: Cell<bool> = const { Cell::new(false) };
}

/// The numbers that a product multiplies.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Numbers {
    /// Pairs of bfloat16, summed as `f32`. Subnormal numbers are treated as zero.
    Bf16,
    /// Quadruples of signed bytes, summed as `i32`.
    Int8,
}

/// The configured AMX unit of the calling thread. Dropping it restores the initial state, so that the system
/// has no tiles to save for threads that do other work.
pub(super) struct AmxSession {
    numbers: Numbers,
    /// Keeps the value on its thread.
    thread: std::marker::PhantomData<*const ()>,
}

/// Panels of both operands, from some depth on: addresses of their first tiles.
pub(super) struct AmxOperands<const LEFT: usize, const RIGHT: usize> {
    /// Each 16 lines of `left_line` bytes distance, of which the next tile starts `left_step` bytes after
    /// this one.
    pub(super) left: [*const u8; LEFT],
    pub(super) left_line: usize,
    pub(super) left_step: usize,
    /// Contiguous tiles.
    pub(super) right: [*const u8; RIGHT],
    /// Tiles along the depth, at least one.
    pub(super) steps: usize,
}

/// Where the tiles of sums are stored, side by side.
pub(super) struct OutputTiles {
    pub(super) address: *mut u8,
    /// Distance between rows in bytes.
    pub(super) row: usize,
    /// Whether to add to the output.
    pub(super) add: bool,
}

/// The assembly of [`AmxSession::square`].
macro_rules! square {
    ($product:literal, $operands:ident, $out:ident) => {
        asm!(
            "test {add:e}, {add:e}",
            "jz 2f",
            "tileloadd tmm0, [{out0} + {out_row}*1]",
            "tileloadd tmm1, [{out0} + {out_row}*1 + 64]",
            "tileloadd tmm2, [{out1} + {out_row}*1]",
            "tileloadd tmm3, [{out1} + {out_row}*1 + 64]",
            "jmp 3f",
            "2:",
            "tilezero tmm0",
            "tilezero tmm1",
            "tilezero tmm2",
            "tilezero tmm3",
            "3:",
            "tileloadd tmm4, [{left0} + {left_line}*1]",
            "tileloadd tmm6, [{right0} + {line}*1]",
            "tileloadd tmm7, [{right1} + {line}*1]",
            "tileloadd tmm5, [{left1} + {left_line}*1]",
            concat!($product, " tmm0, tmm4, tmm6"),
            concat!($product, " tmm1, tmm4, tmm7"),
            concat!($product, " tmm2, tmm5, tmm6"),
            concat!($product, " tmm3, tmm5, tmm7"),
            "add {left0}, {left_step}",
            "add {left1}, {left_step}",
            "add {right0}, 1024",
            "add {right1}, 1024",
            "dec {steps}",
            "jnz 3b",
            "tilestored [{out0} + {out_row}*1], tmm0",
            "tilestored [{out0} + {out_row}*1 + 64], tmm1",
            "tilestored [{out1} + {out_row}*1], tmm2",
            "tilestored [{out1} + {out_row}*1 + 64], tmm3",
            add = in(reg) u32::from($out.add),
            out0 = in(reg) $out.address,
            out1 = in(reg) $out.address.wrapping_add(LINES * $out.row),
            out_row = in(reg) $out.row,
            left0 = inout(reg) $operands.left[0] => _,
            left1 = inout(reg) $operands.left[1] => _,
            left_line = in(reg) $operands.left_line,
            left_step = in(reg) $operands.left_step,
            right0 = inout(reg) $operands.right[0] => _,
            right1 = inout(reg) $operands.right[1] => _,
            line = in(reg) LINE,
            steps = inout(reg) $operands.steps => _,
            out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
            out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
            options(nostack),
        )
    };
}

/// The assembly of [`AmxSession::wide`].
macro_rules! wide {
    ($product:literal, $operands:ident, $out:ident) => {
        asm!(
            "test {add:e}, {add:e}",
            "jz 2f",
            "tileloadd tmm0, [{out} + {out_row}*1]",
            "tileloadd tmm1, [{out} + {out_row}*1 + 64]",
            "tileloadd tmm2, [{out} + {out_row}*1 + 128]",
            "tileloadd tmm3, [{out} + {out_row}*1 + 192]",
            "jmp 3f",
            "2:",
            "tilezero tmm0",
            "tilezero tmm1",
            "tilezero tmm2",
            "tilezero tmm3",
            "3:",
            "tileloadd tmm4, [{left} + {left_line}*1]",
            "tileloadd tmm5, [{right0} + {line}*1]",
            "tileloadd tmm6, [{right1} + {line}*1]",
            "tileloadd tmm7, [{right2} + {line}*1]",
            concat!($product, " tmm0, tmm4, tmm5"),
            "tileloadd tmm5, [{right3} + {line}*1]",
            concat!($product, " tmm1, tmm4, tmm6"),
            concat!($product, " tmm2, tmm4, tmm7"),
            concat!($product, " tmm3, tmm4, tmm5"),
            "add {left}, {left_step}",
            "add {right0}, 1024",
            "add {right1}, 1024",
            "add {right2}, 1024",
            "add {right3}, 1024",
            "dec {steps}",
            "jnz 3b",
            "tilestored [{out} + {out_row}*1], tmm0",
            "tilestored [{out} + {out_row}*1 + 64], tmm1",
            "tilestored [{out} + {out_row}*1 + 128], tmm2",
            "tilestored [{out} + {out_row}*1 + 192], tmm3",
            add = in(reg) u32::from($out.add),
            out = in(reg) $out.address,
            out_row = in(reg) $out.row,
            left = inout(reg) $operands.left[0] => _,
            left_line = in(reg) $operands.left_line,
            left_step = in(reg) $operands.left_step,
            right0 = inout(reg) $operands.right[0] => _,
            right1 = inout(reg) $operands.right[1] => _,
            right2 = inout(reg) $operands.right[2] => _,
            right3 = inout(reg) $operands.right[3] => _,
            line = in(reg) LINE,
            steps = inout(reg) $operands.steps => _,
            out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
            out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
            options(nostack),
        )
    };
}

impl AmxSession {
    /// The unit for products of bfloat16 numbers.
    ///
    /// # Panics
    /// If the unit of this thread is already in use: the inner use would overwrite the registers of the outer
    /// one.
    pub(super) fn bf16(_proof: AmxBf16) -> Self {
        // SAFETY: the proof shows that the CPU has these products and the system lets this process use them.
        unsafe { Self::new(Numbers::Bf16) }
    }

    /// The unit for products of signed bytes.
    ///
    /// # Panics
    /// See [`Self::bf16`].
    pub(super) fn int8(_proof: AmxInt8) -> Self {
        // SAFETY: the proof shows that the CPU has these products and the system lets this process use them.
        unsafe { Self::new(Numbers::Int8) }
    }

    /// # Safety
    /// The CPU has AMX with products of `numbers`, and the system lets this process use it.
    unsafe fn new(numbers: Numbers) -> Self {
        assert!(!IN_USE.replace(true), "the AMX unit of this thread is already in use");
        // SAFETY: the caller guarantees AMX; the configuration is valid.
        unsafe {
            asm!("ldtilecfg [{}]", in(reg) &raw const FULL, options(nostack, preserves_flags, readonly));
        }
        Self { numbers, thread: std::marker::PhantomData }
    }

    /// Two tiles of rows by two of columns.
    ///
    /// # Safety
    /// All tiles of the operands are readable, and the output is readable and writable for 32 rows and
    /// columns.
    pub(super) unsafe fn square(&self, operands: &AmxOperands<2, 2>, out: &OutputTiles) {
        // SAFETY: memory is accessed only where the caller guarantees it; the registers have been configured
        // since `self` was created.
        unsafe {
            match self.numbers {
                Numbers::Bf16 => square!("tdpbf16ps", operands, out),
                Numbers::Int8 => square!("tdpbssd", operands, out),
            }
        }
    }

    /// One tile of rows by four of columns.
    ///
    /// # Safety
    /// All tiles of the operands are readable, and the output is readable and writable for 16 rows and 64
    /// columns.
    pub(super) unsafe fn wide(&self, operands: &AmxOperands<1, 4>, out: &OutputTiles) {
        // SAFETY: memory is accessed only where the caller guarantees it; the registers have been configured
        // since `self` was created.
        unsafe {
            match self.numbers {
                Numbers::Bf16 => wide!("tdpbf16ps", operands, out),
                Numbers::Int8 => wide!("tdpbssd", operands, out),
            }
        }
    }
}

impl Drop for AmxSession {
    fn drop(&mut self) {
        // SAFETY: `self` was created for a CPU with AMX.
        unsafe { asm!("tilerelease", options(nomem, nostack, preserves_flags)) }
        IN_USE.set(false);
    }
}
