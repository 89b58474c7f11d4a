//! The backend of a trace.

use attentive_architecture::{ActivationKind, NormKind};
use attentive_base::batch::TokenId;
use attentive_kernels::nonlinearity::{exact_gelu, nonlinear};
use attentive_tape::{Param, Value};

use super::TraceOptions;
use super::attention::AttentionOperands;
use super::matrix::TraceMatrix;
use super::operation::{TracedOperation, TracedValues};
use crate::nn::{
    Attention, Backend, Dropout, Input, Linear, Norm, Pass, PositionEncoding, RecurrentLayer,
    RelativeEncoding, Trained,
};

/// Computes one sentence, and records every operation.
pub(super) struct Tracer {
    options: TraceOptions,
    operations: Vec<TracedOperation>,
    /// `src` or `tgt`.
    side: &'static str,
    /// The number of positions of this side.
    len: usize,
    pub(super) memory: Option<TraceMatrix>,
    pub(super) keys: Option<TraceMatrix>,
    /// The state of each recurrent layer, `[1, states · d]`; then what is fed.
    pub(super) states: Vec<TraceMatrix>,
    /// The position of the target, if positions are computed one after the other.
    pub(super) position: Option<usize>,
    /// The bias of self-attention, `[n_heads, len · len]`.
    bias: Option<Vec<f32>>,
    /// The residual connection of the last norm.
    residual: String,
}

impl Tracer {
    pub(super) fn new(options: TraceOptions) -> Self {
        Self {
            options,
            operations: Vec::new(),
            side: "src",
            len: 0,
            memory: None,
            keys: None,
            states: Vec::new(),
            position: None,
            bias: None,
            residual: String::new(),
        }
    }

    /// Begins the stack that reads `side`, `len` tokens.
    pub(super) fn begin(&mut self, side: &'static str, len: usize) {
        (self.side, self.len) = (side, len);
    }

    /// Records softmax(X·Xᵀ)·X if the input `x` is the first, and it is wanted.
    fn begin_with(&mut self, x: &TraceMatrix) {
        if self.options.unweighted && self.memory.is_none() {
            self.unweighted(x);
        }
    }

    pub(super) fn into_operations(self) -> Vec<TracedOperation> {
        self.operations
    }

    /// Records an operation, and returns its result with its name.
    pub(super) fn record(&mut self, name: &str, formula: &str, result: TraceMatrix) -> TraceMatrix {
        self.push(name, formula, || TracedValues::from(&result));
        result.named(&match self.position {
            Some(position) => format!("{name}@{position}"),
            None => name.to_owned(),
        })
    }

    /// Keeps an operation with its `result()`, if it is wanted.
    pub(super) fn push(&mut self, name: &str, formula: &str, result: impl FnOnce() -> TracedValues) {
        if self.options.only.keeps(name, self.position) {
            let (name, formula) = (name.to_owned(), formula.to_owned());
            let position = self.position;
            self.operations.push(TracedOperation { name, position, formula, result: result() });
        }
    }

    /// x·Wᵀ + b, recorded as `name`.
    pub(super) fn map(&mut self, x: &TraceMatrix, map: &Linear<Trained>, name: &str) -> TraceMatrix {
        self.map_for(x, map, name, "")
    }

    /// Like [`Tracer::map`]; `purpose` says what the result is for.
    fn map_for(&mut self, x: &TraceMatrix, map: &Linear<Trained>, name: &str, purpose: &str) -> TraceMatrix {
        let bias = map.bias.as_ref().map(Param::to_vec);
        let (weight, shape) = (&map.weight, map.weight.shape());
        let plus = if bias.is_some() { " + b" } else { "" };
        let formula = format!("{purpose}x·Wᵀ{plus}, x {x}, W {} {shape:?}", weight.name());
        self.record(name, &formula, x.times(&weight.to_vec(), bias.as_deref()))
    }

    pub(super) fn named_map(&mut self, x: &TraceMatrix, map: &Linear<Trained>) -> TraceMatrix {
        self.map(x, map, map.weight.name().trim_end_matches(".weight"))
    }

    pub(super) fn memory(&self) -> TraceMatrix {
        self.memory.clone().expect("attention is given a memory")
    }

    /// f(x), recorded as `name`.
    fn activation(&mut self, x: &TraceMatrix, kind: ActivationKind, name: &str) -> TraceMatrix {
        let mut out = vec![0.0; x.values().len()];
        match kind {
            ActivationKind::Gelu => exact_gelu(x.values(), &mut out),
            kind => nonlinear(kind, x.values(), &mut out),
        }
        let function = format!("{kind:?}").to_lowercase();
        let result = TraceMatrix::new(name, [x.rows(), x.columns_count()], out);
        self.record(name, &format!("{function}({x})"), result)
    }

