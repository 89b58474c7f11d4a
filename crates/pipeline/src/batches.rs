//! The batching policy for everything but training. Results do not depend on it.

use attentive_base::batch::Batch;
use attentive_base::error::Result;
use attentive_data::{Budget, Example, Masking, fixed_batches};
use attentive_text::Sides;

/// Target number of positions in a batch without search, unless a single line has more: enough to keep all
/// cores busy.
pub const POSITIONS: usize = 1 << 13;

/// Maximum number of source positions in all searches of a text, each counted once per hypothesis: that of 64
/// sentences of 50 tokens with a beam width of 5.
pub(super) const SEARCH_POSITIONS: usize = 1 << 14;

/// Maximum number in each of many searches, at least: that of 16 sentences of 50
/// tokens with a beam width of 5.
pub(super) const SEARCH_POSITIONS_EACH: usize = 1 << 12;

/// Maximum number on a GPU: that of 256 sentences of 50 tokens with a beam width of 5.
pub(super) const SEARCH_POSITIONS_GPU: usize = 1 << 16;

/// Batches of `examples` of similar length; the `lines` of a batch are those of its examples. `masking` hides
/// tokens from a masked language model.
///
/// # Errors
/// The errors of [`fixed_batches`].
pub fn batches(
    examples: Vec<Example>,
    special: impl Into<Sides>,
    masking: Option<Masking>,
) -> Result<Vec<Batch>> {
    batches_within(POSITIONS, examples, special, masking)
}

/// [`batches`] of about `positions` positions.
///
/// # Errors
/// The errors of [`fixed_batches`].
pub(super) fn batches_within(
    positions: usize,
    examples: Vec<Example>,
    special: impl Into<Sides>,
    masking: Option<Masking>,
) -> Result<Vec<Batch>> {
    let lens = examples.iter().map(|example| example.src_len().max(example.tgt_len()));
    match lens.max() {
        None => Ok(Vec::new()),
        Some(longest) => {
            let budget = Budget::new(positions.max(longest));
            fixed_batches(examples, budget, special, masking)
        }
    }
}
