use attentive_samples::{VOCAB, variants};

use super::*;

/// A hash of what every variant declares, in the order in which random numbers are drawn for it. Whoever
/// changes one changes the initial weights of a model, so that a seed gives another run.
const GOLDEN: &str = include_str!("tests/golden.txt");

#[test]
fn declarations_and_their_order_stay() {
    let found: Vec<String> =
        variants().iter().map(|config| hash(&config.architecture(VOCAB, VOCAB))).collect();
    let expected: Vec<&str> = GOLDEN.lines().collect();
    let same = found == expected;
    assert!(same, "if this is intended, tests/golden.txt becomes:\n{}", found.join("\n"));
}

/// The FNV-1a hash of names, shapes and initial distributions.
fn hash(architecture: &Architecture) -> String {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for ParameterDeclaration { name, shape, init, .. } in Blueprint::new(architecture).parameters() {
        for byte in format!("{name} {shape:?} {init:?}\n").bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    format!("{hash:016x}")
}
