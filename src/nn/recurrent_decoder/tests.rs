use super::super::{AttentionWatch, Construction, Initializer};
use super::*;
use crate::architecture::{AttentionKind, CellKind, Init};
use crate::config::{Family, ModelConfig, RecurrentConfig};
use attentive_tape::Lengths;

const D: usize = 6;
const SRC_LENS: [usize; 2] = [3, 2];
const SRC_LEN: usize = 3;
const LEN: usize = 4;

fn random(rows: usize) -> Value {
    Tensor::random([rows, D], Distribution::Normal(0.0, 1.0), &Device::flex())
}

fn decoder(attention: AttentionKind, cell: CellKind, n_layers: usize) -> RecurrentDecoder {
    let config = ModelConfig {
        family: Family::Seq2seq,
        d_model: D,
        n_decoder_layers: n_layers,
        recurrent: RecurrentConfig {
            cell,
            d_hidden: D,
            attention,
            ..RecurrentConfig::default()
        },
        ..ModelConfig::default()
    };
    let architecture = config.architecture(8, 8);
    let Some(architecture::Decoder::Recurrent(stack)) = &architecture.decoder else {
        panic!("a recurrent decoder");
    };
    let initializer = Initializer::new(&architecture, Init::Pytorch, 5);
    let mut values = |name: &str| initializer.draw(name);
    let construction = Construction::new(&Device::flex(), &mut values);
    RecurrentDecoder::new(stack, construction.root().at("decoder"))
}

fn sequence(x: Value, lens: &[usize], width: usize) -> Sequence {
    let lengths = Lengths::new(lens, width);
    Sequence { x, lengths }
}

/// Σ weights · values, `[batch · len, D]`.
fn gathered(weights: Value, values: Value) -> Value {
    let [batch, _, len, src_len] = weights.shape();
    let weights: Value = weights.squeeze_dim(1);
    let context = weights.matmul(values.reshape([batch, src_len, D]));
    context.reshape([batch * len, D])
}

#[test]
fn recorded_weights_reproduce_the_contexts() {
    let batch = SRC_LENS.len();
    let lengths = Lengths::full(batch, LEN);
    for (attention, cell) in [
        (AttentionKind::Additive, CellKind::Lstm),
        (AttentionKind::Additive, CellKind::Gru),
        (AttentionKind::Dot, CellKind::Lstm),
        (AttentionKind::General, CellKind::Rnn),
    ] {
        let decoder = decoder(attention, cell, 1);
        let values = random(batch * SRC_LEN);
        let x = random(batch * LEN);
        let plain = Pass::inference();
        let memory = sequence(values.clone(), &SRC_LENS, SRC_LEN);
        let memory = decoder.memory_of(&memory, &plain).expect("a memory");
        let layer = &decoder.layers[0];
        let initial = random(batch).repeat_dim(1, layer.cell().states());
        let watch = AttentionWatch::default();
        let pass = &plain.watched(&watch);
        let context = match decoder.attention.as_ref().expect("attention") {
            RecurrentAttention::Additive(attention) => {
                attention.run(layer, x, &lengths, initial, &memory, pass).1
            }
            RecurrentAttention::Multiplicative(attention) => {
                attention.attend(x, &lengths, &memory, pass)
            }
        };
        let [map] = watch.into_maps().try_into().expect("one map");
        assert_eq!(map.weights.shape(), [batch, 1, LEN, SRC_LEN]);
        assert_eq!(map.name, "decoder.attention");
        let padding: Vec<f32> = map
            .weights
            .clone()
            .slice([1..2, 0..1, 0..LEN, 2..3])
            .into_data()
            .iter()
            .collect();
        assert_eq!(padding, [0.0; LEN]);
        let difference = context - gathered(map.weights, values);
        let difference: f32 = difference.abs().max().into_scalar();
        assert!(difference < 1e-5, "{attention:?}: {difference}");
    }
}

/// W x + b of every row.
fn map(linear: &Linear, x: Value) -> Value {
    let y = x.matmul(linear.weight.val().transpose());
    match &linear.bias {
        Some(bias) => y + bias.val().unsqueeze(),
        None => y,
    }
}

/// The decoder's formulas for tanh cells and one sentence, written out: t at every position, `[LEN, D]`.
///
/// # Shapes
/// - `h`: `[SRC_LEN, D]`, the memory
/// - `x`: `[LEN, D]`
/// - `states`: `[1, D]` for each layer
fn by_the_formulas(
    decoder: &RecurrentDecoder,
    h: &Value,
    x: &Value,
    mut states: Vec<Value>,
) -> Value {
    // Σ_j softmax(e)_j h_j
    let found = |e: Value| softmax(e, 1).matmul(h.clone());
    let mut out = Vec::new();
    for position in 0..LEN {
        let mut below = x.clone().narrow(0, position, 1);
        let mut context = None;
        for (number, layer) in decoder.layers.iter().enumerate() {
            let before = states[number].clone();
            let mut sum = map(&layer.input, below)
                + map(layer.hidden.as_ref().expect("a hidden map"), before.clone());
            if let (0, Some(RecurrentAttention::Additive(attention))) = (number, &decoder.attention)
            {
                // e_j = vᵀ tanh(W s + U h_j)
                let v = attention.score.val().unsqueeze();
                let inner = map(&attention.query, before) + map(&attention.key, h.clone());
                let c = found((tanh(inner) * v).sum_dim(1).transpose());
                sum = sum + map(&attention.context, c.clone());
                context = Some(c);
            }
            states[number] = tanh(sum);
            below = states[number].clone();
        }
        if let Some(RecurrentAttention::Multiplicative(attention)) = &decoder.attention {
            // e_j = (W s)ᵀ h_j with the current state
            let query = match &attention.query {
                Some(query) => map(query, below.clone()),
                None => below.clone(),
            };
            context = Some(found(query.matmul(h.clone().transpose())));
        }
        let read = match context {
            Some(c) => Tensor::cat(vec![below, c], 1),
            None => below,
        };
        out.push(tanh(map(decoder.readout.as_ref().unwrap(), read)));
    }
    Tensor::cat(out, 0)
}

#[test]
fn the_decoder_follows_its_formulas() {
    let pass = &Pass::inference();
    for attention in [
        AttentionKind::None,
        AttentionKind::Additive,
        AttentionKind::Dot,
        AttentionKind::General,
    ] {
        for n_layers in [1, 2] {
            let decoder = decoder(attention, CellKind::Rnn, n_layers);
            // Large enough that the weights of the source positions differ.
            let (h, x) = (random(SRC_LEN) * 3.0, random(LEN));
            let finals: Vec<Value> = (0..n_layers).map(|_| random(1)).collect();
            let expected = by_the_formulas(&decoder, &h, &x, finals.clone());
            let memory = sequence(h, &[SRC_LEN], SRC_LEN);
            let tgt = sequence(x, &[LEN], LEN);
            let found = decoder.forward(tgt, Some(&memory), &finals, pass);
            let difference: f32 = (found - expected).abs().max().into_scalar();
            assert!(
                difference < 1e-5,
                "{attention:?}, {n_layers} layers: {difference}"
            );
        }
    }
}
