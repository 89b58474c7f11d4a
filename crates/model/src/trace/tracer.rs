//! The backend of a trace.

use attentive_architecture::{ActivationKind, NormKind};
use attentive_base::batch::TokenId;
use attentive_kernels::nonlinearity::{exact_gelu, nonlinear};
use attentive_tape::{Direction, Param, Value};

use super::TraceOptions;
use super::attention::AttentionOperands;
use super::matrix::TraceMatrix;
use super::operation::{TracedOperation, TracedValues};
use crate::nn::{
    AdditiveAttention, AdditiveScores, Attention, Backend, Decode, Dropout, Encode, Input, Linear,
    MultiplicativeAttention, Norm, Pass, PositionEncoding, RecurrentLayer, RecurrentStates, RelativeEncoding,
    Trained,
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
    keys: Option<TraceMatrix>,
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
        self.push(name, formula, TracedValues::from(&result));
        result.named(&match self.position {
            Some(position) => format!("{name}@{position}"),
            None => name.to_owned(),
        })
    }

    pub(super) fn push(&mut self, name: &str, formula: &str, result: TracedValues) {
        let (name, formula) = (name.to_owned(), formula.to_owned());
        self.operations.push(TracedOperation { name, position: self.position, formula, result });
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

    fn named_map(&mut self, x: &TraceMatrix, map: &Linear<Trained>) -> TraceMatrix {
        let name = map.weight.name().trim_end_matches(".weight").to_owned();
        self.map(x, map, &name)
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

    fn self_attention(
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
    fn queries_keys_values(
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
            let name = map.weight.name().trim_end_matches(".weight").to_owned();
            self.map_for(x, map, &name, purpose)
        })
    }

    fn projected(&mut self, x: &TraceMatrix, layer: &RecurrentLayer<Trained>) -> TraceMatrix {
        match &layer.forget {
            Some(forget) => {
                let parts = [forget, &layer.input].map(|map| self.named_map(x, map));
                TraceMatrix::joined(&format!("{} and {}", parts[0], parts[1]), &parts)
            }
            None => self.named_map(x, &layer.input),
        }
    }

    /// The keys of additive attention, which are the same for all positions.
    fn keys(&mut self, scores: &AdditiveScores<Trained>) -> TraceMatrix {
        if let Some(keys) = &self.keys {
            return keys.clone();
        }
        let (memory, position) = (self.memory(), self.position.take());
        let keys = self.named_map(&memory, &scores.key);
        self.position = position;
        self.keys.insert(keys).clone()
    }

    fn additive_context(&mut self, state: &TraceMatrix, scores: &AdditiveScores<Trained>) -> TraceMatrix {
        let keys = self.keys(scores);
        let queries = self.named_map(state, &scores.query);
        let v = scores.score.to_vec();
        let name = format!("{} [{}]", scores.score.name(), v.len());
        self.attend_additively(ATTENTION, &queries, &keys, (&name, &v))
    }

    /// The state of layer `number`; zeros if there is none.
    fn state(&self, layer: &RecurrentLayer<Trained>, number: usize) -> TraceMatrix {
        let state = self.states.get(number).cloned();
        state.unwrap_or_else(|| TraceMatrix::zeros("zeros", [1, layer.state_width()]))
    }

    fn keep(&mut self, number: usize, state: TraceMatrix) {
        if let Some(kept) = self.states.get_mut(number) {
            *kept = state;
        }
    }
}

/// The place of the only attention of a recurrent decoder.
const ATTENTION: &str = "decoder.attention";

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
            PositionEncoding::Fixed(table) => ("sines and cosines", table[..ids.len() * d].to_vec()),
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

impl Encode for Tracer {
    fn attend_whole(
        &mut self,
        x: &TraceMatrix,
        attention: &Attention<Trained>,
        relative: &RelativeEncoding,
    ) -> TraceMatrix {
        self.self_attention(x, attention, relative, false)
    }

    fn read(&mut self, x: &TraceMatrix, layer: &RecurrentLayer<Trained>) -> RecurrentStates<TraceMatrix> {
        let projected = self.projected(x, layer);
        let before = TraceMatrix::zeros("zeros", [1, layer.state_width()]);
        let RecurrentStates { hidden, last } = self.cell(layer, &projected, &before);
        let behind = match layer.direction {
            Direction::Forward => "last",
            Direction::Backward => "first",
        };
        let parts = if layer.cell.states() == 1 { "h" } else { "h and c, side by side," };
        let place = without_position(hidden.name()).trim_end_matches(".h").to_owned();
        let last = self.record(&format!("{place}.final"), &format!("{parts} at the {behind} position"), last);
        RecurrentStates { hidden, last }
    }

