use attentive_architecture::{self as architecture, RelativePositions, TransformerSpec};
use attentive_base::random::Random;
use attentive_config::ModelConfig;
use attentive_samples::base;
use attentive_tape::{self as tape, Causality, Lengths, Value};

use super::*;
use crate::model::tests::on_each_device;
use crate::nn::{
    AttentionMap, AttentionWatch, Construction, ParameterDeclaration, Parameters, Pass, RelativeEncoding,
    Sequence, Sequences, Trained, relative,
};

const LENS: [usize; 3] = [4, 2, 3];
const LEN: usize = 4;
const D: usize = 12;
const D_HEAD: usize = 4;
const ROTARY: RelativePositions =
    RelativePositions::Rotary { base: 10_000.0, scaling: architecture::RotaryScaling::UNSCALED };

fn rows(len: usize) -> Value {
    let mut random = Random::new(6, len as u64);
    let shape = [LENS.len() * len, D];
    let numbers = (0..shape[0] * D).map(|_| random.normal() as f32);
    Value::new(numbers.collect::<Vec<_>>(), shape)
}

fn lengths() -> Lengths {
    Lengths::new(LENS, LEN)
}

/// An attention, and the relative positions of its stack.
struct Layer {
    attention: Attention<Trained>,
    relative: RelativeEncoding,
}

impl Layer {
    /// Self-attention of sequences of these lengths.
    fn attend(&self, x: &Value, lengths: &Lengths, causality: Causality, pass: &Pass<'_>) -> Value {
        let sequences = &mut Sequences::new(lengths, pass);
        match causality {
            Causality::Full => self.attention.attend_whole(x, &self.relative, sequences),
            Causality::Causal => self.attention.attend_earlier(x, &self.relative, sequences),
        }
    }
}

/// A linear map of rows.
fn mapped(map: &Linear<Trained>, x: &Value) -> Value {
    let lengths = Lengths::full(1, x.shape()[0]);
    map.forward(x, &mut Sequences::new(&lengths, &Pass::inference()))
}

/// A stack of width `D` with attention to a memory of the same width.
fn stack() -> TransformerSpec {
    let architecture = ModelConfig { d_model: D, ..base() }.architecture(8, 8);
    match architecture.decoder() {
        Some(architecture::DecoderSpec::Transformer(stack)) => stack.clone(),
        _ => panic!("a Transformer"),
    }
}

/// Three heads, with keys and values of `n_kv_heads`.
fn attention(positions: RelativePositions, n_kv_heads: usize, site: AttentionSite) -> Layer {
    let attention = architecture::AttentionSpec {
        n_heads: 3,
        n_kv_heads,
        d_head: D_HEAD,
        bias: true,
        output_bias: true,
        scale: None,
        dropout: 0.0,
        positions,
    };
    let mut random = Random::new(5, 0);
    let mut values = |declaration: &ParameterDeclaration| {
        let numbers = (0..declaration.size()).map(|_| 0.5 * random.normal() as f32);
        Vec::from_iter(numbers).into()
    };
    let parameters = &mut Parameters::new(&mut values);
    let construction = Construction::new(parameters);
    let root = construction.root();
    Layer {
        relative: relative(&attention, Causality::Full, LEN, &root),
        attention: Attention::new(&attention, &stack(), site, 0, root),
    }
}

fn watched(run: impl FnOnce(&Pass<'_>) -> Value) -> (Value, AttentionMap) {
    let watch = AttentionWatch::default();
    let out = run(&Pass::inference().watched(&watch));
    let [map] = watch.into_maps().try_into().expect("one map");
    (out, map)
}

fn assert_close(a: &Value, b: &Value) {
    assert_eq!(a.shape(), b.shape());
    for (a, b) in a.values().iter().zip(&*b.values()) {
        assert!((a - b).abs() < 1e-5, "{a} {b}");
    }
}

/// Σ weights · values of all heads, through the output projection.
fn gathered(layer: &Attention<Trained>, map: &AttentionMap, values: &Value) -> Value {
    let [batch, n_heads, tgt_len, src_len] = map.weights.shape;
    let mut context = vec![0.0; batch * tgt_len * D];
    for (number, weights) in map.weights.values.chunks(src_len).enumerate() {
        let (query, head) = (number % tgt_len, number / tgt_len % n_heads);
        let sentence = number / tgt_len / n_heads;
        let at = |row: usize| row * D + head * D_HEAD;
        let out = &mut context[at(sentence * tgt_len + query)..][..D_HEAD];
        for (key, weight) in weights.iter().enumerate() {
            let value = &values.values()[at(sentence * src_len + key)..][..D_HEAD];
            add_scaled(out, *weight, value);
        }
    }
    through_output(layer, context)
}

/// Adds `factor` · `x` to `sum`.
fn add_scaled(sum: &mut [f32], factor: f32, x: &[f32]) {
    for (sum, x) in sum.iter_mut().zip(x) {
        *sum += factor * x;
    }
}

/// The output projection of the contexts of all heads side by side.
fn through_output(layer: &Attention<Trained>, context: Vec<f32>) -> Value {
    let shape = [context.len() / D, D];
    let context = Value::new(context, shape);
    mapped(&layer.output, &context)
}

/// Checks that rows sum to 1, and that exactly the weights for which `hidden(sentence, query, key)` holds
/// are 0.
fn check_weights(map: &AttentionMap, hidden: impl Fn(usize, usize, usize) -> bool) {
    let [_, n_heads, tgt_len, src_len] = map.weights.shape;
    for (number, row) in map.weights.values.chunks(src_len).enumerate() {
        let (sentence, query) = (number / (n_heads * tgt_len), number % tgt_len);
        assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-5, "{row:?}");
        for (key, &weight) in row.iter().enumerate() {
            assert_eq!(weight == 0.0, hidden(sentence, query, key), "{row:?}");
        }
    }
}

