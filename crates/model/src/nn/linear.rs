//! Linear maps.

use attentive_tape::{self as tape, Epilogue, Map, Param, Value};

use super::{Pass, Scope};

/// y = x·Wᵀ + b.
#[derive(Clone, Debug)]
pub struct Linear {
    /// `[d_out, d_in]`
    pub weight: Param,
    /// `[d_out]`
    pub bias: Option<Param>,
}

impl Linear {
    /// The map at `scope`.
    pub fn new(bias: bool, scope: Scope<'_>) -> Self {
        Self {
            weight: scope.parameter("weight"),
            bias: bias.then(|| scope.parameter("bias")),
        }
    }

    /// # Shapes
    /// - `x`: `[rows, d_in]`
    /// - result: `[rows, d_out]`
    pub fn forward(&self, x: Value, pass: &Pass<'_>) -> Value {
        self.forward_with(x, Epilogue::plain(pass.precision()), pass)
    }

    /// As [`Linear::forward`], followed by `epilogue`.
    pub fn forward_with(&self, x: Value, epilogue: Epilogue, pass: &Pass<'_>) -> Value {
        tape::linear(x, vec![self.as_map(pass)], epilogue)
    }

    /// The results of several maps side by side, `[rows, Σ d_out]`.
    pub fn forward_all<const N: usize>(maps: [&Self; N], x: Value, pass: &Pass<'_>) -> Value {
        let maps = maps.map(|map| map.as_map(pass));
        let same = maps.iter().all(|map| map.d_out() == maps[0].d_out());
        let epilogue = Epilogue::plain(pass.precision());
        if same {
            return tape::linear(x, maps.into(), epilogue);
        }
        let parts = maps.map(|map| tape::linear(x.clone(), vec![map], epilogue));
        tape::join(parts.into())
    }

    /// Weight and bias.
    pub fn as_map(&self, pass: &Pass<'_>) -> Map {
        Map {
            weight: pass.read(&self.weight),
            bias: self.bias.as_ref().map(|bias| pass.read(bias)),
        }
    }
}
