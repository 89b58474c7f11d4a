//! The arrival times of requests.

use std::time::Duration;

use attentive::random::Random;

/// The event times of a Poisson process, counted from its start.
pub(crate) struct Arrivals {
    random: Random,
    rate: f64,
    now: f64,
}

impl Arrivals {
    /// Creates a process with `rate` arrivals per second on average.
    pub(crate) fn new(rate: f64, seed: u64) -> Self {
        Self { random: Random::new(seed, 0), rate, now: 0.0 }
    }
}

impl Iterator for Arrivals {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        // In (0, 1].
        let uniform = 1.0 - self.random.uniform();
        self.now -= uniform.ln() / self.rate;
        Some(Duration::from_secs_f64(self.now))
    }
}
