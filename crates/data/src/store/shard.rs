//! A file of examples.
//!
//! ```text
//! magic "attshard", width of a token in bytes (u32), number of examples (u32)
//! for each example: line (u32), source tokens (u32), target tokens (u32)
//! for each example: its source tokens, its target tokens (u16 or u32)
//! for each example: its weight (f32), if some weights are not 1; the width then has the bit `WEIGHTED`
//! ```
//!
//! All numbers are little-endian.

use std::path::Path;

use attentive_base::batch::TokenId;
use attentive_base::error::{Error, Result};
use attentive_base::regular_file;
use attentive_kernels::mapped::{IfLost, Mapped};

use super::layout::{ExampleLayout, Width};
use super::manifest::ShardFacts;
use crate::batching::budget::ExampleLengths;
use crate::encoding::example::Example;

const MAGIC: &[u8; 8] = b"attshard";
const HEADER: usize = 16;
/// A bit beside the width of a token: the weights of the examples follow the tokens.
const WEIGHTED: u32 = 0x100;
/// The size of an example's line number and lengths, in bytes.
const ENTRY: usize = 12;

/// A memory-mapped file of examples.
#[derive(Debug)]
pub(super) struct Shard {
    bytes: Mapped,
    facts: ShardFacts,
    width: Width,
    /// The offset of the first token of each example, in bytes, and the end of the last one.
    starts: Vec<u64>,
    /// The number of source tokens of each example.
    src_lens: Vec<u32>,
    has_weights: bool,
}

impl Shard {
    /// Maps the shard at `path`, about which these facts are known.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be read, [`Error::Data`] if it is damaged.
    pub(super) fn open(path: &Path, facts: ShardFacts) -> Result<Self> {
        let unreadable = || Error::io("read", path);
        let file = regular_file::open(path).map_err(unreadable())?;
        let bytes = Mapped::open(&file, path, IfLost::Zeros).map_err(unreadable())?;
        let is_whole = crc32fast::hash(&bytes) == facts.crc32;
        let shard = is_whole.then(|| Self::read(bytes, facts)).flatten();
        let shard = shard.filter(|shard| shard.starts.len() == facts.examples + 1);
        shard.ok_or_else(|| damaged(path))
    }

    fn read(bytes: Mapped, facts: ShardFacts) -> Option<Self> {
        let (magic, rest) = bytes.split_at_checked(MAGIC.len())?;
        let (header, rest) = rest.split_at_checked(HEADER - MAGIC.len())?;
        let has_weights = word(header, 0) & WEIGHTED != 0;
        let width = Width::of_bytes(word(header, 0) & !WEIGHTED)?;
        let n = word(header, 1) as usize;
        let (entries, _) = rest.split_at_checked(n * ENTRY)?;
        let mut end = (HEADER + entries.len()) as u64;
        let mut starts = Vec::with_capacity(n + 1);
        let mut src_lens = Vec::with_capacity(n);
        starts.push(end);
        for entry in entries.chunks_exact(ENTRY) {
            let count = u64::from(word(entry, 1)) + u64::from(word(entry, 2));
            end += count * width.bytes() as u64;
            starts.push(end);
            src_lens.push(word(entry, 1));
        }
        let weights = if has_weights { n * size_of::<f32>() } else { 0 };
        let is_whole = magic == MAGIC && end + weights as u64 == bytes.len() as u64;
        is_whole.then_some(Self { facts, width, starts, src_lens, has_weights, bytes })
    }

    /// Refuses a file that was overwritten or truncated since it was opened: examples that were read since
    /// the last check are then worthless.
    ///
    /// # Errors
    /// [`Error::Data`] with its name.
    pub(super) fn check(&self) -> Result<()> {
        let is_same = |bytes: &[u8]| crc32fast::hash(bytes) == self.facts.crc32;
        self.bytes.check(is_same).map_err(|_| {
            Error::data(
                format!("`{}` was changed while it was in use", self.bytes.path().display()),
                "delete its folder: the corpus is then prepared again, and the run can be continued from its \
                 last checkpoint",
            )
        })
    }

    /// The lengths of example `number` of the shard.
    pub(super) fn lengths(&self, number: usize, layout: ExampleLayout) -> ExampleLengths {
        let src = self.src_lens[number] as usize;
        let bytes = (self.starts[number + 1] - self.starts[number]) as usize;
        layout.lengths(src, bytes / self.width.bytes() - src)
    }

    /// Example `number` of the shard.
    pub(super) fn get(&self, number: usize, layout: ExampleLayout, start: TokenId) -> Example {
        let line = word(&self.bytes[HEADER + number * ENTRY..], 0) as usize;
        let range = self.starts[number] as usize..self.starts[number + 1] as usize;
        let mut src = self.width.read(&self.bytes[range]);
        let tgt = src.split_off(self.src_lens[number] as usize);
        Example { weight: self.weight(number), ..layout.example(src, tgt, start, line) }
    }

    /// The weight of example `number`.
    fn weight(&self, number: usize) -> f32 {
        let end_of_tokens = self.starts.last().copied().unwrap_or(0) as usize;
        if self.has_weights { f32::from_bits(word(&self.bytes[end_of_tokens..], number)) } else { 1.0 }
    }
}

/// The content of a shard that is being written.
#[derive(Debug, Default)]
pub(super) struct ShardBuilder {
    entries: Vec<u8>,
    tokens: Vec<u8>,
    weights: Vec<f32>,
}

impl ShardBuilder {
    /// The number of examples so far.
    pub(super) fn len(&self) -> usize {
        self.entries.len() / ENTRY
    }

    /// Adds an example.
    pub(super) fn push(&mut self, example: &Example, layout: ExampleLayout, width: Width) {
        let [src, tgt] = layout.stored(example);
        for number in [example.line, src.len(), tgt.len()] {
            // Lines of corpora with more than 2³² lines are numbered from 0 again.
            self.entries.extend((number as u32).to_le_bytes());
        }
        for side in [src, tgt] {
            width.write(side, &mut self.tokens);
        }
        self.weights.push(example.weight);
    }

    /// The bytes of the file.
    pub(super) fn bytes(&self, width: Width) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        let has_weights = self.weights.iter().any(|&weight| weight != 1.0);
        let width = width.bytes() as u32 | if has_weights { WEIGHTED } else { 0 };
        for number in [width, self.len() as u32] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(&self.entries);
        bytes.extend(&self.tokens);
        if has_weights {
            bytes.extend(self.weights.iter().flat_map(|weight| weight.to_le_bytes()));
        }
        bytes
    }
}

/// The `place`-th number of `bytes`.
fn word(bytes: &[u8], place: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[4 * place..][..4]);
    u32::from_le_bytes(word)
}

fn damaged(path: &Path) -> Error {
    Error::data(
        format!("`{}` is damaged", path.display()),
        "delete its folder: the corpus is then prepared again",
    )
}
