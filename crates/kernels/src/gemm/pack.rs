//! Packing: copies the operands into the order in which the microkernels read them.

use super::View;
use super::isa::{Isa, MR, MR_512};
use crate::packed::PANEL;

/// Block size of the inner dimension: products summed in registers before they are added to the output.
pub(super) const KC: usize = 256;

/// Panels packed together from contiguous rows: so many that a row is read in pieces of several cache lines, which the processor
/// fetches ahead.
pub(super) const GROUP: usize = 4;

/// Packs `b` `[k, n]` into zero-padded panels of [`PANEL`] columns, `[n / PANEL, k, PANEL]`.
pub(super) fn pack_b(isa: Isa, b: View<'_>, k: usize, n: usize, packed: &mut [f32]) {
    let panel_len = k * PANEL;
    let packed = &mut packed[..n.div_ceil(PANEL) * panel_len];
    if b.row_stride == 1 && isa != Isa::Portable {
        for (panel, out) in packed.chunks_exact_mut(panel_len).enumerate() {
            let cols = PANEL.min(n - panel * PANEL);
            for (block, out) in out.chunks_mut(KC * PANEL).enumerate() {
                pack_columns(b.from(block * KC, panel * PANEL), cols, out);
            }
        }
        return;
    }
    let whole = match b.col_stride {
        1 => n / PANEL / GROUP * GROUP,
        _ => 0,
    };
    let (groups, rest) = packed.split_at_mut(whole * panel_len);
    for (group, out) in groups.chunks_exact_mut(GROUP * panel_len).enumerate() {
        let b = b.from(0, group * GROUP * PANEL);
        copy_panels(PANEL, k, b.data, b.row_stride, out);
    }
    for (panel, out) in (whole..).zip(rest.chunks_exact_mut(panel_len)) {
        let b = b.from(0, panel * PANEL);
        let cols = PANEL.min(n - panel * PANEL);
        if cols < PANEL {
            out.fill(0.0);
        }
        if b.col_stride == 1 {
            pack_rows(b, cols, out);
        } else {
            pack_strided(b, k, cols, out);
        }
    }
}

vectorized! {
    /// Copies the first `GROUP * width` elements of `depth` rows, whose distance is `stride`, to panels `[GROUP, depth, width]`.
    fn copy_panels(width: usize, depth: usize, rows: &[f32], stride: usize, panels: &mut [f32]) {
        match width {
            MR => copy_panels_of::<MR>(depth, rows, stride, panels),
            MR_512 => copy_panels_of::<MR_512>(depth, rows, stride, panels),
            PANEL => copy_panels_of::<PANEL>(depth, rows, stride, panels),
            _ => unreachable!("panels of {width}"),
        }
    }
}

/// [`copy_panels`] of a width that the compiler knows.
#[inline(always)]
fn copy_panels_of<const WIDTH: usize>(
    depth: usize,
    rows: &[f32],
    stride: usize,
    panels: &mut [f32],
) {
    let (first, panels) = panels.split_at_mut(depth * WIDTH);
    let (second, panels) = panels.split_at_mut(depth * WIDTH);
    let (third, fourth) = panels.split_at_mut(depth * WIDTH);
    let (first, _) = first.as_chunks_mut::<WIDTH>();
    let (second, _) = second.as_chunks_mut::<WIDTH>();
    let (third, _) = third.as_chunks_mut::<WIDTH>();
    let (fourth, _) = fourth.as_chunks_mut::<WIDTH>();
    let lines = first.iter_mut().zip(second).zip(third).zip(fourth);
    for (k, (((first, second), third), fourth)) in lines.enumerate() {
        let (row, _) = rows[k * stride..][..GROUP * WIDTH].as_chunks::<WIDTH>();
        (*first, *second, *third, *fourth) = (row[0], row[1], row[2], row[3]);
    }
}

/// Packs `cols` columns of a matrix with contiguous rows into one panel.
fn pack_rows(b: View<'_>, cols: usize, out: &mut [f32]) {
    for (k, out) in out.as_chunks_mut::<PANEL>().0.iter_mut().enumerate() {
        let row = &b.data[k * b.row_stride..][..cols];
        match <&[f32; PANEL]>::try_from(row) {
            Ok(row) => *out = *row,
            Err(_) => out[..cols].copy_from_slice(row),
        }
    }
}

/// Packs `cols` columns into one panel, element by element.
fn pack_strided(b: View<'_>, depth: usize, cols: usize, out: &mut [f32]) {
    for col in 0..cols {
        for k in 0..depth {
            out[k * PANEL + col] = b.data[k * b.row_stride + col * b.col_stride];
        }
    }
}

