//! What is known of a parameter without its values.

/// A parameter's name, shape and first values.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Its path of fields in [`crate::model::Model`], as in `encoder.layers.0.self_attention.query.weight`.
    pub name: String,
    /// Its dimensions.
    pub shape: Vec<usize>,
    /// What it starts with.
    pub start: Start,
}

/// What a parameter starts with; [`super::Init`] gives the numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Start {
    /// Drawn as the weight `[d_out, d_in]` of a linear map.
    Weight,
    /// The same for a map whose output a residual connection adds, one of `n_sublayers` of its stack.
    ResidualWeight {
        /// Sublayers of the whole stack.
        n_sublayers: usize,
    },
    /// Drawn as the bias of a linear map from `d_in` features.
    Bias {
        /// Features that the map reads.
        d_in: usize,
    },
    /// A table of vectors, `[rows, d_model]`.
    Embedding,
    /// A vector `[d]` that weighs features, drawn like a weight of one row.
    Vector,
    /// The bias `[gates · d]` of a recurrent layer; that of gate number `open` starts at 1.
    GateBias {
        /// Width of a gate.
        d: usize,
        /// The gate that starts open.
        open: Option<usize>,
    },
    /// This number throughout.
    Constant(f64),
}

impl Parameter {
    /// The number of its elements.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether it has no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether weight decay applies: to matrices, never to biases, norms and other vectors.
    pub fn is_decayed(&self) -> bool {
        self.shape.len() > 1
    }
}
