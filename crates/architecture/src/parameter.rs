//! Parameters without their values.

/// A parameter's name, shape and initial distribution.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Its field path in `Model`, for example `encoder.layers.0.self_attention.query.weight`.
    pub name: String,
    /// Its dimensions.
    pub shape: Vec<usize>,
    /// Its initial distribution.
    pub start: Start,
}

/// The initial distribution of a parameter; [`super::Init`] sets its width.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Start {
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

impl Parameter {
    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// True if the parameter has no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
