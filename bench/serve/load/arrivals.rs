//! The arrival times of requests.

use std::time::Duration;

use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{Rng, SeedableRng};

/// The event times of a Poisson process, counted from its start.
pub(crate) struct Arrivals {
    random: Pcg64Mcg,
    rate: f64,
    now: f64,
}

impl Arrivals {
    /// Creates a process with `rate` arrivals per second on average.
    pub(crate) fn new(rate: f64, seed: u64) -> Self {
        Self {
            random: Pcg64Mcg::seed_from_u64(seed),
            rate,
            now: 0.0,
        }
    }
}

impl Iterator for Arrivals {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        // In (0, 1], with 53 random bits.
        let uniform = ((self.random.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
        self.now -= uniform.ln() / self.rate;
        Some(Duration::from_secs_f64(self.now))
    }
}
