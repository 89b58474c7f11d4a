//! The model from which training starts.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use attentive_architecture::Architecture;
use attentive_base::error::{Error, Result};
use attentive_checkpoint::{
    self as checkpoint, Description, LoadedWeights, ParentModel, StoredNumbers, files,
};
use attentive_config::Config;
use attentive_model::model::Parameter;
use attentive_model::nn::Initializer;
use attentive_text::{self as text, Tokenizers};

/// A model directory that is not quantized, without its weights.
#[derive(Debug)]
pub(super) struct PretrainedModel {
    dir: PathBuf,
    tokenizers: Tokenizers,
    sha256: Option<String>,
    numbers: StoredNumbers,
    /// True if the head is initialized randomly, for labels that the model does not know.
    new_head: bool,
}

impl PretrainedModel {
    /// Opens the model in the directory `dir`, for training according to `config`.
    ///
    /// # Errors
    /// A directory without a model, or with a damaged one; [`Error::Config`] for a quantized model, and for a
    /// model that contradicts `config`.
    pub(super) fn open(dir: &Path, config: &Config) -> Result<Self> {
        if checkpoint::is_quantized(dir) {
            return Err(quantized(dir));
        }
        let Description { config: theirs, tokenizers, provenance, .. } = checkpoint::describe(dir)?;
        config.check_source(&theirs)?;
        Ok(Self {
            dir: dir.to_path_buf(),
            tokenizers,
            sha256: provenance.sha256_of(files::WEIGHTS).map(str::to_owned),
            numbers: provenance.numbers,
            new_head: config.has_new_head(&theirs),
        })
    }

    /// The tokenizers. A tokenizer for labels that are new is learned: `labels` are those of the training
    /// data.
    pub(super) fn tokenizers(
        &self,
        config: &Config,
        labels: impl FnOnce() -> Vec<String>,
    ) -> Result<Tokenizers> {
        let tokenizers = if self.new_head {
            Tokenizers::Separate {
                src: self.tokenizers.src().clone(),
                tgt: text::learn_labels(&config.tokenizer, &labels())?,
            }
        } else {
            self.tokenizers.clone()
        };
        tokenizers.for_model(&config.model)
    }

    /// The directory of the model, if its labels are taken over.
    pub(super) fn labels_of(&self) -> Option<&Path> {
        (!self.new_head).then_some(&self.dir)
    }

    /// The weights of a model of `architecture`, and the names of the new ones, which were initialized
    /// randomly.
    ///
    /// # Errors
    /// A damaged model directory.
    pub(super) fn weights(
        &self,
        config: &Config,
        architecture: &Architecture,
    ) -> Result<(Vec<Parameter>, Vec<String>)> {
        let LoadedWeights::Dense(weights) = checkpoint::load(&self.dir)?.weights else {
            return Err(quantized(&self.dir));
        };
        let mut known: HashMap<String, Parameter> =
            weights.into_iter().map(|parameter| (parameter.name.clone(), parameter)).collect();
        let initializer = Initializer::new(architecture, config.model.init, config.seed);
        let mut new = Vec::new();
        let taken = |(name, shape): (String, Vec<usize>)| match known.remove(&name) {
            Some(parameter) if parameter.shape == shape => parameter,
            _ => {
                let values = initializer.draw(&name);
                new.push(name.clone());
                Parameter { name, shape, values }
            }
        };
        let weights = checkpoint::shapes(architecture).into_iter().map(taken).collect();
        if let (false, Some(name)) = (self.new_head, new.first()) {
            return Err(Error::model(
                &self.dir,
                format!("it has no parameter `{name}` of the shape that the configuration says"),
            ));
        }
        Ok((weights, new))
    }

    /// The number type of the model from which it stems.
    pub(super) fn numbers(&self) -> StoredNumbers {
        self.numbers
    }

    /// The model's origin as stored in provenances.
    pub(super) fn origin(&self) -> ParentModel {
        ParentModel { path: self.dir.display().to_string(), sha256: self.sha256.clone() }
    }
}

fn quantized(dir: &Path) -> Error {
    Error::Config {
        key: "model.from".into(),
        expected: "a model as `train`, `average` or `import` wrote it".into(),
        found: format!("`{}`, which `quantize` wrote", dir.display()),
        hint: Some("start from the model that it was made from".into()),
    }
}

#[cfg(test)]
mod tests;
