use attentive_architecture::{AttentionKind, CellKind, Init, InputFeeding};
use attentive_base::random::Random;
use attentive_config::{FamilyConfig, ModelConfig, RecurrentConfig, StackKind, Translator};
use attentive_tape::{self as tape, AttentionWeights, Lengths, Value};

use super::*;
use crate::model::tests::on_each_device;
use crate::nn::{
    AdditiveScores, AttentionWatch, Construction, Initializer, ParameterDeclaration, Parameters, Pass,
    Sequence, Sequences, Trained,
};

const D: usize = 6;
const SRC_LENS: [usize; 2] = [3, 2];
const SRC_LEN: usize = 3;
const LEN: usize = 4;

fn normal(random: &mut Random, rows: usize) -> Value {
    let numbers = (0..rows * D).map(|_| random.normal() as f32);
    Value::new(numbers.collect::<Vec<_>>(), [rows, D])
}

fn decoder(attention: AttentionKind, cell: CellKind, n_layers: usize) -> RecurrentDecoder<Trained> {
    fed_decoder(attention, cell, n_layers, InputFeeding::None, true)
}

fn fed_decoder(
    attention: AttentionKind,
    cell: CellKind,
    n_layers: usize,
    input_feeding: InputFeeding,
    readout: bool,
) -> RecurrentDecoder<Trained> {
    let mut translator = Translator { attention, ..Translator::default() };
    translator.decoder.input_feeding = input_feeding;
    translator.decoder.readout = readout;
    translator.encoder.stack = StackKind::Recurrent;
    translator.decoder.stack = StackKind::Recurrent;
    translator.decoder.n_decoder_layers = n_layers;
    let config = ModelConfig {
        family: FamilyConfig::Seq2seq(translator),
        d_model: D,
        recurrent: RecurrentConfig { cell, d_hidden: D },
        ..ModelConfig::default()
    };
    let architecture = config.architecture(8, 8);
    let Some(architecture::DecoderSpec::Recurrent(stack)) = architecture.decoder() else {
        panic!("a recurrent decoder");
    };
    let initializer = Initializer::new(&architecture, Init::Pytorch, 5);
    let mut values = |declaration: &ParameterDeclaration| initializer.draw(&declaration.name).into();
    let parameters = &mut Parameters::new(&mut values);
    let construction = Construction::new(parameters);
    RecurrentDecoder::new(stack, construction.root().at("decoder"))
}

fn sequence(x: Value, lens: &[usize], width: usize) -> Sequence {
    let lengths = Lengths::new(lens, width);
    Sequence { x, lengths }
}

/// Σ weights · values, `[batch · len, D]`.
fn gathered(weights: &AttentionWeights, values: &Value) -> Vec<f32> {
    let [_, _, len, src_len] = weights.shape;
    let values = values.values();
    let values: Vec<&[f32]> = values.chunks(D).collect();
    let rows = weights.values.chunks(src_len).enumerate();
    rows.flat_map(|(row, weights)| weighted(weights, &values[row / len * src_len..])).collect()
}

/// Σ weight · value
fn weighted(weights: &[f32], values: &[&[f32]]) -> Vec<f32> {
    let mut sum = vec![0.0; D];
    for (weight, value) in weights.iter().zip(values) {
        for (sum, x) in sum.iter_mut().zip(*value) {
            *sum += weight * x;
        }
    }
    sum
}

fn assert_close(what: &str, found: &[f32], expected: &[f32]) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-5, "{what}: {found}, not {expected}");
    }
}

#[test]
fn recorded_weights_reproduce_the_contexts() {
    on_each_device(|| {
        let batch = SRC_LENS.len();
        let lengths = Lengths::full(batch, LEN);
        let mut random = Random::new(6, 0);
        for (attention, cell) in [
            (AttentionKind::Additive, CellKind::Lstm),
            (AttentionKind::Additive, CellKind::Gru),
            (AttentionKind::Dot, CellKind::Lstm),
            (AttentionKind::General, CellKind::Rnn),
            (AttentionKind::Concat, CellKind::Gru),
        ] {
            let decoder = decoder(attention, cell, 1);
            let values = normal(&mut random, batch * SRC_LEN);
            let x = normal(&mut random, batch * LEN);
            let memory = sequence(values.clone(), &SRC_LENS, SRC_LEN);
            let layer = &decoder.layers[0];
            let initial = vec![normal(&mut random, batch); layer.cell.states()];
            let watch = AttentionWatch::default();
            let pass = &Pass::inference().watched(&watch);
            let sequences = &mut Sequences::new(&lengths, pass)
                .with_memory(Some(&memory))
                .starting_from(vec![tape::join(initial)]);
            let context = match decoder.attention.as_ref().expect("attention") {
                RecurrentAttention::Additive(attention) => {
                    let [_, context] = sequences.advance_attentive(&x, layer, attention);
                    context
                }
                RecurrentAttention::Multiplicative(attention) => sequences.attend_states(&x, attention),
                RecurrentAttention::Concat(scores) => sequences.attend_states_additively(&x, scores),
            };
            let [map] = watch.into_maps().try_into().expect("one map");
            assert_eq!(map.weights.shape, [batch, 1, LEN, SRC_LEN]);
            assert_eq!(map.name, "decoder.attention");
            let of_second = map.weights.values.chunks(SRC_LEN).skip(LEN);
            let padding: Vec<f32> = of_second.map(|weights| weights[2]).collect();
            assert_eq!(padding, [0.0; LEN]);
            let expected = gathered(&map.weights, &values);
            assert_close(&format!("{attention:?}"), &context.values(), &expected);
        }
    });
}

