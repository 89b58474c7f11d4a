//! Inference: text in, text out, with one method of [`Pipeline`] for each task.
//!
//! The result for a line depends only on that line, not on its neighbors or on batching. Every line gets a
//! result; if the line could not be read literally, the result carries [`Warning`]s.

mod align;
mod answers;
pub mod batches;
mod classify;
pub mod device;
pub mod documents;
mod embed;
mod ensemble;
mod fill;
mod forms;
mod generate;
mod generated_token;
mod glossary;
mod inspect;
pub mod joined;
mod languages;
mod mbr;
mod prompt;
mod request;
mod requirements;
mod rescore;
pub mod service;
mod share;
mod stop;
mod tag;
#[cfg(test)]
pub(crate) mod tests;
mod text_task;
mod tokenized_line;
mod trace;
mod translate;
mod translation;
mod warning;

pub use align::{Alignment, SoftAlignment};
pub use answers::{CandidateAnswer, GenerationAnswer, RescoredAnswer, TranslationAnswer};
pub use classify::{Classified, LabelScore};
pub use embed::Embedded;
pub use fill::{Filled, Guess};
pub use generate::{GenerateOptions, Generation};
pub use generated_token::{Alternative, GeneratedToken};
pub use glossary::{
    Codes, Entries, Format as GlossaryFormat, Glossary, GlossaryEntry, GlossedText, Unplaced,
};
pub use inspect::{Inspection, InspectionInput, InspectionTarget, MaskGuesses, Predicted};
pub use mbr::Mbr;
pub use prompt::Prompt;
pub use request::{Prefix, Request, SentencePosition, TranslationConstraints};
pub use rescore::Rescored;
pub use share::share;
pub use tag::Tagged;
pub use text_task::{TextAnswer, TextTask};
pub use trace::{LossPosition, Trace, TraceRequest};
pub use translate::TranslateOptions;
pub use translation::{Candidate, Translation};
pub use warning::Warning;

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, OnceLock};

use attentive_architecture::{Architecture, TokenContract};
use attentive_base::batch::TokenId;
use attentive_base::error::{Error, Result};
use attentive_checkpoint::{self as checkpoint, LoadedModel, PackedFile, Provenance};
use attentive_config::{Config, FamilyConfig, Float, Task, TrainDevice};
use attentive_device::on;
use attentive_model::any_engine::AnyEngine;
use attentive_model::engine::{Dense, EncoderEngine, Engine, InputProbe, Precision, Weight};
use attentive_model::model::{Model, Parameter};
use attentive_model::nn::Blueprint;
use attentive_model::profile::{self, ProfileSection};
use attentive_model::shortlist::Shortlist;
use attentive_text::Tokenizers;

use forms::{Form, Forms, decodes, taken};

/// A model with everything needed to process text: weights, tokenizers and configuration.
#[derive(Debug)]
pub struct Pipeline {
    config: Config,
    /// The family as the model's files describe it, whatever languages were chosen since.
    stored: Arc<FamilyConfig>,
    tokenizers: Tokenizers,
    architecture: Architecture,
    forms: Forms,
    /// The file in which a quantized model has its weights.
    file: Option<PackedFile>,
    /// The other models of an ensemble.
    partners: Vec<Pipeline>,
    /// The factors of the log-probabilities of the models of an ensemble, whose probabilities are averaged
    /// otherwise.
    log_weights: Option<Vec<f64>>,
    /// The number of sentences translated so far.
    translated: Arc<AtomicUsize>,
    /// Whether the source vocabulary has letters, once that was asked.
    reads_letters: OnceLock<bool>,
    /// The tokens that continue words of the target language, once that was asked.
    continuations: OnceLock<Arc<[TokenId]>>,
    /// The tokens of target languages, one of which begins every source, once that was asked.
    targets: OnceLock<Vec<TokenId>>,
}

impl Pipeline {
    /// Loads a model directory for the CPU.
    ///
    /// # Errors
    /// The errors of [`checkpoint::load`].
    pub fn load(dir: impl AsRef<Path>) -> Result<Self> {
        Self::load_in(dir, None)
    }

    /// Loads a model directory for the CPU. The model computes in `precision` if it is given, otherwise in the
    /// precision in which it is stored.
    ///
    /// # Errors
    /// The errors of [`checkpoint::load`]; [`Error::Usage`] for a model that is stored in `bf16` or `int8` and
    /// wanted in another precision, or a precision other than `f32` for a model that reads vectors.
    pub fn load_in(dir: impl AsRef<Path>, precision: Option<Precision>) -> Result<Self> {
        Self::load_with_provenance(dir, precision).map(|(pipeline, _)| pipeline)
    }

