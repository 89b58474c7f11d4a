//! Windows of one long text.

use attentive_base::batch::{Batch, Padded, TokenId};
use attentive_base::body::Body;
use attentive_base::count::count;
use attentive_base::error::{Error, Result};
use attentive_base::random::Random;

use crate::batching::batcher::Position;
use crate::batching::budget::BatchSize;

/// The base of the random streams that cut and shuffle the text; epoch `n` uses this plus `n`.
const FIRST_STREAM: u64 = 0x7374_7265_616d_0000;

/// An endless sequence of batches of windows, covering each token once per epoch. Each epoch cuts the text at
/// different positions.
#[derive(Clone, Debug)]
pub struct Stream {
    ids: Vec<TokenId>,
    window: usize,
    rows: usize,
    seed: u64,
    position: Position,
    /// Start positions of the windows of the current epoch.
    starts: Vec<usize>,
}

impl Stream {
    /// Creates a stream at the first batch of epoch 0, with `rows` windows of `window` tokens per batch.
    ///
    /// # Errors
    /// [`Error::Data`] if the text is shorter than a window and the following token.
    pub fn new(ids: Vec<TokenId>, window: usize, rows: usize, seed: u64) -> Result<Self> {
        check(&ids, window)?;
        let mut stream = Self { ids, window, rows, seed, position: Position::default(), starts: Vec::new() };
        stream.plan(0);
        Ok(stream)
    }

    /// Returns the position of the next batch; see [`crate::Batcher::position`].
    pub fn position(&self) -> Position {
        self.position
    }

    /// Moves to a position; see [`crate::Batcher::seek`].
    ///
    /// # Errors
    /// See [`crate::Batcher::seek`].
    pub fn seek(&mut self, position: Position) -> Result<()> {
        self.plan(position.epoch);
        position.check(self.batches_per_epoch())?;
        // A stream has a single window.
        self.position = Position { window: 0, ..position };
        Ok(())
    }

    /// Returns the next batch; see [`crate::Batcher::next_batch`].
    pub fn next_batch(&mut self) -> Batch {
        let first = self.position.batch * self.rows;
        let last = self.starts.len().min(first + self.rows);
        let batch = windows(&self.ids, self.window, &self.starts[first..last]);
        self.skip_batch();
        batch
    }

    /// Skips the next batch.
    pub(crate) fn skip_batch(&mut self) {
        self.position.batch += 1;
        if self.position.batch == self.batches_per_epoch() {
            self.plan(self.position.epoch + 1);
        }
    }

    /// Returns the number of batches in the current epoch; see [`crate::Batcher::batches_per_epoch`].
    pub fn batches_per_epoch(&self) -> usize {
        self.starts.len().div_ceil(self.rows)
    }

    /// Returns the size of each batch but the last of an epoch; see [`crate::Batcher::sizes`].
    pub fn sizes(&self) -> Vec<BatchSize> {
        self.sizes_within(self.rows * self.window)
    }

    /// Returns the result of [`Stream::sizes`] for another `batch_tokens`.
    pub fn sizes_within(&self, batch_tokens: usize) -> Vec<BatchSize> {
        vec![BatchSize {
            rows: (batch_tokens / self.window).min(self.starts.len()),
            src_len: 0,
            tgt_len: self.window,
        }]
    }

    /// Moves to the first batch of epoch 0, with batches of at most `batch_tokens`.
    pub(crate) fn limit(&mut self, batch_tokens: usize) {
        self.rows = (batch_tokens / self.window).max(1);
        self.plan(0);
    }

    /// Returns the length of a window; see [`crate::Batcher::least_batch_tokens`].
    pub fn least_batch_tokens(&self) -> usize {
        self.window
    }

    /// Returns the RAM taken by the text and the order, in bytes; see [`crate::Batcher::bytes`].
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.ids) + size_of_val(&*self.starts)
    }

    /// Returns the number of windows in the current epoch.
    pub fn n_windows(&self) -> usize {
        self.starts.len()
    }

    fn plan(&mut self, epoch: u64) {
        let mut random = Random::new(self.seed, FIRST_STREAM.wrapping_add(epoch));
        // The last target token of a window follows the window.
        let room = self.ids.len() - 1;
        let offset = random.below(self.window.min(room - self.window + 1));
        self.starts = (offset..=room - self.window).step_by(self.window).collect();
        random.shuffle(&mut self.starts);
        self.position = Position { epoch, ..Position::default() };
    }
}

/// Returns a whole text in batches of `rows` windows, cut from its beginning, for validation. Every token
/// except the first is predicted once; the last window may be shorter than the others.
///
/// # Errors
/// [`Error::Data`] if the text has fewer than two tokens.
pub fn fixed_windows(ids: &[TokenId], window: usize, rows: usize) -> Result<Vec<Batch>> {
    check(ids, 1)?;
    let starts: Vec<usize> = (0..ids.len() - 1).step_by(window).collect();
    let batches = starts.chunks(rows);
    Ok(batches.map(|starts| windows(ids, window, starts)).collect())
}

fn check(ids: &[TokenId], window: usize) -> Result<()> {
    if ids.len() > window {
        return Ok(());
    }
    Err(Error::data(
        format!(
            "a text of {} is too short for a window of {} and the token after it",
            count(ids.len(), "token"),
            count(window, "token")
        ),
        "use a longer text, or lower `model.max_len`",
    ))
}

/// The windows that begin at `starts`; those at the end of the text may be shorter.
fn windows(ids: &[TokenId], window: usize, starts: &[usize]) -> Batch {
    let room = ids.len() - 1;
    let rows = |shift: usize| {
        let window = |&start: &usize| &ids[start + shift..room.min(start + window) + shift];
        // The padding is never read, so any token will do.
        Padded::new(&starts.iter().map(window).collect::<Vec<_>>(), 0)
    };
    Batch { tgt_out: rows(1), ..Batch::of(Body::Decoder(rows(0))) }
}
