//! Exports models to the formats of other tools.

use std::num::NonZeroUsize;
use std::path::Path;

use attentive_architecture::{NormKind, Positions};
use attentive_base::error::{Error, Result};
use attentive_checkpoint::{self as checkpoint, Description, LoadedModel, LoadedWeights};
use attentive_config::{Config, ModelConfig, StackKind};
use attentive_model::model::Parameter;
use attentive_text::Tokenizers;
use glob::Pattern;

use super::marian::FirefoxParts;
use super::{hf, marian};

/// The format in which a model is exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum ExportFormat {
    /// A directory for Hugging Face's `transformers`: MarianMT, BART, mBART, M2M-100 and NLLB, T5,
    /// GPT-2, Llama, or BERT and its relatives.
    Hf,
    /// Marian's `model.npz`, with vocabularies and `decoder.yml`.
    Marian,
    /// The files of Firefox, which other programs also read: weights in 8-bit integers, vocabularies of
    /// SentencePiece, a shortlist and `metadata.json`.
    Firefox,
}

/// What an export needs besides the model.
#[derive(Clone, Copy, Debug, Default)]
pub struct ExportOptions<'a> {
    /// Lines of text on which a vocabulary is tried that is written as a model of SentencePiece.
    pub text: &'a [String],
    /// The further parts of a model for Firefox.
    pub firefox: Option<FirefoxParts<'a>>,
}

/// The result of an export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exported {
    /// The kind of model, as the other tool calls it.
    pub kind: &'static str,
    /// Descriptions of how the exported model behaves differently.
    pub notes: Vec<String>,
}

impl ExportFormat {
    /// All formats.
    pub const ALL: [Self; 3] = [Self::Hf, Self::Marian, Self::Firefox];

    /// Returns the name of the tool.
    pub fn tool(self) -> &'static str {
        match self {
            Self::Hf => "transformers",
            Self::Marian => "Marian",
            Self::Firefox => "Firefox",
        }
    }

    /// Returns the kind that a model of this configuration becomes.
    ///
    /// # Errors
    /// [`Error::Usage`] for a model that cannot be represented in the other tool, naming all differences.
    pub fn kind_of(self, config: &Config, tokenizers: &Tokenizers) -> Result<&'static str> {
        let kind = self.kind(config, tokenizers);
        kind.map_err(ExportProblem::into_error)
    }

    /// Returns a short reason why [`ExportFormat::kind_of`] refuses a model, with the first differences;
    /// `None` if it does not.
    pub fn obstacle(self, config: &Config, tokenizers: &Tokenizers) -> Option<String> {
        /// The maximum number of differences to name.
        const MAX_NAMED_DIFFERENCES: usize = 2;
        let (kind, differences) = match self.kind(config, tokenizers).err()? {
            ExportProblem::Differs { kind, differences } => (kind, differences),
            ExportProblem::Other(error) => return Some(error.to_string()),
        };
        let (first, more) = differences.split_at(MAX_NAMED_DIFFERENCES.min(differences.len()));
        let first = named(&kind, first);
        Some(match more.len() {
            0 => first,
            more => format!("{first}; and {more} more, which `attentive info` lists"),
        })
    }

    /// Returns what training must not change for an export, if `model.freeze` does not keep it.
    pub fn obstacle_in_training(self, config: &Config, tokenizers: &Tokenizers) -> Option<String> {
        let kind = self.kind_of(config, tokenizers).ok()?;
        let is_computed = self == Self::Hf && hf::computes_positions(kind);
        let patterns = config.model.freeze.iter().filter_map(|pattern| Pattern::new(pattern).ok());
        let frozen: Vec<Pattern> = patterns.collect();
        let keeps =
            hf::POSITIONS_OF_BOTH_SIDES.iter().all(|name| frozen.iter().any(|fits| fits.matches(name)));
        (is_computed && !keeps).then(|| {
            format!(
                "an export as {kind} needs positions that were not trained: `freeze = [\"*.positions.*\"]` in \
                 `[model]`"
            )
        })
    }

    /// Returns a reason why a model cannot be exported that does not need its weights; `None` if there is
    /// none.
    pub fn obstacle_of(self, model: &Description) -> Option<Error> {
        let Description { config, tokenizers, provenance, .. } = model;
        let is_trained = provenance.imported.is_none() && provenance.step > 0;
        let in_training = || self.obstacle_in_training(config, tokenizers).filter(|_| is_trained);
        match self.kind_of(config, tokenizers) {
            Err(error) => Some(error),
            Ok(_) => in_training().map(|problem| Error::Usage { problem, hint: None }),
        }
    }

    fn kind(self, config: &Config, tokenizers: &Tokenizers) -> Result<&'static str, ExportProblem> {
        match self {
            Self::Hf => hf::kind(config, tokenizers),
            Self::Marian => marian::kind(config, tokenizers),
            Self::Firefox => marian::kind_of_firefox(config, tokenizers),
        }
    }
}

/// Refuses a configuration whose models could not be exported to Firefox.
///
/// # Errors
/// [`Error::Usage`], naming all differences.
pub fn check_for_firefox(config: &Config) -> Result<()> {
    marian::check_for_firefox(config).map_err(ExportProblem::into_error)
}

/// The reason why a model cannot be represented in another tool.
#[derive(Debug)]
pub(super) enum ExportProblem {
    /// The model differs from the most similar kind.
    Differs { kind: String, differences: Vec<String> },
    /// Any other reason.
    Other(Error),
}

