//! The weights of a model directory before they are read.

use attentive_base::error::Result;
use attentive_model::engine::{Precision, Weights};
use attentive_model::model::Parameter;

use super::{LoadedWeights, QuantizedWeights, SafetensorsFile};

/// The weights of a model directory, whose names and shapes are those of its architecture. Those in `f32`
/// have not been read.
#[derive(Debug)]
pub enum UnreadWeights {
    /// In `f32`, as training wrote them.
    Dense(DenseFile),
    /// Quantized; they are used where they lie in their file.
    Packed(QuantizedWeights),
}

impl UnreadWeights {
    /// Reads the weights.
    ///
    /// # Errors
    /// A file that cannot be read, or a wrong checksum.
    pub fn read(self) -> Result<LoadedWeights> {
        Ok(match self {
            Self::Dense(file) => LoadedWeights::Dense(file.parameters()?),
            Self::Packed(packed) => LoadedWeights::Packed(packed),
        })
    }
}

/// A file of weights in `f32`.
#[derive(Debug)]
pub struct DenseFile {
    file: SafetensorsFile,
    expected: Vec<(String, Vec<usize>)>,
}

impl DenseFile {
    /// The file `file`, in which the parameters `expected` (name and shape) are.
    ///
    /// # Errors
    /// Any error of [`SafetensorsFile::check`].
    pub(super) fn new(file: SafetensorsFile, expected: &[(String, Vec<usize>)]) -> Result<Self> {
        file.check(expected)?;
        Ok(Self { file, expected: expected.to_vec() })
    }

    /// Reads all parameters, in the order of the architecture.
    ///
    /// # Errors
    /// See [`UnreadWeights::read`].
    pub fn parameters(self) -> Result<Vec<Parameter>> {
        self.file.parameters(&self.expected)
    }

    /// Returns what `build` makes of the weights in `precision`: an engine. Each matrix is packed before the
    /// next one is read, so they take the RAM of the engine and of one matrix.
    ///
    /// # Errors
    /// See [`UnreadWeights::read`].
    pub fn packed<T>(self, precision: Precision, build: impl FnOnce(&mut dyn Weights) -> T) -> Result<T> {
        self.file.packed(&self.expected, precision, build)
    }
}
