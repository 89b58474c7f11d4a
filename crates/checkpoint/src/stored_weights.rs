//! The weights of a model directory or a checkpoint, as training or import wrote them.

use std::collections::HashSet;
use std::path::Path;

use attentive_base::error::Result;
use attentive_model::engine::{Precision, Weights};
use attentive_model::model::Parameter;

use super::mapped_weights::MappedWeights;
use super::{Provenance, SafetensorsFile, files, safetensors_file};

/// One file of weights, and that of the parameters that training left unchanged, if there were any. They have
/// not been read yet.
#[derive(Debug)]
pub struct StoredWeights {
    trained: SafetensorsFile,
    frozen: Option<SafetensorsFile>,
}

impl StoredWeights {
    /// Opens the file `trained` and that of frozen weights in the folder `dir`, if `provenance` names it.
    ///
    /// # Errors
    /// See [`SafetensorsFile::open`].
    pub(super) fn open(trained: &Path, dir: &Path, provenance: &Provenance) -> Result<Self> {
        let frozen = provenance.sha256_of(files::FROZEN);
        Ok(Self {
            trained: SafetensorsFile::open(trained, provenance.sha256_of(files::WEIGHTS))?,
            frozen: frozen
                .map(|sha256| SafetensorsFile::open(&dir.join(files::FROZEN), Some(sha256)))
                .transpose()?,
        })
    }

    /// Begins to compute the checksums; see [`SafetensorsFile::begin_checksum`].
    pub(super) fn begin_checksum(&mut self) -> Result<()> {
        self.trained.begin_checksum()?;
        self.frozen.as_mut().map_or(Ok(()), SafetensorsFile::begin_checksum)
    }

    /// Checks by the headers that the files hold exactly the parameters `expected` (name and shape).
    ///
    /// # Errors
    /// See [`SafetensorsFile::check`].
    pub fn check(&self, expected: &[(String, Vec<usize>)]) -> Result<()> {
        let [trained, frozen] = self.divided(expected);
        self.trained.check(&trained)?;
        self.frozen.as_ref().map_or(Ok(()), |file| file.check(&frozen))
    }

    /// Reads exactly the parameters `expected` (name and shape), in that order.
    ///
    /// # Errors
    /// See [`SafetensorsFile::parameters`].
    pub fn parameters(self, expected: &[(String, Vec<usize>)]) -> Result<Vec<Parameter>> {
        let [trained, frozen] = self.divided(expected);
        let Some(file) = self.frozen else {
            return self.trained.parameters(expected);
        };
        let (mut trained, mut frozen) = (
            self.trained.parameters(&trained)?.into_iter(),
            file.parameters(&frozen)?.into_iter().peekable(),
        );
        let in_order = expected.iter().map(|(name, _)| match frozen.next_if(|next| next.name == *name) {
            Some(frozen) => frozen,
            None => trained.next().expect("each parameter is in one of the files"),
        });
        Ok(in_order.collect())
    }

    /// Calls `each` with the index in `expected` and the values of every parameter. The results are valid
    /// only if no error is returned.
    ///
    /// # Errors
    /// See [`SafetensorsFile::parameters`].
    pub(super) fn read_each(
        self,
        expected: &[(String, Vec<usize>)],
        mut each: impl FnMut(usize, Vec<f32>),
    ) -> Result<()> {
        let [trained, frozen] = self.divided(expected);
        let place = |name: &String| {
            let place = expected.iter().position(|(expected, _)| expected == name);
            place.expect("it was taken from there")
        };
        self.trained.read_each(&trained, |index, values| each(place(&trained[index].0), values))?;
        match self.frozen {
            Some(file) => file.read_each(&frozen, |index, values| each(place(&frozen[index].0), values)),
            None => Ok(()),
        }
    }

    /// Returns what `build` makes of the parameters `expected` (name and shape) in `precision`: an engine.
    /// Only one matrix at a time is read.
    ///
    /// # Errors
    /// See [`SafetensorsFile::parameters`].
    pub(super) fn packed<T>(
        self,
        expected: &[(String, Vec<usize>)],
        precision: Precision,
        build: impl FnOnce(&mut dyn Weights) -> T,
    ) -> Result<T> {
        let divided = self.divided(expected);
        let files = [self.trained].into_iter().chain(self.frozen);
        safetensors_file::packed(files.zip(divided).collect(), precision, build)
    }

    /// Maps exactly the parameters `expected` (name and shape), in that order.
    ///
    /// # Errors
    /// See [`SafetensorsFile::check`].
    pub(super) fn mapped(self, expected: &[(String, Vec<usize>)]) -> Result<MappedWeights> {
        let divided = self.divided(expected);
        let files = [self.trained].into_iter().chain(self.frozen);
        let mapped = files.zip(&divided).map(|(file, expected)| file.mapped(expected));
        Ok(MappedWeights::joined(mapped.collect::<Result<_>>()?, expected))
    }

    /// Returns the SHA-256 of the first file, in hexadecimal.
    ///
    /// # Errors
    /// See [`SafetensorsFile::digest`]; also for the other file.
    pub(super) fn digest(self) -> Result<String> {
        self.frozen.map_or(Ok(()), |file| file.digest().map(drop))?;
        self.trained.digest()
    }

    /// The files, with their names.
    pub(super) fn into_files(self) -> impl Iterator<Item = (&'static str, SafetensorsFile)> {
        let trained = [(files::WEIGHTS, self.trained)].into_iter();
        trained.chain(self.frozen.map(|file| (files::FROZEN, file)))
    }

    /// What of `expected` is in each of the files; what is in neither belongs to the first.
    fn divided(&self, expected: &[(String, Vec<usize>)]) -> [Vec<(String, Vec<usize>)>; 2] {
        let frozen: HashSet<&str> = self.frozen.iter().flat_map(SafetensorsFile::names).collect();
        let (frozen, trained) = expected.iter().cloned().partition(|(name, _)| frozen.contains(&**name));
        [trained, frozen]
    }
}
