//! The forms in which the weights of a model compute.

use std::sync::{Arc, OnceLock};

use attentive_architecture::{Architecture, Body, InputSpec, Items};
use attentive_base::error::{Error, Result};
use attentive_checkpoint::{self as checkpoint, PackedFile, UnreadWeights};
use attentive_config::Task;
use attentive_model::any_engine::AnyEngine;
use attentive_model::engine::{EncoderEngine, Engine, Precision, Weight, Weights, parameters};
use attentive_model::model::{Model, Parameter};

/// The weights of a model in up to three forms, at least one of which exists; the others are made when they
/// are first needed. Clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct Forms {
    /// For whole sequences with padding.
    pub(super) model: Arc<OnceLock<Model>>,
    /// Of a model that decodes.
    pub(super) engine: Arc<OnceLock<AnyEngine>>,
    /// Of a model that is only an encoder of tokens.
    pub(super) encoder: Arc<OnceLock<EncoderEngine>>,
}

impl From<Model> for Forms {
    fn from(model: Model) -> Self {
        Self { model: Arc::new(model.into()), ..Self::default() }
    }
}

impl From<AnyEngine> for Forms {
    fn from(engine: AnyEngine) -> Self {
        Self { engine: Arc::new(engine.into()), ..Self::default() }
    }
}

impl From<EncoderEngine> for Forms {
    fn from(encoder: EncoderEngine) -> Self {
        Self { encoder: Arc::new(encoder.into()), ..Self::default() }
    }
}

impl Forms {
    /// The packed weights of the CPU, if it has any.
    pub(super) fn packed(&self) -> Option<&[(String, Weight)]> {
        match (self.engine.get(), self.encoder.get()) {
            (Some(AnyEngine::Cpu(engine)), _) => Some(engine.weights()),
            (_, Some(encoder)) => Some(encoder.weights()),
            _ => None,
        }
    }

    /// The number type of the packed weights; `None` if there are none.
    pub(super) fn precision(&self) -> Option<Precision> {
        let of_encoder = self.encoder.get().map(EncoderEngine::precision);
        self.engine.get().map(AnyEngine::precision).or(of_encoder)
    }

    /// Replaces the engine, if there is one, by what `change` makes of it.
    ///
    /// # Panics
    /// If another pipeline shares it.
    pub(super) fn with_engine(mut self, change: impl FnOnce(AnyEngine) -> Result<AnyEngine>) -> Result<Self> {
        if let Some(engine) = taken(&mut self.engine) {
            self.engine = Arc::new(change(engine)?.into());
        }
        Ok(self)
    }

    /// A copy of all weights in `f32`.
    pub(super) fn parameters(&self, architecture: &Architecture) -> Vec<Parameter> {
        if let Some(model) = self.model.get() {
            return model.copied();
        }
        match self.engine.get() {
            Some(AnyEngine::Device(engine)) => engine.parameters(),
            _ => parameters(self.packed().expect("one of the forms"), architecture),
        }
    }
}

/// The weights in `place`, if there are any.
///
/// # Panics
/// If they are shared.
pub(super) fn taken<T>(place: &mut Arc<OnceLock<T>>) -> Option<T> {
    let place = Arc::get_mut(place).expect("no other pipeline shares the weights");
    place.take()
}

/// The form in which the weights of an architecture compute first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Engine,
    Encoder,
    Model,
}

impl Form {
    /// The form for a model of `architecture`.
    pub(super) fn of(architecture: &Architecture) -> Self {
        let reads_tokens = |input: &InputSpec| matches!(input.items, Items::Tokens { .. });
        match &architecture.body {
            _ if decodes(architecture) => Self::Engine,
            Body::Encoder(stack) if reads_tokens(&stack.input) => Self::Encoder,
            _ => Self::Model,
        }
    }

    /// The number type in which a model computes that is stored in `stored`, if `wanted` is.
    ///
    /// # Errors
    /// [`Error::Usage`] if it cannot.
    fn precision(self, wanted: Option<Precision>, stored: Precision) -> Result<Precision> {
        let wanted = wanted.unwrap_or(stored);
        if stored != Precision::F32 && wanted != stored {
            return Err(Error::usage(
                format!("the model's weights are stored in {stored}, so it cannot compute in {wanted}"),
                "use the model that it was made from",
            ));
        }
        if self == Self::Model && wanted != Precision::F32 {
            return Err(Error::usage(
                "a model that reads vectors computes in f32 only",
                "leave the precision out: only models of text have a choice",
            ));
        }
        Ok(wanted)
    }

    /// Makes it of `weights`.
    ///
    /// # Panics
    /// If it is a [`Form::Model`].
    pub(super) fn made(self, architecture: &Architecture, weights: &mut dyn Weights) -> Forms {
        match self {
            Self::Engine => AnyEngine::Cpu(Engine::new(architecture, weights)).into(),
            Self::Encoder => EncoderEngine::new(architecture, weights).into(),
            Self::Model => panic!("its weights are not packed"),
        }
    }

    /// Reads `weights` of `architecture`, in `wanted` if it is given; also returns their file, if they are
    /// used where they lie.
    ///
    /// # Errors
    /// A number type that they cannot have; those of reading.
    pub(super) fn read(
        self,
        architecture: &Architecture,
        weights: UnreadWeights,
        wanted: Option<Precision>,
    ) -> Result<(Forms, Option<PackedFile>)> {
        match weights {
            UnreadWeights::Dense(file) => {
                let precision = self.precision(wanted, Precision::F32)?;
                let forms = match self {
                    Self::Model => checkpoint::build(architecture, file.parameters()?).into(),
                    _ => file.packed(precision, |weights| self.made(architecture, weights))?,
                };
                Ok((forms, None))
            }
            UnreadWeights::Packed(packed) => {
                let precision = self.precision(wanted, packed.precision())?;
                let forms = match self {
                    Self::Model => checkpoint::build(architecture, packed.parameters(architecture)).into(),
                    _ if precision == packed.precision() => self.made(architecture, &mut &packed),
                    _ => self.made(architecture, &mut packed.rounded(precision)),
                };
                Ok((forms, Some(packed.file())))
            }
        }
    }
}

/// Whether the model decodes: an engine computes it then.
pub(super) fn decodes(architecture: &Architecture) -> bool {
    matches!(architecture.task(), Task::Translate | Task::Generate)
}
