//! The numbers of a decoding state in the memory of a device.

use attentive_base::batch::Padded;
use attentive_device::{Buffer, Lengths, current};
use attentive_tape::Value;

use super::cache::{DeviceCache, row_of, whole};
use crate::incremental::blocks::Table;
use crate::incremental::{self, Row, StateStore};
use crate::nn::KeptWidths;

/// Keeps the numbers of a state in the memory of the current device.
#[derive(Debug)]
pub struct DeviceMemory {
    /// Keys and values of earlier positions.
    pub(super) earlier: DeviceCache,
    /// Keys and values of sources.
    pub(super) sources: DeviceCache,
}

/// A state in the memory of a device.
pub type DeviceState = incremental::State<DeviceMemory>;

/// The source of a row.
#[derive(Clone, Debug, Default)]
pub struct CachedSource {
    /// The number of positions.
    pub(super) len: usize,
    pub(super) table: Table,
}

impl StateStore for DeviceMemory {
    type Source = CachedSource;
    type Cells = Buffer;

    fn share(&mut self, row: &Row<CachedSource>) {
        self.earlier.share(&row.table);
        self.sources.share(&row.source.table);
    }

    fn release(&mut self, row: &Row<CachedSource>) {
        self.earlier.release(&row.table);
        self.sources.release(&row.source.table);
    }

    fn select_cells(cells: &mut Buffer, width: usize, rows: &[usize]) {
        let mut of_rows = Buffer::take(rows.len() * width);
        current().select_rows(width, cells, rows, &mut of_rows);
        *cells = of_rows;
    }
}

/// Encoded sources, one for each of the rows to add.
pub(super) struct EncodedSources {
    pub(super) lengths: Lengths,
    /// Keys and values of each layer, `[positions, width]`.
    pub(super) layers: Vec<Value>,
    /// The final state of each layer of a recurrent encoder.
    pub(super) finals: Vec<Value>,
}

impl DeviceState {
    /// A state without rows, with layers of these widths.
    pub(super) fn new(widths: KeptWidths) -> Self {
        let earlier: Vec<usize> = widths.earlier.iter().map(|heads| 2 * heads.kv_width()).collect();
        let (earlier, sources) = (DeviceCache::new(&earlier), DeviceCache::new(&widths.memory));
        Self::empty(widths, DeviceMemory { earlier, sources })
    }

    /// Adds `added` rows at position 0 with these sources and states of the layers' cells.
    pub(super) fn admit(&mut self, added: usize, encoded: Option<EncodedSources>, initial: &[Value]) {
        let before = self.rows.len();
        let mut pairs = Vec::new();
        let cache = &mut self.store.sources;
        for number in 0..added {
            let mut source = CachedSource::default();
            if let Some(EncodedSources { lengths, .. }) = &encoded {
                source.len = lengths.lens()[number];
                let positions = if cache.is_unused() { 0 } else { source.len };
                for position in 0..positions {
                    cache.reserve(&mut source.table, position);
                    pairs.push([number * lengths.width() + position, row_of(&source.table, position)]);
                }
            }
            self.rows.push(Row { source, ..Row::default() });
        }
        cache.prepare();
        let layers = encoded.iter().flat_map(|encoded| &encoded.layers);
        for (layer, keys_values) in layers.enumerate() {
            let [_, width] = keys_values.shape();
            cache.store(layer, whole(keys_values.buffer(), width), &pairs);
        }
        for ((cells, initial), &width) in self.cells.iter_mut().zip(initial).zip(&self.widths.cells) {
            let mut all = Buffer::take((before + added) * width);
            let old: Vec<[usize; 2]> = (0..before).map(|row| [row; 2]).collect();
            let new: Vec<[usize; 2]> = (0..added).map(|row| [row, before + row]).collect();
            current().put_rows(width, whole(cells, width), &old, &mut all);
            current().put_rows(width, whole(initial.buffer(), width), &new, &mut all);
            *cells = all;
        }
    }

    /// The position of each of the next `tokens` of some `rows`, padding included.
    pub(super) fn positions(&self, tokens: &Padded, rows: &[usize]) -> Vec<usize> {
        let rows = rows.iter().zip(tokens.lens());
        // Padding stays at the last position: there may be none behind it.
        rows.flat_map(|(&row, &len)| {
            let first = self.rows[row].position;
            (0..tokens.width()).map(move |i| first + i.min(len - 1))
        })
        .collect()
    }

    /// Makes room in the cache for the next positions of some `rows`, `lens[i]` for `rows[i]`.
    pub(super) fn reserve(&mut self, lens: &[usize], rows: &[usize]) {
        let cache = &mut self.store.earlier;
        if cache.is_unused() {
            return;
        }
        for (&row, len) in rows.iter().zip(lens) {
            let row = &mut self.rows[row];
            for position in row.position..row.position + len {
                cache.reserve(&mut row.table, position);
            }
        }
        cache.prepare();
    }

    /// Takes the states of some `rows`, ascending, out of the cells of a layer:
    /// [`put_cells`](Self::put_cells) is next.
    pub(super) fn take_cells(&mut self, layer: usize, rows: &[usize]) -> Value {
        let width = self.widths.cells[layer];
        let cells = &mut self.cells[layer];
        let taken = if rows.len() == self.rows.len() {
            std::mem::replace(cells, Buffer::EMPTY)
        } else {
            let mut some = Buffer::take(rows.len() * width);
            current().select_rows(width, cells, rows, &mut some);
            some
        };
        Value::new(taken, [rows.len(), width])
    }

    /// Replaces the states of some `rows`, ascending, in the cells of a layer, by the rows `from_rows`
    /// of `states`.
    pub(super) fn put_cells(&mut self, layer: usize, rows: &[usize], states: &Value, from_rows: &[usize]) {
        let width = self.widths.cells[layer];
        let cells = &mut self.cells[layer];
        if rows.len() == self.rows.len() {
            *cells = Buffer::take(rows.len() * width);
            current().select_rows(width, states.buffer(), from_rows, cells);
        } else {
            let pairs = from_rows.iter().zip(rows).map(|(&from, &to)| [from, to]);
            let pairs: Vec<[usize; 2]> = pairs.collect();
            current().put_rows(width, whole(states.buffer(), width), &pairs, cells);
        }
    }
}
