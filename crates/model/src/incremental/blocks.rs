//! Which blocks of a cache the positions of rows are in.

use attentive_kernels::cached_attention::BLOCK;

/// The users of the blocks of a cache. Rows that grew from the same beginning share blocks; a row that is
/// going to write to one that others also use gets another one, to which its contents have to be copied.
#[derive(Clone, Debug, Default)]
pub(crate) struct Blocks {
    /// The number of rows that use each block.
    users: Vec<u32>,
    free: Vec<usize>,
}

/// The blocks of a row, in the order of its positions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table(Vec<usize>);

/// A block whose contents must be copied to another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Copied {
    pub(crate) from: usize,
    pub(crate) to: usize,
}

impl Table {
    pub(crate) fn blocks(&self) -> &[usize] {
        &self.0
    }

    /// The block that holds `position`.
    pub(crate) fn block(&self, position: usize) -> usize {
        self.0[position / BLOCK]
    }
}

impl Blocks {
    /// The number of blocks, used or free.
    pub(crate) fn len(&self) -> usize {
        self.users.len()
    }

    /// Makes the block of `position`, the next of a row, writable for this row alone, which may need a copy.
    pub(crate) fn reserve(&mut self, table: &mut Table, position: usize) -> Option<Copied> {
        let number = position / BLOCK;
        if number == table.0.len() {
            table.0.push(self.allocate());
            return None;
        }
        let from = table.0[number];
        (self.users[from] > 1).then(|| {
            let to = self.allocate();
            self.users[from] -= 1;
            table.0[number] = to;
            Copied { from, to }
        })
    }

    /// Notes that another row uses the blocks of `table`.
    pub(crate) fn share(&mut self, table: &Table) {
        for &block in &table.0 {
            self.users[block] += 1;
        }
    }

    /// Notes that a row no longer uses the blocks of `table`.
    pub(crate) fn release(&mut self, table: &Table) {
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
        self.users.push(1);
        self.users.len() - 1
    }
}
