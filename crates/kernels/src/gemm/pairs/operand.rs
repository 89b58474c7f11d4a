//! Packed operands: packed once for all tasks, or part by part by each task.

use super::pack::{OperandSide, pack, pack_group};
use super::{DEPTH, PairBlock, STEPS, View, WIDTH, n_blocks};
use crate::packed::PackedBf16;
use crate::parallel::is_large;
use crate::prefetch::is_far;

/// The left operand, or the transpose of the right one: `[count, k]`.
#[derive(Clone, Copy)]
pub(super) struct Operand<'a> {
    side: OperandSide,
    source: Source<'a>,
    count: usize,
    k: usize,
}

/// Where packed blocks come from.
#[derive(Clone, Copy)]
enum Source<'a> {
    /// Packed before, for several products.
    Packed(&'a [PairBlock]),
    /// Packed before the tasks start, since several of them read the same part.
    Shared(View<'a>),
    /// Packed part by part, each by the task that reads it.
    Own(View<'a>),
}

impl<'a> Operand<'a> {
    /// An operand whose parts are each read by several tasks if `shared`.
    pub(super) fn new(side: OperandSide, view: View<'a>, count: usize, k: usize, shared: bool) -> Self {
        let source = if shared { Source::Shared(view) } else { Source::Own(view) };
        Self { side, source, count, k }
    }

    /// An operand that [`pack`] has packed.
    pub(super) fn packed(side: OperandSide, blocks: &'a [PairBlock], count: usize, k: usize) -> Self {
        Self { side, source: Source::Packed(blocks), count, k }
    }

    /// Number of blocks filled by [`Self::pack_shared`].
    pub(super) fn shared_len(&self) -> usize {
        match self.source {
            Source::Shared(_) => n_blocks(self.count, self.k),
            Source::Packed(_) | Source::Own(_) => 0,
        }
    }

    /// Packs the whole operand if it is shared.
    pub(super) fn pack_shared(&self, blocks: &mut [PairBlock]) {
        if let Source::Shared(view) = self.source {
            let parallel = is_large(self.count * self.k);
            pack(self.side, view, self.count, self.k, blocks, parallel);
        }
    }

    /// The part of `rows` rows from `row` on; `row` is a multiple of `WIDTH`.
    pub(super) fn part<'p>(&self, shared: &'p [PairBlock], row: usize, rows: usize) -> OperandPart<'p>
    where
        'a: 'p,
    {
        let packed = |blocks| OperandPart::packed(blocks, self.count.div_ceil(WIDTH), row / WIDTH);
        match self.source {
            Source::Packed(blocks) => packed(blocks),
            Source::Shared(_) => packed(shared),
            Source::Own(view) => OperandPart::Own { side: self.side, view: view.from(row, 0), rows },
        }
    }
}

/// The part of an operand used by one task.
#[derive(Clone, Copy)]
pub(super) enum OperandPart<'a> {
    /// Panels from `first` on of a completely packed operand: all panels of the first `STEPS` blocks of
    /// depth, then those of the next, and so on.
    Shared { blocks: &'a [PairBlock], panels: usize, first: usize },
    /// Packed by the task.
    Own { side: OperandSide, view: View<'a>, rows: usize },
    /// Panels of a packed weight with `panel` elements each.
    Stored {
        values: &'a [u16],
        panel: usize,
        /// Whether the weight may come from RAM.
        is_far: bool,
    },
}

impl<'a> OperandPart<'a> {
    /// Panels from `first` on of an operand with `panels` panels that [`pack`] has packed.
    pub(super) fn packed(blocks: &'a [PairBlock], panels: usize, first: usize) -> Self {
        Self::Shared { blocks, panels, first }
    }

    /// `cols` columns from `col` on of a packed weight; `col` starts a panel.
    pub(super) fn stored(weight: PackedBf16<'a>, col: usize, cols: usize) -> Self {
        let panel = weight.k().next_multiple_of(2) * WIDTH;
        let values = &weight.values()[col / WIDTH * panel..][..cols.div_ceil(WIDTH) * panel];
        Self::Stored { values, panel, is_far: is_far(size_of_val(weight.values())) }
    }

    /// Number of scratch blocks needed by [`Self::panels`].
    pub(super) fn own_len(&self) -> usize {
        match self {
            Self::Own { rows, .. } => rows.div_ceil(WIDTH) * STEPS,
            Self::Shared { .. } | Self::Stored { .. } => 0,
        }
    }

    /// The panels from depth `start` on, a multiple of `STEPS` blocks; packed into `room` if they are the
    /// task's own.
    pub(super) fn panels<'p>(&'p self, start: usize, depth: usize, room: &'p mut [PairBlock]) -> Panels<'p> {
        let steps = depth.div_ceil(DEPTH);
        let of_blocks = |blocks: &'p [PairBlock]| Panels {
            values: numbers(blocks),
            panel: steps * WIDTH * DEPTH,
            lines: steps * WIDTH,
            next: None,
        };
        match *self {
            Self::Shared { blocks, panels, first } => {
                of_blocks(&blocks[start / DEPTH * panels..][..panels * steps][first * steps..])
            }
            Self::Own { side, view, rows } => {
                let room = &mut room[..rows.div_ceil(WIDTH) * steps];
                pack_group(side, view.from(0, start), rows, depth, room);
                of_blocks(room)
            }
            Self::Stored { values, panel, is_far } => Panels {
                values: &values[start * WIDTH..],
                panel,
                lines: depth.div_ceil(2),
                next: is_far.then(|| {
                    if (start + depth).next_multiple_of(2) < panel / WIDTH {
                        values[(start + depth) * WIDTH..].as_ptr()
                    } else {
                        values.as_ptr_range().end
                    }
                }),
            },
        }
    }
}

/// The numbers of blocks.
fn numbers(blocks: &[PairBlock]) -> &[u16] {
    // SAFETY: a block consists of numbers.
    unsafe { std::slice::from_raw_parts(blocks.as_ptr().cast(), size_of_val(blocks) / 2) }
}

/// Consecutive panels, whose starts are `panel` numbers apart; the last one may end early.
pub(super) struct Panels<'a> {
    values: &'a [u16],
    panel: usize,
    lines: usize,
    /// The panel that is needed after the last one; `None` for panels that are in the caches.
    next: Option<*const u16>,
}

impl Panels<'_> {
    /// Lines of each panel.
    pub(super) fn lines(&self) -> usize {
        self.lines
    }

    /// Whether the panels may come from RAM.
    #[cfg(target_arch = "x86_64")]
    pub(super) fn is_far(&self) -> bool {
        self.next.is_some()
    }

    /// The panels that are needed after those before `panel`, if they may come from RAM.
    pub(super) fn after<const N: usize>(&self, panel: usize) -> Option<[*const u16; N]> {
        let next = self.next?;
        let start = if panel * self.panel < self.values.len() {
            self.values[panel * self.panel..].as_ptr()
        } else {
            next
        };
        Some(std::array::from_fn(|number| start.wrapping_add(number * self.panel)))
    }

    /// Panels from a given one on, of which those that are missing are the last one.
    pub(super) fn some<const N: usize>(&self, panel: usize) -> [*const u16; N] {
        let last = self.values.len().div_ceil(self.panel) - 1;
        std::array::from_fn(|number| {
            let panel = (panel + number).min(last);
            self.values[panel * self.panel..][..self.lines * DEPTH].as_ptr()
        })
    }
}
