//! Where each of our parameters comes from.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::keys::not_understood;
use super::tensors::Tensors;
use crate::error::Result;

/// Stands for the number of a layer.
const NUMBER: &str = "{}";
/// Stands for the number of a layer, where the first is 1.
const FROM_ONE: &str = "{1}";

/// The names of a kind of model: the path of a layer or parameter of ours, and where it comes from. The first entry that fits
/// counts. `{}` stands for the number of a layer.
pub(super) type Names = &'static [(&'static str, Source)];

/// Where a parameter comes from. For a path of a layer, `.weight` or `.bias` is appended to the name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Source {
    /// The same tensor.
    Same(&'static str),
    /// A matrix `[in, out]`, which is transposed. A bias is the same.
    Transposed(&'static str),
    /// Part `part` of `of` of a matrix `[in, of * out]`, which is transposed, and of its bias.
    Part {
        /// Their name.
        name: &'static str,
        /// Counted from 0.
        part: usize,
        /// The number of equal parts.
        of: usize,
    },
    /// A table, to each row of which the first row of another is added.
    Plus(&'static str, &'static str),
    /// The same number everywhere, and no tensor.
    Filled(f32),
    /// Another source, and after its last row one of this number. Of a vector, a row is a number.
    Extended(&'static Source, f32),
}

/// The tensors of a model, under our names.
#[derive(Debug)]
pub(super) struct Recipe {
    pub(super) dir: PathBuf,
    pub(super) tensors: Tensors,
    /// Tried in this order.
    pub(super) names: Vec<Names>,
    /// Their tensors that are not ours: masks and copies. `{}` stands for any number.
    pub(super) unused: Vec<Unused>,
    /// What the names of some tensors begin with in some files, and not in others.
    pub(super) prefix: &'static str,
    /// A table of positions that is computed, not stored.
    pub(super) positions: Option<Sinusoids>,
}

/// A tensor that is not read.
#[derive(Debug)]
pub(super) enum Unused {
    /// Whatever it holds.
    Ignored(&'static str),
    /// It holds the same numbers as the other.
    CopyOf(&'static str, &'static str),
    /// All whose names end like this.
    Ending(&'static str),
}

/// sin and cos of positions, one after the other: those of `tensor2tensor`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sinusoids {
    /// The row that holds zeros.
    pub(super) padding: usize,
}

impl Recipe {
    /// Refuses tensors that are missing, of another shape than `parameters` (name and shape), of a type that cannot be read, or
    /// unknown.
    pub(super) fn check(&self, parameters: &[(String, Vec<usize>)]) -> Result<()> {
        let mut used = BTreeSet::new();
        for (name, shape) in parameters {
            if self.is_computed(name) {
                continue;
            }
            for (theirs, expected) in self.theirs(name)?.needs(shape) {
                self.check_tensor(&theirs, &expected)?;
                used.insert(theirs);
            }
        }
        for name in self.tensors.names().filter(|name| !used.contains(*name)) {
            self.check_unused(name)?;
        }
        Ok(())
    }

    fn check_tensor(&self, name: &str, expected: &[usize]) -> Result<()> {
        let found = self.tensors.shape(name)?;
        let rank = expected.len();
        let same = match rank {
            // Some biases are stored as a row.
            1 => found == expected || found == [1, expected[0]],
            // Of a table whose first row is added, any number of rows.
            2 if expected[0] == 0 => found.len() == 2 && found[0] > 0 && found[1] == expected[1],
            _ => found == expected,
        };
        if !same {
            return Err(not_understood(
                &self.dir,
                format!("tensor `{name}` has shape {found:?}, expected {expected:?}"),
            ));
        }
        self.tensors.check_type(name)
    }

    fn check_unused(&self, name: &str) -> Result<()> {
        let refuse = |problem: String| Err(not_understood(&self.dir, problem));
        let bare = name.strip_prefix(self.prefix).unwrap_or(name);
        for unused in &self.unused {
            match unused {
                Unused::Ignored(pattern) if numbered(pattern, bare).is_some() => return Ok(()),
                Unused::Ending(end) if bare.ends_with(end) => return Ok(()),
                Unused::CopyOf(copy, original) if *copy == bare => {
                    self.tensors.check_type(name)?;
                    let original = self.stored((*original).to_owned());
                    let same = self.tensors.values(name)? == self.tensors.values(&original)?;
                    return match same {
                        true => Ok(()),
                        false => refuse(format!(
                            "`{name}` and `{original}` should be the same tensor, but differ"
                        )),
                    };
                }
                _ => {}
            }
        }
        refuse(format!("tensor `{name}` is unknown"))
    }

    /// The values of our parameter `name`.
    pub(super) fn values(&self, name: &str, shape: &[usize]) -> io::Result<Cow<'_, [f32]>> {
        match self.positions {
            Some(sinusoids) if self.is_computed(name) => Ok(sinusoids.table(shape).into()),
            _ => {
                let theirs = self.theirs(name);
                let values = theirs.and_then(|theirs| theirs.values(&self.tensors, shape));
                values.map_err(io::Error::other)
            }
        }
    }

    fn is_computed(&self, name: &str) -> bool {
        self.positions.is_some() && name.ends_with(".positions.learned")
    }

    /// Where our parameter `name` comes from.
    fn theirs(&self, name: &str) -> Result<Theirs> {
        let found = theirs(&self.names, name).ok_or_else(|| {
            let problem = format!("this kind of model has no tensor for our parameter `{name}`");
            not_understood(Path::new(&self.dir), problem)
        });
        found.map(|theirs| theirs.renamed(|name| self.stored(name)))
    }

    /// The name under which the file has the tensor `name`: with a prefix, or with the names of early versions.
    fn stored(&self, name: String) -> String {
        let old = match (name.strip_suffix(".weight"), name.strip_suffix(".bias")) {
            (Some(layer), _) => format!("{layer}.gamma"),
            (_, Some(layer)) => format!("{layer}.beta"),
            _ => name.clone(),
        };
        let others = [
            format!("{}{name}", self.prefix),
            old.clone(),
            format!("{}{old}", self.prefix),
        ];
        match self.tensors.has(&name) {
            true => name,
            false => {
                let mut others = others.into_iter();
                others.find(|other| self.tensors.has(other)).unwrap_or(name)
            }
        }
    }
}

/// What our parameter `name` is made of, by the first of these tables that has it.
pub(super) fn theirs(names: &[Names], name: &str) -> Option<Theirs> {
    let mut names = names.iter().copied().flatten();
    names.find_map(|(ours, source)| source.of(ours, name))
}

/// The tensors that one parameter of ours is made of.
#[derive(Debug, PartialEq)]
pub(super) enum Theirs {
    Same(String),
    Transposed(String),
    /// Of the tensor, this part of so many. A matrix is transposed.
    Part(String, usize, usize),
    Plus(String, String),
    Filled(f32),
    Extended(Box<Theirs>, f32),
}

impl Source {
    /// The tensors of our parameter `name`, if its path begins like `ours`.
    fn of(self, ours: &str, name: &str) -> Option<Theirs> {
        let (number, rest) = numbered_prefix(ours, name)?;
        let rest = match rest {
            "" => "",
            ".weight" | ".gain" => ".weight",
            ".bias" => ".bias",
            _ => return None,
        };
        let is_vector = rest == ".bias";
        let full = |theirs: &str| with_number(theirs, number) + rest;
        Some(match self {
            Self::Transposed(theirs) if !is_vector => Theirs::Transposed(full(theirs)),
            Self::Same(theirs) | Self::Transposed(theirs) => Theirs::Same(full(theirs)),
            Self::Part { name, part, of } => Theirs::Part(full(name), part, of),
            Self::Plus(table, added) => Theirs::Plus(full(table), full(added)),
            Self::Filled(number) => Theirs::Filled(number),
            Self::Extended(source, number) => {
                Theirs::Extended(Box::new(source.of(ours, name)?), number)
            }
        })
    }
}

impl Theirs {
    /// The same with other names.
    fn renamed(self, rename: impl Fn(String) -> String + Copy) -> Self {
        match self {
            Self::Same(name) => Self::Same(rename(name)),
            Self::Transposed(name) => Self::Transposed(rename(name)),
            Self::Part(name, part, of) => Self::Part(rename(name), part, of),
            Self::Plus(table, added) => Self::Plus(rename(table), rename(added)),
            Self::Filled(number) => Self::Filled(number),
            Self::Extended(theirs, number) => {
                Self::Extended(Box::new(theirs.renamed(rename)), number)
            }
        }
    }

    /// Names and shapes of the tensors that make a parameter of this `shape`. No rows stand for any number of rows.
    fn needs(&self, shape: &[usize]) -> Vec<(String, Vec<usize>)> {
        match self {
            Self::Same(name) => vec![(name.clone(), shape.to_vec())],
            Self::Transposed(name) => vec![(name.clone(), shape.iter().rev().copied().collect())],
            Self::Part(name, _, of) => {
                let mut theirs: Vec<usize> = shape.iter().rev().copied().collect();
                if let Some(width) = theirs.last_mut() {
                    *width *= of;
                }
                vec![(name.clone(), theirs)]
            }
            Self::Plus(table, added) => vec![
                (table.clone(), shape.to_vec()),
                (added.clone(), vec![0, shape[1]]),
            ],
            Self::Filled(_) => Vec::new(),
            Self::Extended(theirs, _) => theirs.needs(&before_last_row(shape)),
        }
    }

    /// The values of a parameter of this `shape`.
    fn values<'a>(&self, tensors: &'a Tensors, shape: &[usize]) -> Result<Cow<'a, [f32]>> {
        Ok(match self {
            Self::Same(name) => tensors.values(name)?,
            Self::Transposed(name) => columns(&tensors.values(name)?, shape[0], 0..shape[0]).into(),
            Self::Part(name, part, of) => {
                let (values, d_out) = (tensors.values(name)?, shape[0]);
                columns(&values, of * d_out, part * d_out..(part + 1) * d_out).into()
            }
            Self::Plus(table, added) => {
                let mut table = tensors.values(table)?.into_owned();
                let added = tensors.values(added)?;
                for row in table.chunks_exact_mut(shape[1]) {
                    row.iter_mut()
                        .zip(&*added)
                        .for_each(|(x, added)| *x += added);
                }
                table.into()
            }
            Self::Filled(number) => vec![*number; shape.iter().product()].into(),
            Self::Extended(theirs, number) => {
                let values = theirs.values(tensors, &before_last_row(shape))?;
                let mut values = values.into_owned();
                values.resize(shape.iter().product(), *number);
                values.into()
            }
        })
    }
}