/// W x + b
fn map(linear: &Linear<Trained>, x: &[f32]) -> Vec<f32> {
    let weight = linear.weight.to_vec();
    let y = weight.chunks(x.len()).map(|row| dot(row, x)).collect();
    match &linear.bias {
        Some(bias) => add(y, &bias.to_vec()),
        None => y,
    }
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn add(mut a: Vec<f32>, b: &[f32]) -> Vec<f32> {
    a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
    a
}

fn tanh(x: Vec<f32>) -> Vec<f32> {
    x.into_iter().map(f32::tanh).collect()
}

/// The decoder's formulas for tanh cells and one sentence, written out: t at every position, `[LEN, D]`.
///
/// # Shapes
/// - `h`: `[SRC_LEN, D]`, the memory
/// - `x`: `[LEN, D]`
/// - `states`: `[1, D]` for each layer
fn by_the_formulas(decoder: &RecurrentDecoder<Trained>, h: &Value, x: &Value, states: &[Value]) -> Vec<f32> {
    let h = h.values();
    let h: Vec<&[f32]> = h.chunks(D).collect();
    // Σ_j softmax(e)_j h_j
    let found = |e: Vec<f32>| {
        let exp: Vec<f32> = e.into_iter().map(f32::exp).collect();
        let sum: f32 = exp.iter().sum();
        let weights: Vec<f32> = exp.iter().map(|exp| exp / sum).collect();
        weighted(&weights, &h)
    };
    // vᵀ tanh(W s + U h_j)
    let additive = |scores: &AdditiveScores<Trained>, s: &[f32]| {
        let (v, query) = (scores.score.to_vec(), map(&scores.query, s));
        let e = |h: &&[f32]| dot(&v, &tanh(add(map(&scores.key, h), &query)));
        found(h.iter().map(e).collect())
    };
    let mut states: Vec<Vec<f32>> = states.iter().map(|state| state.values().into_owned()).collect();
    let mut fed = vec![0.0; decoder.d_fed];
    let mut out = Vec::new();
    for x in x.values().chunks(D) {
        let mut below = [x, &fed].concat();
        // Empty without attention.
        let mut context = Vec::new();
        for (number, layer) in decoder.layers.iter().enumerate() {
            let before = &states[number];
            let hidden = layer.hidden.as_ref().expect("a hidden map");
            let mut sum = add(map(&layer.input, &below), &map(hidden, before));
            if let (0, Some(RecurrentAttention::Additive(attention))) = (number, &decoder.attention) {
                context = additive(&attention.scores, before);
                sum = add(sum, &map(&attention.context, &context));
            }
            states[number] = tanh(sum);
            below.clone_from(&states[number]);
        }
        if let Some(RecurrentAttention::Concat(scores)) = &decoder.attention {
            context = additive(scores, &below);
        }
        if let Some(RecurrentAttention::Multiplicative(attention)) = &decoder.attention {
            // e_j = (W s)ᵀ h_j with the current state
            let query = match &attention.query {
                Some(query) => map(query, &below),
                None => below.clone(),
            };
            context = found(h.iter().map(|h| dot(&query, h)).collect());
        }
        let read = [&below[..], &context].concat();
        let t = match &decoder.readout {
            Some(readout) => tanh(map(readout, &read)),
            None => read,
        };
        fed = match decoder.input_feeding {
            InputFeeding::None => Vec::new(),
            InputFeeding::Context => context,
            InputFeeding::Output => t.clone(),
        };
        out.extend(t);
    }
    out
}

#[test]
fn the_decoder_follows_its_formulas() {
    on_each_device(|| {
        let pass = &Pass::inference();
        let mut random = Random::new(7, 0);
        for attention in [
            AttentionKind::None,
            AttentionKind::Additive,
            AttentionKind::Dot,
            AttentionKind::General,
            AttentionKind::Concat,
        ] {
            for (n_layers, feeding, readout) in [
                (1, InputFeeding::None, true),
                (2, InputFeeding::None, true),
                (1, InputFeeding::None, false),
                (1, InputFeeding::Context, false),
                (2, InputFeeding::Context, true),
                (2, InputFeeding::Output, true),
                (1, InputFeeding::Output, false),
            ] {
                if attention == AttentionKind::None && feeding == InputFeeding::Context {
                    continue;
                }
                let decoder = fed_decoder(attention, CellKind::Rnn, n_layers, feeding, readout);
                // Large enough that the weights of the source positions differ.
                let h = tape::scale(normal(&mut random, SRC_LEN), 3.0);
                let x = normal(&mut random, LEN);
                let finals: Vec<Value> = (0..n_layers).map(|_| normal(&mut random, 1)).collect();
                let expected = by_the_formulas(&decoder, &h, &x, &finals);
                let memory = sequence(h, &[SRC_LEN], SRC_LEN);
                let lengths = Lengths::full(1, LEN);
                let sequences = Sequences::new(&lengths, pass)
                    .with_memory(Some(&memory))
                    .starting_from(decoder.initial(1, &finals));
                let found = decoder.decode(x, sequences);
                let what = format!("{attention:?}, {n_layers} layers, {feeding:?}, {readout}");
                assert_close(&what, &found.values(), &expected);
            }
        }
    });
}
