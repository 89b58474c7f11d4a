//! Why numbers are not a packed matrix.

use std::fmt;

/// Why numbers are not a packed matrix.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PackedError {
    /// The number of elements does not fit the shape.
    Length {
        /// Values, scales or sums.
        what: &'static str,
        /// What the shape needs; `None` if it exceeds the address space.
        expected: Option<usize>,
        /// What there is.
        found: usize,
    },
    /// Bytes do not start at a multiple of the size of their numbers, or end inside a number.
    Alignment {
        /// Values, scales or sums.
        what: &'static str,
    },
    /// The sums of products of bytes could overflow.
    Depth {
        /// Columns of the input.
        k: usize,
        /// The most that is allowed.
        most: usize,
    },
}

impl fmt::Display for PackedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length { what, expected: Some(expected), found } => {
                write!(f, "a packed matrix has {found} {what}, but its shape needs {expected}")
            }
            Self::Length { what, .. } => {
                write!(f, "a packed matrix needs more {what} than memory can hold")
            }
            Self::Alignment { what } => write!(
                f,
                "the {what} of a packed matrix do not start or end at a multiple of their size in bytes"
            ),
            Self::Depth { k, most } => write!(
                f,
                "a matrix with {k} columns cannot be multiplied in 8-bit integers: at most {most} are \
                 possible"
            ),
        }
    }
}

impl std::error::Error for PackedError {}
