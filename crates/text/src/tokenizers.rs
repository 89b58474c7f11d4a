//! The source and target tokenizers of a model.

use std::path::{Path, PathBuf};

use attentive_base::beside::both;
use attentive_base::error::{Error, Result};
use attentive_config::NamesOfSides;

use super::tokenizer::{Tokenizer, Unnamed};

const SHARED_FILE: &str = "tokenizer.json";
const SRC_FILE: &str = "tokenizer.src.json";
const TGT_FILE: &str = "tokenizer.tgt.json";

/// Tokenizers of the source and target side.
#[derive(Clone, Debug)]
pub enum Tokenizers {
    /// One vocabulary for both sides.
    Shared(Tokenizer),
    /// Separate vocabularies.
    Separate {
        /// The tokenizer for source text.
        src: Tokenizer,
        /// The tokenizer for target text.
        tgt: Tokenizer,
    },
}

/// Tokenizers without the tokens with special roles.
#[derive(Debug)]
pub struct UnnamedTokenizers {
    dir: PathBuf,
    /// In the order of [`Tokenizers::file_names`].
    files: Vec<Unnamed>,
}

impl UnnamedTokenizers {
    /// Reads `tokenizer.json`, or `tokenizer.src.json` and `tokenizer.tgt.json`, from a model directory.
    ///
    /// # Errors
    /// [`Error::Model`] if neither exists; otherwise see [`Unnamed::load`].
    pub fn load(dir: &Path) -> Result<Self> {
        let names = Tokenizers::file_names(dir);
        if !names.iter().any(|name| dir.join(name).exists()) {
            return Err(Error::Model {
                path: dir.to_path_buf(),
                problem: format!("neither `{SHARED_FILE}` nor `{SRC_FILE}` and `{TGT_FILE}` exist"),
                hint: Some("check that the path names a model directory".into()),
            });
        }
        let load = |name: &str| Unnamed::load(&dir.join(name));
        let files = match names[..] {
            [first, second] => {
                let (second, first) = both(|| load(second), || load(first));
                vec![first?, second?]
            }
            _ => names.iter().map(|name| load(name)).collect::<Result<_>>()?,
        };
        Ok(Self { dir: dir.to_path_buf(), files })
    }

    /// The tokenizers, in which the tokens `names` have special roles.
    ///
    /// # Errors
    /// See [`Unnamed::named`].
    pub fn named<'a>(self, names: impl Into<NamesOfSides<'a>>) -> Result<Tokenizers> {
        let names = names.into();
        let named = |file: Unnamed, name: &str, names| file.named(&self.dir.join(name), names);
        match <[Unnamed; 2]>::try_from(self.files) {
            Ok([src, tgt]) => Ok(Tokenizers::Separate {
                src: named(src, SRC_FILE, names.src)?,
                tgt: named(tgt, TGT_FILE, names.tgt)?,
            }),
            Err(files) => {
                let both = files.into_iter().next().expect("one file or two");
                named(both, SHARED_FILE, names.tgt).map(Tokenizers::Shared)
            }
        }
    }
}

impl Tokenizers {
    /// Reads tokenizers from a model directory. The tokens `names` have special roles.
    ///
    /// # Errors
    /// Those of [`UnnamedTokenizers::load`] and [`UnnamedTokenizers::named`].
    pub fn load<'a>(dir: &Path, names: impl Into<NamesOfSides<'a>>) -> Result<Self> {
        UnnamedTokenizers::load(dir)?.named(names)
    }

    /// The names of the files that [`Tokenizers::load`] reads in `dir`.
    pub fn file_names(dir: &Path) -> &'static [&'static str] {
        if dir.join(SHARED_FILE).exists() { &[SHARED_FILE] } else { &[SRC_FILE, TGT_FILE] }
    }

    /// Returns names and contents of the files that [`Tokenizers::load`] reads.
    pub fn files(&self) -> Vec<(&'static str, Vec<u8>)> {
        match self {
            Self::Shared(both) => vec![(SHARED_FILE, both.to_json().to_vec())],
            Self::Separate { src, tgt } => {
                vec![(SRC_FILE, src.to_json().to_vec()), (TGT_FILE, tgt.to_json().to_vec())]
            }
        }
    }

    /// Creates the tokenizers from the [`Tokenizers::files`] of another process with the same program.
    ///
    /// # Errors
    /// [`Error::Data`] if they are not valid tokenizers.
    pub fn from_files(files: Vec<String>, names: NamesOfSides<'_>) -> Result<Self> {
        let read = |json: String, names| {
            Tokenizer::from_json(json.into_bytes(), names)
                .map_err(|problem| Error::Data { problem, hint: None })
        };
        match <[String; 2]>::try_from(files) {
            Ok([src, tgt]) => Ok(Self::Separate { src: read(src, names.src)?, tgt: read(tgt, names.tgt)? }),
            Err(mut files) => match (files.pop(), files.is_empty()) {
                (Some(both), true) => Ok(Self::Shared(read(both, names.tgt)?)),
                _ => Err(Error::Data { problem: "expected one tokenizer or two".into(), hint: None }),
            },
        }
    }

    /// Returns the tokenizer for source text.
    pub fn src(&self) -> &Tokenizer {
        match self {
            Self::Shared(both) => both,
            Self::Separate { src, .. } => src,
        }
    }

    /// Returns the tokenizer for target text.
    pub fn tgt(&self) -> &Tokenizer {
        match self {
            Self::Shared(both) => both,
            Self::Separate { tgt, .. } => tgt,
        }
    }
}