    fn read_both(
        &mut self,
        x: &TraceMatrix,
        layers: [&RecurrentLayer<Trained>; 2],
    ) -> RecurrentStates<TraceMatrix> {
        let d = layers[0].d;
        let [forward, backward] = layers.map(|layer| self.read(x, layer));
        let parts = (0..layers[0].cell.states())
            .flat_map(|n| [&forward.last, &backward.last].map(|last| last.columns(n * d..(n + 1) * d)));
        let last = TraceMatrix::joined("", &Vec::from_iter(parts));
        let place = parent(parent(layers[0].input.weight.name())).trim_end_matches(".forward").to_owned();
        let both = [forward.hidden, backward.hidden];
        let formula = format!("[{}; {}], side by side", both[0], both[1]);
        let hidden = self.record(&format!("{place}.h"), &formula, TraceMatrix::joined("", &both));
        let of_c = if layers[0].cell.states() == 1 { "" } else { "; then c of both" };
        let finals = format!("h of {} and of {}, side by side{of_c}", forward.last, backward.last);
        let last = self.record(&format!("{place}.final"), &finals, last);
        RecurrentStates { hidden, last }
    }
}

impl Decode for Tracer {
    fn attend_earlier(
        &mut self,
        x: &TraceMatrix,
        attention: &Attention<Trained>,
        relative: &RelativeEncoding,
    ) -> TraceMatrix {
        self.self_attention(x, attention, relative, true)
    }

    fn attend_memory(&mut self, x: &TraceMatrix, attention: &Attention<Trained>) -> TraceMatrix {
        let memory = self.memory();
        let [queries, keys, values] = self.queries_keys_values(attention, x, &memory);
        let operands = AttentionOperands {
            queries: &queries,
            keys: &keys,
            values: &values,
            heads: attention.heads,
            bias: None,
            is_causal: false,
        };
        self.attend(&attention.place.name, &operands)
    }

    fn advance(&mut self, x: &TraceMatrix, layer: &RecurrentLayer<Trained>, number: usize) -> TraceMatrix {
        let projected = self.projected(x, layer);
        let before = self.state(layer, number);
        let RecurrentStates { hidden, last } = self.cell(layer, &projected, &before);
        self.keep(number, last.named(hidden.name()));
        hidden
    }

    fn advance_attentive(
        &mut self,
        x: &TraceMatrix,
        layer: &RecurrentLayer<Trained>,
        attention: &AdditiveAttention<Trained>,
    ) -> [TraceMatrix; 2] {
        let before = self.state(layer, 0);
        let h = before.columns(0..layer.d);
        // Later states have the name of their part h.
        let is_final = layer.cell.states() > 1 && before.name().ends_with(".final");
        let h = if is_final { h.named(&format!("{before}[:, 0:{}]", layer.d)) } else { h };
        let context = self.additive_context(&h, &attention.scores);
        let of_context = self.map(&context, &attention.context, &format!("{ATTENTION}.context_input"));
        let of_input = self.projected(x, layer);
        let sum = of_input.zip(&of_context, |x, c| x + c);
        let place = parent(parent(layer.input.weight.name())).to_owned();
        let formula = format!("{of_input} + {of_context}");
        let projected = self.record(&format!("{place}.input_and_context"), &formula, sum);
        let RecurrentStates { hidden, last } = self.cell(layer, &projected, &before);
        self.keep(0, last.named(hidden.name()));
        [hidden, context]
    }

    fn attend_states(
        &mut self,
        h: &TraceMatrix,
        attention: &MultiplicativeAttention<Trained>,
    ) -> TraceMatrix {
        let memory = self.memory();
        let queries = match &attention.query {
            Some(query) => self.named_map(h, query),
            None => h.clone(),
        };
        let scores = queries.times(memory.values(), None);
        let formula = format!("q·Hᵀ, q {queries}, H {memory}");
        let scores = self.record(&format!("{ATTENTION}.scores"), &formula, scores);
        self.average(ATTENTION, &scores)
    }

    fn attend_states_additively(&mut self, h: &TraceMatrix, scores: &AdditiveScores<Trained>) -> TraceMatrix {
        self.additive_context(h, scores)
    }

    fn fed(&mut self, number: usize) -> TraceMatrix {
        self.states[number].clone()
    }

    fn feed(&mut self, value: &TraceMatrix, number: usize) {
        self.keep(number, value.clone());
    }
}

/// The path without its last part.
fn parent(path: &str) -> &str {
    path.rsplit_once('.').map_or("", |(parent, _)| parent)
}

/// A name without the position behind it.
fn without_position(name: &str) -> &str {
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