    /// Loads a model directory for `device`; see [`Pipeline::load_in`] and [`Pipeline::on_device`].
    ///
    /// # Errors
    /// The errors of [`device::open`], [`Pipeline::load_in`] and [`Pipeline::on_device`].
    pub fn load_on(dir: impl AsRef<Path>, device: TrainDevice, precision: Option<Precision>) -> Result<Self> {
        let device = device::open(device, precision)?;
        let pipeline = Self::load_in(dir, precision)?;
        match device {
            Some(device) => pipeline.on_device(device),
            None => Ok(pipeline),
        }
    }

    /// [`Pipeline::load_in`], and the origin of the model.
    ///
    /// # Errors
    /// The errors of [`Pipeline::load_in`].
    pub fn load_with_provenance(
        dir: impl AsRef<Path>,
        precision: Option<Precision>,
    ) -> Result<(Self, Provenance)> {
        profile::time(ProfileSection::Loading, || {
            let loaded = checkpoint::load_as(dir.as_ref(), |architecture, weights| {
                Form::of(architecture).read(architecture, weights, precision)
            })?;
            let LoadedModel { config, tokenizers, architecture, weights, shortlist, provenance } = loaded;
            let ((forms, file), cache) = (weights, config.decode.cache_precision);
            let forms = forms.with_engine(|engine| Ok(engine.with_cache(cache)))?;
            let pipeline = Self { file, ..Self::new(config, tokenizers, architecture, forms) };
            let pipeline = match shortlist {
                Some(_) if pipeline.decodes() => pipeline.with_shortlist(shortlist),
                _ => pipeline,
            };
            Ok((pipeline, provenance))
        })
    }

    /// Creates a pipeline from matching parts: the tokenizers of [`Tokenizers::for_model`] and a model, whose
    /// weights it shares until it needs them in another form.
    pub fn from_parts(config: Config, tokenizers: Tokenizers, model: Model) -> Self {
        let architecture = model.architecture().clone();
        Self::new(config, tokenizers, architecture, model.into())
    }

    /// A pipeline without partners.
    fn new(config: Config, tokenizers: Tokenizers, architecture: Architecture, forms: Forms) -> Self {
        Self {
            stored: Arc::new(config.model.family.clone()),
            config,
            tokenizers,
            architecture,
            forms,
            file: None,
            partners: Vec::new(),
            log_weights: None,
            translated: Arc::default(),
            reads_letters: OnceLock::new(),
            continuations: OnceLock::new(),
            targets: OnceLock::new(),
        }
    }

    /// Rounds the weights of the model, and of those of its ensemble, to `precision`.
    ///
    /// # Errors
    /// [`Error::Usage`] for a model [on a GPU](Pipeline::on_device).
    ///
    /// # Panics
    /// If the model reads vectors.
    pub fn into_precision(self, precision: Precision) -> Result<Self> {
        if self.is_on_device() {
            return Err(Error::usage(
                "the weights of a model on a GPU cannot be rounded",
                "round them on the CPU",
            ));
        }
        let mut weights = Dense::new(precision, self.forms.parameters(&self.architecture));
        let shortlist = self.forms.engine.get().and_then(AnyEngine::shortlist).cloned();
        let cache = self.config.decode.cache_precision;
        let forms = Form::of(&self.architecture).made(&self.architecture, &mut weights);
        let partners = self.partners.into_iter();
        Ok(Self {
            forms: forms.with_engine(|engine| Ok(engine.with_cache(cache).with_shortlist(shortlist)))?,
            file: None,
            partners: partners.map(|partner| partner.into_precision(precision)).collect::<Result<_>>()?,
            ..self
        })
    }

    /// Returns the same model in single precision, without its ensemble, with other `weights`. Products with
    /// matrices that have a probe, by name, measure or round their inputs.
    ///
    /// # Panics
    /// If the model does not decode, or the weights are not those of its architecture.
    pub fn probed(&self, weights: Vec<Parameter>, probes: HashMap<String, Arc<InputProbe>>) -> Self {
        let shortlist = self.engine().shortlist().cloned();
        let mut weights = Dense::new(Precision::F32, weights).probed(probes);
        let engine = Engine::new(&self.architecture, &mut weights).with_shortlist(shortlist);
        let (config, tokenizers) = (self.config.clone(), self.tokenizers.clone());
        Self::new(config, tokenizers, self.architecture.clone(), AnyEngine::Cpu(engine).into())
    }

    /// Replaces or removes the shortlist; see [`Engine::with_shortlist`].
    ///
    /// # Panics
    /// If the model does not decode, if the shortlist is for another target vocabulary, or if another
    /// pipeline shares the weights ([`Pipeline::in_languages`]).
    pub fn with_shortlist(mut self, shortlist: Option<Arc<Shortlist>>) -> Self {
        self.stepper();
        let engine = taken(&mut self.forms.engine).expect("it was built");
        self.forms.engine = Arc::new(engine.with_shortlist(shortlist).into());
        self
    }

