//! Packing: copies the operands into the order in which the microkernels read them.

use super::View;
#[cfg(target_feature = "simd128")]
use super::isa::MR_128;
#[cfg(target_arch = "x86_64")]
use super::isa::MR_512;
use super::isa::{Isa, MR};
use crate::packed::PANEL;
use crate::transpose::transpose;

/// Block size of the inner dimension: products summed in registers before they are added to the output.
pub(super) const KC: usize = 256;

/// Panels packed together from contiguous rows: so many that a row is read in pieces of several cache lines,
/// which the processor fetches ahead.
pub(super) const GROUP: usize = 4;

/// Packs `b` `[k, n]` into zero-padded panels of [`PANEL`] columns, `[n / PANEL, k, PANEL]`.
pub(super) fn pack_b(b: View<'_>, k: usize, n: usize, packed: &mut [f32]) {
    let panel_len = k * PANEL;
    let packed = &mut packed[..n.div_ceil(PANEL) * panel_len];
    if b.row_stride == 1 {
        for (panel, out) in packed.chunks_exact_mut(panel_len).enumerate() {
            let cols = PANEL.min(n - panel * PANEL);
            transpose(b.t().from(panel * PANEL, 0), [cols, k], out, PANEL);
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
    /// Copies the first `GROUP * width` elements of `depth` rows, whose distance is `stride`, to panels
    /// `[GROUP, depth, width]`.
    fn copy_panels(width: usize, depth: usize, rows: &[f32], stride: usize, panels: &mut [f32]) {
        match width {
            MR => copy_panels_of::<MR>(depth, rows, stride, panels),
            #[cfg(target_feature = "simd128")]
            MR_128 => copy_panels_of::<MR_128>(depth, rows, stride, panels),
            #[cfg(target_arch = "x86_64")]
            MR_512 => copy_panels_of::<MR_512>(depth, rows, stride, panels),
            PANEL => copy_panels_of::<PANEL>(depth, rows, stride, panels),
            _ => unreachable!("panels of {width}"),
        }
    }
}

/// [`copy_panels`] of a width that the compiler knows.
#[inline(always)]
fn copy_panels_of<const WIDTH: usize>(depth: usize, rows: &[f32], stride: usize, panels: &mut [f32]) {
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

/// Packs `a` `[rows, depth]` into panels as high as the register tile, `[rows / mr, depth, mr]`; missing rows
/// are not written.
pub(super) fn pack_a(isa: Isa, a: View<'_>, rows: usize, depth: usize, packed: &mut [f32]) {
    match isa {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512(_) => pack_a_panels::<MR_512>(a, rows, depth, packed),
        #[cfg(target_feature = "simd128")]
        Isa::Simd128(_) => pack_a_panels::<MR_128>(a, rows, depth, packed),
        _ => pack_a_panels::<MR>(a, rows, depth, packed),
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
