//! The other tool's tensors from which one of our parameters is made.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use attentive_base::error::Result;

use crate::tensors::Tensors;

/// The other tool's tensors from which one of our parameters is made.
#[derive(Debug, PartialEq)]
pub(crate) enum ParameterSource {
    Same(String),
    Transposed(String),
    /// A part of the tensor: its number, counted from 0, and the number of equal parts. A matrix is
    /// transposed.
    Part(String, usize, usize),
    Rows(String),
    Plus(String, String),
    Filled(f32),
    Extended(Box<ParameterSource>, f32),
}

impl ParameterSource {
    /// Returns the same with other names.
    pub(super) fn renamed(self, rename: impl Fn(String) -> String + Copy) -> Self {
        match self {
            Self::Same(name) => Self::Same(rename(name)),
            Self::Transposed(name) => Self::Transposed(rename(name)),
            Self::Part(name, part, of) => Self::Part(rename(name), part, of),
            Self::Rows(name) => Self::Rows(rename(name)),
            Self::Plus(table, added) => Self::Plus(rename(table), rename(added)),
            Self::Filled(number) => Self::Filled(number),
            Self::Extended(source, number) => Self::Extended(Box::new(source.renamed(rename)), number),
        }
    }

    /// Returns the names and shapes of the tensors that make a parameter of this `shape`.
    pub(super) fn needs(&self, shape: &[usize]) -> Vec<(String, ExpectedShape)> {
        let reversed = || shape.iter().rev().copied();
        let one = |name: &String, shape| vec![(name.clone(), shape)];
        match self {
            Self::Same(name) => one(name, ExpectedShape::Exactly(shape.to_vec())),
            Self::Transposed(name) => one(name, ExpectedShape::Exactly(reversed().collect())),
            Self::Part(name, _, of) => {
                let mut whole: Vec<usize> = reversed().collect();
                if let Some(width) = whole.last_mut() {
                    *width *= of;
                }
                one(name, ExpectedShape::Exactly(whole))
            }
            Self::Rows(table) => one(table, ExpectedShape::rows(shape[0], shape)),
            Self::Plus(table, added) => {
                vec![
                    (table.clone(), ExpectedShape::rows(shape[0], shape)),
                    (added.clone(), ExpectedShape::rows(1, shape)),
                ]
            }
            Self::Filled(_) => Vec::new(),
            Self::Extended(source, _) => source.needs(&before_last_row(shape)),
        }
    }

    /// Returns the values of a parameter of this `shape`.
    pub(super) fn values<'a>(&self, tensors: &'a Tensors, shape: &[usize]) -> Result<Cow<'a, [f32]>> {
        Ok(match self {
            Self::Same(name) => tensors.values(name)?,
            Self::Transposed(name) => columns(&tensors.values(name)?, shape[0], 0..shape[0]).into(),
            Self::Part(name, part, of) => {
                let (values, d_out) = (tensors.values(name)?, shape[0]);
                columns(&values, of * d_out, part * d_out..(part + 1) * d_out).into()
            }
            Self::Rows(table) => first_rows(tensors.values(table)?, shape),
            Self::Plus(table, added) => {
                let mut table = first_rows(tensors.values(table)?, shape).into_owned();
                let added = tensors.values(added)?;
                for row in table.chunks_exact_mut(shape[1]) {
                    row.iter_mut().zip(&*added).for_each(|(x, added)| *x += added);
                }
                table.into()
            }
            Self::Filled(number) => vec![*number; shape.iter().product()].into(),
            Self::Extended(source, number) => {
                let values = source.values(tensors, &before_last_row(shape))?;
                let mut values = values.into_owned();
                values.resize(shape.iter().product(), *number);
                values.into()
            }
        })
    }
}

/// The shape that a tensor must have.
#[derive(Debug, PartialEq)]
pub(super) enum ExpectedShape {
    Exactly(Vec<usize>),
    /// A table with at least this many rows.
    Rows {
        at_least: usize,
        width: usize,
    },
}

