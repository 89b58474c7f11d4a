//! Where each of our parameters comes from.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use super::keys::not_understood;
use super::tensors::Tensors;
use crate::error::Result;

/// Stands for the number of a layer.
const NUMBER: &str = "{}";

/// The names of a kind of model: the path of a layer or parameter of ours, and theirs. `{}` stands for the number of a layer.
pub(super) type Names = &'static [(&'static str, &'static str)];

/// The tensors of a model, under our names.
#[derive(Debug)]
pub(super) struct Recipe {
    pub(super) dir: PathBuf,
    pub(super) tensors: Tensors,
    pub(super) names: Names,
    /// Their tensors that are not ours: masks and copies. `{}` stands for any number.
    pub(super) unused: Vec<Unused>,
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
            let theirs = self.theirs(name)?;
            let found = self.tensors.shape(&theirs)?;
            // Some biases are stored as a row.
            let same = found == shape || shape.len() == 1 && found == [1, shape[0]];
            if !same {
                return Err(not_understood(
                    &self.dir,
                    format!("tensor `{theirs}` has shape {found:?}, expected {shape:?}"),
                ));
            }
            self.tensors.check_type(&theirs)?;
            used.insert(theirs);
        }
        for name in self.tensors.names().filter(|name| !used.contains(*name)) {
            self.check_unused(name)?;
        }
        Ok(())
    }

    fn check_unused(&self, name: &str) -> Result<()> {
        let refuse = |problem: String| Err(not_understood(&self.dir, problem));
        for unused in &self.unused {
            match unused {
                Unused::Ignored(pattern) if numbered(pattern, name).is_some() => return Ok(()),
                Unused::CopyOf(copy, original) if *copy == name => {
                    self.tensors.check_type(copy)?;
                    let same = self.tensors.values(copy)? == self.tensors.values(original)?;
                    return match same {
                        true => Ok(()),
                        false => refuse(format!(
                            "`{copy}` and `{original}` should be the same tensor, but differ"
                        )),
                    };
                }
                _ => {}
            }
        }
        refuse(format!("tensor `{name}` is unknown"))
    }

    /// The values of our parameter `name`.
    pub(super) fn values(&self, name: &str, shape: &[usize]) -> io::Result<Vec<f32>> {
        match self.positions {
            Some(sinusoids) if self.is_computed(name) => Ok(sinusoids.table(shape)),
            _ => {
                let theirs = self.theirs(name);
                let values = theirs.and_then(|theirs| self.tensors.values(&theirs));
                values.map_err(io::Error::other)
            }
        }
    }

    fn is_computed(&self, name: &str) -> bool {
        self.positions.is_some() && name.ends_with(".positions.learned")
    }

    /// Their name of our parameter `name`.
    fn theirs(&self, name: &str) -> Result<String> {
        let found = self.names.iter().find_map(|(ours, theirs)| {
            let (number, rest) = numbered_prefix(ours, name)?;
            let rest = match rest {
                "" => "",
                ".weight" | ".gain" => ".weight",
                ".bias" => ".bias",
                _ => return None,
            };
            Some(theirs.replace(NUMBER, number) + rest)
        });
        found.ok_or_else(|| {
            let problem = format!("this kind of model has no tensor for our parameter `{name}`");
            not_understood(Path::new(&self.dir), problem)
        })
    }
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
}
