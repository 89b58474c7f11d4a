//! What the parts of a corpus are made from.

use std::fs;
use std::path::Path;

use attentive_base::error::{Error, Result};
use attentive_base::regular_file;
use attentive_checkpoint::{atomic, to_json};
use attentive_data::SourceFile;
use serde::{Deserialize, Serialize};

use super::{LINES, SynthesisOptions};

const FILE: &str = "made-from.json";

/// What the parts of a corpus are made from. Parts of a corpus with another manifest are of no use.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PartsManifest {
    model: String,
    options: String,
    text: Content,
    references: Option<Content>,
    lines_per_part: usize,
}

/// The content of a file, wherever it is.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Content {
    sha256: String,
    bytes: u64,
}

impl From<SourceFile> for Content {
    fn from(SourceFile { sha256, bytes, .. }: SourceFile) -> Self {
        Self { sha256, bytes }
    }
}

impl PartsManifest {
    pub(super) fn new(
        model: &str,
        options: &SynthesisOptions,
        text: SourceFile,
        references: Option<SourceFile>,
    ) -> Self {
        Self {
            model: model.into(),
            options: options.identity(),
            text: text.into(),
            references: references.map(Content::from),
            lines_per_part: LINES,
        }
    }

    /// Writes the manifest into the folder `parts`, which is created, or compares it with the one there.
    ///
    /// # Errors
    /// [`Error::Usage`] if they differ; [`Error::Io`] if a file cannot be read or written.
    pub(super) fn check_or_write(&self, parts: &Path) -> Result<()> {
        let path = parts.join(FILE);
        if !path.try_exists().map_err(Error::io("read", &path))? {
            fs::create_dir_all(parts).map_err(Error::io("create", parts))?;
            return atomic::write_file(&path, &to_json(self)?);
        }
        let found = regular_file::read(&path, regular_file::DESCRIPTION)?;
        let differs = match serde_json::from_slice::<Self>(&found) {
            Ok(found) => self.difference(&found),
            Err(_) => Some("something unreadable"),
        };
        match differs {
            None => Ok(()),
            Some(other) => Err(Error::usage(
                format!("`{}` has the beginning of a corpus of {other}", parts.display()),
                "delete this folder to begin again, or write to another file",
            )),
        }
    }

    fn difference(&self, other: &Self) -> Option<&'static str> {
        [
            (self.model != other.model, "another model"),
            (self.text != other.text, "another text"),
            (self.references != other.references, "other references"),
            (self.options != other.options, "other options"),
            (self.lines_per_part != other.lines_per_part, "another version of this program"),
        ]
        .into_iter()
        .find_map(|(differs, what)| differs.then_some(what))
    }
}
