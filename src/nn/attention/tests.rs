use super::super::{AttentionMap, AttentionWatch, Construction};
use super::*;
use crate::architecture::Attention;
use crate::architecture::RelativePositions;
use crate::random::Random;

const LENS: [usize; 3] = [4, 2, 3];
const LEN: usize = 4;
const ROTARY: RelativePositions = RelativePositions::Rotary {
    base: 10_000.0,
    scaling: None,
};

fn rows(len: usize) -> Value {
    let shape = [LENS.len() * len, 12];
    Tensor::random(shape, Distribution::Normal(0.0, 1.0), &Device::flex())
}

fn lengths() -> Lengths {
    Lengths::new(LENS, LEN)
}

/// Three heads of width 4, with keys and values of `n_kv_heads`.
fn attention(
    positions: RelativePositions,
    n_kv_heads: usize,
    site: AttentionSite,
) -> MultiHeadAttention {
    let attention = Attention {
        n_heads: 3,
        n_kv_heads,
        d_head: 4,
        bias: true,
        scale: None,
        dropout: 0.0,
        positions,
    };
    let mut random = Random::new(5, 0);
    let mut values = |name: &str| {
        let width = match name {
            "key.weight" | "value.weight" | "key.bias" | "value.bias" => 4 * n_kv_heads,
            _ => 12,
        };
        let shape = match name.ends_with("weight") {
            true => vec![width, 12],
            false => vec![width],
        };
        let count = shape.iter().product();
        let numbers: Vec<f32> = (0..count).map(|_| 0.5 * random.normal() as f32).collect();
        TensorData::new(numbers, shape)
    };
    let construction = Construction::new(&Device::flex(), &mut values);
    MultiHeadAttention::new(&attention, site, 0, construction.root())
}

fn watched(run: impl FnOnce(&Pass<'_>) -> Value) -> (Value, AttentionMap) {
    let watch = AttentionWatch::default();
    let out = run(&Pass::inference().watched(&watch));
    let [map] = watch.into_maps().try_into().expect("one map");
    (out, map)
}

fn assert_close(a: Value, b: Value) {
    assert_eq!(a.shape(), b.shape());
    let difference: f32 = (a - b).abs().max().into_scalar();
    assert!(difference < 1e-5, "{difference}");
}

fn causal() -> Visible<'static> {
    Visible {
        keys: None,
        causality: Causality::Causal,
        bias: None,
    }
}

/// Σ weights · values of all heads, through the output projection.
fn gathered(layer: &MultiHeadAttention, map: &AttentionMap, values: Value) -> Value {
    let [batch, n_heads, tgt_len, src_len] = map.weights.shape();
    let heads = values.reshape([batch, src_len, n_heads, 4]).swap_dims(1, 2);
    let context = map.weights.clone().matmul(heads).swap_dims(1, 2);
    let context = context.reshape([batch * tgt_len, n_heads * 4]);
    layer.output.forward(context, &Pass::inference())
}

/// Checks that rows sum to 1, and that exactly the weights for which `hidden(sentence, query, key)` holds are 0.
fn check_weights(map: &AttentionMap, hidden: impl Fn(usize, usize, usize) -> bool) {
    let [_, n_heads, tgt_len, src_len] = map.weights.shape();
    let weights: Vec<f32> = map.weights.clone().into_data().iter().collect();
    for (number, row) in weights.chunks(src_len).enumerate() {
        let (sentence, query) = (number / (n_heads * tgt_len), number % tgt_len);
        assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-5, "{row:?}");
        for (key, &weight) in row.iter().enumerate() {
            assert_eq!(weight == 0.0, hidden(sentence, query, key), "{row:?}");
        }
    }
}

#[test]
fn recorded_weights_reproduce_the_output() {
    for positions in [RelativePositions::None, ROTARY] {
        let layer = attention(positions, 3, AttentionSite::EncoderSelf);
        let (x, batch) = (rows(LEN), LENS.len());
        let values = layer.value.forward(x.clone(), &Pass::inference());

        let (out, map) =
            watched(|pass| layer.attend_itself(x.clone(), batch, Visible::all(&lengths()), pass));
        assert_close(out, gathered(&layer, &map, values.clone()));
        check_weights(&map, |sentence, _, key| key >= LENS[sentence]);

        let (out, map) = watched(|pass| layer.attend_itself(x.clone(), batch, causal(), pass));
        assert_close(out, gathered(&layer, &map, values.clone()));
        check_weights(&map, |_, query, key| key > query);
    }

    let layer = attention(RelativePositions::None, 3, AttentionSite::Cross);
    let (memory, batch) = (rows(LEN), LENS.len());
    let values = layer.value.forward(memory.clone(), &Pass::inference());
    let source = layer.keys_values(memory, &Pass::inference());
    let (out, map) =
        watched(|pass| layer.attend_memory(rows(2), source, batch, Visible::all(&lengths()), pass));
    assert_close(out, gathered(&layer, &map, values));
    check_weights(&map, |sentence, _, key| key >= LENS[sentence]);
    assert_eq!(map.site, AttentionSite::Cross);
}

#[test]
fn watching_changes_nothing() {
    let layer = attention(ROTARY, 3, AttentionSite::DecoderSelf);
    let x = rows(LEN);
    let run = |pass: &Pass<'_>| layer.attend_itself(x.clone(), LENS.len(), causal(), pass);
    let (out, _) = watched(run);
    assert_eq!(out.into_data(), run(&Pass::inference()).into_data());
}

/// The paper has separate matrices for each head (section 3.2.2); here they are blocks of one. Grouped heads share a block.
#[test]
fn one_matrix_for_all_heads_equals_one_for_each() {
    for n_kv_heads in [3, 1] {
        let layer = attention(
            RelativePositions::None,
            n_kv_heads,
            AttentionSite::EncoderSelf,
        );
        let x = rows(LEN).narrow(0, 0, LEN);
        let of = |linear: &Linear, head: usize| {
            let weight = linear.weight.val().narrow(0, 4 * head, 4);
            let bias = linear.bias.as_ref().expect("a bias").val();
            x.clone().matmul(weight.transpose()) + bias.narrow(0, 4 * head, 4).unsqueeze()
        };
        let heads = (0..3).map(|head| {
            let shared = head * n_kv_heads / 3;
            let (q, k) = (of(&layer.query, head), of(&layer.key, shared));
            softmax(q.matmul(k.transpose()) / 2.0, 1).matmul(of(&layer.value, shared))
        });
        let joined = Tensor::cat(heads.collect(), 1);
        let expected = layer.output.forward(joined, &Pass::inference());
        let full = Visible {
            causality: Causality::Full,
            ..causal()
        };
        let found = layer.attend_itself(x.clone(), 1, full, &Pass::inference());
        assert_close(found, expected);
    }
}