/// Packs `cols` columns of a matrix with contiguous columns into one zero-padded panel of at most `KC` rows.
#[cfg(target_arch = "x86_64")]
fn pack_columns(b: View<'_>, cols: usize, out: &mut [f32]) {
    static ZEROS: [f32; KC] = [0.0; KC];
    let depth = out.len() / PANEL;
    let columns: [&[f32]; PANEL] = std::array::from_fn(|col| match col < cols {
        true => &b.data[col * b.col_stride..][..depth],
        false => &ZEROS[..depth],
    });
    assert_eq!(out.len(), depth * PANEL, "one panel");
    // SAFETY: the caller has checked that the CPU has AVX2; the lengths are checked above.
    unsafe { transpose_avx2(&columns, depth, out) }
}

#[cfg(not(target_arch = "x86_64"))]
fn pack_columns(b: View<'_>, cols: usize, out: &mut [f32]) {
    out.fill(0.0);
    pack_strided(b, out.len() / PANEL, cols, out);
}

/// `out[k * PANEL + col] = columns[col][k]`, in blocks of 8 × 8.
///
/// # Safety
/// The CPU has AVX2, each column holds `depth` elements, and `out` holds `depth * PANEL`.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn transpose_avx2(columns: &[&[f32]; PANEL], depth: usize, out: &mut [f32]) {
    use std::arch::x86_64::{
        _mm256_loadu_ps, _mm256_permute2f128_ps, _mm256_shuffle_ps, _mm256_storeu_ps,
        _mm256_unpackhi_ps, _mm256_unpacklo_ps,
    };
    let whole = depth - depth % 8;
    for k in (0..whole).step_by(8) {
        for first in (0..PANEL).step_by(8) {
            // SAFETY: eight elements from `k` on lie inside each column, and eight rows of `PANEL` inside `out`.
            unsafe {
                let r: [_; 8] =
                    std::array::from_fn(|i| _mm256_loadu_ps(columns[first + i].as_ptr().add(k)));
                let pairs: [_; 8] = std::array::from_fn(|i| {
                    let (x, y) = (r[i / 2 * 2], r[i / 2 * 2 + 1]);
                    if i % 2 == 0 {
                        _mm256_unpacklo_ps(x, y)
                    } else {
                        _mm256_unpackhi_ps(x, y)
                    }
                });
                let quads: [_; 8] = std::array::from_fn(|i| {
                    let (x, y) = (
                        pairs[i / 4 * 4 + i % 4 / 2],
                        pairs[i / 4 * 4 + i % 4 / 2 + 2],
                    );
                    if i % 2 == 0 {
                        _mm256_shuffle_ps::<0x44>(x, y)
                    } else {
                        _mm256_shuffle_ps::<0xEE>(x, y)
                    }
                });
                for i in 0..4 {
                    let low = _mm256_permute2f128_ps::<0x20>(quads[i], quads[i + 4]);
                    let high = _mm256_permute2f128_ps::<0x31>(quads[i], quads[i + 4]);
                    _mm256_storeu_ps(out.as_mut_ptr().add((k + i) * PANEL + first), low);
                    _mm256_storeu_ps(out.as_mut_ptr().add((k + i + 4) * PANEL + first), high);
                }
            }
        }
    }
    for (col, column) in columns.iter().enumerate() {
        for k in whole..depth {
            out[k * PANEL + col] = column[k];
        }
    }
}

/// Packs `a` `[rows, depth]` into panels as high as the register tile, `[rows / mr, depth, mr]`; missing rows are not
/// written.
pub(super) fn pack_a(isa: Isa, a: View<'_>, rows: usize, depth: usize, packed: &mut [f32]) {
    match isa {
        Isa::Portable => pack_a_panels::<MR>(a, rows, depth, packed),
        Isa::Avx2(_) => pack_a_panels::<MR>(a, rows, depth, packed),
        Isa::Avx512(_) => pack_a_panels::<MR_512>(a, rows, depth, packed),
    }
}

/// [`pack_a`] for a tile of `MR` rows.
fn pack_a_panels<const MR: usize>(a: View<'_>, rows: usize, depth: usize, packed: &mut [f32]) {
    let panel_len = depth * MR;
    let whole = match a.row_stride {
        1 => rows / MR / GROUP * GROUP,
        _ => 0,
    };
    let (groups, rest) = packed[..rows.div_ceil(MR) * panel_len].split_at_mut(whole * panel_len);
    for (group, out) in groups.chunks_exact_mut(GROUP * panel_len).enumerate() {
        let a = a.from(group * GROUP * MR, 0);
        copy_panels(MR, depth, a.data, a.col_stride, out);
    }
    for (panel, out) in (whole..).zip(rest.chunks_exact_mut(panel_len)) {
        let a = a.from(panel * MR, 0);
        let rows = MR.min(rows - panel * MR);
        if a.row_stride == 1 && rows == MR {
            for (k, out) in out.as_chunks_mut::<MR>().0.iter_mut().enumerate() {
                out.copy_from_slice(&a.data[k * a.col_stride..][..MR]);
            }
        } else {
            for (k, out) in out.as_chunks_mut::<MR>().0.iter_mut().enumerate() {
                for (row, out) in out[..rows].iter_mut().enumerate() {
                    *out = a.data[row * a.row_stride + k * a.col_stride];
                }
            }
        }
    }
}