    pub(super) fn self_attention(
        &mut self,
        x: &TraceMatrix,
        attention: &Attention<Trained>,
        relative: &RelativeEncoding,
        is_causal: bool,
    ) -> TraceMatrix {
        let heads = attention.heads;
        let [mut queries, mut keys, values] = self.queries_keys_values(attention, x, x);
        if let Some(rotary) = &relative.rotary {
            let mut turn = |x: &TraceMatrix, heads: usize| {
                let shape = [x.rows(), x.columns_count()];
                let turned = rotary.turn(Value::new(x.values().to_vec(), shape), heads, x.rows());
                let name = format!("{x}.rotated");
                let formula =
                    format!("{x}, each pair of columns turned by an angle that grows with the position");
                self.record(&name, &formula, TraceMatrix::new(&name, shape, turned.into_vec()))
            };
            queries = turn(&queries, heads.n_heads);
            keys = turn(&keys, heads.n_kv_heads);
        }
        let bias = self.bias.clone();
        let operands =
            AttentionOperands { queries: &queries, keys: &keys, values: &values, heads, bias, is_causal };
        self.attend(&attention.place.name, &operands)
    }

    /// Queries of `x`, and keys and values of `memory`.
    pub(super) fn queries_keys_values(
        &mut self,
        attention: &Attention<Trained>,
        x: &TraceMatrix,
        memory: &TraceMatrix,
    ) -> [TraceMatrix; 3] {
        let Attention { query, key, value, .. } = attention;
        let parts = [
            (query, x, "Q, what each position looks for: "),
            (key, memory, "K, by what each position is found: "),
            (value, memory, "V, what each position passes on: "),
        ];
        parts.map(|(map, x, purpose)| {
            let name = map.weight.name().trim_end_matches(".weight");
            self.map_for(x, map, name, purpose)
        })
    }

    pub(super) fn projected(&mut self, x: &TraceMatrix, layer: &RecurrentLayer<Trained>) -> TraceMatrix {
        match &layer.forget {
            Some(forget) => {
                let parts = [forget, &layer.input].map(|map| self.named_map(x, map));
                TraceMatrix::joined(&format!("{} and {}", parts[0], parts[1]), &parts)
            }
            None => self.named_map(x, &layer.input),
        }
    }
}

impl Backend for Tracer {
    type Storage = Trained;
    type Value = TraceMatrix;

    fn enter(&mut self, relative: &RelativeEncoding) {
        let bias = relative.bias.as_ref();
        self.bias = bias.map(|bias| bias.forward(self.len, &Pass::inference()).into_vec());
    }

    fn embed(
        &mut self,
        ids: &[TokenId],
        table: &Param,
        input: &Input<Trained>,
        _dropout: Option<Dropout>,
    ) -> TraceMatrix {
        let (side, d) = (self.side, table.shape()[1]);
        let weights = table.to_vec();
        let scale = input.scale as f32;
        let rows = ids.iter().flat_map(|&id| weights[id as usize * d..][..d].iter().map(|x| x * scale));
        let x = TraceMatrix::new("", [ids.len(), d], rows.collect());
        let is_root = (input.scale * input.scale - d as f64).abs() < 1e-6;
        let times = match scale {
            1.0 => String::new(),
            _ if is_root => format!(" · √{d}"),
            _ => format!(" · {scale:.4}"),
        };
        let formula = format!("the row of each token in {} {:?}{times}", table.name(), table.shape());
        let embedded = self.record(&format!("{side}.embedding"), &formula, x);
        let (what, positions) = match &input.positions {
            PositionEncoding::None => {
                self.begin_with(&embedded);
                return embedded;
            }
            PositionEncoding::Fixed(table) => {
                ("sines and cosines", table.first(ids.len())[..ids.len() * d].to_vec())
            }
            PositionEncoding::Learned { table, offset } => {
                ("learned vectors", table.to_vec()[offset * d..][..ids.len() * d].to_vec())
            }
        };
        let positions = TraceMatrix::new("", [ids.len(), d], positions);
        let formula = format!("{what}, a row for each position, by which equal tokens differ");
        let positions = self.record(&format!("{side}.positions"), &formula, positions);
        let sum = embedded.zip(&positions, |x, p| x + p);
        let x = self.record(&format!("{side}.input"), &format!("{embedded} + {positions}"), sum);
        self.begin_with(&x);
        x
    }

    fn linear(&mut self, x: &TraceMatrix, maps: &[&Linear<Trained>]) -> TraceMatrix {
        let parts: Vec<TraceMatrix> = maps.iter().map(|map| self.named_map(x, map)).collect();
        match &parts[..] {
            [only] => only.clone(),
            parts => TraceMatrix::joined(parts[0].name(), parts),
        }
    }

