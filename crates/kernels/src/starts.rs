//! First positions of sequences.

use std::sync::Arc;

/// Position of the first token of each sequence in a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Starts {
    /// The same for all sequences.
    All(usize),
    /// One per sequence.
    Each(Arc<[usize]>),
}

impl Starts {
    /// The first position of sequence number `sequence`.
    ///
    /// # Panics
    /// If it is out of range.
    pub fn of(&self, sequence: usize) -> usize {
        match self {
            Self::All(start) => *start,
            Self::Each(starts) => starts[sequence],
        }
    }

    /// The position after the last token of sequences of `len` tokens.
    pub fn end(&self, len: usize) -> usize {
        let last = match self {
            Self::All(start) => *start,
            Self::Each(starts) => starts.iter().copied().max().unwrap_or(0),
        };
        last + len
    }

    /// The position of row `row` in a batch of sequences of `len` tokens.
    pub fn position(&self, row: usize, len: usize) -> usize {
        self.of(row / len) + row % len
    }

    /// Whether there is a start for each of `batch` sequences.
    pub fn fits(&self, batch: usize) -> bool {
        match self {
            Self::All(_) => true,
            Self::Each(starts) => starts.len() == batch,
        }
    }
}

impl From<usize> for Starts {
    fn from(start: usize) -> Self {
        Self::All(start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_from_each_start() {
        let each = Starts::Each([4, 0].into());
        let positions: Vec<usize> = (0..6).map(|row| each.position(row, 3)).collect();
        assert_eq!(positions, [4, 5, 6, 0, 1, 2]);
        assert_eq!((each.end(3), Starts::All(2).end(3)), (7, 5));
        assert_eq!(Starts::from(3).position(5, 4), 4);
        assert!(each.fits(2) && !each.fits(3) && Starts::All(1).fits(3));
    }
}
