//! The file names of a model directory.

/// The resolved configuration.
pub const CONFIG: &str = "config.toml";
pub const WEIGHTS: &str = "model.safetensors";
/// The weights that training leaves unchanged, in the directory of a run and in its checkpoints. They are the
/// same file on disk, unless the file system has no hard links.
pub const FROZEN: &str = "frozen.safetensors";
/// The weights of a quantized model.
pub const PACKED: &str = "packed.safetensors";
pub const SHORTLIST: &str = "shortlist.safetensors";
/// The quantization report.
pub const REPORT: &str = "report.json";
/// The searches from which `[decode]` was chosen.
pub const TUNING: &str = "tuning.json";
/// From which teacher, texts and filters a student was made.
pub const DISTILLATION: &str = "distillation.json";
/// The origin of the model.
pub const PROVENANCE: &str = "provenance.json";
/// The training log.
pub const METRICS: &str = "metrics.jsonl";
/// The folder of TensorBoard's event files.
pub const TENSORBOARD: &str = "tensorboard";
/// The folder of the files that `train.validation_script` reads.
pub const VALIDATION: &str = "validation";
/// The run's checkpoints.
pub const CHECKPOINTS: &str = "checkpoints";

/// True if a file or folder called `name` belongs to a model or run.
pub fn include(name: &str) -> bool {
    [
        CONFIG,
        WEIGHTS,
        FROZEN,
        PACKED,
        SHORTLIST,
        REPORT,
        TUNING,
        DISTILLATION,
        PROVENANCE,
        METRICS,
        TENSORBOARD,
        VALIDATION,
        CHECKPOINTS,
    ]
    .contains(&name)
        || name.starts_with("tokenizer.")
}
