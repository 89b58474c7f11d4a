//! Positions that are computed, not stored.

/// The sines and then the cosines of positions, as in `tensor2tensor`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SinusoidTable {
    /// The row that holds only zeros.
    pub(crate) padding: usize,
}

impl SinusoidTable {
    /// A table of this `shape`: rows and width.
    pub(crate) fn table(self, shape: &[usize]) -> Vec<f32> {
        let (rows, width) = (shape[0], shape[1]);
        let half = width / 2;
        // In f32, like the published models.
        let step = 10_000f32.ln() / (half as f32 - 1.0);
        let mut table = Vec::with_capacity(rows * width);
        for row in 0..rows {
            if row == self.padding {
                table.resize(table.len() + width, 0.0);
                continue;
            }
            let angle = |i: usize| row as f32 * (i as f32 * -step).exp();
            table.extend((0..half).map(|i| angle(i).sin()));
            table.extend((0..half).map(|i| angle(i).cos()));
            table.resize((row + 1) * width, 0.0);
        }
        table
    }
}
