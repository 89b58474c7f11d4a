//! Random choices based on a source of random bits.

/// Random choices that use the bits of the caller's generator.
pub(super) struct RandomChoices<'a> {
    next_u64: &'a mut dyn FnMut() -> u64,
}

impl<'a> RandomChoices<'a> {
    /// Uses the bits returned by `next_u64`.
    pub(super) fn new(next_u64: &'a mut dyn FnMut() -> u64) -> Self {
        Self { next_u64 }
    }

    /// Borrows the same source for a shorter lifetime.
    pub(super) fn reborrow(&mut self) -> RandomChoices<'_> {
        RandomChoices::new(&mut *self.next_u64)
    }

    /// An integer in `0..bound`, uniform to within 2⁻⁶⁴·`bound`.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        assert!(bound > 0, "`bound` must be positive");
        ((u128::from((self.next_u64)()) * bound as u128) >> 64) as usize
    }

    /// True with the given probability.
    pub(super) fn chance(&mut self, probability: f64) -> bool {
        let uniform = ((self.next_u64)() >> 11) as f64 * (1.0 / (1u64 << 53) as f64);
        uniform < probability
    }

    /// An element of `items`, uniformly chosen. `items` must not be empty.
    pub(super) fn choose<'i, T>(&mut self, items: &'i [T]) -> &'i T {
        &items[self.below(items.len())]
    }
}
