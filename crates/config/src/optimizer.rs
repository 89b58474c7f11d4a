//! `[train.optimizer]`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `[train.optimizer]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct OptimizerConfig {
    /// The kind of optimizer.
    #[schemars(extend("x-also" = "optim"))]
    pub kind: OptimizerKind,
    /// The highest learning rate of the schedule; for `noam` the factor in its formula. With `model.from`,
    /// the default is 0.001 up to a width (`model.d_model`) of 128, and falls in proportion to larger widths.
    #[schemars(extend("exclusiveMinimum" = 0, "x-also" = "lr learn_rate", "x-resume" = "kept"))]
    pub learning_rate: f64,
    /// The decay rate of Adam's average of gradients.
    #[schemars(range(min = 0), extend("exclusiveMaximum" = 1, "x-needs" = "adam"))]
    pub beta1: f64,
    /// The decay rate of Adam's average of squared gradients.
    #[schemars(range(min = 0), extend("exclusiveMaximum" = 1, "x-needs" = "adam"))]
    pub beta2: f64,
    /// Adam's ε, which is added to the square root of the average of squared gradients.
    #[schemars(extend("exclusiveMinimum" = 0, "x-needs" = "adam"))]
    pub epsilon: f64,
    /// The momentum of SGD. Other optimizers have none.
    #[schemars(range(min = 0), extend("exclusiveMaximum" = 1))]
    pub momentum: f64,
    /// The decay rate of Muon's average of gradients.
    #[schemars(range(min = 0), extend("exclusiveMaximum" = 1, "x-needs" = "muon"))]
    pub muon_momentum: f64,
    /// The weight decay. AdamW and Muon apply it to the weights directly; SGD and Adam add it to the gradient
    /// (L2). Only matrices decay.
    #[schemars(range(min = 0))]
    pub weight_decay: f64,
}

/// A kind of optimizer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OptimizerKind {
    /// Stochastic gradient descent, with momentum if it is set.
    Sgd,
    /// Adam (Kingma and Ba 2015).
    Adam,
    /// Adam with decoupled weight decay (Loshchilov and Hutter 2019).
    Adamw,
    /// Muon (Jordan et al. 2024) for the matrices of hidden layers, and AdamW for everything else. Updates of
    /// matrices are orthogonalized, and scaled as Adam's usually are (Liu et al. 2025, equation 4), so that
    /// both have the same learning rate. Only a single process computes it, on the CPU.
    Muon,
}

impl Default for OptimizerConfig {
    fn default() -> Self {
        Self {
            kind: OptimizerKind::Adam,
            learning_rate: 1e-3,
            beta1: 0.9,
            beta2: 0.98,
            epsilon: 1e-9,
            momentum: 0.0,
            muon_momentum: 0.95,
            weight_decay: 0.0,
        }
    }
}