/// The shape of a table of this `shape` without its last row.
fn before_last_row(shape: &[usize]) -> Vec<usize> {
    let mut shape = shape.to_vec();
    shape[0] -= 1;
    shape
}

/// The columns `wanted` of the matrix `values`, whose rows are `width` long, one after the other.
fn columns(values: &[f32], width: usize, wanted: Range<usize>) -> Vec<f32> {
    let column = |column| values.iter().skip(column).step_by(width.max(1)).copied();
    wanted.flat_map(column).collect()
}

/// Their name with the number of the layer, `number` for ours.
fn with_number(theirs: &str, number: &str) -> String {
    let from_one = number.parse().map_or(0, |number: usize| number + 1);
    theirs
        .replace(NUMBER, number)
        .replace(FROM_ONE, &from_one.to_string())
}

/// The number in `name` and what follows, if it begins like `pattern`.
fn numbered_prefix<'a>(pattern: &str, name: &'a str) -> Option<(&'a str, &'a str)> {
    let Some((before, after)) = pattern.split_once(NUMBER) else {
        return Some(("", name.strip_prefix(pattern)?));
    };
    let rest = name.strip_prefix(before)?;
    let end = rest
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(rest.len());
    let (number, rest) = rest.split_at(end);
    Some((number, rest.strip_prefix(after)?)).filter(|_| !number.is_empty())
}

