//! Lengths of the sequences in a padded batch.

use std::sync::Arc;

/// Sequence lengths in rows of equal width: row i holds `lens[i]` real positions, then padding.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lengths {
    lens: Arc<[usize]>,
    width: usize,
}

impl Lengths {
    /// Lengths `lens` in rows of `width`.
    ///
    /// # Panics
    /// If a sequence is longer than `width`.
    pub fn new(lens: impl Into<Arc<[usize]>>, width: usize) -> Self {
        let lens = lens.into();
        for &len in &*lens {
            assert!(len <= width, "length {len} exceeds the row width {width}");
        }
        Self { lens, width }
    }

    /// `rows` sequences without padding.
    pub fn full(rows: usize, width: usize) -> Self {
        Self { lens: vec![width; rows].into(), width }
    }

    /// Length of each row.
    pub fn lens(&self) -> &[usize] {
        &self.lens
    }

    /// Number of sequences.
    pub fn rows(&self) -> usize {
        self.lens.len()
    }

    /// Positions per row, including padding.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Number of positions of all rows, including padding.
    pub fn positions(&self) -> usize {
        self.rows() * self.width
    }

    /// Number of real positions of all rows.
    pub fn total(&self) -> usize {
        self.lens.iter().sum()
    }

    /// Length of the longest sequence, 0 without sequences.
    pub fn max(&self) -> usize {
        self.lens.iter().copied().max().unwrap_or(0)
    }

    /// The padding mask: whether each position, row by row, is padding.
    pub fn mask(&self) -> impl Iterator<Item = bool> {
        let row = |&len| (0..self.width).map(move |position| position >= len);
        self.lens.iter().flat_map(row)
    }

    /// For each row, the index of its last real position among all positions, or of its first if the row is
    /// empty.
    pub fn last_rows(&self) -> Vec<usize> {
        let lens = self.lens.iter().enumerate();
        lens.map(|(row, &len)| row * self.width + len.saturating_sub(1)).collect()
    }

    /// For each row, the index of its first position among all positions.
    pub fn first_rows(&self) -> Vec<usize> {
        (0..self.rows()).map(|row| row * self.width).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_real_up_to_the_length() {
        let lengths = Lengths::new([2, 0, 3], 3);
        let mask: Vec<bool> = lengths.mask().collect();
        let pad = [false, false, true, true, true, true, false, false, false];
        assert_eq!(mask, pad);
        let sizes = (lengths.rows(), lengths.width(), lengths.max());
        assert_eq!(sizes, (3, 3, 3));
        assert_eq!((lengths.positions(), lengths.total()), (9, 5));
        assert_eq!(lengths.last_rows(), [1, 3, 8]);
        assert_eq!(lengths.first_rows(), [0, 3, 6]);
        assert!(Lengths::full(2, 4).mask().all(|pad| !pad));
        assert_eq!(Lengths::default().max(), 0);
    }

    #[test]
    #[should_panic(expected = "length 4 exceeds the row width 3")]
    fn an_overlong_sequence_is_refused() {
        Lengths::new([4], 3);
    }
}
