//! Synthetic parallel text, and small students of large models.

mod distillation;
mod firefox;
mod pair_file;
mod pair_scorer;
mod synthesis;

pub use distillation::{
    Distillation, DistillationObservers, DistillationPlan, ExpectedTime, FilterPlan, FirefoxPlan,
    LanguageCodes, ParallelText, RamProbe, StageObserver, StageState, StudentPlan, TeacherChoice,
    TeacherPlan, TextPlan,
};
pub use firefox::FirefoxExport;
pub use pair_scorer::{PairScorer, ScoreLimit};
pub use synthesis::{Synthesis, SynthesisChoice, SynthesisCounts, SynthesisFiles, SynthesisOptions};
