//! Models that are only an encoder equal the model to the bit in `f32`.

use attentive_architecture::HeadSpec;
use attentive_base::batch::{Batch, Src};

use super::*;

/// The variants that are only an encoder of tokens.
fn encoders() -> impl Iterator<Item = ModelConfig> {
    let reads_tokens = |config: &ModelConfig| config.family.d_input().is_none();
    variants().into_iter().filter(move |config| !decodes(config) && reads_tokens(config))
}

fn encoder(model: &Model, precision: Precision) -> EncoderEngine {
    EncoderEngine::new(model.architecture(), &mut Dense::new(precision, model.copied()))
}

fn tokens(batch: &Batch) -> &Padded {
    match batch.src() {
        Some(Src::Tokens(tokens)) => tokens,
        _ => panic!("tokens"),
    }
}

/// The rows of `values`, `[3 · width, d]`, without padding.
fn real(values: Vec<Vec<f32>>, src: &Padded) -> Vec<Vec<f32>> {
    let rows = values.into_iter().zip(src.lengths.mask());
    rows.filter_map(|(row, is_pad)| (!is_pad).then_some(row)).collect()
}

#[test]
fn outputs_vectors_and_predictions_are_those_of_the_model() {
    let mut kinds = [0; 3];
    for config in encoders() {
        let model = model(&config);
        let engine = encoder(&model, Precision::F32);
        let batch = batch_of(&config, 0..3);
        let (src, pass) = (tokens(&batch), &Pass::inference());
        let x = model.encode(&batch, pass).unwrap().sequence.x;
        let [_, d] = x.shape();
        let expected = real(x.into_vec().chunks(d).map(<[f32]>::to_vec).collect(), src);
        assert_eq!(engine.outputs(src).concat(), expected.concat(), "{config:?}");
        if let HeadSpec::Sequence { .. } | HeadSpec::Vector { .. } = model.architecture().head {
            let vectors = model.vectors(&batch, pass).into_vec();
            assert_eq!(engine.vectors(src).concat(), vectors, "{config:?}");
            kinds[0] += 1;
        }
        if let HeadSpec::Vector { .. } = model.architecture().head {
            continue;
        }
        let logits = rows(model.forward(&batch, pass));
        let is_whole = matches!(model.architecture().head, HeadSpec::Sequence { .. });
        let logits = if is_whole { logits } else { real(logits, src) };
        let all = Logits::new(logits.concat(), logits[0].len());
        let expected = likeliest(all, 4, &[1]);
        assert_eq!(engine.likeliest(src, |_| true, 4, &[1]), expected, "{config:?}");
        kinds[1 + usize::from(is_whole)] += 1;
        // At some positions only.
        let real_tokens: Vec<TokenId> = SRC.concat();
        let at_threes = expected.iter().zip(&real_tokens).filter(|(_, token)| **token == 3);
        let at_threes: Vec<_> = at_threes.map(|(likeliest, _)| likeliest.clone()).collect();
        let found = engine.likeliest(src, |token| token == 3, 4, &[1]);
        assert_eq!(found, if is_whole { expected } else { at_threes }, "{config:?}");
    }
    assert!(kinds.iter().all(|&count| count > 0), "{kinds:?}");
}

#[test]
fn a_sequence_does_not_depend_on_others_in_any_precision() {
    for config in encoders() {
        let model = model(&config);
        for precision in Precision::ALL {
            let engine = encoder(&model, precision);
            let together = engine.outputs(&padded(&SRC));
            for (src, expected) in SRC.iter().zip(&together) {
                assert_eq!(engine.outputs(&padded(&[src]))[0], *expected, "{precision}, {config:?}");
            }
        }
    }
}

/// The encoder of a translation model.
#[test]
fn sources_are_encoded_as_by_the_model() {
    for config in variants().into_iter().filter(decodes) {
        let model = model(&config);
        let batch = batch_of(&config, 0..3);
        let found = engine(&model).encoder_outputs(&padded(&SRC));
        let Some(memory) = model.encode(&batch, &Pass::inference()) else {
            assert!(found.is_none(), "{config:?}");
            continue;
        };
        let x = memory.sequence.x;
        let [_, d] = x.shape();
        let expected = real(x.into_vec().chunks(d).map(<[f32]>::to_vec).collect(), tokens(&batch));
        assert_eq!(found.unwrap().concat(), expected.concat(), "{config:?}");
    }
}
