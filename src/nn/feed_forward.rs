//! The position-wise feed-forward network (*Attention Is All You Need*, equation 2).

use burn::module::Module;
use burn::tensor::Tensor;
use burn::tensor::activation::gelu;

use super::{Dropout, Initializer, Linear, Pass};
use crate::config::{ActivationKind, ModelConfig};
use crate::ops::{Activation, Epilogue, dropout_add};

/// activation(x·W₁ + b₁)·W₂ + b₂, for every row by itself.
#[derive(Module, Debug)]
pub struct FeedForward {
    /// `[d_ff, d_model]`
    pub inner: Linear,
    /// `[d_model, d_ff]`
    pub outer: Linear,
    #[module(skip)]
    activation: ActivationKind,
    #[module(skip)]
    dropout: Dropout,
}

impl FeedForward {
    /// A network of `config`'s widths, one of `n_sublayers` of its stack.
    pub fn new(config: &ModelConfig, n_sublayers: usize, init: &mut Initializer) -> Self {
        let ModelConfig { d_model, d_ff, .. } = *config;
        Self {
            inner: Linear::new(d_model, d_ff, true, init),
            outer: Linear::residual(d_ff, d_model, true, n_sublayers, init),
            activation: config.activation,
            dropout: init.dropout(config.activation_dropout),
        }
    }

    /// `[rows, d_model]` to the same.
    pub fn forward(&self, x: Tensor<2>, pass: &Pass<'_>) -> Tensor<2> {
        let dropout = pass.dropout(self.dropout);
        let hidden = match self.activation {
            ActivationKind::Relu => self.inner.forward_finished(
                x,
                Epilogue {
                    activation: Activation::Relu,
                    dropout,
                    precision: pass.precision(),
                },
            ),
            ActivationKind::Gelu => dropout_add(gelu(self.inner.forward(x, pass)), None, dropout),
        };
        self.outer.forward(hidden, pass)
    }
}
