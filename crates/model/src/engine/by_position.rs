//! Decoders in which a position reads the output of the one before.

use attentive_base::batch::TokenId;

use super::{Engine, LastLayer, RamState};

impl Engine {
    /// Like [`Engine::extend`], one position after the other. A row that has read all of its tokens reads the
    /// last one again, and then gets its state back.
    pub(super) fn extend_by_position(
        &self,
        tokens: &[TokenId],
        lens: &[usize],
        state: &mut RamState,
    ) -> LastLayer {
        let rows = 0..lens.len();
        let first = |row: usize| lens[..row].iter().sum::<usize>();
        let firsts: Vec<usize> = rows.clone().map(first).collect();
        let at = |position: usize, state: &mut RamState| {
            let token = |row: usize| tokens[firsts[row] + position.min(lens[row] - 1)];
            let next: Vec<TokenId> = rows.clone().map(token).collect();
            self.extend(&next, &vec![1; lens.len()], state)
        };
        let mut last = at(0, state);
        for position in 1..lens.iter().copied().max().unwrap_or(0) {
            let before = (last.values, state.cells.clone(), state.attention.clone());
            last = at(position, state);
            for row in rows.clone().filter(|&row| position >= lens[row]) {
                state.rows[row].position -= 1;
                restore(&mut last.values, &before.0, row, self.projection.d_in());
                let widths = state.widths.cells.iter();
                for ((cells, before), &width) in state.cells.iter_mut().zip(&before.1).zip(widths) {
                    restore(cells, before, row, width);
                }
                if let (Some(attention), Some(before)) = (&mut state.attention, &before.2) {
                    attention[row].clone_from(&before[row]);
                }
            }
        }
        last
    }
}

/// Replaces a row of a matrix by that of the matrix `before`.
fn restore(matrix: &mut [f32], before: &[f32], row: usize, width: usize) {
    matrix[row * width..][..width].copy_from_slice(&before[row * width..][..width]);
}
