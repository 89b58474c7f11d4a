//! The load of a service.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

/// The current load of a service, and totals since it started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// The number of jobs that wait.
    pub waiting: usize,
    /// The number of jobs that are being worked on.
    pub running: usize,
    /// The number of decoding steps so far.
    pub steps: u64,
    /// The total number of rows of all decoding steps so far: `rows / steps` is the average batch.
    pub rows: u64,
    /// The number of source tokens and tokens of prompts so far.
    pub src_tokens: u64,
    /// The number of tokens of results so far.
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

    /// Counts the beginning of a job that reads `src_tokens` tokens.
    pub(super) fn begin(&self, src_tokens: usize) {
        self.running.fetch_add(1, Relaxed);
        self.src_tokens.fetch_add(src_tokens as u64, Relaxed);
    }

    /// Counts the end of a job that wrote `tgt_tokens` tokens.
    pub(super) fn end(&self, tgt_tokens: usize) {
        self.running.fetch_sub(1, Relaxed);
        self.tgt_tokens.fetch_add(tgt_tokens as u64, Relaxed);
    }

    /// Counts a decoding step of `rows` rows.
    pub(super) fn step(&self, rows: usize) {
        self.steps.fetch_add(1, Relaxed);
        self.rows.fetch_add(rows as u64, Relaxed);
    }
}
