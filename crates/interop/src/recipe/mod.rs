//! The tensors from which each of our parameters is made.

mod parameter_source;
mod sinusoids;
mod source_pattern;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use self::parameter_source::ExpectedShape;
pub(super) use self::parameter_source::ParameterSource;
pub(super) use self::sinusoids::SinusoidTable;
use self::source_pattern::numbered;
pub(super) use self::source_pattern::{NameMapping, SourcePattern, names, parameter_source};
use attentive_base::batch::TokenId;
use attentive_base::error::Result;

use super::keys::not_understood;
use super::tensors::Tensors;

/// The name of our output bias.
const OUTPUT_BIAS: &str = "head.bias";
/// A bias so low that the token's probability is 0.
pub(super) const NEVER: f32 = -1e3;
/// The maximum size of a computed table.
const MAX_COMPUTED_ELEMENTS: usize = 1 << 24;

/// The tensors of another tool's model, under our names.
#[derive(Debug)]
pub(super) struct Recipe {
    /// The directory of the model, or the file of its weights.
    pub(super) path: PathBuf,
    pub(super) tensors: Tensors,
    /// Tables of names, tried in this order.
    pub(super) names: Vec<NameMapping>,
    /// The other tool's tensors that we do not need: masks and copies. `{}` stands for any number.
    pub(super) unused: Vec<Unused>,
    /// A prefix of the names of some tensors, present in some files only.
    pub(super) prefix: &'static str,
    /// Tokens with probability 0, whatever their bias.
    pub(super) barred: Vec<TokenId>,
    /// A table of positions that is computed, not stored.
    pub(super) positions: Option<SinusoidTable>,
}

/// A tensor that is not read.
#[derive(Debug)]
pub(super) enum Unused {
    /// A tensor that is ignored, whatever it holds.
    Ignored(&'static str),
    /// A tensor that must hold the same numbers as the other one.
    CopyOf(&'static str, &'static str),
    /// All tensors whose names begin like this.
    Under(&'static str),
    /// All tensors whose names end like this.
    Ending(&'static str),
}

impl Recipe {
    /// Creates the recipe of a model all of whose tensors are read under these names.
    pub(super) fn new(path: &Path, tensors: Tensors, names: Vec<NameMapping>) -> Self {
        Self {
            path: path.to_path_buf(),
            tensors,
            names,
            unused: Vec::new(),
            prefix: "",
            barred: Vec::new(),
            positions: None,
        }
    }

    /// Refuses tensors that are missing, of a shape other than in `parameters` (name and shape), of a type
    /// that cannot be read, or unknown.
    pub(super) fn check(&self, parameters: &[(String, Vec<usize>)]) -> Result<()> {
        let mut used = BTreeSet::new();
        for (name, shape) in parameters {
            if self.is_computed(name) {
                self.check_computed(shape)?;
                continue;
            }
            for (tensor, expected) in self.source_of(name)?.needs(shape) {
                self.check_tensor(&tensor, &expected)?;
                used.insert(tensor);
            }
        }
        for name in self.tensors.names().filter(|name| !used.contains(*name)) {
            self.check_unused(name)?;
        }
        Ok(())
    }

    fn check_computed(&self, shape: &[usize]) -> Result<()> {
        let size = (shape.iter()).try_fold(1usize, |size, &d| size.checked_mul(d));
        if size.is_some_and(|size| size <= MAX_COMPUTED_ELEMENTS) {
            Ok(())
        } else {
            let problem = format!("a table of positions of shape {shape:?} is too large");
            Err(not_understood(&self.path, problem))
        }
    }

    fn check_tensor(&self, name: &str, expected: &ExpectedShape) -> Result<()> {
        let found = self.tensors.shape(name)?;
        if !expected.fits(found) {
            return Err(not_understood(
                &self.path,
                format!("tensor `{name}` has shape {found:?}, expected {expected}"),
            ));
        }
        self.tensors.check_type(name)
    }

    fn check_unused(&self, name: &str) -> Result<()> {
        let refuse = |problem: String| Err(not_understood(&self.path, problem));
        let bare = name.strip_prefix(self.prefix).unwrap_or(name);
        for unused in &self.unused {
            match unused {
                Unused::Ignored(pattern) if numbered(pattern, bare).is_some() => return Ok(()),
                Unused::Under(start) if bare.starts_with(start) => return Ok(()),
                Unused::Ending(end) if bare.ends_with(end) => return Ok(()),
                Unused::CopyOf(copy, original) if *copy == bare => {
                    self.tensors.check_type(name)?;
                    let original = self.stored((*original).to_owned());
                    return if self.tensors.same(name, &original)? {
                        Ok(())
                    } else {
                        refuse(format!("`{name}` and `{original}` should be the same tensor, but differ"))
                    };
                }
                _ => {}
            }
        }
        refuse(format!("tensor `{name}` is unknown"))
    }

    /// Returns the values of our parameter `name`.
    pub(super) fn values(&self, name: &str, shape: &[usize]) -> io::Result<Cow<'_, [f32]>> {
        match self.positions {
            Some(sinusoids) if self.is_computed(name) => Ok(sinusoids.table(shape).into()),
            _ => {
                let source = self.source_of(name);
                let values = source.and_then(|source| source.values(&self.tensors, shape));
                let mut values = values.map_err(io::Error::other)?;
                if name == OUTPUT_BIAS {
                    for &token in &self.barred {
                        values.to_mut()[token as usize] = NEVER;
                    }
                }
                Ok(values)
            }
        }
    }

    fn is_computed(&self, name: &str) -> bool {
        self.positions.is_some() && name.ends_with(".positions.learned")
    }

    /// Returns the tensors from which our parameter `name` is made.
    fn source_of(&self, name: &str) -> Result<ParameterSource> {
        let found = parameter_source(&self.names, name).ok_or_else(|| {
            let problem = format!("this kind of model has no tensor for the parameter `{name}`");
            not_understood(Path::new(&self.path), problem)
        });
        found.map(|source| source.renamed(|name| self.stored(name)))
    }

    /// Returns the name under which the file has the tensor `name`: with a prefix, or with a name of early
    /// versions.
    fn stored(&self, name: String) -> String {
        let old = match (name.strip_suffix(".weight"), name.strip_suffix(".bias")) {
            (Some(layer), _) => format!("{layer}.gamma"),
            (_, Some(layer)) => format!("{layer}.beta"),
            _ => name.clone(),
        };
        let prefixed = format!("{}{name}", self.prefix);
        let spellings = [name.clone(), prefixed.clone(), old.clone(), format!("{}{old}", self.prefix)];
        let mut spellings = spellings.into_iter();
        match spellings.find(|spelling| self.tensors.has(spelling)) {
            Some(found) => found,
            None if self.tensors.names().any(|one| one.starts_with(self.prefix)) => prefixed,
            None => name,
        }
    }
}
