//! Models of ours as models of other tools.

use std::path::Path;

use super::hf;
use crate::checkpoint::{self, LoadedModel, LoadedWeights};
use crate::error::{Error, Result};
use crate::model::Parameter;

/// The form in which a model is exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum ExportFormat {
    /// A directory for Hugging Face's `transformers`: MarianMT, BERT or GPT-2.
    Hf,
}

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exported {
    /// The kind of model, as its tool calls it.
    pub kind: &'static str,
    /// What the other tool does in another way.
    pub notes: Vec<String>,
}

/// Writes the model directory `model` in another form to the directory `out`, which must not exist.
///
/// # Errors
/// [`Error::Usage`] for a model that has no equal in the other tool, naming all differences, and for a quantised model; those of
/// [`checkpoint::load`]; [`Error::Io`] if `out` cannot be written.
pub fn export(model: &Path, format: ExportFormat, out: &Path) -> Result<Exported> {
    if out.symlink_metadata().is_ok() {
        return Err(Error::usage(
            format!("`{}` exists already", out.display()),
            "choose another directory, or remove this one",
        ));
    }
    let loaded = checkpoint::load(model)?;
    let weights = dense(&loaded)?;
    match format {
        ExportFormat::Hf => hf::export(&loaded, weights, out),
    }
}

/// The weights of a model that is not quantised.
fn dense(loaded: &LoadedModel) -> Result<&[Parameter]> {
    match &loaded.weights {
        LoadedWeights::Dense(weights) => Ok(weights),
        LoadedWeights::Packed(_) => Err(Error::usage(
            "a quantised model cannot be exported",
            "export the model that it was made from",
        )),
    }
}

/// What a kind of model has no equal for.
#[derive(Debug, Default)]
pub(super) struct Differences(Vec<String>);

impl Differences {
    /// Notes `difference`, unless `equal`.
    pub(super) fn unless(&mut self, equal: bool, difference: impl Into<String>) {
        if !equal {
            self.0.push(difference.into());
        }
    }

    /// Refuses a model with differences to `kind`.
    pub(super) fn refuse(self, kind: &str) -> Result<()> {
        match self.0[..] {
            [] => Ok(()),
            _ => Err(Error::usage(
                format!("the model has no equal in {kind}: {}", self.0.join("; ")),
                "docs/interop.md lists what can be exported",
            )),
        }
    }
}
