//! Weights that are used where they lie on disk.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use attentive_base::error::{Error, Result};
use attentive_kernels::mapped::Mapped;

use super::{StoredNumbers, architecture, load_recipe, packed_file, shapes, versioned_weights};

/// The weights of a model directory as training or import wrote them, memory-mapped: they are read when they
/// are first used, and take no RAM of their own. Nobody may change the file while it is mapped; training replaces it, which is safe.
#[derive(Debug)]
pub struct MappedWeights {
    files: Vec<Mapped>,
    /// With the index of their file.
    tensors: Vec<(usize, MappedTensor)>,
}

/// A parameter in the file.
#[derive(Debug)]
pub(super) struct MappedTensor {
    pub(super) name: String,
    pub(super) shape: Vec<usize>,
    pub(super) numbers: StoredNumbers,
    /// The byte range of its values in the file.
    pub(super) bytes: Range<usize>,
}

impl MappedWeights {
    /// Maps the weights of the model directory `dir`, or of the checkpoint in the folder `dir`. Their names
    /// and shapes are checked against the architecture, but not their checksum.
    ///
    /// # Errors
    /// Any error of [`super::load`]; [`Error::Usage`] for a quantized model.
    pub fn open(dir: &Path) -> Result<Self> {
        let (config, tokenizers) = load_recipe(dir)?;
        if packed_file(dir).is_some() {
            return Err(Error::usage(
                format!("`{}` was written by `quantize`: its weights are packed", dir.display()),
                "map the weights of the model that it was made from",
            ));
        }
        let expected = shapes(&architecture(&config, &tokenizers));
        versioned_weights::read(dir, |stored| stored.mapped(&expected)).map(|(_, mapped)| mapped)
    }

    /// The parameters of several files, in the order of `expected` (name and shape).
    pub(super) fn joined(files: Vec<(Mapped, Vec<MappedTensor>)>, expected: &[(String, Vec<usize>)]) -> Self {
        let (files, tensors): (Vec<Mapped>, Vec<_>) = files.into_iter().unzip();
        let tensors = tensors.into_iter().enumerate();
        let tensors = tensors.flat_map(|(file, tensors)| tensors.into_iter().map(move |one| (file, one)));
        let places: HashMap<&str, usize> =
            expected.iter().enumerate().map(|(place, (name, _))| (name.as_str(), place)).collect();
        let mut tensors: Vec<(usize, MappedTensor)> = tensors.collect();
        tensors.sort_by_key(|(_, tensor)| places.get(tensor.name.as_str()));
        Self { files, tensors }
    }

    /// Returns the number of parameters.
    pub fn len(&self) -> usize {
        self.tensors.len()
    }

    /// Returns true if there are no parameters.
    pub fn is_empty(&self) -> bool {
        self.tensors.is_empty()
    }

    /// Returns the name and shape of the parameter at `index`, in the order of the architecture.
    ///
    /// # Panics
    /// If there are not as many parameters.
    pub fn parameter(&self, index: usize) -> (&str, &[usize]) {
        let (_, MappedTensor { name, shape, .. }) = &self.tensors[index];
        (name, shape)
    }

    /// Returns the values of the parameter at `index`. They are copied only if they are not stored in `f32`, if
    /// they lie at an unaligned offset in the file, or on a computer whose numbers begin with the highest byte.
    ///
    /// # Panics
    /// If there are not as many parameters.
    pub fn values(&self, index: usize) -> Cow<'_, [f32]> {
        let (file, MappedTensor { numbers, bytes, .. }) = &self.tensors[index];
        numbers.widened(&self.files[*file][bytes.clone()])
    }
}