    /// Replaces the configured number type of the keys and values that the model, and those of its ensemble,
    /// keep for decoding.
    ///
    /// # Errors
    /// [`Error::Usage`] for a model that does not decode, and for a precision other than `f32` on a GPU.
    pub fn with_cache_precision(mut self, precision: Float) -> Result<Self> {
        if !decodes(&self.architecture) {
            return Err(Error::usage(
                format!("a model that {} keeps no keys and values", self.architecture.task().verb()),
                "leave the precision of the cache out: only models that translate or generate have one",
            ));
        }
        self.config.decode.cache_precision = precision;
        self.forms = self.forms.with_engine(|engine| match engine {
            AnyEngine::Device(_) if precision != Float::F32 => Err(Error::usage(
                format!("GPUs keep keys and values in f32, not in {precision}"),
                "leave the precision of the cache out, or decode on the CPU",
            )),
            engine => Ok(engine.with_cache(precision)),
        })?;
        let partners = self.partners.into_iter();
        self.partners =
            partners.map(|partner| partner.with_cache_precision(precision)).collect::<Result<_>>()?;
        Ok(self)
    }

    /// Returns the configuration, including the default search options.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Returns the tokenizers.
    pub fn tokenizers(&self) -> &Tokenizers {
        &self.tokenizers
    }

    /// Returns the model without its weights.
    pub fn architecture(&self) -> &Architecture {
        &self.architecture
    }

    /// Returns the number of weights.
    pub fn n_weights(&self) -> usize {
        Blueprint::new(&self.architecture).n_weights()
    }

    /// Returns a counter of the sentences translated so far; it goes up while translations are running.
    pub fn translated(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.translated)
    }

    /// Returns the model for whole sequences on the CPU, in `f32`. The weights of a quantized model are its
    /// dequantized weights.
    pub fn model(&self) -> &Model {
        self.forms.model.get_or_init(|| checkpoint::build(&self.architecture, self.parameters()))
    }

    /// Returns the result of `work` with the model for whole sequences, on the device on which the pipeline
    /// computes; see [`Pipeline::model`].
    ///
    /// # Errors
    /// Those of `work`; [`Error::Device`] for a device that fails.
    pub fn with_model<R>(&self, work: impl FnOnce(&Model) -> Result<R>) -> Result<R> {
        match self.forms.engine.get() {
            Some(AnyEngine::Device(engine)) => {
                self.computing(|| on(engine.device(), || work(engine.model())))
            }
            _ => self.computing(|| work(self.model())),
        }
    }

    /// Returns the model in the representation that search uses.
    ///
    /// # Panics
    /// If the model does not decode.
    pub fn stepper(&self) -> &AnyEngine {
        self.forms.engine.get_or_init(|| {
            let weights = &mut Dense::new(Precision::F32, self.model().copied());
            let cache = self.config.decode.cache_precision;
            AnyEngine::Cpu(Engine::new(&self.architecture, weights).with_cache(cache))
        })
    }

    /// Returns a copy of all weights in `f32`.
    pub fn parameters(&self) -> Vec<Parameter> {
        self.forms.parameters(&self.architecture)
    }

    /// Returns the packed weights with which the model computes on the CPU, by name.
    ///
    /// # Panics
    /// If the model reads vectors, or computes [on another device](Pipeline::on_device).
    pub fn packed_weights(&self) -> &[(String, Weight)] {
        match Form::of(&self.architecture) {
            Form::Engine => _ = self.stepper(),
            Form::Encoder => _ = self.encoder(),
            Form::Model => (),
        }
        self.forms.packed().expect("weights on the CPU")
    }

    /// Returns the model in the form that reads texts of an encoder.
    ///
    /// # Panics
    /// If the model is not only an encoder of tokens.
    pub fn encoder(&self) -> &EncoderEngine {
        self.forms.encoder.get_or_init(|| {
            let weights = &mut Dense::new(Precision::F32, self.model().copied());
            EncoderEngine::new(&self.architecture, weights)
        })
    }

    /// Returns the engine that decodes on the CPU.
    ///
    /// # Panics
    /// If the model does not decode, or [not on the CPU](Pipeline::on_device).
    pub fn engine(&self) -> &Engine {
        match self.stepper() {
            AnyEngine::Cpu(engine) => engine,
            AnyEngine::Device(_) => panic!("a model that decodes on the CPU"),
        }
    }

    /// The model's special tokens, for search.
    ///
    /// # Errors
    /// The errors of [`Tokenizers::for_model`]; a loaded model never causes them.
    pub fn contract(&self) -> Result<TokenContract> {
        self.tokenizers.contract(&self.config.model)
    }

    /// Refuses a model made for another task.
    ///
    /// # Errors
    /// [`Error::Usage`] with the command to use instead.
    pub fn require(&self, task: Task) -> Result<()> {
        let found = self.config.model.family.task();
        if found == task {
            return Ok(());
        }
        Err(Error::usage(
            format!("the model is for another task: it {}", found.verb()),
            format!("use it with `attentive {}`", found.name()),
        ))
    }
}