impl From<Error> for ExportProblem {
    fn from(error: Error) -> Self {
        Self::Other(error)
    }
}

impl ExportProblem {
    /// Returns the error that names all differences.
    pub(super) fn into_error(self) -> Error {
        match self {
            Self::Differs { kind, differences } => Error::usage(
                named(&kind, &differences),
                "`attentive help export` lists the kinds of models that can be written",
            ),
            Self::Other(error) => error,
        }
    }
}

/// Describes the `differences` of a model from `kind`.
fn named(kind: &str, differences: &[String]) -> String {
    // These names begin with the sound of a vowel.
    let article = if ["M2M-100", "mBART", "MPNet"].contains(&kind) { "an" } else { "a" };
    format!("the model cannot be represented as {article} {kind} model: {}", differences.join("; "))
}

/// Writes the model directory `model` in another format to the directory `out`, which must not exist.
///
/// # Errors
/// [`Error::Usage`] for a model that cannot be represented in the other tool, naming all differences, for a
/// quantized model, for a model for Firefox without its further parts, and if `out` exists; any error of
/// [`checkpoint::load`]; [`Error::Io`] if `out` cannot be written.
pub fn export(
    model: &Path,
    format: ExportFormat,
    options: ExportOptions<'_>,
    out: &Path,
) -> Result<Exported> {
    attentive_checkpoint::refuse_existing(out)?;
    check(model, format)?;
    let loaded = checkpoint::load(model)?;
    let weights = dense(&loaded)?;
    let mut exported = match format {
        ExportFormat::Hf => hf::export(&loaded, weights, out),
        ExportFormat::Marian => marian::export(&loaded, weights, options.text, out),
        ExportFormat::Firefox => {
            let parts = options.firefox.ok_or_else(|| {
                Error::usage(
                    "a model for Firefox has languages, scales of inputs and a shortlist, which are not given",
                    "give all three",
                )
            })?;
            marian::export_firefox(&loaded, weights, options.text, parts, out)
        }
    }?;
    if loaded.shortlist.is_some() && format != ExportFormat::Firefox {
        exported.notes.push("the shortlist is not exported".into());
    }
    Ok(exported)
}

/// Refuses what the model directory `model` says, without its weights, to be no model of this format.
///
/// # Errors
/// [`Error::Usage`] for a quantized model, and for one that cannot be represented in the other tool; the
/// errors of [`checkpoint::describe`].
pub fn check(model: &Path, format: ExportFormat) -> Result<()> {
    if checkpoint::is_quantized(model) {
        return Err(quantized());
    }
    let described = checkpoint::describe(model)?;
    format.obstacle_of(&described).map_or(Ok(()), Err)
}

/// The weights of a model that is not quantized.
///
/// # Errors
/// [`Error::Usage`] for one that is.
pub fn dense(loaded: &LoadedModel) -> Result<&[Parameter]> {
    match &loaded.weights {
        LoadedWeights::Dense(weights) => Ok(weights),
        LoadedWeights::Packed(_) => Err(quantized()),
    }
}

fn quantized() -> Error {
    Error::usage("a model that `quantize` wrote cannot be exported", "export the model that it was made from")
}

/// The features of a model that another tool does not have.
#[derive(Debug, Default)]
pub(super) struct UnsupportedFeatures(Vec<String>);

impl UnsupportedFeatures {
    /// Records `difference`, unless `equal`.
    pub(super) fn unless(&mut self, equal: bool, difference: impl Into<String>) {
        if !equal {
            self.add(difference.into());
        }
    }

    pub(super) fn add(&mut self, difference: String) {
        self.0.push(difference);
    }

    /// Refuses a model that differs from `kind`.
    pub(super) fn refuse(self, kind: &str) -> Result<(), ExportProblem> {
        if self.0.is_empty() {
            Ok(())
        } else {
            Err(ExportProblem::Differs { kind: kind.to_owned(), differences: self.0 })
        }
    }

    /// Returns the differences of `model` from the Transformers of other tools.
    pub(super) fn of(model: &ModelConfig) -> Self {
        let mut found = Self::default();
        let heads = [model.n_heads, model.decoder_heads()];
        let whole = |d_head: NonZeroUsize| heads.iter().all(|n| n * d_head.get() == model.d_model);
        let plain_head = model.d_head.is_none_or(whole);
        let own_keys = model.n_kv_heads.is_none_or(|n| heads == [n.get(); 2]);
        let is_relative = model.positions.are_in_self_attention() && !model.positions.are_learned();
        found.unless(!model.has(StackKind::Recurrent), "recurrent layers");
        found.unless(model.norm == NormKind::Layer, "`model.norm` is not `layer`");
        found.unless(plain_head, "`model.d_head` is not `d_model / n_heads`");
        found.unless(own_keys, "`model.n_kv_heads` is not `n_heads`");
        found.unless(!is_relative, "`model.positions` acts in self-attention");
        found.unless(model.positions != Positions::None, "`model.positions` is `none`");
        found.unless(model.attention_bias, "`model.attention_bias` is false");
        found.unless(model.has_attention_output_bias(), "`model.attention_output_bias` is false");
        found.unless(model.feed_forward_bias, "`model.feed_forward_bias` is false");
        found.unless(!model.feed_forward_gate, "`model.feed_forward_gate` is true");
        found.unless(model.attention_scale.is_none(), "`model.attention_scale` is set");
        let output = model.family.output();
        let unscaled = output.is_none_or(|output| output.logit_scale == 1.0);
        found.unless(unscaled, "`model.logit_scale` is not 1");
        found
    }
}
