//! Matrices of a trace, which know their names.

use std::fmt::{self, Display, Formatter};
use std::ops::Range;
use std::rc::Rc;

/// A matrix of activations, a row for each position, with the name of the operation that computed it. Clones
/// are cheap.
#[derive(Clone, Debug)]
pub struct TraceMatrix {
    name: Rc<str>,
    rows: usize,
    columns: usize,
    values: Rc<[f32]>,
}

impl Display for TraceMatrix {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl TraceMatrix {
    /// The matrix of these values, row after row.
    ///
    /// # Panics
    /// If their number does not fit the shape.
    pub fn new(name: &str, [rows, columns]: [usize; 2], values: Vec<f32>) -> Self {
        assert_eq!(values.len(), rows * columns, "the values of {name}");
        Self { name: name.into(), rows, columns, values: values.into() }
    }

    pub(super) fn zeros(name: &str, shape: [usize; 2]) -> Self {
        Self::new(name, shape, vec![0.0; shape[0] * shape[1]])
    }

    /// The rows of all matrices, one below the other.
    pub(super) fn stacked(name: &str, parts: &[Self]) -> Self {
        let (rows, columns) =
            (parts.iter().map(Self::rows).sum(), parts.first().map_or(0, |part| part.columns));
        let values = parts.iter().flat_map(|part| part.values.iter().copied()).collect();
        Self::new(name, [rows, columns], values)
    }

    /// The matrices side by side.
    pub(super) fn joined(name: &str, parts: &[Self]) -> Self {
        let (rows, columns) = (parts[0].rows, parts.iter().map(|part| part.columns).sum());
        let row = |row: usize| parts.iter().flat_map(move |part| part.row(row).iter().copied());
        Self::new(name, [rows, columns], (0..rows).flat_map(row).collect())
    }

    pub(super) fn named(self, name: &str) -> Self {
        Self { name: name.into(), ..self }
    }

    /// Returns the name of the operation.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the number of columns.
    pub fn columns_count(&self) -> usize {
        self.columns
    }

    /// Returns the values, row after row.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    pub(super) fn row(&self, row: usize) -> &[f32] {
        &self.values[row * self.columns..][..self.columns]
    }

    /// A row as a matrix.
    pub(super) fn row_alone(&self, row: usize) -> Self {
        Self::new(&format!("{self}[{row}]"), [1, self.columns], self.row(row).to_vec())
    }

    pub(super) fn columns(&self, range: Range<usize>) -> Self {
        let rows = (0..self.rows).flat_map(|row| self.row(row)[range.clone()].to_vec());
        Self::new(&self.name, [self.rows, range.len()], rows.collect())
    }

    pub(super) fn mean_row(&self) -> Self {
        let mean = |column: usize| {
            let sum: f64 = (0..self.rows).map(|row| f64::from(self.row(row)[column])).sum();
            (sum / self.rows as f64) as f32
        };
        Self::new(&self.name, [1, self.columns], (0..self.columns).map(mean).collect())
    }

    pub(super) fn map(&self, f: impl Fn(f32) -> f32) -> Self {
        Self::new(&self.name, [self.rows, self.columns], self.values.iter().map(|&x| f(x)).collect())
    }

    pub(super) fn zip(&self, other: &Self, f: impl Fn(f32, f32) -> f32) -> Self {
        let values = self.values.iter().zip(other.values.iter()).map(|(&a, &b)| f(a, b)).collect();
        Self::new(&self.name, [self.rows, self.columns], values)
    }

    /// x·Wᵀ + b for a `weight` `[d_out, columns]`.
    pub(super) fn times(&self, weight: &[f32], bias: Option<&[f32]>) -> Self {
        let d_out = weight.len() / self.columns.max(1);
        let mut values = Vec::with_capacity(self.rows * d_out);
        for row in 0..self.rows {
            let x = self.row(row);
            for (column, weights) in weight.chunks_exact(self.columns.max(1)).enumerate() {
                let bias = bias.map_or(0.0, |bias| f64::from(bias[column]));
                values.push((dot(x, weights) + bias) as f32);
            }
        }
        Self::new(&self.name, [self.rows, d_out], values)
    }

    pub(super) fn softmax_rows(&self) -> Self {
        let rows = (0..self.rows).flat_map(|row| softmax(self.row(row)));
        Self::new(&self.name, [self.rows, self.columns], rows.collect())
    }
}

pub(super) fn dot(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum()
}

/// e^x / Σ e^x
pub(super) fn softmax(scores: &[f32]) -> Vec<f32> {
    let largest = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let exp = |score: f32| f64::from(score - largest).exp();
    let sum: f64 = scores.iter().map(|&score| exp(score)).sum();
    scores.iter().map(|&score| (exp(score) / sum) as f32).collect()
}
