//! The portable kernel: one row by one panel.

use super::tile::{Tile, TileSums};
use crate::packed::PANEL;

/// Adds the product of the first row and the first panel to the sums.
pub(super) fn add_product(tile: &Tile<'_>, out: &mut TileSums) {
    let left = tile.left[..tile.groups() * 4].as_chunks::<4>().0;
    let right = tile.right[..tile.panel].as_chunks::<{ 4 * PANEL }>().0;
    let mut sums = [0i32; PANEL];
    for (a, line) in left.iter().zip(right) {
        let a = a.map(i32::from);
        for (sum, b) in sums.iter_mut().zip(line.as_chunks::<4>().0) {
            let b = b.map(i32::from);
            *sum += a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3];
        }
    }
    out.add(&sums);
}