impl ExpectedShape {
    /// The shape of a table as wide as one of this `shape`.
    fn rows(at_least: usize, shape: &[usize]) -> Self {
        let width = shape[1];
        Self::Rows { at_least, width }
    }

    /// True if a tensor of the shape `found` fits.
    pub(super) fn fits(&self, found: &[usize]) -> bool {
        match (self, found) {
            // Some biases are stored as a row.
            (Self::Exactly(expected), [1, d]) if expected.len() == 1 => expected == &[*d],
            (Self::Exactly(expected), _) => expected == found,
            (Self::Rows { at_least, width }, [rows, d]) => rows >= at_least && d == width,
            (Self::Rows { .. }, _) => false,
        }
    }
}

impl fmt::Display for ExpectedShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exactly(shape) => write!(f, "{shape:?}"),
            Self::Rows { at_least, width } => write!(f, "{at_least} or more rows of {width}"),
        }
    }
}

/// Returns the first rows of a longer table, as many as a table of this `shape` has.
fn first_rows<'a>(values: Cow<'a, [f32]>, shape: &[usize]) -> Cow<'a, [f32]> {
    let size = shape.iter().product();
    match values {
        Cow::Borrowed(values) => Cow::Borrowed(&values[..size]),
        Cow::Owned(mut values) => {
            values.truncate(size);
            Cow::Owned(values)
        }
    }
}

/// The shape of a table of this `shape` without its last row.
fn before_last_row(shape: &[usize]) -> Vec<usize> {
    let mut shape = shape.to_vec();
    shape[0] -= 1;
    shape
}

/// Returns the columns `wanted` of the matrix `values`, whose rows have `width` numbers, one after the other.
fn columns(values: &[f32], width: usize, wanted: Range<usize>) -> Vec<f32> {
    let column = |column| values.iter().skip(column).step_by(width.max(1)).copied();
    wanted.flat_map(column).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_transposed() {
        let values = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        assert_eq!(columns(&values, 3, 0..3), [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
        assert_eq!(columns(&values, 3, 1..2), [2.0, 5.0]);
    }

    #[test]
    fn rows_are_added() {
        let extended = ParameterSource::Extended(Box::new(ParameterSource::Filled(0.0)), 7.0);
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("model.bin");
        let (version, none) = (1u64.to_le_bytes(), 0u64.to_le_bytes());
        std::fs::write(&path, [version, none, none].concat()).unwrap();
        let tensors = Tensors::binary(&path).unwrap();
        let values = extended.values(&tensors, &[3, 2]).unwrap();
        assert_eq!(*values, [0.0, 0.0, 0.0, 0.0, 7.0, 7.0]);
        let one = ParameterSource::Extended(Box::new(ParameterSource::Transposed("W".into())), 0.0);
        let shape = ExpectedShape::Exactly(vec![2, 2]);
        assert_eq!(one.needs(&[3, 2]), [("W".to_owned(), shape)]);
    }

    #[test]
    fn tables_may_have_more_rows_than_are_read() {
        let values = [1.0, 2.0, 3.0, 4.0];
        assert_eq!(*first_rows(Cow::Borrowed(&values), &[1, 2]), [1.0, 2.0]);
        assert_eq!(*first_rows(values.to_vec().into(), &[1, 2]), [1.0, 2.0]);
        let (_, shape) = &ParameterSource::Rows("P".into()).needs(&[3, 2])[0];
        assert!(shape.fits(&[3, 2]) && shape.fits(&[4, 2]));
        assert!(!shape.fits(&[2, 2]) && !shape.fits(&[3, 3]) && !shape.fits(&[6]));
        assert_eq!(shape.to_string(), "3 or more rows of 2");
    }

    #[test]
    fn vectors_may_be_stored_as_rows() {
        let shape = ExpectedShape::Exactly(vec![3]);
        assert!(shape.fits(&[3]) && shape.fits(&[1, 3]));
        assert!(!shape.fits(&[3, 1]) && !shape.fits(&[2, 3]));
    }
}
