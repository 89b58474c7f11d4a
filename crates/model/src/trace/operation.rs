//! The operations of a trace.

use super::TraceMatrix;

/// The values of an operation: a matrix, or one for each attention head.
#[derive(Clone, Debug, PartialEq)]
pub struct TracedValues {
    /// `[rows, columns]`, or `[heads, rows, columns]`.
    pub shape: Vec<usize>,
    /// The last dimension varies fastest.
    pub values: Vec<f32>,
}

/// An operation with its result.
#[derive(Clone, Debug, PartialEq)]
pub struct TracedOperation {
    /// Where it is, for example `encoder.layers.0.self_attention.scores`.
    pub name: String,
    /// The position of the target, for decoders that compute one position after the other.
    pub position: Option<usize>,
    /// How the result is computed, with the names of what it is computed from.
    pub formula: String,
    /// The result.
    pub result: TracedValues,
}

impl TracedOperation {
    /// Returns the mean of all values; NaN if there are none.
    pub fn mean(&self) -> f64 {
        let values = &self.result.values;
        values.iter().map(|&x| f64::from(x)).sum::<f64>() / values.len() as f64
    }

    /// Returns the square root of the sum of the squares of all values.
    pub fn norm(&self) -> f64 {
        self.result.values.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt()
    }

    /// Returns the largest absolute value; 0 without values, and NaN if one of them is NaN.
    pub fn largest(&self) -> f32 {
        let values = &self.result.values;
        if values.iter().any(|x| x.is_nan()) {
            return f32::NAN;
        }
        values.iter().fold(0.0, |largest, x| largest.max(x.abs()))
    }
}

impl From<&TraceMatrix> for TracedValues {
    fn from(matrix: &TraceMatrix) -> Self {
        Self { shape: vec![matrix.rows(), matrix.columns_count()], values: matrix.values().to_vec() }
    }
}
