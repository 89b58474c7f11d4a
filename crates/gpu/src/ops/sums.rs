//! Sums over the rows of matrices.

use attentive_device::Buffer;

use crate::pipelines::kernels;
use crate::queue::Binding::{Read, Write};
use crate::queue::Recording;
use crate::word::words;

kernels!("../wgsl/sums.wgsl": PARTS = "column_parts", TOTALS = "column_totals");

/// Rows that are summed before their sums are.
const ROWS: usize = 64;

/// Neighboring columns of a matrix with `rows` rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ColumnSums<'a> {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) matrix: &'a Buffer,
    pub(crate) first: usize,
    pub(crate) width: usize,
}

impl ColumnSums<'_> {
    /// `out` = the sums, or += them.
    pub(crate) fn write(self, recording: &mut Recording<'_>, out: &Buffer, accumulates: bool) {
        let Self { rows, columns, matrix, first, width } = self;
        if columns == 0 {
            return;
        }
        let chunks = rows.div_ceil(ROWS);
        let parts = recording.room(chunks * columns);
        let x = columns.div_ceil(64) as u32;
        if chunks > 0 {
            let parameters = words![rows, columns, first, width, 0u32];
            recording.run(PARTS, &[Read(matrix), Write(&parts)], &parameters, [x, chunks as u32]);
        }
        let totals = ColumnSums { rows: chunks, columns, matrix: &parts, first: 0, width: columns };
        totals.write_at_once(recording, out, accumulates);
    }

    /// The same for few rows.
    pub(crate) fn write_at_once(self, recording: &mut Recording<'_>, out: &Buffer, adds: bool) {
        let parameters = words![self.rows, self.columns, self.first, self.width, adds];
        let groups = [self.columns.div_ceil(64) as u32, 1];
        recording.run(TOTALS, &[Read(self.matrix), Write(out)], &parameters, groups);
    }
}