#[test]
fn recorded_weights_reproduce_the_output() {
    on_each_device(|| {
        for positions in [RelativePositions::None, ROTARY] {
            let layer = attention(positions, 3, AttentionSite::EncoderSelf);
            let (x, lengths) = (rows(LEN), lengths());
            let values = mapped(&layer.attention.value, &x);

            let (out, map) = watched(|pass| layer.attend(&x, &lengths, Causality::Full, pass));
            assert_close(&out, &gathered(&layer.attention, &map, &values));
            check_weights(&map, |sentence, _, key| key >= LENS[sentence]);

            let (out, map) = watched(|pass| layer.attend(&x, &lengths, Causality::Causal, pass));
            assert_close(&out, &gathered(&layer.attention, &map, &values));
            check_weights(&map, |_, query, key| key > query);
        }

        let layer = attention(RelativePositions::None, 3, AttentionSite::Cross).attention;
        let memory = Sequence { x: rows(LEN), lengths: lengths() };
        let values = mapped(&layer.value, &memory.x);
        let tgt = Lengths::full(LENS.len(), 2);
        let (out, map) = watched(|pass| {
            let mut sequences = Sequences::new(&tgt, pass).with_memory(Some(&memory));
            layer.attend_memory(&rows(2), &mut sequences)
        });
        assert_close(&out, &gathered(&layer, &map, &values));
        check_weights(&map, |sentence, _, key| key >= LENS[sentence]);
        assert_eq!(map.site, AttentionSite::Cross);
    });
}

#[test]
fn watching_changes_nothing() {
    on_each_device(|| {
        let layer = attention(ROTARY, 3, AttentionSite::DecoderSelf);
        let x = rows(LEN);
        let run = |pass: &Pass<'_>| layer.attend(&x, &lengths(), Causality::Causal, pass);
        let (out, _) = watched(run);
        assert_eq!(out.values(), run(&Pass::inference()).values());
    });
}

/// The paper has separate matrices for each head (section 3.2.2); here they are blocks of one. Grouped heads
/// share a block.
#[test]
fn one_matrix_for_all_heads_equals_one_for_each() {
    on_each_device(|| {
        for n_kv_heads in [3, 1] {
            let whole = attention(RelativePositions::None, n_kv_heads, AttentionSite::EncoderSelf);
            let layer = &whole.attention;
            let x = tape::row_range(rows(LEN), 0..LEN);
            // The queries, keys or values of a head, a row for each position.
            let of = |linear: &Linear<Trained>, head: usize| -> Vec<Vec<f32>> {
                let weight = linear.weight.to_vec();
                let bias = linear.bias.as_ref().expect("a bias").to_vec();
                let map = |x: &[f32]| {
                    let rows = D_HEAD * head..D_HEAD * (head + 1);
                    rows.map(|row| dot(&weight[row * D..][..D], x) + bias[row]).collect()
                };
                x.values().chunks(D).map(map).collect()
            };
            let mut context = vec![0.0; LEN * D];
            for head in 0..3 {
                let shared = head * n_kv_heads / 3;
                let (q, k) = (of(&layer.query, head), of(&layer.key, shared));
                let v = of(&layer.value, shared);
                for (q, out) in q.iter().zip(context.chunks_mut(D)) {
                    // softmax(q·kᵀ / √d)·v
                    let e: Vec<f32> = k.iter().map(|k| (dot(q, k) / 2.0).exp()).collect();
                    let sum: f32 = e.iter().sum();
                    for (e, v) in e.iter().zip(&v) {
                        add_scaled(&mut out[D_HEAD * head..], e / sum, v);
                    }
                }
            }
            let expected = through_output(layer, context);
            let lengths = Lengths::full(1, LEN);
            let found = whole.attend(&x, &lengths, Causality::Full, &Pass::inference());
            assert_close(&found, &expected);
        }
    });
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
