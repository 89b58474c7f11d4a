//! Seeded random streams for shuffling, initialization, built-in corpora and sampling.

use super::philox::philox;

/// A stream of random numbers, determined by its seed and its stream number.
///
/// Streams of the same seed are independent, so each use of randomness (shuffling epoch 3, initializing
/// weight 7) has its own stream and cannot disturb the others.
#[derive(Clone, Debug)]
pub struct Random {
    key: [u32; 2],
    stream: u64,
    block: u64,
    words: [u32; 4],
    used: usize,
}

impl Random {
    /// Returns stream number `stream` of `seed`.
    pub fn new(seed: u64, stream: u64) -> Self {
        Self { key: [seed as u32, (seed >> 32) as u32], stream, block: 0, words: [0; 4], used: 4 }
    }

    /// Returns 32 random bits.
    pub fn next_u32(&mut self) -> u32 {
        if self.used == 4 {
            let (b, s) = (self.block, self.stream);
            self.words = philox(self.key, [b as u32, (b >> 32) as u32, s as u32, (s >> 32) as u32]);
            self.block += 1;
            self.used = 0;
        }
        self.used += 1;
        self.words[self.used - 1]
    }

    /// Returns 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        u64::from(self.next_u32()) << 32 | u64::from(self.next_u32())
    }

    /// Returns an integer in `0..bound`, uniform to within 2⁻⁶⁴·`bound`.
    ///
    /// # Panics
    /// If `bound` is zero.
    pub fn below(&mut self, bound: usize) -> usize {
        assert!(bound > 0, "`bound` must be positive");
        ((u128::from(self.next_u64()) * bound as u128) >> 64) as usize
    }

    /// Returns a number drawn uniformly from `[0, 1)`, with 53 random bits.
    pub fn uniform(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Returns a draw from the standard normal distribution (Box–Muller).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// Returns true with the given probability.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.uniform() < probability
    }

    /// Returns a uniformly chosen element of `items`.
    ///
    /// # Panics
    /// If `items` is empty.
    pub fn choose<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    /// Shuffles `items` (Fisher–Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn streams_repeat_and_differ() {
        let draw = |seed, stream| Random::new(seed, stream).next_u64();
        assert_eq!(draw(1, 2), draw(1, 2));
        assert_ne!(draw(1, 2), draw(1, 3));
        assert_ne!(draw(1, 2), draw(2, 2));
    }

    #[test]
    fn a_shuffle_is_a_permutation() {
        let mut items: Vec<usize> = (0..100).collect();
        Random::new(7, 0).shuffle(&mut items);
        assert_ne!(items, (0..100).collect::<Vec<_>>());
        items.sort_unstable();
        assert_eq!(items, (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn moments_are_right() {
        let mut random = Random::new(3, 0);
        let n = 20_000;
        let (mut uniform, mut normal, mut square) = (0.0, 0.0, 0.0);
        for _ in 0..n {
            uniform += random.uniform();
            let x = random.normal();
            normal += x;
            square += x * x;
        }
        let n = f64::from(n);
        assert!((uniform / n - 0.5).abs() < 0.01);
        assert!((normal / n).abs() < 0.03);
        assert!((square / n - 1.0).abs() < 0.05);
    }
}
