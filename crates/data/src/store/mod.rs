//! Encoded corpora on disk.
//!
//! A corpus is a folder of shards and a manifest. It is created under another name and renamed when it is
//! complete, so a folder with a manifest is complete. Its name contains a hash of the data and settings that
//! it was made from (see [`StoreKey`]), by which it is found again.

mod layout;
mod manifest;
mod shard;
mod store_writer;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

pub use layout::ExampleLayout;
pub use manifest::StoreKey;
pub use store_writer::{StoreFacts, StoreWriter};

use attentive_base::batch::TokenId;
use attentive_base::error::{Error, Result};
use attentive_base::regular_file;
use attentive_text::Tokenizers;

use self::manifest::Manifest;
use self::shard::Shard;
use self::store_writer::UNFINISHED;
use crate::batching::budget::ExampleLengths;
use crate::encoding::example::Example;
use crate::encoding::examples::SHARD;
use crate::encoding::line_encoder::EncodeStats;
use crate::reading::source_file::SourceFile;

const MANIFEST: &str = "corpus.json";

/// An encoded corpus on disk, of which some shards are memory-mapped.
#[derive(Clone, Debug)]
pub struct Store {
    dir: PathBuf,
    manifest: Arc<Manifest>,
    /// The first input of the decoder.
    start: TokenId,
    loaded: BTreeMap<usize, Arc<Shard>>,
}

impl Store {
    /// Returns the corpus with this key in the folder `stores`, if it exists.
    ///
    /// # Errors
    /// [`Error::Io`] if its manifest cannot be read, and [`Error::Data`] if it is damaged.
    pub fn find(stores: &Path, key: &StoreKey) -> Result<Option<Self>> {
        let dir = stores.join(key.folder());
        match dir.join(MANIFEST).try_exists() {
            Ok(false) => Ok(None),
            Ok(true) => Self::open(&dir).map(Some),
            Err(error) => Err(Error::io("read", &dir)(error)),
        }
    }

    /// Opens the corpus in the folder `dir`.
    ///
    /// # Errors
    /// [`Error::Io`] if its manifest cannot be read, and [`Error::Data`] if it is damaged.
    pub fn open(dir: &Path) -> Result<Self> {
        let path = dir.join(MANIFEST);
        let text = regular_file::read(&path, regular_file::DESCRIPTION)?;
        let manifest: Result<Manifest, String> =
            serde_json::from_slice(&text).map_err(|error| error.to_string());
        let whole = manifest.and_then(|manifest| manifest.check().map(|()| manifest));
        let manifest = whole.map_err(|problem| {
            Error::data(
                format!("`{}` is damaged, or of another format: {problem}", path.display()),
                "delete its folder: the corpus is then prepared again",
            )
        })?;
        Ok(Self { dir: dir.to_path_buf(), manifest: Arc::new(manifest), start: 0, loaded: BTreeMap::new() })
    }

    /// Returns this corpus for a decoder whose first input is `start`.
    pub fn starting_with(self, start: TokenId) -> Self {
        Self { start, ..self }
    }

    /// Returns the folders of all corpora in the folder `stores`, each with the opened corpus or the error of
    /// opening it.
    ///
    /// # Errors
    /// [`Error::Io`] if the folder cannot be read.
    pub fn all(stores: &Path) -> Result<Vec<(PathBuf, Result<Self>)>> {
        let entries = match fs::read_dir(stores) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(Error::io("read", stores))?,
        };
        let mut found = Vec::new();
        for entry in entries {
            let entry = entry.map_err(Error::io("read", stores))?;
            let is_unfinished = entry.file_name().to_string_lossy().starts_with(UNFINISHED);
            let path = entry.path();
            if !is_unfinished && path.join(MANIFEST).exists() {
                let opened = Self::open(&path);
                found.push((path, opened));
            }
        }
        found.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(found)
    }

    /// Returns the folder of the corpus.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns the key of the data and settings that the corpus was made from.
    pub fn key(&self) -> &StoreKey {
        &self.manifest.key
    }

    /// Returns the tokenizers with which the corpus was encoded.
    ///
    /// # Errors
    /// Any error of [`Tokenizers::load`].
    pub fn tokenizers(&self) -> Result<Tokenizers> {
        Tokenizers::load(&self.dir, self.key().special())
    }

    /// Returns counts of lines kept and dropped during encoding.
    pub fn encode_stats(&self) -> EncodeStats {
        self.manifest.encoded
    }

    /// Returns the files that the corpus was made from.
    pub fn files(&self) -> &[SourceFile] {
        &self.manifest.files
    }

    /// Returns for each part the number of examples up to its end.
    pub fn ends(&self) -> &[usize] {
        &self.manifest.ends
    }

    /// Returns the number of lines of the corpus, dropped ones included; `None` for one that an earlier
    /// version has made.
    pub fn n_lines(&self) -> Option<usize> {
        Some(self.manifest.lines).filter(|&lines| lines > 0)
    }

    /// Returns the size of the shards in bytes.
    pub fn disk_bytes(&self) -> u64 {
        self.manifest.shards.iter().map(|shard| shard.bytes).sum()
    }

    /// Returns the number of examples.
    pub fn len(&self) -> usize {
        self.manifest.encoded.kept
    }

    /// True if there are no examples.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Deletes the corpus in the folder `dir`. Runs that read it fail with an error at their next window.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be deleted.
    pub fn remove(dir: &Path) -> Result<()> {
        // Without a manifest, whatever may be left is no longer a corpus.
        let manifest = dir.join(MANIFEST);
        fs::remove_file(&manifest).map_err(Error::io("delete", &manifest))?;
        fs::remove_dir_all(dir).map_err(Error::io("delete", dir))
    }

    /// Maps these shards, and no others.
    pub(super) fn load(&mut self, shards: &[usize]) -> Result<()> {
        self.loaded.retain(|number, _| shards.contains(number));
        for &number in shards {
            if !self.loaded.contains_key(&number) {
                let path = self.dir.join(shard_name(number));
                let shard = Shard::open(&path, self.manifest.shards[number])?;
                self.loaded.insert(number, Arc::new(shard));
            }
        }
        Ok(())
    }

    /// Refuses a loaded shard whose file was changed since it was loaded.
    pub(super) fn check(&self) -> Result<()> {
        self.loaded.values().try_for_each(|shard| shard.check())
    }

    /// The lengths of an example of a loaded shard.
    pub(super) fn lengths(&self, index: usize) -> ExampleLengths {
        self.shard(index).lengths(index % SHARD, self.manifest.layout)
    }

    /// An example of a loaded shard.
    pub(super) fn get(&self, index: usize) -> Example {
        let (number, layout) = (index % SHARD, self.manifest.layout);
        self.shard(index).get(number, layout, self.start)
    }

    pub(super) fn least_batch_tokens(&self) -> Option<usize> {
        (!self.is_empty()).then_some(self.manifest.least_batch_tokens)
    }

    /// The size of the loaded shards in bytes.
    pub(super) fn bytes(&self) -> usize {
        let loaded = self.loaded.keys();
        let bytes = loaded.map(|&number| self.manifest.shards[number].bytes as usize);
        // The start of each example takes 8 bytes, and its source length 4.
        bytes.sum::<usize>() + self.loaded.len() * SHARD * (size_of::<u64>() + size_of::<u32>())
    }

    fn shard(&self, index: usize) -> &Shard {
        &self.loaded[&(index / SHARD)]
    }
}

fn shard_name(number: usize) -> String {
    format!("{number:05}.shard")
}
