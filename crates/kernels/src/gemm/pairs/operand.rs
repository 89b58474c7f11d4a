//! Packed operands: packed once for all tasks, or part by part by each task.

use super::pack::{Side, pack, pack_group};
use super::{Block, DEPTH, STEPS, View, WIDTH};

/// The left operand, or the transpose of the right one: `[count, k]`.
#[derive(Clone, Copy)]
pub(super) struct Operand<'a> {
    side: Side,
    view: View<'a>,
    count: usize,
    k: usize,
    /// Whether several tasks read the same part.
    shared: bool,
}

impl<'a> Operand<'a> {
    pub(super) fn new(side: Side, view: View<'a>, count: usize, k: usize, shared: bool) -> Self {
        Self {
            side,
            view,
            count,
            k,
            shared,
        }
    }

    /// Number of blocks filled by [`Self::pack_shared`].
    pub(super) fn shared_len(&self) -> usize {
        if self.shared {
            self.count.div_ceil(WIDTH) * self.k.div_ceil(DEPTH)
        } else {
            0
        }
    }

    /// Packs the whole operand if it is shared.
    pub(super) fn pack_shared(&self, blocks: &mut [Block]) {
        if self.shared {
            pack(self.side, self.view, self.count, self.k, blocks);
        }
    }

    /// The part of `rows` rows from `row` on; `row` is a multiple of `WIDTH`.
    pub(super) fn part<'p>(&self, shared: &'p [Block], row: usize, rows: usize) -> Part<'p>
    where
        'a: 'p,
    {
        Part {
            side: self.side,
            view: self.view.from(row, 0),
            rows,
            shared: self.shared.then(|| Shared {
                blocks: shared,
                panels: self.count.div_ceil(WIDTH),
                first: row / WIDTH,
            }),
        }
    }
}

/// A completely packed operand: all panels of the first `STEPS` blocks of depth, then those of the next, and so on.
#[derive(Clone, Copy)]
struct Shared<'a> {
    blocks: &'a [Block],
    panels: usize,
    /// The first panel of the part.
    first: usize,
}

/// The part of an operand used by one task.
#[derive(Clone, Copy)]
pub(super) struct Part<'a> {
    side: Side,
    view: View<'a>,
    rows: usize,
    shared: Option<Shared<'a>>,
}

impl Part<'_> {
    /// Number of scratch blocks needed by [`Self::panels`].
    pub(super) fn own_len(&self) -> usize {
        match self.shared {
            Some(_) => 0,
            None => self.rows.div_ceil(WIDTH) * STEPS,
        }
    }

    /// The panels from depth `start` on, a multiple of `STEPS` blocks; packed into `room` unless the operand is
    /// shared.
    pub(super) fn panels<'p>(
        &'p self,
        start: usize,
        depth: usize,
        room: &'p mut [Block],
    ) -> Panels<'p> {
        let steps = depth.div_ceil(DEPTH);
        let blocks = match self.shared {
            Some(Shared {
                blocks,
                panels,
                first,
            }) => &blocks[start / DEPTH * panels..][..panels * steps][first * steps..],
            None => {
                let room = &mut room[..self.rows.div_ceil(WIDTH) * steps];
                let view = self.view.from(0, start);
                pack_group(self.side, view, self.rows, depth, room);
                room
            }
        };
        Panels { blocks, steps }
    }
}

/// Consecutive panels of `steps` blocks each.
pub(super) struct Panels<'a> {
    blocks: &'a [Block],
    steps: usize,
}

impl Panels<'_> {
    /// A panel and the next one. The last panel is returned twice; the second half of its result is discarded.
    pub(super) fn two(&self, panel: usize) -> [*const Block; 2] {
        let last = self.blocks.len() / self.steps - 1;
        [panel, (panel + 1).min(last)]
            .map(|panel| self.blocks[panel * self.steps..][..self.steps].as_ptr())
    }
}
