//! Sequences of different lengths, side by side.

use burn::tensor::{Int, Tensor, TensorData};

use crate::ops::Lengths;

/// Rows of different numbers of vectors: row i holds `lens[i]` vectors, then padding that is never read.
///
/// Decoding keeps keys, values and memories in this form while rows are admitted and dropped.
#[derive(Clone, Debug)]
pub struct Ragged {
    /// `[rows · width, d]`; absent while there are no vectors.
    x: Option<Tensor<2>>,
    lens: Vec<usize>,
    width: usize,
    /// A pending selection of rows.
    moved: Option<Vec<usize>>,
}

impl Ragged {
    /// No rows.
    pub fn new() -> Self {
        Self {
            x: None,
            lens: Vec::new(),
            width: 0,
            moved: None,
        }
    }

    /// `rows` rows without vectors.
    pub fn empty(rows: usize) -> Self {
        Self {
            lens: vec![0; rows],
            ..Self::new()
        }
    }

    /// Padded rows, `[rows · width, d]`.
    pub fn padded(x: Tensor<2>, lengths: &Lengths) -> Self {
        Self {
            x: Some(x),
            lens: lengths.lens().to_vec(),
            width: lengths.width(),
            moved: None,
        }
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.moved.as_ref().map_or(self.lens.len(), Vec::len)
    }

    /// Replaces row `i` by the previous row `rows[i]`; the vectors are moved later. Has no effect without rows.
    pub fn select(&mut self, rows: &[usize]) {
        if self.rows() == 0 {
            return;
        }
        self.moved = Some(match self.moved.take() {
            Some(moved) => rows.iter().map(|&row| moved[row]).collect(),
            None => rows.to_vec(),
        });
    }

    /// Appends the rows of `other`.
    pub fn extend(&mut self, other: Self) {
        self.settle();
        let mut other = other;
        other.settle();
        let first = self.lens.len();
        let lens = [&*self.lens, &*other.lens].concat();
        let at = |row: usize, position: usize| match row < first {
            true => row * self.width + position,
            false => first * self.width + (row - first) * other.width + position,
        };
        let parts = self.x.take().into_iter().chain(other.x);
        *self = Self::gather(parts.collect(), lens, at);
    }

    /// Appends `count` vectors to each row, `[rows · count, d]`, of which `real` are real.
    pub fn append(&mut self, new: Tensor<2>, count: usize, real: &[usize]) {
        let rows = self.rows();
        let even =
            self.lens.iter().all(|&len| len == self.width) && real.iter().all(|&n| n == count);
        let Some(old) = self.x.take() else {
            *self = Self {
                x: Some(new),
                lens: real.to_vec(),
                width: count,
                moved: None,
            };
            return;
        };
        let (width, [_, d]) = (self.width, old.dims());
        if even && self.moved.is_none() {
            let old = old.reshape([rows, width * d]);
            let new = new.reshape([rows, count * d]);
            let both = Tensor::cat(vec![old, new], 1);
            self.width += count;
            self.lens.fill(self.width);
            self.x = Some(both.reshape([rows * self.width, d]));
            return;
        }
        let origins = self.moved.take().unwrap_or_else(|| (0..rows).collect());
        let before: Vec<usize> = origins.iter().map(|&row| self.lens[row]).collect();
        let lens = before
            .iter()
            .zip(real)
            .map(|(old, new)| old + new)
            .collect();
        let first_new = self.lens.len() * width;
        let at = |row: usize, position: usize| match position < before[row] {
            true => origins[row] * width + position,
            false => first_new + row * count + position - before[row],
        };
        *self = Self::gather(vec![old, new], lens, at);
    }

    /// The vectors `[rows · width, d]` and the number of real ones in each row.
    ///
    /// # Panics
    /// If there are no vectors.
    pub fn view(&mut self) -> (Tensor<2>, Lengths) {
        self.settle();
        let x = self.x.clone().expect("rows that hold vectors");
        (x, Lengths::new(self.lens.clone(), self.width))
    }

    /// Carries out a pending selection.
    fn settle(&mut self) {
        let Some(origins) = self.moved.take() else {
            return;
        };
        if origins.iter().copied().eq(0..self.lens.len()) {
            return;
        }
        let lens = origins.iter().map(|&row| self.lens[row]).collect();
        let width = self.width;
        let parts = self.x.take().into_iter().collect();
        let at = |row: usize, position: usize| origins[row] * width + position;
        *self = Self::gather(parts, lens, at);
    }

    /// Rows of `lens` vectors, where vector `position` of `row` is vector `at(row, position)` of all parts together.
    fn gather(parts: Vec<Tensor<2>>, lens: Vec<usize>, at: impl Fn(usize, usize) -> usize) -> Self {
        let width = lens.iter().copied().max().unwrap_or(0);
        let mut indices = Vec::with_capacity(lens.len() * width);
        for (row, &len) in lens.iter().enumerate() {
            // Padding repeats a vector and is never read.
            let place = |position: usize| match len {
                0 => 0,
                len => at(row, position.min(len - 1)),
            };
            indices.extend((0..width).map(|position| place(position) as i64));
        }
        Self {
            x: match indices.is_empty() {
                true => None,
                false => take(parts, indices),
            },
            lens,
            width,
            moved: None,
        }
    }
}

impl Default for Ragged {
    fn default() -> Self {
        Self::new()
    }
}

/// The rows `indices` of the concatenated `parts`; `None` without parts.
fn take(mut parts: Vec<Tensor<2>>, indices: Vec<i64>) -> Option<Tensor<2>> {
    let all = match parts.len() {
        0 => return None,
        1 => parts.remove(0),
        _ => Tensor::cat(parts, 0),
    };
    let count = indices.len();
    let data = TensorData::new(indices, [count]);
    let indices = Tensor::<1, Int>::from_data(data, &all.device());
    Some(all.select(0, indices))
}
