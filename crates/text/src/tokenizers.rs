//! The source and target tokenizers of a model.

use std::path::Path;

use attentive_base::error::{Error, Result};
use attentive_config::NamesOfSides;

use super::tokenizer::Tokenizer;

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

impl Tokenizers {
    /// Reads `tokenizer.json`, or `tokenizer.src.json` and `tokenizer.tgt.json`, from a model directory. The tokens `names` have
    /// special roles.
    ///
    /// # Errors
    /// [`Error::Model`] if neither exists; otherwise see [`Tokenizer::load`].
    pub fn load<'a>(dir: &Path, names: impl Into<NamesOfSides<'a>>) -> Result<Self> {
        let names = names.into();
        let [shared, src, tgt] = [SHARED_FILE, SRC_FILE, TGT_FILE].map(|name| dir.join(name));
        if Self::file_names(dir) == [SHARED_FILE] {
            return Ok(Self::Shared(Tokenizer::load(&shared, names.tgt)?));
        }
        if !src.exists() && !tgt.exists() {
            return Err(Error::Model {
                path: dir.to_path_buf(),
                problem: format!("neither `{SHARED_FILE}` nor `{SRC_FILE}` and `{TGT_FILE}` exist"),
                hint: Some("check that the path names a model directory".into()),
            });
        }
        Ok(Self::Separate {
            src: Tokenizer::load(&src, names.src)?,
            tgt: Tokenizer::load(&tgt, names.tgt)?,
        })
    }

    /// The names of the files that [`Tokenizers::load`] reads in `dir`.
    pub fn file_names(dir: &Path) -> &'static [&'static str] {
        match dir.join(SHARED_FILE).exists() {
            true => &[SHARED_FILE],
            false => &[SRC_FILE, TGT_FILE],
        }
    }

    /// Returns names and contents of the files that [`Tokenizers::load`] reads.
    pub fn files(&self) -> Vec<(&'static str, Vec<u8>)> {
        match self {
            Self::Shared(both) => vec![(SHARED_FILE, both.to_json().to_vec())],
            Self::Separate { src, tgt } => {
                vec![
                    (SRC_FILE, src.to_json().to_vec()),
                    (TGT_FILE, tgt.to_json().to_vec()),
                ]
            }
        }
    }

    /// Creates the tokenizers from the [`Tokenizers::files`] of another process with the same program.
    ///
    /// # Errors
    /// [`Error::Data`] if they are not valid tokenizers.
    pub fn from_files(files: Vec<String>, names: NamesOfSides<'_>) -> Result<Self> {
        let read = |json: String, names| {
            Tokenizer::from_json(json.into_bytes(), names).map_err(|problem| Error::Data {
                problem,
                hint: None,
            })
        };
        match <[String; 2]>::try_from(files) {
            Ok([src, tgt]) => Ok(Self::Separate {
                src: read(src, names.src)?,
                tgt: read(tgt, names.tgt)?,
            }),
            Err(mut files) => match (files.pop(), files.is_empty()) {
                (Some(both), true) => Ok(Self::Shared(read(both, names.tgt)?)),
                _ => Err(Error::Data {
                    problem: "expected one tokenizer or two".into(),
                    hint: None,
                }),
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
