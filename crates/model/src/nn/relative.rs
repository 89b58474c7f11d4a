//! Relative positions of self-attention.

use attentive_architecture::{AttentionSpec, RelativePositions};
use attentive_tape::Causality;

use super::{ParameterInit, Scope, Storage};

/// Makes the relative positions of a stack with the self-attention `attention` up to `max_len`. All layers
/// share the biases of buckets of distances, which are a parameter of the stack at `scope`.
pub(crate) fn relative<S: Storage>(
    attention: &AttentionSpec,
    causality: Causality,
    max_len: usize,
    scope: &Scope<'_, S>,
) -> S::Relative {
    let table = match attention.positions {
        RelativePositions::Buckets { n_buckets, .. } => {
            let shape = [n_buckets, attention.n_heads];
            Some(scope.at("distance_bias").vector("table", shape, ParameterInit::Embedding))
        }
        _ => None,
    };
    S::relative(attention, causality, max_len, table)
}
