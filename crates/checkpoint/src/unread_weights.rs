//! The weights of a model directory before they are read.

use attentive_architecture::Architecture;
use attentive_base::error::Result;
use attentive_model::engine::{Engine, Precision};
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

    /// Reads the weights of an engine in `precision`. Each matrix is packed before the next one is read, so
    /// they take the RAM of the engine and of one matrix.
    ///
    /// # Errors
    /// See [`UnreadWeights::read`].
    pub fn engine(self, architecture: &Architecture, precision: Precision) -> Result<Engine> {
        self.file.engine(&self.expected, architecture, precision)
    }
}
