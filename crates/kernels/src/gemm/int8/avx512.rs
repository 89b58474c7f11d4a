//! The AVX-512 VNNI kernel: `vpdpbusd` adds four products of unsigned and signed bytes to each of 16 sums.

use std::arch::x86_64::{
    __m512i, _mm512_dpbusd_epi32, _mm512_loadu_si512, _mm512_set1_epi32, _mm512_storeu_si512,
};
use std::hint::black_box;

use super::tile::{Room, Tile};
use crate::packed::PANEL;

/// Calls the kernel compiled for the given numbers of panels and rows.
macro_rules! with_shape {
    ($panels:ident, $rows:ident, $tile:ident, $room:ident: $($p:literal x $($r:literal)*,)*) => {
        match ($panels, $rows) {
            $($(($p, $r) => kernel::<$r, $p>($tile, $room),)*)*
            _ => unreachable!("{} rows of {} panels", $rows, $panels),
        }
    };
}

/// Adds the product of `rows` rows and `panels` panels to the sums.
///
/// # Safety
/// The CPU has AVX-512 VNNI, and the room holds the sums.
pub(super) unsafe fn add_product(panels: usize, rows: usize, tile: &Tile<'_>, room: &mut Room) {
    // SAFETY: guaranteed by the caller.
    unsafe {
        with_shape!(panels, rows, tile, room:
            8 x 1 2 3,
            4 x 4 5 6,
            2 x 1 2 3 4 5 6 7 8 9 10 11 12,
        )
    }
}

/// # Safety
/// See [`add_product`].
#[target_feature(enable = "avx512f,avx512vnni")]
unsafe fn kernel<const ROWS: usize, const PANELS: usize>(tile: &Tile<'_>, room: &mut Room) {
    const LANES: usize = PANEL;
    let (left, mut right) = (tile.rows(ROWS), tile.panels::<PANELS>());
    let sums_at = room.address();
    // Three addresses that the compiler cannot relate to each other; otherwise it computes each from the previous one, a
    // chain of additions as slow as the products.
    let mut left = [0, 4, 8].map(|row| black_box(left.wrapping_add(row * tile.stride)));
    // SAFETY: `rows` and `panels` have checked the operands; the caller guarantees room for the sums.
    unsafe {
        let mut sums: [[__m512i; PANELS]; ROWS] = std::array::from_fn(|row| {
            std::array::from_fn(|panel| {
                _mm512_loadu_si512(sums_at.add((row * PANELS + panel) * LANES).cast())
            })
        });
        let mut ahead = tile.ahead::<PANELS>();
        for _ in 0..tile.groups() {
            ahead.ask();
            let b: [__m512i; PANELS] =
                std::array::from_fn(|panel| _mm512_loadu_si512(right[panel].cast()));
            for (row, sums) in sums.iter_mut().enumerate() {
                let a = left[row / 4].add(row % 4 * tile.stride).cast::<i32>();
                let a = _mm512_set1_epi32(a.read_unaligned());
                for (sum, b) in sums.iter_mut().zip(b) {
                    *sum = _mm512_dpbusd_epi32(*sum, a, b);
                }
            }
            left = left.map(|left| left.wrapping_add(4));
            right = right.map(|right| right.add(64));
        }
        for (row, sums) in sums.into_iter().enumerate() {
            for (panel, sum) in sums.into_iter().enumerate() {
                _mm512_storeu_si512(sums_at.add((row * PANELS + panel) * LANES).cast(), sum);
            }
        }
    }
}
