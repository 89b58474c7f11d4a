//! Files of corpora.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use attentive_base::error::Result;
use attentive_config::{CorpusFormat, CorpusSource};
use flate2::{Compression, write::GzEncoder};
use tempfile::{TempDir, tempdir};

use crate::{Corpus, DataKind, read, unwatched};

/// A directory with the files of a corpus.
pub(super) struct Files(TempDir);

impl Files {
    pub(super) fn new(files: &[(&str, &[u8])]) -> Self {
        let dir = tempdir().unwrap();
        for (name, content) in files {
            fs::write(dir.path().join(name), content).unwrap();
        }
        Self(dir)
    }

    pub(super) fn read(&self, source: CorpusSource) -> Result<Corpus> {
        self.read_as(DataKind::Translations, source)
    }

    pub(super) fn read_as(&self, kind: DataKind, source: CorpusSource) -> Result<Corpus> {
        read(&source, kind, Some(self.0.path()), 1, &mut unwatched)
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}

pub(super) fn aligned() -> CorpusSource {
    CorpusSource::aligned("src", "tgt")
}

pub(super) fn tsv() -> CorpusSource {
    CorpusSource::file(CorpusFormat::Tsv, "tsv")
}

pub(super) fn jsonl() -> CorpusSource {
    CorpusSource::file(CorpusFormat::Jsonl, "jsonl")
}

pub(super) fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

pub(super) fn zstd(content: &[u8]) -> Vec<u8> {
    zstd::encode_all(content, 1).unwrap()
}

pub(super) fn texts(corpus: &Corpus) -> Vec<(&str, &str, usize)> {
    let lines = corpus.entries().iter().map(|entry| entry.line);
    let texts = corpus.translations().zip(lines);
    texts.map(|((src, tgt), line)| (src, tgt, line)).collect()
}
