use std::collections::HashSet;

use attentive_base::batch::Padded;
use attentive_base::body::Body;
use attentive_samples::{VOCAB, variants};
use attentive_tape::CellKind;

use super::*;
use crate::model::Model;
use crate::nn::Pass;

const SRC: [u32; 5] = [4, 5, 6, 7, 3];
const TGT: [u32; 4] = [2, 7, 6, 5];

/// A sentence for a model with these parts; `None` for one that reads vectors.
fn batch(architecture: &architecture::Architecture) -> Option<Batch> {
    let reads_vectors = architecture.src().is_some_and(|src| src.items == architecture::Items::Vectors);
    let single = |ids: &[u32]| Padded::single(ids);
    let inputs = match architecture.body {
        Body::Encoder(_) => Body::Encoder(single(&SRC).into()),
        Body::Decoder(_) => Body::Decoder(single(&TGT)),
        Body::EncoderDecoder(..) => Body::EncoderDecoder(single(&SRC).into(), single(&TGT)),
    };
    (!reads_vectors).then(|| Batch { tgt_out: single(&[7, 6, 5, 3]), ..Batch::of(inputs) })
}

fn of<'a>(operations: &'a [TracedOperation], name: &str) -> &'a TracedOperation {
    operations.iter().find(|operation| operation.name == name).unwrap_or_else(|| panic!("no {name}"))
}

#[test]
fn logits_equal_those_of_the_program_for_every_variant() {
    for config in variants() {
        let architecture = config.architecture(VOCAB, VOCAB);
        let Some(batch) = batch(&architecture) else { continue };
        let model = Model::new(&architecture, config.init, 3);
        let operations = model.trace(&batch, TraceOptions { unweighted: true, ..TraceOptions::default() });
        let names: HashSet<_> = operations.iter().map(|one| (&one.name, one.position)).collect();
        assert_eq!(names.len(), operations.len(), "names are unique: {config:?}");
        for operation in &operations {
            let TracedValues { shape, values } = &operation.result;
            assert_eq!(shape.iter().product::<usize>(), values.len(), "{}", operation.name);
        }
        if model.layers.head.is_none() {
            continue;
        }
        let expected = model.forward(&batch, &Pass::inference());
        let found = &of(&operations, "head.logits").result;
        assert_eq!(found.shape, expected.shape(), "{config:?}");
        for (found, expected) in found.values.iter().zip(&*expected.values()) {
            let tolerance = 1e-5 * expected.abs().max(1.0);
            assert!((found - expected).abs() <= tolerance, "{config:?}: {found}, not {expected}");
        }
    }
}

#[test]
fn the_mask_hides_what_comes_later() {
    let config = attentive_samples::base();
    let model = Model::new(&config.architecture(VOCAB, VOCAB), config.init, 3);
    let batch = batch(model.architecture()).expect("tokens");
    let operations = model.trace(&batch, TraceOptions::default());
    let mask = &of(&operations, "decoder.layers.0.self_attention.mask").result;
    assert_eq!(mask.shape, [4, 4]);
    let weights = &of(&operations, "decoder.layers.0.self_attention.weights").result;
    for (i, weight) in weights.values.iter().enumerate() {
        let is_seen = mask.values[i % 16] == 1.0;
        assert_eq!(is_seen, i % 4 <= i / 4 % 4);
        assert_eq!(*weight > 0.0, is_seen, "weight {i}");
    }
    assert!(!operations.iter().any(|one| one.name.contains("unweighted")));
}

#[test]
fn unweighted_attention_averages_rows_that_are_alike() {
    let x = TraceMatrix::new("x", [2, 2], vec![3.0, 0.0, 0.0, 2.0]);
    let [scores, weights, contexts] = unweighted_self_attention(&x);
    assert_eq!(scores.values(), [9.0, 0.0, 0.0, 4.0]);
    let [a, b] = [(-9.0_f32).exp(), (-4.0_f32).exp()].map(|e| e / (1.0 + e));
    for (found, expected) in weights.values().iter().zip([1.0 - a, a, b, 1.0 - b]) {
        assert!((found - expected).abs() < 1e-6);
    }
    for (found, expected) in
        contexts.values().iter().zip([3.0 * (1.0 - a), 2.0 * a, 3.0 * b, 2.0 * (1.0 - b)])
    {
        assert!((found - expected).abs() < 1e-6);
    }
}

/// The gradient of a position's embedding is the derivative of the loss.
#[test]
fn gradient_norms_are_those_of_the_embeddings() {
    for config in variants() {
        let architecture = config.architecture(VOCAB, VOCAB);
        let Some(batch) = batch(&architecture) else { continue };
        if !matches!(architecture.task(), architecture::Task::Translate | architecture::Task::Generate) {
            continue;
        }
        let model = Model::new(&architecture, config.init, 3);
        for position in [None, Some(1)] {
            let norms = model.gradient_norms(&batch, position);
            let input = norms.outputs.iter().find(|one| one.name == "tgt").expect("the decoder's input");
            assert_eq!(input.norms.len(), TGT.len());
            if position.is_some() {
                assert_eq!(input.norms[2..], [0.0, 0.0], "later positions change nothing");
            }
            assert!(norms.outputs.iter().all(|one| one.norms.iter().all(|norm| norm.is_finite())));
            let loss = model.loss(&batch, 0.0, &Pass::inference().recorded());
            assert!(norms.loss > 0.0);
            if position.is_none() {
                let gradients = model.take_gradients(&mut loss.loss.backward());
                for ((name, norm), gradient) in norms.parameters.iter().zip(&gradients) {
                    let expected: f64 = gradient.values().iter().map(|&x| f64::from(x).powi(2)).sum();
                    assert!((norm - expected.sqrt()).abs() < 1e-4 * (1.0 + norm), "{name} of {config:?}");
                }
            }
        }
    }
}

/// A simple recurrent network forgets: the gradient of early positions is smaller than that of late ones.
#[test]
fn gradients_of_a_recurrent_network_vanish_with_distance() {
    let config = attentive_samples::variant(
        "family = 'decoder_only', decoder = 'recurrent', recurrent = { cell = 'rnn', d_hidden = 12 }",
    );
    assert_eq!(config.recurrent.cell, CellKind::Rnn);
    let model = Model::new(&config.architecture(VOCAB, VOCAB), config.init, 3);
    let ids: Vec<u32> = (0..16).map(|i| 4 + i % 5).collect();
    let batch = Batch { tgt_out: Padded::single(&ids), ..Batch::of(Body::Decoder(Padded::single(&ids))) };
    let norms = model.gradient_norms(&batch, Some(15));
    for (name, output) in ["tgt", "decoder.layers.0"].iter().zip(&norms.outputs) {
        assert_eq!(&output.name, name);
        assert!(output.norms[0] > 0.0 && output.norms[0] < output.norms[15] / 100.0, "{:?}", output.norms);
    }
}
