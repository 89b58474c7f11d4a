//! Lines that a program gives.

use std::path::Path;
use std::vec;

use attentive_base::hexadecimal;
use sha2::{Digest, Sha256};

use crate::corpus::item::{Item, TagInput};
use crate::reading::source_file::SourceFile;

/// The name of the lines in place of a path.
const NAME: &str = "in_memory";

/// Lines in RAM, read one after the other.
#[derive(Debug)]
pub(crate) struct InMemoryLines {
    items: vec::IntoIter<Item>,
    /// Number of lines read.
    read: usize,
    hash: Sha256,
    bytes: u64,
}

impl InMemoryLines {
    pub(crate) fn new(items: Vec<Item>) -> Self {
        Self { items: items.into_iter(), read: 0, hash: Sha256::new(), bytes: 0 }
    }

    /// The number of the current line, starting at 1.
    pub(crate) fn line(&self) -> usize {
        self.read
    }

    /// The next line.
    pub(crate) fn next(&mut self) -> Option<Item> {
        let item = self.items.next()?;
        self.read += 1;
        match &item {
            Item::Translation { src, tgt } => self.add_all([src, tgt]),
            Item::Labeled { text, label } => self.add_all([text, label]),
            Item::Text(text) => self.add_all([text]),
            Item::Tagged { input, tags } => {
                match input {
                    TagInput::Tokens(tokens) => self.add_all(tokens),
                    TagInput::Vectors(values) => self.add_all(values.iter().map(f32::to_string)),
                }
                self.add_all(tags);
            }
        }
        Some(item)
    }

    /// The identity of all lines, which have been read.
    pub(crate) fn finish(self) -> SourceFile {
        SourceFile {
            path: Path::new(NAME).to_path_buf(),
            sha256: hexadecimal(self.hash.finalize()),
            bytes: self.bytes,
        }
    }

    /// Hashes `texts` with their number and lengths, so that other texts with the same characters have
    /// another hash.
    fn add_all<T: AsRef<str>>(&mut self, texts: impl IntoIterator<Item = T, IntoIter: ExactSizeIterator>) {
        let texts = texts.into_iter();
        self.hash.update((texts.len() as u64).to_le_bytes());
        for text in texts {
            let text = text.as_ref();
            self.hash.update((text.len() as u64).to_le_bytes());
            self.hash.update(text);
            self.bytes += text.len() as u64;
        }
    }
}