    fn activated(
        &mut self,
        x: &TraceMatrix,
        map: &Linear<Trained>,
        activation: ActivationKind,
        _dropout: Option<Dropout>,
    ) -> TraceMatrix {
        let x = self.named_map(x, map);
        let name = format!("{}.activation", parent(map.weight.name().trim_end_matches(".weight")));
        self.activation(&x, activation, &name)
    }

    fn gated(&mut self, both: TraceMatrix, activation: ActivationKind, _dropout: Dropout) -> TraceMatrix {
        let (place, half) = (parent(both.name()).to_owned(), both.columns_count() / 2);
        let gate = both.columns(half..2 * half).named(&format!("{place}.gate"));
        let active = self.activation(&both.columns(0..half), activation, &format!("{place}.activation"));
        let product = active.zip(&gate, |a, b| a * b);
        self.record(&format!("{place}.gated"), &format!("{active} ∘ {gate}"), product)
    }

    fn norm(&mut self, x: &TraceMatrix, norm: &Norm<Trained>) -> TraceMatrix {
        let name = norm.gain.name().trim_end_matches(".gain").to_owned();
        parent(&name).clone_into(&mut self.residual);
        let gain = norm.gain.to_vec();
        let bias = norm.bias.as_ref().map(Param::to_vec);
        let rows = (0..x.rows()).flat_map(|row| normalized(x.row(row), norm.kind, norm.epsilon));
        let at = |vector: &[f32], column: usize| vector[column % vector.len()];
        let result = TraceMatrix::new("", [x.rows(), x.columns_count()], rows.collect());
        let d = x.columns_count().max(1);
        let values = result.values().iter().enumerate();
        let scaled = values
            .map(|(i, x)| x * at(&gain, i % d) + bias.as_ref().map_or(0.0, |bias| at(bias, i % d)))
            .collect();
        let formula = match norm.kind {
            NormKind::Layer => format!("gain ∘ (x − mean) / √(variance + ε) + bias of each row, x {x}"),
            NormKind::Rms => format!("gain ∘ x / √(mean of x² + ε) of each row, x {x}"),
            NormKind::Scalar => format!("gain · (x − mean) / (deviation + ε) + bias of each row, x {x}"),
        };
        self.record(&name, &formula, TraceMatrix::new("", [x.rows(), x.columns_count()], scaled))
    }

    fn residual_norm(
        &mut self,
        x: TraceMatrix,
        y: TraceMatrix,
        dropout: Option<Dropout>,
        norm: &Norm<Trained>,
    ) -> TraceMatrix {
        let name = norm.gain.name().trim_end_matches(".norm.gain");
        name.clone_into(&mut self.residual);
        let sum = self.add(x, y, dropout);
        self.norm(&sum, norm)
    }

    fn add(&mut self, x: TraceMatrix, y: TraceMatrix, _dropout: Option<Dropout>) -> TraceMatrix {
        let name = format!("{}.sum", self.residual);
        let formula = format!("{x} + {y}: the sublayer only adds to what it read");
        self.record(&name, &formula, x.zip(&y, |x, y| x + y))
    }

    fn dropout(&mut self, x: TraceMatrix, _dropout: Dropout) -> TraceMatrix {
        x
    }

    fn tanh(&mut self, x: TraceMatrix) -> TraceMatrix {
        let name = format!("{}.tanh", without_position(x.name()));
        self.record(&name, &format!("tanh({x})"), x.map(f32::tanh))
    }

    fn join(&mut self, parts: Vec<TraceMatrix>) -> TraceMatrix {
        let names: Vec<&str> = parts.iter().map(TraceMatrix::name).collect();
        let name = format!("{}.joined", without_position(names[0]));
        let formula = format!("[{}], side by side", names.join("; "));
        let joined = TraceMatrix::joined(&name, &parts);
        self.record(&name, &formula, joined)
    }
}

/// The path without its last part.
fn parent(path: &str) -> &str {
    path.rsplit_once('.').map_or("", |(parent, _)| parent)
}

/// A name without the position behind it.
pub(super) fn without_position(name: &str) -> &str {
    name.split(['@', '[']).next().unwrap_or(name)
}

/// (x − mean) / deviation
fn normalized(x: &[f32], kind: NormKind, epsilon: f64) -> Vec<f32> {
    let d = x.len() as f64;
    let mean = match kind {
        NormKind::Rms => 0.0,
        NormKind::Layer | NormKind::Scalar => x.iter().map(|&x| f64::from(x)).sum::<f64>() / d,
    };
    let squares: f64 = x.iter().map(|&x| (f64::from(x) - mean).powi(2)).sum();
    let divisor = match kind {
        NormKind::Layer | NormKind::Rms => (squares / d + epsilon).sqrt(),
        NormKind::Scalar => (squares / (d - 1.0).max(1.0)).sqrt() + epsilon,
    };
    x.iter().map(|&x| ((f64::from(x) - mean) / divisor) as f32).collect()
}
