//! The AMX microkernel. It is written in assembly because stable Rust has no intrinsics for tile registers.
//!
//! `tdpbf16ps` adds 32 products to each element of a tile, in an order fixed by the hardware. Instructions follow each other
//! along the depth, starting from the current output or from zero. Subnormal numbers are treated as zero.

use core::arch::asm;
use std::cell::Cell;

use super::{TILE, Tile, WIDTH};
use crate::gemm::isa::Amx;

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

/// Buffer for a whole tile of which only a part is wanted.
#[repr(C, align(64))]
struct Room([[f32; TILE]; TILE]);

thread_local! {
    /// Whether the AMX unit of this thread is configured.
    static IN_USE: Cell<bool> = const { Cell::new(false) };
}

/// The configured AMX unit of the calling thread. Dropping it restores the initial state, so that the system has no
/// tiles to save for threads that do other work.
pub(super) struct Configured {
    /// Keeps the value on its thread.
    thread: std::marker::PhantomData<*const ()>,
}

impl Configured {
    /// # Panics
    /// If the unit of this thread is already in use: the inner use would overwrite the registers of the outer one.
    pub(super) fn new(_proof: Amx) -> Self {
        assert!(
            !IN_USE.replace(true),
            "the AMX unit of this thread is already in use"
        );
        // SAFETY: the proof shows that the CPU has AMX and the system lets this process use it; the configuration is
        // valid.
        unsafe {
            asm!("ldtilecfg [{}]", in(reg) &raw const FULL, options(nostack, preserves_flags, readonly));
        }
        Self {
            thread: std::marker::PhantomData,
        }
    }

    /// # Safety
    /// Each panel of `tile` has `steps` blocks; the output is writable for its rows and columns.
    pub(super) unsafe fn multiply(&self, tile: &Tile) {
        if tile.rows == TILE && tile.cols == TILE {
            // SAFETY: the whole tile lies in the output.
            return unsafe { self.multiply_into(tile, tile.out, tile.out_row) };
        }
        let mut room = Room([[0.0; TILE]; TILE]);
        for (row, room) in room.0.iter_mut().enumerate().take(tile.rows) {
            // SAFETY: the output is writable for the tile's rows and columns.
            let out =
                unsafe { std::slice::from_raw_parts(tile.out.add(row * tile.out_row), tile.cols) };
            if tile.add {
                room[..tile.cols].copy_from_slice(out);
            }
        }
        // SAFETY: `room` holds a whole tile.
        unsafe { self.multiply_into(tile, room.0.as_mut_ptr().cast(), TILE) }
        for (row, room) in room.0.iter().enumerate().take(tile.rows) {
            // SAFETY: as above.
            let out = unsafe {
                std::slice::from_raw_parts_mut(tile.out.add(row * tile.out_row), tile.cols)
            };
            out.copy_from_slice(&room[..tile.cols]);
        }
    }

    /// # Safety
    /// See [`Self::multiply`], with a whole tile `out` whose row stride is `out_row`.
    unsafe fn multiply_into(&self, tile: &Tile, out: *mut f32, out_row: usize) {
        // SAFETY: blocks are read, and the output is read and written, only where the caller guarantees it; the
        // registers have been configured since `self` was created.
        unsafe {
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
                "tileloadd tmm4, [{left0} + {line}*1]",
                "tileloadd tmm6, [{right0} + {line}*1]",
                "tileloadd tmm7, [{right1} + {line}*1]",
                "tileloadd tmm5, [{left1} + {line}*1]",
                "tdpbf16ps tmm0, tmm4, tmm6",
                "tdpbf16ps tmm1, tmm4, tmm7",
                "tdpbf16ps tmm2, tmm5, tmm6",
                "tdpbf16ps tmm3, tmm5, tmm7",
                "add {left0}, 1024",
                "add {left1}, 1024",
                "add {right0}, 1024",
                "add {right1}, 1024",
                "dec {steps}",
                "jnz 3b",
                "tilestored [{out0} + {out_row}*1], tmm0",
                "tilestored [{out0} + {out_row}*1 + 64], tmm1",
                "tilestored [{out1} + {out_row}*1], tmm2",
                "tilestored [{out1} + {out_row}*1 + 64], tmm3",
                add = in(reg) u32::from(tile.add),
                out0 = in(reg) out,
                out1 = in(reg) out.add(WIDTH * out_row),
                out_row = in(reg) out_row * size_of::<f32>(),
                left0 = inout(reg) tile.left[0] => _,
                left1 = inout(reg) tile.left[1] => _,
                right0 = inout(reg) tile.right[0] => _,
                right1 = inout(reg) tile.right[1] => _,
                line = in(reg) size_of::<[u16; super::DEPTH]>(),
                steps = inout(reg) tile.steps => _,
                out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
                out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
                options(nostack),
            );
        }
    }
}

impl Drop for Configured {
    fn drop(&mut self) {
        // SAFETY: `self` was created from a proof of AMX.
        unsafe { asm!("tilerelease", options(nomem, nostack, preserves_flags)) }
        IN_USE.set(false);
    }
}
