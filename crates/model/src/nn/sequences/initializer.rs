//! Initial values of parameters.

use std::collections::HashMap;

use attentive_architecture::{Architecture, Init};
use attentive_base::random::Random;

use crate::nn::{Blueprint, ParameterDeclaration, ParameterInit};

/// Streams of [`Random`] below this number are used for other purposes.
const FIRST_STREAM: u64 = 1 << 32;

/// Draws a model's parameters, each from its own random stream, so that a seed gives the same model on every
/// machine.
#[derive(Clone, Debug)]
pub struct Initializer {
    kind: Init,
    seed: u64,
    parameters: HashMap<String, (u64, ParameterDeclaration)>,
}

impl Initializer {
    /// An initializer for the parameters of `architecture`.
    pub fn new(architecture: &Architecture, kind: Init, seed: u64) -> Self {
        let parameters = Blueprint::new(architecture).into_parameters();
        Self {
            kind,
            seed,
            parameters: (0..)
                .zip(parameters)
                .map(|(number, parameter)| (parameter.name.clone(), (number, parameter)))
                .collect(),
        }
    }

    /// The initial values of the parameter `name`, row after row.
    ///
    /// # Panics
    /// If the architecture has no such parameter.
    pub fn draw(&self, name: &str) -> Vec<f32> {
        let (number, parameter) =
            self.parameters.get(name).unwrap_or_else(|| panic!("the architecture has no parameter `{name}`"));
        let mut random = Random::new(self.seed, FIRST_STREAM + number);
        draw(parameter, self.kind, &mut random)
    }
}

/// A distribution of values.
#[derive(Clone, Copy)]
enum Distribution {
    /// From −bound to bound.
    Uniform(f64),
    /// Mean 0 and this standard deviation.
    Normal(f64),
    Constant(f64),
}

/// The initial values of `parameter`.
fn draw(parameter: &ParameterDeclaration, kind: Init, random: &mut Random) -> Vec<f32> {
    if let ParameterInit::GateBias { d, open } = parameter.init
        && kind != Init::Pytorch
    {
        let value = |element| f32::from(u8::from(open == Some(element / d)));
        return (0..parameter.size()).map(value).collect();
    }
    let mut value = || match distribution(parameter, kind) {
        Distribution::Uniform(bound) => bound * (2.0 * random.uniform() - 1.0),
        Distribution::Normal(deviation) => deviation * random.normal(),
        Distribution::Constant(value) => value,
    };
    (0..parameter.size()).map(|_| value() as f32).collect()
}

fn distribution(parameter: &ParameterDeclaration, kind: Init) -> Distribution {
    use Distribution::{Constant, Normal, Uniform};
    let from = |d_in: usize| 1.0 / (d_in as f64).sqrt();
    let xavier = |d_in: usize, d_out: usize| (6.0 / (d_in + d_out) as f64).sqrt();
    match (parameter.init, kind) {
        (ParameterInit::Constant(value), _) => Constant(value),
        (ParameterInit::ResidualWeight { n_sublayers }, Init::Gpt2) => {
            Normal(0.02 / (n_sublayers as f64).sqrt())
        }
        (ParameterInit::Weight | ParameterInit::ResidualWeight { .. }, _) => {
            let (d_out, d_in) = (parameter.shape[0], parameter.shape[1]);
            match kind {
                Init::XavierUniform => Uniform(xavier(d_in, d_out)),
                Init::Pytorch => Uniform(from(d_in)),
                Init::Normal | Init::Gpt2 => Normal(0.02),
            }
        }
        (ParameterInit::Bias { d_in } | ParameterInit::GateBias { d: d_in, .. }, Init::Pytorch) => {
            Uniform(from(d_in))
        }
        (ParameterInit::Bias { .. } | ParameterInit::GateBias { .. }, _) => Constant(0.0),
        (ParameterInit::Vector, _) => {
            let d = parameter.size();
            match kind {
                Init::XavierUniform => Uniform(xavier(d, 1)),
                Init::Pytorch => Uniform(from(d)),
                Init::Normal | Init::Gpt2 => Normal(0.02),
            }
        }
        (ParameterInit::Embedding, Init::XavierUniform) => Normal((parameter.shape[1] as f64).powf(-0.5)),
        (ParameterInit::Embedding, Init::Pytorch) => Normal(1.0),
        (ParameterInit::Embedding, Init::Normal | Init::Gpt2) => Normal(0.02),
    }
}

#[cfg(test)]
mod tests {
    use attentive_config::Config;

    use super::*;

    fn assert_deviation(initializer: &Initializer, name: &str, expected: f64) {
        let weights = initializer.draw(name);
        let squares: f64 = weights.iter().map(|&x| f64::from(x * x)).sum();
        let found = (squares / weights.len() as f64).sqrt();
        // 4096 weights or more: five standard deviations.
        assert!((found / expected - 1.0).abs() < 0.06, "{name}: {found}, not {expected}");
    }

    #[test]
    fn gpt2_scales_the_weights_before_residual_connections() {
        for (family, sublayers) in [("decoder_only", 2.0_f64), ("transformer", 3.0)] {
            let config: Config = toml::from_str(&format!(
                "[model]\nfamily = '{family}'\nd_model = 64\nd_ff = 128\nn_encoder_layers = \
                 2\nn_decoder_layers = 3\ninit = 'gpt2'"
            ))
            .expect("a configuration");
            let config = config.model;
            let drawn = Initializer::new(&config.architecture(20, 20), config.init, 1);
            let scaled = 0.02 / (3.0 * sublayers).sqrt();
            for layer in 0..3 {
                let at = |name: &str| format!("decoder.layers.{layer}.{name}.weight");
                assert_deviation(&drawn, &at("self_attention.query"), 0.02);
                assert_deviation(&drawn, &at("self_attention.output"), scaled);
                assert_deviation(&drawn, &at("feed_forward.outer"), scaled);
                if family == "transformer" {
                    assert_deviation(&drawn, &at("cross_attention.output"), scaled);
                }
            }
            if family == "transformer" {
                for layer in 0..2 {
                    let at = |name: &str| format!("encoder.layers.{layer}.{name}.weight");
                    assert_deviation(&drawn, &at("self_attention.value"), 0.02);
                    assert_deviation(&drawn, &at("feed_forward.inner"), 0.02);
                    assert_deviation(&drawn, &at("self_attention.output"), 0.02 / 2.0);
                    assert_deviation(&drawn, &at("feed_forward.outer"), 0.02 / 2.0);
                }
            }
        }
    }
}