/// The number in `name`, if it is like `pattern`.
fn numbered<'a>(pattern: &str, name: &'a str) -> Option<&'a str> {
    let (number, rest) = numbered_prefix(pattern, name)?;
    rest.is_empty().then_some(number)
}

impl Sinusoids {
    /// A table of this `shape`: rows and width.
    fn table(self, shape: &[usize]) -> Vec<f32> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_layers_are_found() {
        let pattern = "layers.{}.query";
        assert_eq!(
            numbered_prefix(pattern, "layers.12.query.weight"),
            Some(("12", ".weight"))
        );
        assert_eq!(numbered_prefix(pattern, "layers.x.query"), None);
        assert_eq!(numbered_prefix("head", "head.bias"), Some(("", ".bias")));
        assert_eq!(numbered("h.{}.mask", "h.3.mask"), Some("3"));
        assert_eq!(numbered("h.{}.mask", "h.3.masks"), None);
    }

    #[test]
    fn sources_name_their_tensors() {
        let attention = "layers.{}.attention";
        let name = "layers.3.attention.weight";
        let same = |name: &str| Some(Theirs::Same(name.into()));
        let one_based = Source::Transposed("l{1}_W");
        assert_eq!(
            one_based.of("layers.{}.attention.weight", name),
            Some(Theirs::Transposed("l4_W".into()))
        );
        let bias = "layers.3.attention.bias";
        assert_eq!(
            Source::Transposed("h.{}").of(attention, bias),
            same("h.3.bias")
        );
        assert_eq!(Source::Same("h.{}").of(attention, name), same("h.3.weight"));
        assert_eq!(
            Source::Same("h.{}").of(attention, "layers.3.attentions"),
            None
        );
    }

    #[test]
    fn columns_are_transposed() {
        let values = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        assert_eq!(columns(&values, 3, 0..3), [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
        assert_eq!(columns(&values, 3, 1..2), [2.0, 5.0]);
    }

    #[test]
    fn rows_are_added() {
        let extended = Theirs::Extended(Box::new(Theirs::Filled(0.0)), 7.0);
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("model.bin");
        let (version, none) = (1u64.to_le_bytes(), 0u64.to_le_bytes());
        std::fs::write(&path, [version, none, none].concat()).unwrap();
        let tensors = Tensors::binary(&path).unwrap();
        let values = extended.values(&tensors, &[3, 2]).unwrap();
        assert_eq!(*values, [0.0, 0.0, 0.0, 0.0, 7.0, 7.0]);
        let one = Theirs::Extended(Box::new(Theirs::Transposed("W".into())), 0.0);
        assert_eq!(one.needs(&[3, 2]), [("W".to_owned(), vec![2, 2])]);
    }
}
