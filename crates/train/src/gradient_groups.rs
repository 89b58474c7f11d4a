//! Groups of parameters whose gradients are measured together: each layer, and what is beside the layers.

use attentive_model::model::Model;

/// The group of each trained parameter.
#[derive(Clone, Debug)]
pub(super) struct GradientGroups {
    /// In the order of their first parameters.
    names: Vec<String>,
    of_parameter: Vec<usize>,
}

impl GradientGroups {
    /// The groups of `model`.
    pub(super) fn new(model: &Model) -> Self {
        let mut names: Vec<String> = Vec::new();
        let mut number = |name: &str| {
            let name = group(name);
            names.iter().position(|known| known == name).unwrap_or_else(|| {
                names.push(name.to_owned());
                names.len() - 1
            })
        };
        let of_parameter = model.trained().map(|parameter| number(parameter.name())).collect();
        Self { names, of_parameter }
    }

    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// The norm of the gradient of each group, given the sums of squares of all chunks of each parameter's
    /// gradient.
    pub(super) fn norms(&self, squares: &[Vec<f64>]) -> Vec<f64> {
        let mut sums = vec![0.0; self.names.len()];
        for (&group, squares) in self.of_parameter.iter().zip(squares) {
            sums[group] += squares.iter().sum::<f64>();
        }
        sums.into_iter().map(f64::sqrt).collect()
    }
}

/// The group of the parameter `name`: its layer, or else the part of the model to which it belongs.
fn group(name: &str) -> &str {
    let parts = match name.split('.').collect::<Vec<_>>()[..] {
        [_, "layers", ..] => 3,
        ["encoder" | "decoder", ..] => 2,
        _ => 1,
    };
    name.match_indices('.').nth(parts - 1).map_or(name, |(end, _)| &name[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layer_is_a_group() {
        for (name, expected) in [
            ("src.embedding.weight", "src"),
            ("encoder.layers.0.self_attention.query.weight", "encoder.layers.0"),
            ("encoder.norm.gain", "encoder.norm"),
            ("decoder.layers.11.input.bias", "decoder.layers.11"),
            ("decoder.attention.score", "decoder.attention"),
            ("head.weight", "head"),
        ] {
            assert_eq!(group(name), expected);
        }
    }
}
