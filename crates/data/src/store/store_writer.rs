//! Creates a corpus on disk.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use attentive_base::error::{Error, Result};
use attentive_text::Tokenizers;
use tempfile::TempDir;

use super::layout::{ExampleLayout, Width};
use super::manifest::{Manifest, ShardFacts};
use super::shard::ShardBuilder;
use super::{MANIFEST, Store, StoreKey, shard_name};
use crate::encoding::example::Example;
use crate::encoding::examples::SHARD;
use crate::encoding::line_encoder::EncodeStats;
use crate::reading::source_file::SourceFile;

/// The prefix of the names of incomplete folders.
pub(super) const UNFINISHED: &str = ".unfinished-";
/// A file that is locked by the process that works on a folder.
const LOCK: &str = ".lock";

/// Examples are numbered by 32 bits.
pub(super) const MAX_SHARDS: usize = ((1_u64 << 32) / SHARD as u64) as usize;

/// A corpus that is being written.
#[derive(Debug)]
pub struct StoreWriter {
    /// The final folder.
    dir: PathBuf,
    folder: TempDir,
    /// The lock file, locked as long as this process works on the corpus.
    _lock: File,
    layout: ExampleLayout,
    width: Width,
    shard: ShardBuilder,
    shards: Vec<ShardFacts>,
    /// For each complete part, the number of examples up to its end.
    ends: Vec<usize>,
    least_batch_tokens: usize,
}

/// Facts about a finished corpus.
#[derive(Clone, Debug)]
pub struct StoreFacts {
    /// The key of the data that the corpus was made from.
    pub key: StoreKey,
    /// Counts of lines kept and dropped during encoding.
    pub encoded: EncodeStats,
    /// The files that were read.
    pub files: Vec<SourceFile>,
    /// The number of parts; the last ones may have no examples.
    pub n_parts: usize,
    /// The number of lines of the corpus, dropped ones included.
    pub lines: usize,
}

impl StoreWriter {
    /// Begins a corpus in the folder `stores`, which is created if it is missing.
    ///
    /// # Errors
    /// [`Error::Io`] if a folder or a file cannot be written.
    pub fn begin(
        stores: &Path,
        key: &StoreKey,
        tokenizers: &Tokenizers,
        layout: ExampleLayout,
    ) -> Result<Self> {
        fs::create_dir_all(stores).map_err(Error::io("create", stores))?;
        delete_unfinished(stores)?;
        let folder = tempfile::Builder::new().prefix(UNFINISHED).tempdir_in(stores);
        let folder = folder.map_err(Error::io("create a folder in", stores))?;
        let lock = folder.path().join(LOCK);
        let lock = File::create(&lock).and_then(|mut file| {
            match file.lock() {
                // Some network file systems have no locks.
                Err(error) if error.kind() == io::ErrorKind::Unsupported => {}
                locked => locked?,
            }
            // Only now is the folder known to be in use.
            file.write_all(b"locked")?;
            Ok(file)
        });
        let lock = lock.map_err(Error::io("lock", folder.path()))?;
        for (name, content) in tokenizers.files() {
            write(&folder.path().join(name), &content)?;
        }
        let size = |tokenizer: &attentive_text::Tokenizer| tokenizer.vocab_size();
        Ok(Self {
            dir: stores.join(key.folder()),
            folder,
            _lock: lock,
            layout,
            width: Width::of_vocabulary(size(tokenizers.src()).max(size(tokenizers.tgt()))),
            shard: ShardBuilder::default(),
            shards: Vec::new(),
            ends: Vec::new(),
            least_batch_tokens: 0,
        })
    }

    /// Adds an example, which must not have vectors. `ends` holds the last lines of all parts that end before
    /// the example; it may also hold those of later parts.
    ///
    /// # Errors
    /// [`Error::Io`] if a shard cannot be written.
    pub fn push(&mut self, example: &Example, ends: &[usize]) -> Result<()> {
        let n_parts = ends.partition_point(|&end| end < example.line);
        self.ends.resize(n_parts.max(self.ends.len()), self.len());
        if self.shards.len() == MAX_SHARDS {
            return Err(Error::data(
                format!("the corpus has more than {} examples", 1_u64 << 32),
                "train on a part of it",
            ));
        }
        let least = example.lengths().least_batch_tokens();
        self.least_batch_tokens = self.least_batch_tokens.max(least);
        self.shard.push(example, self.layout, self.width);
        if self.shard.len() == SHARD { self.write_shard() } else { Ok(()) }
    }

