//! The numbers of a decoding state in RAM.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use attentive_kernels::gemm::Float;

use super::buffers::ScratchPool;
use super::cache::Cache;
use super::columns::Columns;
use super::rows::Span;
use super::source::EncodedSource;
use crate::incremental::{self, Row, StateStore};
use crate::nn::KeptWidths;

/// Keeps the numbers of a state in RAM.
#[derive(Clone, Debug)]
pub struct Ram {
    pub(super) cache: Cache,
    pub(super) buffers: ScratchPool,
    /// The output columns that the rows share, with a shortlist.
    pub(super) columns: Option<Arc<Mutex<Columns>>>,
}

/// A state in RAM.
pub type RamState = incremental::State<Ram>;

impl StateStore for Ram {
    type Source = Option<Arc<EncodedSource>>;
    type Cells = Vec<f32>;

    fn share(&mut self, row: &Row<Self::Source>) {
        self.cache.share(&row.table);
    }

    fn release(&mut self, row: &Row<Self::Source>) {
        self.cache.release(&row.table);
    }

    fn select_cells(cells: &mut Vec<f32>, width: usize, rows: &[usize]) {
        let of_row = |&row: &usize| cells[row * width..][..width].iter().copied();
        *cells = rows.iter().flat_map(of_row).collect();
    }
}

impl RamState {
    /// A state without rows, with layers of these widths, whose keys and values are `numbers`.
    pub(super) fn new(widths: KeptWidths, numbers: Float) -> Self {
        let block_len = widths.earlier.iter().map(|heads| heads.stored_in(numbers).block_len()).sum();
        let (cache, buffers) = (Cache::new(block_len), ScratchPool::default());
        Self::empty(widths, Ram { cache, buffers, columns: None })
    }

    /// Adds a row at position 0 with the given source and states of the layers' cells, zeros where there is
    /// none.
    pub(super) fn admit(&mut self, source: Option<Arc<EncodedSource>>, initial: &[Option<&[f32]>]) {
        self.rows.push(Row { source, ..Row::default() });
        for (layer, (cells, width)) in self.cells.iter_mut().zip(&self.widths.cells).enumerate() {
            match initial.get(layer).copied().flatten() {
                Some(initial) => cells.extend_from_slice(initial),
                None => cells.resize(cells.len() + width, 0.0),
            }
        }
    }

    /// The rows and positions of `lens[i]` next tokens of each row i.
    pub(super) fn spans(&self, lens: &[usize]) -> Vec<Span> {
        let mut end = 0;
        let rows = self.rows.iter().zip(lens);
        rows.map(|(row, len)| {
            let start = end;
            end += len;
            Span { rows: start..end, first: row.position }
        })
        .collect()
    }

    /// Makes room in the cache for the positions of `spans`.
    pub(super) fn reserve(&mut self, spans: &[Span]) {
        let cache = &mut self.store.cache;
        if cache.block_len() == 0 {
            return;
        }
        for (row, span) in self.rows.iter_mut().zip(spans) {
            let mut positions = span.first..span.first + span.rows.len();
            let mut reserve = |position| cache.reserve(&mut row.table, position);
            // Only the first block may be shared.
            row.copied = positions.next().and_then(&mut reserve);
            positions.for_each(|position| assert!(reserve(position).is_none(), "a block of its own"));
        }
    }

    /// Groups of neighboring rows with the same source.
    pub(super) fn groups(&self) -> Vec<Range<usize>> {
        let source = |row: &Row<Option<Arc<EncodedSource>>>| row.source.as_ref().map(Arc::as_ptr);
        let mut start = 0;
        let groups = self.rows.chunk_by(|a, b| source(a) == source(b));
        groups
            .map(|group| {
                let rows = start..start + group.len();
                start = rows.end;
                rows
            })
            .collect()
    }
}
