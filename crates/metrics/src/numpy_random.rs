//! The random numbers of numpy's `default_rng(seed)`, on which sacreBLEU's resampling is based.

/// `numpy.random.default_rng(seed)`: PCG64 (O'Neill, 2014), seeded by `SeedSequence`.
pub(super) struct NumpyRandom {
    pcg: Pcg,
    /// The upper half of the last 64 bits, if only the lower one was used.
    rest: Option<u32>,
}

impl NumpyRandom {
    pub(super) fn new(seed: u64) -> Self {
        let [a, b, c, d] = seed_sequence(seed);
        let wide = |high: u64, low: u64| u128::from(high) << 64 | u128::from(low);
        Self { pcg: Pcg::new(wide(a, b), wide(c, d)), rest: None }
    }

    fn next_u32(&mut self) -> u32 {
        self.rest.take().unwrap_or_else(|| {
            let bits = self.pcg.next();
            self.rest = Some((bits >> 32) as u32);
            bits as u32
        })
    }

    /// An integer in `0..bound`, like `choice(bound)` (Lemire, 2019).
    ///
    /// # Panics
    /// If `bound` is 0.
    pub(super) fn below(&mut self, bound: u32) -> u32 {
        if bound == 1 {
            return 0;
        }
        // Of the numbers below 2³², this many would make some results more likely than others.
        let excess = bound.wrapping_neg() % bound;
        loop {
            let product = u64::from(self.next_u32()) * u64::from(bound);
            if product as u32 >= excess {
                return (product >> 32) as u32;
            }
        }
    }

    /// Booleans, like one call of `integers(2, dtype=bool)`.
    pub(super) fn bits(&mut self) -> impl Iterator<Item = bool> {
        std::iter::repeat_with(|| self.next_u32())
            .flat_map(|word| (0..u32::BITS).map(move |bit| word >> bit & 1 == 1))
    }
}

/// PCG64, a linear congruential generator of 128 bits whose output is permuted (PCG XSL RR 128/64).
struct Pcg {
    state: u128,
    increment: u128,
}

impl Pcg {
    const MULTIPLIER: u128 = 0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645;

    fn new(state: u128, stream: u128) -> Self {
        let increment = stream << 1 | 1;
        let state = state.wrapping_add(increment);
        let mut pcg = Self { state, increment };
        pcg.step();
        pcg
    }

    fn step(&mut self) {
        self.state = (self.state.wrapping_mul(Self::MULTIPLIER)).wrapping_add(self.increment);
    }

    fn next(&mut self) -> u64 {
        self.step();
        let rotation = (self.state >> 122) as u32;
        ((self.state >> 64) as u64 ^ self.state as u64).rotate_right(rotation)
    }
}

/// `SeedSequence(seed).generate_state(4, uint64)`: spreads the bits of `seed` over 256 bits (O'Neill's
/// `seed_seq_fe`).
fn seed_sequence(seed: u64) -> [u64; 4] {
    let mut hash = Hash { constant: 0x43b0_d7e5, multiplier: 0x931e_8875 };
    let mut pool = [seed as u32, (seed >> 32) as u32, 0, 0].map(|word| hash.apply(word));
    for from in 0..pool.len() {
        for to in (0..pool.len()).filter(|&to| to != from) {
            let hashed = hash.apply(pool[from]);
            pool[to] = mixed(pool[to], hashed);
        }
    }
    let mut hash = Hash { constant: 0x8b51_f9dd, multiplier: 0x58f3_8ded };
    let words: [u32; 8] = std::array::from_fn(|place| hash.apply(pool[place % pool.len()]));
    std::array::from_fn(|place| u64::from(words[2 * place]) | u64::from(words[2 * place + 1]) << 32)
}

/// A hash of 32 bits that changes with every use.
struct Hash {
    constant: u32,
    multiplier: u32,
}

impl Hash {
    fn apply(&mut self, word: u32) -> u32 {
        let word = word ^ self.constant;
        self.constant = self.constant.wrapping_mul(self.multiplier);
        folded(word.wrapping_mul(self.constant))
    }
}

fn mixed(a: u32, b: u32) -> u32 {
    folded(a.wrapping_mul(0xca01_f9dd).wrapping_sub(b.wrapping_mul(0x4973_f715)))
}

fn folded(word: u32) -> u32 {
    word ^ word >> 16
}
