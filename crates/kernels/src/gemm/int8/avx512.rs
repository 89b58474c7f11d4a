//! The AVX-512 VNNI kernel: `vpdpbusd` adds four products of unsigned and signed bytes to each of 16 sums.
//! The sums become results in registers.

use std::arch::x86_64::{
    __m512, __m512i, _CMP_LT_OQ, _mm512_add_ps, _mm512_cmp_ps_mask, _mm512_cvtepi32_ps, _mm512_dpbusd_epi32,
    _mm512_loadu_si512, _mm512_mask_mov_ps, _mm512_mask_storeu_ps, _mm512_maskz_loadu_epi32,
    _mm512_maskz_loadu_ps, _mm512_mul_ps, _mm512_set1_epi32, _mm512_set1_ps, _mm512_setzero_ps,
    _mm512_setzero_si512, _mm512_slli_epi32, _mm512_sub_epi32,
};
use std::array::from_fn;
use std::hint::black_box;

use super::dequantize::Dequantization;
use super::tile::Tile;
use crate::gemm::isa::Avx512Vnni;
use crate::packed::PANEL;
use crate::tile::TileMut;

/// Calls the kernel compiled for the given numbers of panels and rows.
macro_rules! with_shape {
    ($panels:ident, $rows:ident, $tile:ident, $dequantization:ident, $out:ident: $($p:literal x $($r:literal)*,)*) => {
        match ($panels, $rows, $tile.next) {
            $($(
                ($p, $r, Some(_)) => kernel::<$r, $p, true>($tile, $dequantization, $out),
                ($p, $r, None) => kernel::<$r, $p, false>($tile, $dequantization, $out),
            )*)*
            _ => unreachable!("{} rows of {} panels", $rows, $panels),
        }
    };
}

/// Writes the results of a tile of `panels` panels. The numbers of its rows are larger by 128.
pub(super) fn product(
    _proof: Avx512Vnni,
    panels: usize,
    tile: &Tile<'_>,
    dequantization: Dequantization<'_>,
    out: &mut TileMut<'_>,
) {
    let rows = dequantization.row_scales.len();
    // SAFETY: the proof shows that the CPU has the instructions.
    unsafe {
        with_shape!(panels, rows, tile, dequantization, out:
            8 x 1 2 3,
            4 x 4 5 6,
            2 x 1 2 3 4 5 6 7 8 9 10 11 12,
        )
    }
}

/// # Safety
/// The CPU has AVX-512 VNNI.
#[target_feature(enable = "avx512f,avx512vnni")]
unsafe fn kernel<const ROWS: usize, const PANELS: usize, const PREFETCH: bool>(
    tile: &Tile<'_>,
    dequantization: Dequantization<'_>,
    out: &mut TileMut<'_>,
) {
    let cols = dequantization.col_scales.len();
    assert!(
        cols <= PANELS * PANEL
            && [tile.column_sums.len(), dequantization.bias.len()] == [cols; 2]
            && dequantization.col + cols <= out.cols(),
        "columns of a tile"
    );
    let row_scales: &[f32; ROWS] = dequantization.row_scales.try_into().expect("rows of a tile");
    // Three addresses that the compiler cannot relate to each other; otherwise it computes each from the
    // previous one, a chain of additions as slow as the products.
    let left = tile.rows(ROWS);
    let mut left = [0, 4, 8].map(|row| black_box(left.wrapping_add(row * tile.stride)));
    let mut right = tile.panels::<PANELS>();
    let mut ahead = tile.ahead::<PANELS>();
    let wanted: [u16; PANELS] = from_fn(|panel| match cols.saturating_sub(panel * PANEL) {
        PANEL.. => u16::MAX,
        cols => (1 << cols) - 1,
    });
    // SAFETY: `rows` has checked the left operand; each of the `panels` starts in the right one, which
    // consists of whole panels; lanes that are not wanted are not accessed.
    unsafe {
        // −128 times the sums of the columns: what is added to the numbers of a row adds the opposite.
        let mut sums = [[_mm512_setzero_si512(); PANELS]; ROWS];
        for (panel, &wanted) in wanted.iter().enumerate() {
            let of_columns = tile.column_sums.as_ptr().wrapping_add(panel * PANEL);
            // There may be no memory: an access without lanes is then slow.
            let of_columns = match wanted {
                0 => _mm512_setzero_si512(),
                wanted => _mm512_maskz_loadu_epi32(wanted, of_columns),
            };
            let start = _mm512_sub_epi32(_mm512_setzero_si512(), _mm512_slli_epi32::<7>(of_columns));
            sums.iter_mut().for_each(|sums| sums[panel] = start);
        }
        for _ in 0..tile.groups() {
            if PREFETCH {
                ahead.prefetch();
            }
            let b: [__m512i; PANELS] = from_fn(|panel| _mm512_loadu_si512(right[panel].cast()));
            for (row, sums) in sums.iter_mut().enumerate() {
                let a = left[row / 4].add(row % 4 * tile.stride).cast::<i32>();
                let a = _mm512_set1_epi32(a.read_unaligned());
                for (sum, b) in sums.iter_mut().zip(b) {
                    *sum = _mm512_dpbusd_epi32(*sum, a, b);
                }
            }
            left = left.map(|left| left.wrapping_add(4));
            right = right.map(|right| right.wrapping_add(4 * PANEL));
        }
        let floor = _mm512_set1_ps(dequantization.floor());
        let of_columns = |values: &[f32]| -> [__m512; PANELS] {
            from_fn(|panel| {
                let values = values.as_ptr().wrapping_add(panel * PANEL);
                match wanted[panel] {
                    0 => _mm512_setzero_ps(),
                    wanted => _mm512_maskz_loadu_ps(wanted, values),
                }
            })
        };
        let (col_scales, bias) = (of_columns(dequantization.col_scales), of_columns(dequantization.bias));
        for (row, sums) in sums.into_iter().enumerate() {
            let row_scale = _mm512_set1_ps(row_scales[row]);
            let out = out.address(dequantization.row + row, dequantization.col);
            for (panel, sum) in sums.into_iter().enumerate() {
                if wanted[panel] == 0 {
                    break;
                }
                let scale = _mm512_mul_ps(row_scale, col_scales[panel]);
                let y = _mm512_mul_ps(_mm512_cvtepi32_ps(sum), scale);
                let y = _mm512_add_ps(y, bias[panel]);
                let low = _mm512_cmp_ps_mask::<_CMP_LT_OQ>(y, floor);
                let y = _mm512_mask_mov_ps(y, low, _mm512_setzero_ps());
                _mm512_mask_storeu_ps(out.wrapping_add(panel * PANEL), wanted[panel], y);
            }
        }
    }
}