    /// Moves the corpus into place. If another process has created the same one in the meantime, that one is
    /// used.
    ///
    /// # Errors
    /// [`Error::Io`] if a file cannot be written.
    pub fn finish(mut self, settings: StoreFacts) -> Result<Store> {
        let StoreFacts { key, encoded, files, n_parts, lines } = settings;
        self.ends.resize(n_parts, self.len());
        if self.shard.len() > 0 {
            self.write_shard()?;
        }
        let manifest = Manifest {
            key,
            layout: self.layout,
            encoded,
            files,
            ends: self.ends,
            least_batch_tokens: self.least_batch_tokens,
            shards: self.shards,
            lines,
        };
        let text = serde_json::to_vec_pretty(&manifest).expect("only text and numbers");
        write(&self.folder.path().join(MANIFEST), &text)?;
        let place = || fs::rename(self.folder.path(), &self.dir);
        let placed = place().or_else(|error| {
            if self.dir.join(MANIFEST).exists() {
                return Err(error);
            }
            // The folder is a leftover of a corpus that was being deleted.
            fs::remove_dir_all(&self.dir).and_then(|()| place())
        });
        match placed {
            Ok(()) => {
                // The folder has been renamed, so it must not be deleted.
                let _ = self.folder.keep();
                let _ = fs::remove_file(self.dir.join(LOCK));
                Ok(Store { dir: self.dir, manifest: Arc::new(manifest), start: 0, loaded: BTreeMap::new() })
            }
            Err(_) if self.dir.join(MANIFEST).exists() => Store::open(&self.dir),
            Err(error) => Err(Error::io("write", &self.dir)(error)),
        }
    }

    /// The number of examples so far.
    fn len(&self) -> usize {
        self.shards.len() * SHARD + self.shard.len()
    }

    /// Leaves the files like a process that is killed.
    #[cfg(test)]
    pub(super) fn abandon(self) -> PathBuf {
        self.folder.keep()
    }

    fn write_shard(&mut self) -> Result<()> {
        let shard = std::mem::take(&mut self.shard);
        let bytes = shard.bytes(self.width);
        write(&self.folder.path().join(shard_name(self.shards.len())), &bytes)?;
        self.shards.push(ShardFacts {
            examples: shard.len(),
            bytes: bytes.len() as u64,
            crc32: crc32fast::hash(&bytes),
        });
        Ok(())
    }
}

/// Deletes the leftovers of killed processes in `stores`.
fn delete_unfinished(stores: &Path) -> Result<()> {
    let unreadable = || Error::io("read", stores);
    for entry in fs::read_dir(stores).map_err(unreadable())? {
        let entry = entry.map_err(unreadable())?;
        if !entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
            continue;
        }
        let folder = entry.path();
        let is_abandoned = File::open(folder.join(LOCK)).is_ok_and(|lock| {
            let was_locked = lock.metadata().is_ok_and(|lock| lock.len() > 0 || is_old(&lock));
            was_locked && lock.try_lock().is_ok()
        });
        if is_abandoned {
            // Another process may be deleting it as well, or it may belong to another user.
            let _ = fs::remove_dir_all(&folder);
        }
    }
    Ok(())
}

/// True for a file that nobody has changed for so long that whoever created it is gone.
fn is_old(file: &fs::Metadata) -> bool {
    const LONG: Duration = Duration::from_secs(60);
    let age = file.modified().ok().and_then(|time| time.elapsed().ok());
    age.is_some_and(|age| age > LONG)
}

/// Writes a file, and waits until it is on disk.
fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let written = File::create(path).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    written.map_err(Error::io("write", path))
}
