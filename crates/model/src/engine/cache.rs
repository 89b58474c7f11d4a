//! The keys and values of earlier positions of all rows.

use attentive_kernels::cached_attention::BLOCK;

/// Blocks of positions, each of all layers. Rows that grew from the same beginning share blocks; a block is copied before a
/// row writes to one that others also use.
#[derive(Clone, Debug, Default)]
pub(super) struct Cache {
    /// Words of a block.
    len: usize,
    blocks: Vec<Vec<f32>>,
    /// The number of rows that use each block.
    users: Vec<u32>,
    free: Vec<usize>,
}

/// The blocks of a row, in the order of its positions.
#[derive(Clone, Debug, Default)]
pub(super) struct Table(Vec<usize>);

impl Cache {
    /// An empty cache of blocks of `len` words.
    pub(super) fn new(len: usize) -> Self {
        Self {
            len,
            ..Self::default()
        }
    }

    /// Words of a block; 0 if no layer has self-attention.
    pub(super) fn block_len(&self) -> usize {
        self.len
    }

    /// Makes the block of `position`, the next of a row, writable for this row alone.
    pub(super) fn reserve(&mut self, table: &mut Table, position: usize) {
        let number = position / BLOCK;
        if number == table.0.len() {
            let block = self.allocate();
            table.0.push(block);
            return;
        }
        let shared = table.0[number];
        if self.users[shared] > 1 {
            let own = self.allocate();
            let mut copy = std::mem::take(&mut self.blocks[own]);
            copy.copy_from_slice(&self.blocks[shared]);
            self.blocks[own] = copy;
            self.users[shared] -= 1;
            table.0[number] = own;
        }
    }

    /// The block that holds `position` of a row.
    pub(super) fn block_mut(&mut self, table: &Table, position: usize) -> &mut [f32] {
        &mut self.blocks[table.0[position / BLOCK]]
    }

    /// The blocks of a row.
    pub(super) fn blocks(&self, table: &Table) -> impl Iterator<Item = &[f32]> {
        table.0.iter().map(|&block| self.blocks[block].as_slice())
    }

    /// Notes that another row uses the blocks of `table`.
    pub(super) fn share(&mut self, table: &Table) {
        for &block in &table.0 {
            self.users[block] += 1;
        }
    }

    /// Notes that a row no longer uses the blocks of `table`.
    pub(super) fn release(&mut self, table: &Table) {
        for &block in &table.0 {
            self.users[block] -= 1;
            if self.users[block] == 0 {
                self.free.push(block);
            }
        }
    }

    fn allocate(&mut self) -> usize {
        if let Some(block) = self.free.pop() {
            self.users[block] = 1;
            return block;
        }
        self.blocks.push(vec![0.0; self.len]);
        self.users.push(1);
        self.blocks.len() - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_blocks_are_copied_before_they_are_written() {
        let mut cache = Cache::new(2);
        let mut a = Table::default();
        cache.reserve(&mut a, 0);
        cache.block_mut(&a, 0)[0] = 1.0;
        let mut b = a.clone();
        cache.share(&a);
        cache.reserve(&mut b, 1);
        cache.block_mut(&b, 1)[1] = 2.0;
        cache.reserve(&mut a, 1);
        assert_eq!(
            cache.block_mut(&a, 0),
            [1.0, 0.0],
            "a is the only user again"
        );
        assert_eq!(cache.blocks(&b).collect::<Vec<_>>(), [[1.0, 2.0]]);
        assert_eq!(cache.blocks.len(), 2);
        cache.release(&b);
        cache.reserve(&mut a, BLOCK);
        assert_eq!((cache.blocks.len(), a.0.len()), (2, 2));
    }
}
