//! `[train.schedule]`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `[train.schedule]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ScheduleConfig {
    /// The course of the learning rate over the updates.
    #[schemars(extend(
        "x-also" = "lr_scheduler lr_scheduler_type lr_schedule lr_decay_strategy scheduler scheduling \
                    decay_method"
    ))]
    pub kind: ScheduleKind,
    /// The number of warm-up updates, during which the learning rate rises. `noam` and `inverse_sqrt` need at
    /// least 1. With `model.from`, the default is a tenth of `train.max_steps`, and at most 500.
    #[schemars(extend("x-also" = "warmup warmup_updates lr_warmup", "x-resume" = "kept"))]
    pub warmup_steps: u64,
    /// The update at which `cosine`, `linear` and `wsd` end; 0 for `train.max_steps`. Other schedules do not
    /// use it.
    pub decay_steps: u64,
    /// The number of updates at the end of `wsd` in which the learning rate falls; 0 for a fifth of all.
    #[schemars(extend("x-also" = "num_decay_steps", "x-needs" = "wsd", "x-resume" = "free"))]
    pub cooldown_steps: u64,
    /// The lowest learning rate of `cosine`, `linear`, `wsd` and `plateau`, as a fraction of the highest.
    #[schemars(range(min = 0, max = 1))]
    pub min_factor: f64,
    /// The factor by which `plateau` lowers the learning rate. It does so after `plateau_patience`
    /// validations without a better loss.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    pub plateau_factor: f64,
    /// The number of validations for which `plateau` waits.
    #[schemars(range(min = 1))]
    pub plateau_patience: u64,
}

/// A learning rate schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ScheduleKind {
    /// Linear warm-up, then constant.
    Constant,
    /// `learning_rate` · d_model^-½ · min(step^-½, step · warmup^-1½), as in *Attention Is All You Need*,
    /// equation 3.
    Noam,
    /// Linear warm-up, then decay with the inverse square root of the update.
    InverseSqrt,
    /// Linear warm-up, then half a cosine.
    Cosine,
    /// Linear warm-up, then a linear fall until the end.
    Linear,
    /// Linear warm-up, then constant, and a linear fall in the last `cooldown_steps` (warm-up, stable,
    /// decay). Until the fall begins, a run may be resumed with another end.
    Wsd,
    /// Linear warm-up, then constant until the validation loss stops falling, and lower each time it does.
    Plateau,
}

impl ScheduleKind {
    /// Returns what ends at `decay_steps`, for messages; `None` if nothing does.
    pub(crate) fn last_part(self) -> Option<&'static str> {
        match self {
            Self::Cosine => Some("the cosine"),
            Self::Linear => Some("the fall of the learning rate"),
            Self::Wsd => Some("the cool-down"),
            Self::Constant | Self::Noam | Self::InverseSqrt | Self::Plateau => None,
        }
    }
}

impl Default for ScheduleConfig {
    fn default() -> Self {
        Self {
            kind: ScheduleKind::InverseSqrt,
            warmup_steps: 1000,
            decay_steps: 0,
            cooldown_steps: 0,
            min_factor: 0.0,
            plateau_factor: 0.5,
            plateau_patience: 2,
        }
    }
}
