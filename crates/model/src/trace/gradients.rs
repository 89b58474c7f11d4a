//! How strongly the loss depends on each layer at each position.

use attentive_base::batch::{Batch, IGNORE};

use crate::model::{Model, targets};
use crate::nn::{GradientWatch, Pass};

/// The lengths of the gradients of a loss.
#[derive(Clone, Debug, PartialEq)]
pub struct GradientNorms {
    /// The loss, in nats.
    pub loss: f64,
    /// Of the output of each layer, in the order of computation.
    pub outputs: Vec<PositionNorms>,
    /// Of each trained parameter.
    pub parameters: Vec<(String, f64)>,
}

/// The lengths of the gradients of a layer's output.
#[derive(Clone, Debug, PartialEq)]
pub struct PositionNorms {
    /// The layer; `src` and `tgt` are the inputs of the stacks.
    pub name: String,
    /// One for each position.
    pub norms: Vec<f64>,
}

impl Model {
    /// Returns the lengths (Euclidean norms) of the gradients of the loss of the only sentence of `batch`: of
    /// all its targets, or of the target at `position` alone, without label smoothing and dropout. The
    /// gradients of recurrent layers are those of their states h and c: also through the states that follow.
    ///
    /// # Panics
    /// If the batch is for a model with other parts, or there is no such target.
    pub fn gradient_norms(&self, batch: &Batch, position: Option<usize>) -> GradientNorms {
        let mut wanted = targets(&batch.tgt_out);
        if let Some(position) = position {
            let target = wanted[position];
            wanted.fill(IGNORE);
            wanted[position] = target;
        }
        let watch = GradientWatch::default();
        let pass = Pass::inference().with_gradients(&watch);
        let loss = self.loss_of(batch, &wanted, 0.0, &pass);
        let total = loss.losses.sums().loss;
        let gradients = self.take_gradients(&mut loss.loss.backward());
        let parameters = self.trained().zip(&gradients);
        let parameters =
            parameters.map(|(parameter, gradient)| (parameter.name().to_owned(), norm(&gradient.values())));
        let parameters = parameters.collect();
        let mut outputs: Vec<PositionNorms> = Vec::new();
        for output in watch.into_outputs().into_iter().filter(|output| output.name != "projection") {
            let [rows, columns] = output.shape;
            let gradient = output.slot.take().unwrap_or_else(|| vec![0.0; rows * columns]);
            let number = outputs.iter().position(|known| known.name == output.name).unwrap_or_else(|| {
                outputs.push(PositionNorms { name: output.name, norms: Vec::new() });
                outputs.len() - 1
            });
            let norms = &mut outputs[number].norms;
            norms.resize(norms.len().max(output.first + rows), 0.0);
            for (norm_of, row) in norms[output.first..].iter_mut().zip(gradient.chunks_exact(columns.max(1)))
            {
                *norm_of = norm(row);
            }
        }
        GradientNorms { loss: total, outputs, parameters }
    }
}

fn norm(values: &[f32]) -> f64 {
    values.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt()
}
