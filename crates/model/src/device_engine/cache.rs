//! What attention reads of earlier positions, in the memory of a device.

use attentive_device::{Buffer, MatrixColumns, current};
use attentive_kernels::cached_attention::BLOCK;

use crate::incremental::blocks::{Blocks, Copied, Table};

/// Keys and values of positions, in blocks that rows may share. Each layer has a matrix with a row for each
/// position.
#[derive(Debug)]
pub(super) struct DeviceCache {
    used: Blocks,
    layers: Vec<Layer>,
    /// The blocks for which the layers have memory.
    capacity: usize,
    copies: Vec<Copied>,
}

#[derive(Debug)]
struct Layer {
    /// The width of keys and values.
    width: usize,
    /// `[capacity · BLOCK, width]`
    rows: Buffer,
}

impl DeviceCache {
    /// An empty cache with layers of these widths.
    pub(super) fn new(widths: &[usize]) -> Self {
        let layer = |&width: &usize| Layer { width, rows: Buffer::EMPTY };
        Self {
            used: Blocks::default(),
            layers: widths.iter().map(layer).collect(),
            capacity: 0,
            copies: Vec::new(),
        }
    }

    /// True if it has no layers, and so keeps nothing.
    pub(super) fn is_unused(&self) -> bool {
        self.layers.is_empty()
    }

    /// Makes the block of `position`, the next of a row, writable for this row alone, once it is
    /// [prepared](Self::prepare).
    pub(super) fn reserve(&mut self, table: &mut Table, position: usize) {
        let copied = self.used.reserve(table, position);
        self.copies.extend(copied);
    }

    /// Gives memory to all blocks, and copies those that are shared no longer.
    pub(super) fn prepare(&mut self) {
        let capacity = match self.used.len() {
            needed if needed > self.capacity => needed.max(2 * self.capacity),
            _ => self.capacity,
        };
        for Layer { width, rows } in &mut self.layers {
            let block = BLOCK * *width;
            if capacity > self.capacity {
                let kept: Vec<[usize; 2]> = (0..self.capacity).map(|number| [number; 2]).collect();
                let mut larger = Buffer::take(capacity * block);
                current().put_rows(block, whole(rows, block), &kept, &mut larger);
                *rows = larger;
            }
            if !self.copies.is_empty() {
                let from: Vec<usize> = self.copies.iter().map(|copied| copied.from).collect();
                let to = (0..).zip(&self.copies).map(|(row, copied)| [row, copied.to]);
                let to: Vec<[usize; 2]> = to.collect();
                let mut copies = Buffer::take(from.len() * block);
                current().select_rows(block, rows, &from, &mut copies);
                current().put_rows(block, whole(&copies, block), &to, rows);
            }
        }
        self.capacity = capacity;
        self.copies.clear();
    }

    /// Stores keys and values: `pairs` are rows of `from` and rows of the cache.
    pub(super) fn store(&mut self, layer: usize, from: MatrixColumns<&Buffer>, pairs: &[[usize; 2]]) {
        let Layer { width, rows } = &mut self.layers[layer];
        current().put_rows(*width, from, pairs, rows);
    }

    /// The rows of a layer.
    pub(super) fn layer(&self, number: usize) -> &Buffer {
        &self.layers[number].rows
    }

    /// Notes that another row uses the blocks of `table`.
    pub(super) fn share(&mut self, table: &Table) {
        self.used.share(table);
    }

    /// Notes that a row no longer uses the blocks of `table`.
    pub(super) fn release(&mut self, table: &Table) {
        self.used.release(table);
    }
}

/// The row of the cache that holds `position` of a row with this table.
pub(super) fn row_of(table: &Table, position: usize) -> usize {
    table.block(position) * BLOCK + position % BLOCK
}

/// All columns of a matrix.
pub(super) fn whole(matrix: &Buffer, width: usize) -> MatrixColumns<&Buffer> {
    MatrixColumns { matrix, width, first: 0 }
}
