//! Synthetic parallel text, and small students of large models.

mod synthesis;

pub use synthesis::{Synthesis, SynthesisChoice, SynthesisCounts, SynthesisFiles, SynthesisOptions};
