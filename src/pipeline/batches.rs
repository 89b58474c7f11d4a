//! Lines that go through a model together.

use crate::batch::Batch;
use crate::data::{Budget, Example, fixed_batches};
use crate::error::Result;
use crate::text::SpecialTokens;

/// About as many positions in a batch, unless one line has more: enough to keep all cores busy.
const POSITIONS: usize = 1 << 13;

/// `examples` in batches of similar length; the `lines` of a batch are those of its examples.
pub(super) fn batches(examples: Vec<Example>, special: SpecialTokens) -> Result<Vec<Batch>> {
    match examples.iter().map(Example::src_len).max() {
        None => Ok(Vec::new()),
        Some(longest) => {
            let budget = Budget::new(POSITIONS.max(longest));
            fixed_batches(examples, budget, special, None)
        }
    }
}
