//! Parameters without their values.

/// A parameter as the layer that uses it declares it.
#[derive(Clone, Debug, PartialEq)]
pub struct ParameterDeclaration {
    /// The path of its field in the model, for example `encoder.layers.0.self_attention.query.weight`.
    pub name: String,
    /// One or two dimensions.
    pub shape: Vec<usize>,
    /// The initial distribution.
    pub init: ParameterInit,
    /// What the layer does with it.
    pub kind: ParameterKind,
}

/// How layers use a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterKind {
    /// They multiply with it, or look up its rows.
    Matrix,
    /// They add it, scale by it, or anything else.
    Vector,
}

/// The initial distribution of a parameter, whose width [`Init`](attentive_architecture::Init) sets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ParameterInit {
    /// The weight `[d_out, d_in]` of a linear map.
    Weight,
    /// The weight of a map whose output enters a residual connection.
    ResidualWeight {
        /// Sublayers of the whole stack.
        n_sublayers: usize,
    },
    /// The bias of a linear map.
    Bias {
        /// Input features of the map.
        d_in: usize,
    },
    /// A table of vectors, `[rows, d_model]`.
    Embedding,
    /// A vector `[d]` of feature weights, drawn like a weight of one row.
    Vector,
    /// The bias `[gates · d]` of a recurrent layer.
    GateBias {
        /// Width of a gate.
        d: usize,
        /// The gate that starts open, with biases of 1.
        open: Option<usize>,
    },
    Constant(f64),
}

impl ParameterDeclaration {
    /// Returns the number of elements.
    pub fn size(&self) -> usize {
        self.shape.iter().product()
    }

    /// Returns true for the weight of a linear map between hidden layers, which is neither a table of
    /// embeddings nor part of the head.
    pub fn is_hidden_matrix(&self) -> bool {
        let is_weight = matches!(self.init, ParameterInit::Weight | ParameterInit::ResidualWeight { .. });
        let is_in_a_stack = ["encoder.", "decoder."].iter().any(|stack| self.name.starts_with(stack));
        is_weight && is_in_a_stack && matches!(self.shape[..], [rows, cols] if rows.min(cols) > 1)
    }
}
