//! Operations of random shapes.

mod decoding;
mod training;

use attentive_base::random::Random;

use super::*;

/// Shapes are drawn with this seed; `ATTENTIVE_FUZZ_SEED` gives another.
const SEED: u64 = 1;
/// How weights are stored.
const STORED: [Float; 2] = [Float::F32, Float::Bf16];

/// A number below `end`, small ones more often.
fn below(random: &mut Random, end: usize) -> usize {
    let part = random.uniform();
    (part * part * end as f64) as usize
}

fn one_of<T: Copy>(random: &mut Random, all: &[T]) -> T {
    all[(random.uniform() * all.len() as f64) as usize]
}

/// As many operations as `ATTENTIVE_FUZZ` says, or 1000.
#[test]
#[ignore = "takes minutes"]
fn random_shapes() {
    let all = [&training::ALL[..], &decoding::ALL].concat();
    let number = |name: &str, default: u64| {
        let given = std::env::var(name).ok();
        given.map_or(default, |text| text.parse().expect("a number"))
    };
    let mut random = Random::new(number("ATTENTIVE_FUZZ_SEED", SEED), 0);
    for _ in 0..number("ATTENTIVE_FUZZ", 1000) {
        one_of(&mut random, &all)(&mut random);
    }
}
