//! How parameters start.

use burn::module::Param;
use burn::tensor::{Device, Tensor, TensorData};

use super::Dropout;
use crate::config::Init;
use crate::random::Random;

/// Streams of [`Random`] below this number belong to other uses than parameters.
const FIRST_STREAM: u64 = 1 << 32;

/// Makes a model's parameters, each from a random stream of its own, and numbers its dropout places.
///
/// The same seed gives the same model on every device.
#[derive(Debug)]
pub struct Initializer {
    kind: Init,
    seed: u64,
    device: Device,
    parameters: u64,
    sites: u32,
}

impl Initializer {
    /// For one model whose parameters live on `device`.
    pub fn new(kind: Init, seed: u64, device: &Device) -> Self {
        Self {
            kind,
            seed,
            device: device.clone(),
            parameters: 0,
            sites: 0,
        }
    }

    /// The device of the parameters.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The weight `[d_out, d_in]` of a linear map.
    pub fn weight(&mut self, d_in: usize, d_out: usize) -> Param<Tensor<2>> {
        let bound = match self.kind {
            Init::XavierUniform => (6.0 / (d_in + d_out) as f64).sqrt(),
            Init::Pytorch => 1.0 / (d_in as f64).sqrt(),
            Init::Normal | Init::Gpt2 => return self.normal(d_out, d_in, 0.02),
        };
        self.draw([d_out, d_in], |random| {
            bound * (2.0 * random.uniform() - 1.0)
        })
    }

    /// The weight `[d_out, d_in]` of a map whose result a residual connection adds up, as one of `n_sublayers` of a stack.
    pub fn residual_weight(
        &mut self,
        d_in: usize,
        d_out: usize,
        n_sublayers: usize,
    ) -> Param<Tensor<2>> {
        match self.kind {
            Init::Gpt2 => self.normal(d_out, d_in, 0.02 / (n_sublayers as f64).sqrt()),
            Init::XavierUniform | Init::Pytorch | Init::Normal => self.weight(d_in, d_out),
        }
    }

    /// The bias `[d_out]` of a linear map.
    pub fn bias(&mut self, d_in: usize, d_out: usize) -> Param<Tensor<1>> {
        match self.kind {
            Init::XavierUniform | Init::Normal | Init::Gpt2 => self.constant(d_out, 0.0),
            Init::Pytorch => {
                let bound = 1.0 / (d_in as f64).sqrt();
                self.draw([d_out], |random| bound * (2.0 * random.uniform() - 1.0))
            }
        }
    }

    /// A vector `[d]` that weighs `d` features, drawn like a weight of one row.
    pub fn vector(&mut self, d: usize) -> Param<Tensor<1>> {
        let bound = match self.kind {
            Init::XavierUniform => (6.0 / (d + 1) as f64).sqrt(),
            Init::Pytorch => 1.0 / (d as f64).sqrt(),
            Init::Normal | Init::Gpt2 => {
                return self.draw([d], |random| 0.02 * random.normal());
            }
        };
        self.draw([d], |random| bound * (2.0 * random.uniform() - 1.0))
    }

    /// The bias `[gates · d]` of a recurrent layer of width `d`; that of gate number `open` starts at 1, unless biases
    /// are drawn.
    pub fn recurrent_bias(
        &mut self,
        d: usize,
        gates: usize,
        open: Option<usize>,
    ) -> Param<Tensor<1>> {
        if self.kind == Init::Pytorch {
            return self.bias(d, gates * d);
        }
        let mut element = 0;
        self.draw([gates * d], |_| {
            let gate = element / d;
            element += 1;
            if open == Some(gate) { 1.0 } else { 0.0 }
        })
    }

    /// An embedding table `[rows, d_model]`.
    pub fn embedding(&mut self, rows: usize, d_model: usize) -> Param<Tensor<2>> {
        let deviation = match self.kind {
            Init::XavierUniform => (d_model as f64).powf(-0.5),
            Init::Pytorch => 1.0,
            Init::Normal | Init::Gpt2 => 0.02,
        };
        self.normal(rows, d_model, deviation)
    }

    /// A parameter `[len]` filled with `value`.
    pub fn constant(&mut self, len: usize, value: f64) -> Param<Tensor<1>> {
        self.draw([len], |_| value)
    }

    /// The next dropout place.
    pub fn dropout(&mut self, rate: f64) -> Dropout {
        self.sites += 1;
        Dropout {
            rate,
            site: self.sites,
        }
    }

    fn normal(&mut self, rows: usize, columns: usize, deviation: f64) -> Param<Tensor<2>> {
        self.draw([rows, columns], |random| deviation * random.normal())
    }

    fn draw<const D: usize>(
        &mut self,
        shape: [usize; D],
        mut value: impl FnMut(&mut Random) -> f64,
    ) -> Param<Tensor<D>> {
        let mut random = Random::new(self.seed, FIRST_STREAM + self.parameters);
        self.parameters += 1;
        let values: Vec<f32> = (0..shape.iter().product())
            .map(|_| value(&mut random) as f32)
            .collect();
        Param::from_data(TensorData::new(values, shape), &self.device)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Decoder, Encoder, Linear, Sight};
    use super::*;
    use crate::config::ModelConfig;

    /// The standard deviation of a map's weights.
    fn deviation(linear: &Linear) -> f64 {
        let weights: Vec<f32> = linear.weight.val().into_data().iter().collect();
        let squares: f64 = weights.iter().map(|&x| f64::from(x * x)).sum();
        (squares / weights.len() as f64).sqrt()
    }

    fn assert_deviation(linear: &Linear, expected: f64) {
        let found = deviation(linear);
        // 4096 weights or more: five standard deviations.
        assert!(
            (found / expected - 1.0).abs() < 0.06,
            "{found}, not {expected}"
        );
    }

    #[test]
    fn gpt2_scales_what_residual_connections_add_up() {
        let config = ModelConfig {
            d_model: 64,
            d_ff: 128,
            n_encoder_layers: 2,
            n_decoder_layers: 3,
            init: Init::Gpt2,
            ..ModelConfig::default()
        };
        let init = &mut Initializer::new(config.init, 1, &Device::flex());
        for layer in Encoder::new(&config, init).layers {
            assert_deviation(&layer.self_attention.value, 0.02);
            assert_deviation(&layer.feed_forward.inner, 0.02);
            assert_deviation(&layer.self_attention.output, 0.02 / 2.0);
            assert_deviation(&layer.feed_forward.outer, 0.02 / 2.0);
        }
        for (sight, sublayers) in [(Sight::Itself, 2.0_f64), (Sight::Memory, 3.0)] {
            let scaled = 0.02 / (3.0 * sublayers).sqrt();
            for layer in Decoder::new(&config, sight, init).layers {
                assert_deviation(&layer.self_attention.query, 0.02);
                assert_deviation(&layer.self_attention.output, scaled);
                assert_deviation(&layer.feed_forward.outer, scaled);
                if let Some(attention) = &layer.memory_attention {
                    assert_deviation(&attention.output, scaled);
                }
            }
        }
    }
}
