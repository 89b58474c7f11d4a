//! Import and export of other tools' models.
//!
//! A model is read as it is stored: its description becomes a configuration, its tensors get our names, and
//! its tokenizer is written as `tokenizer.json`. Anything that is not understood is reported as an error,
//! never guessed.

mod diagnosis;
mod export;
mod exported_tensors;
mod g2p;
mod hf;
mod keys;
mod listing;
mod marian;
mod named;
mod recipe;
mod sentencepiece;
mod tensors;
#[cfg(test)]
mod tests;
mod vocabulary;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

pub use self::export::{ExportFormat, ExportOptions, Exported, check, check_for_firefox, dense, export};
pub use self::listing::name_of;
pub use self::marian::{FirefoxParts, rounded_weights};
use self::recipe::Recipe;
pub use self::vocabulary::tokenizers;
use attentive_architecture::Architecture;
use attentive_base::error::Result;
use attentive_checkpoint::{self as checkpoint, Imported, Provenance, StoredNumbers, files, weights};
use attentive_config::Config;
use attentive_model::nn::Blueprint;
use attentive_model::shortlist::Shortlist;
use attentive_text::{Languages, Tokenizers};

/// The format of a model of another tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum ForeignFormat {
    /// A directory of Hugging Face's `transformers`.
    Hf,
    /// Weights of Marian or Firefox (`.npz`, `.bin`), with vocabularies beside them.
    Marian,
    /// The weights of the Python package `g2p-en`.
    G2p,
}

impl ForeignFormat {
    /// Determines the format of the model `path`, a directory or a file.
    fn of(path: &Path) -> Result<Self> {
        if g2p::recognizes(path) {
            return Ok(Self::G2p);
        }
        Ok(if marian::recognizes(path)? { Self::Marian } else { Self::Hf })
    }
}

/// A model of another tool, ready to be written as a model directory.
#[derive(Debug)]
pub struct ForeignModel {
    /// The kind of model, as the other tool calls it.
    pub kind: String,
    /// Descriptions of how the model will behave differently from the other tool.
    pub notes: Vec<String>,
    /// The configuration.
    pub config: Config,
    pub tokenizers: Tokenizers,
    /// The model without its weights.
    pub architecture: Architecture,
    /// The other models of an ensemble.
    pub partners: Vec<ForeignModel>,
    /// The factors of the log-probabilities of all models of an ensemble.
    pub log_weights: Vec<f64>,
    recipe: Recipe,
    shortlist: Option<Shortlist>,
}

impl ForeignModel {
    /// Reads the model `path`, a directory or the file of its weights beside its other files. Its weights are
    /// memory-mapped, and read by [`ForeignModel::write`]. Its format is recognized by its files, unless it
    /// is given. A multilingual model translates between `languages`.
    ///
    /// # Errors
    /// [`Error::Model`](attentive_base::error::Error::Model) for a file that is missing or damaged, and for
    /// anything that is not understood; [`Error::Io`](attentive_base::error::Error::Io) for files that cannot
    /// be read; [`Error::Usage`](attentive_base::error::Error::Usage) for languages that the model does not
    /// have, and for a multilingual model without a choice of languages.
    pub fn open(path: &Path, form: Option<ForeignFormat>, languages: &Languages) -> Result<Self> {
        let form = match form {
            Some(form) => form,
            None => ForeignFormat::of(path)?,
        };
        if form != ForeignFormat::Hf {
            languages.refuse()?;
        }
        let opened = match form {
            ForeignFormat::Hf => hf::open(path, languages),
            ForeignFormat::Marian => marian::open(path),
            ForeignFormat::G2p => g2p::open(path),
        };
        opened.map_err(|error| named::by_its_keys(error, path)).map_err(diagnosis::or_pointer)
    }

    /// Creates the model with this `config` whose parameters `recipe` makes.
    fn new(kind: String, config: Config, tokenizers: Tokenizers, recipe: Recipe) -> Result<Self> {
        config.validate_stored()?;
        let tokenizers = tokenizers.for_model(&config.model)?;
        let architecture = checkpoint::architecture(&config, &tokenizers);
        recipe.check(&checkpoint::shapes(&architecture))?;
        Ok(Self {
            kind,
            notes: Vec::new(),
            config,
            tokenizers,
            architecture,
            partners: Vec::new(),
            log_weights: Vec::new(),
            recipe,
            shortlist: None,
        })
    }

    /// Returns the number of weights.
    pub fn n_weights(&self) -> usize {
        Blueprint::new(&self.architecture).n_weights()
    }

    /// Writes the model directory `out`, which must not exist. The models of an ensemble are written one by
    /// one.
    ///
    /// # Errors
    /// [`Error::Usage`](attentive_base::error::Error::Usage) if it exists;
    /// [`Error::Io`](attentive_base::error::Error::Io) if it cannot be written.
    pub fn write(self, out: &Path) -> Result<()> {
        attentive_checkpoint::refuse_existing(out)?;
        let numbers = self.recipe.tensors.numbers();
        let sha256 = RefCell::new(String::new());
        let write_weights = |path: &Path| {
            let values = |name: &str, shape: &[usize]| self.recipe.values(name, shape);
            let typed = |(name, shape): (String, Vec<usize>)| {
                // What is computed, such as a sum, may need more bits than what was stored.
                let is_kept = numbers == StoredNumbers::F32 || numbers.holds(&values(&name, &shape)?);
                Ok((name, shape, if is_kept { numbers } else { StoredNumbers::F32 }))
            };
            let shapes = checkpoint::shapes(&self.architecture).into_iter();
            let shapes = shapes.map(typed).collect::<io::Result<Vec<_>>>()?;
            let hash = weights::write_each(path, None, &shapes, values)?;
            sha256.replace(hash);
            Ok(())
        };
        // This is called after the weights have been written.
        let provenance = || Provenance {
            program: Provenance::this_program(),
            imported: Some(Imported {
                path: self.recipe.path.display().to_string(),
                kind: self.kind.clone(),
            }),
            numbers,
            sha256: BTreeMap::from([(files::WEIGHTS.to_owned(), sha256.take())]),
            ..Provenance::default()
        };
        let mut others: Vec<(&str, &checkpoint::atomic::ContentWriter<'_>)> =
            vec![(files::WEIGHTS, &write_weights)];
        let write_shortlist = |path: &Path| match &self.shortlist {
            Some(list) => checkpoint::write_shortlist(list, &mut fs::File::create(path)?),
            None => Ok(()),
        };
        if self.shortlist.is_some() {
            others.push((files::SHORTLIST, &write_shortlist));
        }
        checkpoint::write_model(out, &self.config, &self.tokenizers, &others, &provenance)
    }
}
