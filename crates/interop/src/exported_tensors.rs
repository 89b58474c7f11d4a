//! Writes our parameters as the tensors of another tool, by reading the tables of names backwards.

use std::collections::BTreeMap;
use std::io;

use attentive_base::error::Result;

use super::export::{ExportProblem, UnsupportedFeatures};
use super::recipe::{NameMapping, ParameterSource, parameter_source};

/// The tensors of another tool, made from our parameters.
#[derive(Debug, Default)]
pub(super) struct ExportedTensors {
    tensors: BTreeMap<String, Made>,
}

/// The source of a tensor of the other tool, and its shape.
#[derive(Debug)]
struct Made {
    shape: Vec<usize>,
    from: From,
}

#[derive(Debug)]
enum From {
    /// Our parameter.
    Parameter(String),
    /// Our matrix of this many columns, transposed.
    Transposed(String, usize),
    /// So many numbers of our parameter, the first ones.
    First(String, usize),
    /// Our parameters, matrices of this many columns (1 for vectors), transposed and side by side.
    Joined(Vec<String>, usize),
    /// These rows of our parameter, each with this many numbers.
    Chosen(String, Vec<usize>, usize),
    /// These values.
    Values(Vec<f32>),
}

impl ExportedTensors {
    /// Creates the tensors of a model of this kind from which `names` makes `parameters` (name and shape).
    ///
    /// # Errors
    /// [`Error::Usage`](attentive_base::error::Error::Usage) for parameters without a name.
    pub(super) fn new(
        kind: &str,
        names: &[NameMapping],
        parameters: &[(String, Vec<usize>)],
    ) -> Result<Self> {
        let (mut exported, mut differences) = (Self::default(), UnsupportedFeatures::default());
        for (name, shape) in parameters {
            match parameter_source(names, name) {
                Some(source) => exported.add(name, shape, source),
                None => differences.add(format!("the parameter `{name}`")),
            }
        }
        differences.refuse(kind).map_err(ExportProblem::into_error)?;
        Ok(exported)
    }

    fn add(&mut self, name: &str, shape: &[usize], source: ParameterSource) {
        let columns = shape.get(1).copied().unwrap_or(1);
        let mut shape = shape.to_vec();
        let (tensor, from) = match source {
            ParameterSource::Same(tensor) => (tensor, From::Parameter(name.to_owned())),
            ParameterSource::Transposed(tensor) => {
                shape.reverse();
                (tensor, From::Transposed(name.to_owned(), columns))
            }
            ParameterSource::Part(tensor, part, of) => {
                shape.reverse();
                if let Some(width) = shape.last_mut() {
                    *width *= of;
                }
                return self.join(tensor, shape, name, [part, of], columns);
            }
            ParameterSource::Rows(tensor) | ParameterSource::Plus(tensor, _) => {
                (tensor, From::Parameter(name.to_owned()))
            }
            ParameterSource::Extended(source, _) => match *source {
                ParameterSource::Same(tensor) => (tensor, From::Parameter(name.to_owned())),
                _ => return,
            },
            ParameterSource::Filled(_) => return,
        };
        self.tensors.insert(tensor, Made { shape, from });
    }

    fn join(
        &mut self,
        tensor: String,
        shape: Vec<usize>,
        name: &str,
        [part, of]: [usize; 2],
        columns: usize,
    ) {
        let made = self
            .tensors
            .entry(tensor)
            .or_insert_with(|| Made { shape, from: From::Joined(vec![String::new(); of], columns) });
        if let From::Joined(parts, _) = &mut made.from {
            name.clone_into(&mut parts[part]);
        }
    }

    /// Adds a tensor that is not one of our parameters.
    pub(super) fn insert(&mut self, name: &str, shape: Vec<usize>, values: Vec<f32>) {
        let from = From::Values(values);
        self.tensors.insert(name.to_owned(), Made { shape, from });
    }

    /// Adds the tensor `name`, which is our parameter `ours`, one of `parameters` (name and shape).
    pub(super) fn copy(&mut self, name: &str, ours: &str, parameters: &[(String, Vec<usize>)]) {
        if let Some((_, shape)) = parameters.iter().find(|(parameter, _)| parameter == ours) {
            let from = From::Parameter(ours.to_owned());
            self.tensors.insert(name.to_owned(), Made { shape: shape.clone(), from });
        }
    }

    /// Adds the tensor `name`, which consists of these `rows` of our parameter `ours`. A row has this
    /// `shape`.
    pub(super) fn choose(&mut self, name: &str, ours: &str, rows: &[usize], shape: &[usize]) {
        let from = From::Chosen(ours.to_owned(), rows.to_vec(), shape.iter().product());
        let shape = [&[rows.len()], shape].concat();
        self.tensors.insert(name.to_owned(), Made { shape, from });
    }

    /// Leaves out all rows of the tensor `name`, a parameter of ours, but the first `rows`.
    pub(super) fn keep_rows(&mut self, name: &str, rows: usize) {
        let Some(Made { shape, from }) = self.tensors.get_mut(name) else { return };
        if let From::Parameter(parameter) = from {
            shape[0] = rows;
            *from = From::First(std::mem::take(parameter), shape.iter().product());
        }
    }

    /// Returns the names of the tensors that are made of our parameter `name` alone.
    pub(super) fn made_of(&self, name: &str) -> Vec<String> {
        let is_source = |made: &Made| match &made.from {
            From::Parameter(own) | From::Transposed(own, _) | From::First(own, _) => own == name,
            From::Joined(..) | From::Chosen(..) | From::Values(_) => false,
        };
        let tensors = self.tensors.iter().filter(|(_, made)| is_source(made));
        tensors.map(|(name, _)| name.clone()).collect()
    }

