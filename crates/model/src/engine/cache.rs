//! The keys and values of earlier positions of all rows.

use crate::incremental::blocks::{Blocks, Copied, Table};

/// Blocks of positions, each of all layers, which rows that grew from the same beginning share.
#[derive(Clone, Debug, Default)]
pub(super) struct Cache {
    /// Words of a block.
    len: usize,
    blocks: Vec<Vec<f32>>,
    used: Blocks,
}

impl Cache {
    /// An empty cache of blocks of `len` words.
    pub(super) fn new(len: usize) -> Self {
        Self { len, ..Self::default() }
    }

    /// Words of a block; 0 if no layer has self-attention.
    pub(super) fn block_len(&self) -> usize {
        self.len
    }

    /// Makes the block of `position`, the next of a row, writable for this row alone. If it was shared, its
    /// contents have to be copied before the row reads or writes it, layer by layer. The last of the rows
    /// that share a block keeps it, so it is written only after the rows before have copied it.
    pub(super) fn reserve(&mut self, table: &mut Table, position: usize) -> Option<Copied> {
        let reserved = self.used.reserve(table, position);
        if self.blocks.len() < self.used.len() {
            self.blocks.push(vec![0.0; self.len]);
        }
        reserved
    }

    /// The two blocks of a copy.
    pub(super) fn copied(&mut self, Copied { from, to }: Copied) -> (&[f32], &mut [f32]) {
        let blocks = self.blocks.get_disjoint_mut([from, to]);
        let [from, to] = blocks.expect("a copy is another block");
        (from, to)
    }

    /// The block that holds `position` of a row.
    pub(super) fn block_mut(&mut self, table: &Table, position: usize) -> &mut [f32] {
        &mut self.blocks[table.block(position)]
    }

    /// The blocks of a row.
    pub(super) fn blocks(&self, table: &Table) -> impl Iterator<Item = &[f32]> {
        let blocks = table.blocks().iter();
        blocks.map(|&block| self.blocks[block].as_slice())
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

#[cfg(test)]
mod tests {
    use attentive_kernels::cached_attention::BLOCK;

    use super::*;

    #[test]
    fn shared_blocks_are_copied_before_they_are_written() {
        let mut cache = Cache::new(2);
        let mut a = Table::default();
        cache.reserve(&mut a, 0);
        cache.block_mut(&a, 0)[0] = 1.0;
        let mut b = a.clone();
        cache.share(&a);
        let copied = cache.reserve(&mut b, 1).expect("a shared block");
        let (from, to) = cache.copied(copied);
        to.copy_from_slice(from);
        cache.block_mut(&b, 1)[1] = 2.0;
        cache.reserve(&mut a, 1);
        assert_eq!(cache.block_mut(&a, 0), [1.0, 0.0], "a is the only user again");
        assert_eq!(cache.blocks(&b).collect::<Vec<_>>(), [[1.0, 2.0]]);
        assert_eq!(cache.blocks.len(), 2);
        cache.release(&b);
        cache.reserve(&mut a, BLOCK);
        assert_eq!((cache.blocks.len(), a.blocks().len()), (2, 2));
    }
}
