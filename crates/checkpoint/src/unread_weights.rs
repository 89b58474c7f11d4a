//! The weights of a model directory before they are read.

use attentive_base::error::Result;
use attentive_model::engine::{Precision, Weights};
use attentive_model::model::Parameter;

use super::{LoadedWeights, QuantizedWeights, StoredWeights};

/// The weights of a model directory, whose names and shapes are those of its architecture. Those that are
/// not packed have not been read.
#[derive(Debug)]
pub enum UnreadWeights {
    /// As training or import wrote them.
    Dense(DenseFiles),
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

/// Files of weights as training or import wrote them.
#[derive(Debug)]
pub struct DenseFiles {
    stored: StoredWeights,
    expected: Vec<(String, Vec<usize>)>,
}

impl DenseFiles {
    /// The files `stored`, in which the parameters `expected` (name and shape) are.
    ///
    /// # Errors
    /// Any error of [`StoredWeights::check`].
    pub(super) fn new(stored: StoredWeights, expected: &[(String, Vec<usize>)]) -> Result<Self> {
        stored.check(expected)?;
        Ok(Self { stored, expected: expected.to_vec() })
    }

    /// Reads all parameters, in the order of the architecture.
    ///
    /// # Errors
    /// See [`UnreadWeights::read`].
    pub fn parameters(self) -> Result<Vec<Parameter>> {
        self.stored.parameters(&self.expected)
    }

    /// Returns what `build` makes of the weights in `precision`: an engine. Each matrix is packed before the
    /// next one is read, so they take the RAM of the engine and of one matrix.
    ///
    /// # Errors
    /// See [`UnreadWeights::read`].
    pub fn packed<T>(self, precision: Precision, build: impl FnOnce(&mut dyn Weights) -> T) -> Result<T> {
        self.stored.packed(&self.expected, precision, build)
    }
}
