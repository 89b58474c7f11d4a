//! The form in which the weights of a model compute.

use attentive_architecture::Architecture;
use attentive_base::error::{Error, Result};
use attentive_checkpoint::{PackedFile, QuantizedWeights};
use attentive_config::Task;
use attentive_model::engine::{Engine, Precision};
use attentive_model::model::Model;

/// The weights of a model, ready to compute.
pub(super) enum ReadyWeights {
    /// With the file of the weights, if they are used where they lie.
    Engine(Engine, Option<PackedFile>),
    Model(Model),
}

impl ReadyWeights {
    pub(super) fn packed(architecture: &Architecture, mut packed: &QuantizedWeights) -> Self {
        let file = packed.file();
        Self::Engine(Engine::new(architecture, &mut packed), Some(file))
    }
}

/// The form in which weights compute.
pub(super) enum ModelForm {
    /// For models that decode.
    Engine(Precision),
    /// For the others.
    Model,
}

impl ModelForm {
    /// The form for weights in the precision `stored`, if `precision` is wanted.
    pub(super) fn of(
        architecture: &Architecture,
        precision: Option<Precision>,
        stored: Precision,
    ) -> Result<Self> {
        let wanted = precision.unwrap_or(stored);
        if !decodes(architecture) && wanted != Precision::F32 {
            return Err(Error::usage(
                format!("a model that {} computes in f32 only", architecture.task().verb()),
                "leave the precision out: only models that translate or generate have a choice",
            ));
        }
        if stored != Precision::F32 && wanted != stored {
            return Err(Error::usage(
                format!("the model's weights are stored in {stored}, so it cannot compute in {wanted}"),
                "use the model that it was made from",
            ));
        }
        Ok(if decodes(architecture) { Self::Engine(wanted) } else { Self::Model })
    }
}

/// Whether the model decodes: an engine computes it then.
pub(super) fn decodes(architecture: &Architecture) -> bool {
    matches!(architecture.task(), Task::Translate | Task::Generate)
}
