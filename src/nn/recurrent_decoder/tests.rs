use burn::tensor::{Device, Distribution};

use super::super::AttentionWatch;
use super::*;
use crate::config::{CellKind, RecurrentConfig};

const D: usize = 6;
const SRC_LENS: [usize; 2] = [3, 2];
const SRC_LEN: usize = 3;
const LEN: usize = 4;

fn random(rows: usize) -> Tensor<2> {
    Tensor::random([rows, D], Distribution::Normal(0.0, 1.0), &Device::flex())
}

fn decoder(attention: AttentionKind, cell: CellKind) -> RecurrentDecoder {
    let config = ModelConfig {
        d_model: D,
        n_decoder_layers: 1,
        recurrent: RecurrentConfig {
            cell,
            d_hidden: D,
            attention,
            ..RecurrentConfig::default()
        },
        ..ModelConfig::default()
    };
    let init = &mut Initializer::new(config.init, 5, &Device::flex());
    RecurrentDecoder::new(&config, init)
}

/// Σ weights · values, `[batch · len, D]`.
fn gathered(weights: Tensor<4>, values: Tensor<2>) -> Tensor<2> {
    let [batch, _, len, src_len] = weights.dims();
    let weights: Tensor<3> = weights.squeeze_dim(1);
    let context = weights.matmul(values.reshape([batch, src_len, D]));
    context.reshape([batch * len, D])
}

#[test]
fn recorded_weights_make_the_contexts() {
    let batch = SRC_LENS.len();
    let pad = PadMask::from_lens(&SRC_LENS, SRC_LEN);
    let lengths = Lengths {
        lens: vec![LEN; batch].into(),
        len: LEN,
    };
    for (attention, cell) in [
        (AttentionKind::Additive, CellKind::Lstm),
        (AttentionKind::Additive, CellKind::Gru),
        (AttentionKind::Dot, CellKind::Lstm),
        (AttentionKind::General, CellKind::Rnn),
    ] {
        let decoder = decoder(attention, cell);
        let values = random(batch * SRC_LEN);
        let x = random(batch * LEN);
        let plain = Pass::inference();
        let memory = decoder
            .memory(values.clone(), pad.clone(), &plain)
            .expect("a memory");
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
        assert_eq!(map.weights.dims(), [batch, 1, LEN, SRC_LEN]);
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
