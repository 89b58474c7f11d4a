//! What a service is doing.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

/// What a service is doing, and has done since it started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Jobs that wait.
    pub waiting: usize,
    /// Jobs that are being worked on.
    pub running: usize,
    /// Decoding steps so far.
    pub steps: u64,
    /// Rows of all decoding steps so far: `rows / steps` is the mean batch.
    pub rows: u64,
    /// Source tokens and tokens of prompts so far.
    pub src_tokens: u64,
    /// Tokens of results so far.
    pub tgt_tokens: u64,
}

/// The counts behind a [`Load`].
#[derive(Debug, Default)]
pub(super) struct Counters {
    running: AtomicUsize,
    steps: AtomicU64,
    rows: AtomicU64,
    src_tokens: AtomicU64,
    tgt_tokens: AtomicU64,
}

impl Counters {
    pub(super) fn load(&self, waiting: usize) -> Load {
        Load {
            waiting,
            running: self.running.load(Relaxed),
            steps: self.steps.load(Relaxed),
            rows: self.rows.load(Relaxed),
            src_tokens: self.src_tokens.load(Relaxed),
            tgt_tokens: self.tgt_tokens.load(Relaxed),
        }
    }

    /// Begins a job that reads so many tokens.
    pub(super) fn begin(&self, src_tokens: usize) {
        self.running.fetch_add(1, Relaxed);
        self.src_tokens.fetch_add(src_tokens as u64, Relaxed);
    }

    /// Ends a job that wrote so many tokens.
    pub(super) fn end(&self, tgt_tokens: usize) {
        self.running.fetch_sub(1, Relaxed);
        self.tgt_tokens.fetch_add(tgt_tokens as u64, Relaxed);
    }

    /// A decoding step of `rows` rows.
    pub(super) fn step(&self, rows: usize) {
        self.steps.fetch_add(1, Relaxed);
        self.rows.fetch_add(rows as u64, Relaxed);
    }
}
