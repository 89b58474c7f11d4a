//! Draws from a source of random bits.

/// Random choices, made with the bits of a caller's generator.
pub(super) struct Random<'a> {
    next_u64: &'a mut dyn FnMut() -> u64,
}

impl<'a> Random<'a> {
    /// Draws with the bits that `next_u64` returns.
    pub(super) fn new(next_u64: &'a mut dyn FnMut() -> u64) -> Self {
        Self { next_u64 }
    }

    /// The same source for a shorter time.
    pub(super) fn reborrow(&mut self) -> Random<'_> {
        Random::new(&mut *self.next_u64)
    }

    /// A whole number in `0..bound`, each equally likely to within 2⁻⁶⁴·`bound`.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        assert!(bound > 0, "`below` needs a bound above 0");
        ((u128::from((self.next_u64)()) * bound as u128) >> 64) as usize
    }

    /// True with probability `probability`.
    pub(super) fn chance(&mut self, probability: f64) -> bool {
        let uniform = ((self.next_u64)() >> 11) as f64 * (1.0 / (1u64 << 53) as f64);
        uniform < probability
    }

    /// One of `items`, each equally likely. `items` must not be empty.
    pub(super) fn choose<'i, T>(&mut self, items: &'i [T]) -> &'i T {
        &items[self.below(items.len())]
    }
}
