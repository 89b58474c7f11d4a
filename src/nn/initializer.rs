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
            Init::Normal => return self.normal(d_out, d_in, 0.02),
        };
        self.draw([d_out, d_in], |random| {
            bound * (2.0 * random.uniform() - 1.0)
        })
    }

    /// The bias `[d_out]` of a linear map.
    pub fn bias(&mut self, d_in: usize, d_out: usize) -> Param<Tensor<1>> {
        match self.kind {
            Init::XavierUniform | Init::Normal => self.constant(d_out, 0.0),
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
            Init::Normal => return self.draw([d], |random| 0.02 * random.normal()),
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
            Init::Normal => 0.02,
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
