//! The decoder of tutorials compared with PyTorch: logits, attention, loss and gradients
//! (`scripts/fixtures/recurrent_decoder.py`).

use std::path::Path;

use attentive::architecture::Body;
use attentive::batch::{Batch, Padded};
use attentive::config::Config;
use attentive::model::Model;
use attentive::nn::{AttentionWatch, Pass};
use safetensors::SafeTensors;

use crate::fixture;

const VOCAB: usize = 11;

fn config(cell: &str) -> Config {
    let text = format!(
        "format = 1
        data.train = {{ src = 'a', tgt = 'b' }}
        [model]
        family = 'seq2seq'
        d_model = 6
        n_encoder_layers = 1
        n_decoder_layers = 1
        tie_embeddings = 'none'
        output_bias = true
        scale_embeddings = false
        dropout = 0.0
        recurrent = {{ cell = '{cell}', d_hidden = 8, attention = 'concat', input_feeding = 'context', readout = \
         false }}"
    );
    Config::parse(&text, Path::new("decoder.toml"), &[]).expect("a valid configuration")
}

fn batch() -> Batch {
    let src = Padded::new(&[vec![4, 5, 6, 7, 3], vec![8, 3], vec![9, 10, 4, 3]], 0);
    let tgt_in = Padded::new(&[vec![2, 7, 6, 5], vec![2, 8], vec![2, 10, 9]], 0);
    Batch {
        inputs: Body::EncoderDecoder(src.into(), tgt_in),
        tgt_out: Padded::new(&[vec![7, 6, 5, 3], vec![8, 3], vec![10, 9, 3]], 0),
        lines: vec![1, 2, 3],
        weights: Vec::new(),
        aligned: Vec::new(),
    }
}

/// The rows of `values` that are no padding.
fn real(values: &[f32], width: usize, batch: &Batch) -> Vec<f32> {
    let rows = values.chunks(width).zip(batch.tgt_out.lengths.mask());
    rows.filter(|(_, is_padding)| !is_padding).flat_map(|(row, _)| row.to_vec()).collect()
}

#[test]
fn the_decoder_of_tutorials_matches_pytorch() {
    let bytes = fixture::read("recurrent_decoder");
    let file = SafeTensors::deserialize(&bytes).expect("the fixture is whole");
    for cell in ["rnn", "lstm", "gru"] {
        let config = config(cell);
        let model = Model::new(&config.model.architecture(VOCAB, VOCAB), config.model.init, 1);
        let expected = |name: &str| fixture::values(&file, &format!("{cell}.{name}"));
        for parameter in model.parameters() {
            let weights = expected(&format!("weights.{}", parameter.name()));
            parameter.change(|values| values.copy_from_slice(&weights));
        }
        let batch = batch();
        let watch = AttentionWatch::default();
        let logits = model.forward(&batch, &Pass::inference().watched(&watch));
        fixture::assert_close(cell, &real(&logits.values(), VOCAB, &batch), &expected("logits"), 1e-5);
        let maps = watch.into_maps();
        assert_eq!(maps.len(), 1);
        let [_, _, tgt_len, src_len] = maps[0].weights.shape;
        assert_eq!([tgt_len, src_len], [4, 5]);
        let attention = real(&maps[0].weights.values, src_len, &batch);
        fixture::assert_close("attention", &attention, &expected("attention"), 1e-5);

        let loss = model.loss(&batch, 0.0, &Pass::inference().recorded());
        fixture::assert_close("loss", &[loss.losses.sums().loss as f32], &expected("loss"), 1e-5);
        let gradients = model.take_gradients(&mut loss.loss.backward());
        for (parameter, gradient) in model.trained().zip(&gradients) {
            let name = format!("gradients.{}", parameter.name());
            fixture::assert_close(&name, &gradient.values(), &expected(&name), 1e-5);
        }
    }
}