    /// Makes every vector a row.
    pub(super) fn with_rows(mut self) -> Self {
        for made in self.tensors.values_mut() {
            if let [d] = made.shape[..] {
                made.shape = vec![1, d];
            }
        }
        self
    }

    /// Gives the tensor `name` another shape with the same number of elements.
    pub(super) fn reshape(&mut self, name: &str, shape: Vec<usize>) {
        if let Some(made) = self.tensors.get_mut(name) {
            made.shape = shape;
        }
    }

    /// Puts `prefix` before all names except those that begin with one of `bare`.
    pub(super) fn prefix(&mut self, prefix: &str, bare: &[&str]) {
        let tensors = std::mem::take(&mut self.tensors).into_iter();
        let renamed = |name: String| {
            if bare.iter().any(|bare| name.starts_with(bare)) { name } else { format!("{prefix}{name}") }
        };
        self.tensors = tensors.map(|(name, made)| (renamed(name), made)).collect();
    }

    /// Returns the names and shapes of the tensors.
    pub(super) fn shapes(&self) -> Vec<(String, Vec<usize>)> {
        let shapes = self.tensors.iter();
        shapes.map(|(name, made)| (name.clone(), made.shape.clone())).collect()
    }

    /// Returns the values of the tensor `name`. `ours` returns the values of our parameters.
    pub(super) fn values(
        &self,
        name: &str,
        ours: &dyn Fn(&str) -> io::Result<Vec<f32>>,
    ) -> io::Result<Vec<f32>> {
        let made = self.tensors.get(name);
        let made = made.ok_or_else(|| io::Error::other(format!("no tensor `{name}`")))?;
        Ok(match &made.from {
            From::Parameter(name) => ours(name)?,
            From::Values(values) => values.clone(),
            From::Chosen(name, rows, width) => {
                let values = ours(name)?;
                let row = |&row: &usize| values.get(row * width..(row + 1) * width);
                let rows: Option<Vec<&[f32]>> = rows.iter().map(row).collect();
                let rows = rows.ok_or_else(|| io::Error::other(format!("`{name}` is too short")))?;
                rows.concat()
            }
            From::First(name, n) => {
                let mut values = ours(name)?;
                values.truncate(*n);
                values
            }
            From::Transposed(name, columns) => side_by_side(&[ours(name)?], *columns),
            From::Joined(names, columns) => {
                let parts: io::Result<Vec<_>> = names.iter().map(|name| ours(name)).collect();
                side_by_side(&parts?, *columns)
            }
        })
    }
}

/// Puts matrices of `columns` columns side by side, transposed.
fn side_by_side(matrices: &[Vec<f32>], columns: usize) -> Vec<f32> {
    let row = |column: usize| {
        let of_one = move |matrix: &Vec<f32>| -> Vec<f32> {
            matrix.iter().skip(column).step_by(columns.max(1)).copied().collect()
        };
        matrices.iter().flat_map(of_one)
    };
    (0..columns).flat_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipe::SourcePattern::{Part, Same, Transposed};
    use crate::recipe::names;

    const NAMES: NameMapping = names! {
        "a" => Same("A"),
        "b" => Transposed("B"),
        "q" => Part { name: "QK", part: 0, of: 2, },
        "k" => Part { name: "QK", part: 1, of: 2, },
    };

    #[test]
    fn matrices_are_transposed_and_joined() {
        let shape = |name: &str, shape: &[usize]| (name.to_owned(), shape.to_vec());
        let parameters = [
            shape("a", &[2]),
            shape("b.weight", &[2, 3]),
            shape("q.weight", &[1, 2]),
            shape("k.weight", &[1, 2]),
            shape("q.bias", &[1]),
            shape("k.bias", &[1]),
        ];
        let more = [parameters.clone().to_vec(), vec![shape("z", &[1])]].concat();
        let problem = ExportedTensors::new("Other", &[NAMES], &more).unwrap_err().to_string();
        assert!(problem.contains("cannot be represented as a Other model: the parameter `z`"), "{problem}");
        let mut exported = ExportedTensors::new("Other", &[NAMES], &parameters).unwrap();
        exported.insert("C", vec![1, 1], vec![9.0]);
        let ours = |name: &str| -> io::Result<Vec<f32>> {
            Ok(match name {
                "a" => vec![1.0, 2.0],
                "b.weight" => vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
                "q.weight" => vec![1.0, 2.0],
                "k.weight" => vec![3.0, 4.0],
                "q.bias" => vec![5.0],
                _ => vec![6.0],
            })
        };
        let expected: [(&str, &[usize], &[f32]); 5] = [
            ("A", &[2], &[1.0, 2.0]),
            ("B.weight", &[3, 2], &[1.0, 4.0, 2.0, 5.0, 3.0, 6.0]),
            ("C", &[1, 1], &[9.0]),
            ("QK.bias", &[2], &[5.0, 6.0]),
            ("QK.weight", &[2, 2], &[1.0, 3.0, 2.0, 4.0]),
        ];
        let shapes = exported.shapes();
        assert_eq!(shapes.len(), expected.len());
        for (name, shape, values) in expected {
            assert!(shapes.contains(&(name.to_owned(), shape.to_vec())), "{name}");
            assert_eq!(exported.values(name, &ours).unwrap(), values, "{name}");
        }
    }
}
