//! Properties of every variant of every family.

use std::collections::HashMap;
use std::ops::Range;

use attentive_base::batch::{Batch, Padded, Src, TokenId};
use attentive_base::body::Body;
use attentive_config::{FamilyConfig, ModelConfig, Pooling, Task};
use attentive_device::{Cpu, Device, on};
use attentive_oracle::PLAIN;
use attentive_samples::{VOCAB, base, rows, variant, variants};
use attentive_tape::{Buffer, Float, Lengths, Param, ParamId, pooled, rehearse};

use super::Model;
use crate::nn::{Pass, Probe};

/// Runs a test on each device that computes.
pub(crate) fn on_each_device(test: impl Fn()) {
    for device in [&Cpu as &'static dyn Device, &PLAIN] {
        on(device, &test);
    }
}

pub(crate) fn model(config: &ModelConfig) -> Model {
    Model::new(&config.architecture(VOCAB, VOCAB), config.init, 3)
}

pub(crate) fn padded(sequences: &[&[TokenId]]) -> Padded {
    Padded::new(sequences, 0)
}

pub(crate) const SRC: [&[TokenId]; 3] = [&[4, 5, 6, 7, 3], &[8, 3], &[9, 10, 11, 3]];
pub(crate) const TGT: [&[TokenId]; 3] = [&[2, 7, 6, 5, 9, 9], &[2, 8], &[2, 10, 9]];

/// The batch of the sentences `rows` for the family.
pub(crate) fn batch_of(config: &ModelConfig, rows: Range<usize>) -> Batch {
    let src = padded(&SRC[rows.clone()]);
    let batch = batch(&SRC[rows.clone()], &TGT[rows]);
    let tgt_out = match config.family.task() {
        Task::Translate | Task::Generate => batch.tgt_out,
        Task::Fill | Task::Tag | Task::Embed => src.clone(),
        Task::Classify => padded(&vec![&[5][..]; src.rows()]),
    };
    Batch {
        inputs: inputs(config, src, batch.inputs.decoder().unwrap().clone()),
        tgt_out,
        lines: batch.lines,
        weights: Vec::new(),
        aligned: Vec::new(),
    }
}

/// What the parts of the model read.
fn inputs(config: &ModelConfig, src: Padded, tgt_in: Padded) -> Body<Src, Padded> {
    let d_input = config.family.d_input();
    let numbers = |id: TokenId, i: usize| (id as f32 * (i as f32 + 0.7)).sin();
    let src = match d_input {
        None => src.into(),
        Some(d_input) => Src::Vectors {
            values: { src.ids.iter() }.flat_map(|&id| (0..d_input).map(move |i| numbers(id, i))).collect(),
            d_input,
            lengths: src.lengths,
        },
    };
    config.family.body().map(|_| src, |_| tgt_in)
}

#[test]
fn a_sentence_does_not_depend_on_its_batch() {
    on_each_device(|| {
        for config in variants() {
            let model = model(&config);
            let all = batch_of(&config, 0..3);
            let together = rows(model.forward(&all, &Pass::inference()));
            for row in 0..3 {
                let one = batch_of(&config, row..row + 1);
                let alone = rows(model.forward(&one, &Pass::inference()));
                let first = row * together.len() / 3;
                assert_eq!(alone, together[first..first + alone.len()], "{config:?}");
            }
        }
    });
}

/// A model that is served is shared by threads, so no layer may hold a value, which belongs to one thread.
#[test]
fn models_are_shared_by_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<Model>();
}

#[test]
fn short_and_empty_sources_give_finite_logits() {
    on_each_device(|| {
        for config in variants() {
            let model = model(&config);
            let src = padded(&[&[3], &[], &[4, 3]]);
            let batch = Batch::of(inputs(&config, src, padded(&[&[2], &[2], &[2, 4]])));
            let logits = rows(model.forward(&batch, &Pass::inference()));
            assert!(logits.concat().iter().all(|logit| logit.is_finite()), "{config:?}");
        }
    });
}

fn batch(src: &[&[TokenId]], tgt: &[&[TokenId]]) -> Batch {
    let out: Vec<Vec<TokenId>> = tgt.iter().map(|tgt| [&tgt[1..], &[3]].concat()).collect();
    Batch {
        inputs: Body::EncoderDecoder(padded(src).into(), padded(tgt)),
        tgt_out: Padded::new(&out, 0),
        lines: vec![1; src.len()],
        weights: Vec::new(),
        aligned: Vec::new(),
    }
}

/// The summed loss of `parts` and the gradients of all parameters.
fn learn(config: &ModelConfig, parts: &[Batch]) -> (f64, Vec<f32>) {
    let model = model(config);
    let mut total = (0.0, Vec::new());
    for batch in parts {
        let part = model.loss(batch, 0.1, &Pass::inference().recorded());
        total.0 += part.losses.sums().loss;
        let new = model.take_gradients(&mut part.loss.backward());
        let new: Vec<f32> = new.into_iter().flat_map(Buffer::into_vec).collect();
        total.1.resize(new.len(), 0.0);
        total.1.iter_mut().zip(new).for_each(|(a, b)| *a += b);
    }
    total
}

#[test]
fn loss_and_gradients_do_not_depend_on_batching() {
    on_each_device(|| {
        for config in variants() {
            let (whole, whole_gradients) = learn(&config, &[batch_of(&config, 0..3)]);
            let parts = [batch_of(&config, 0..1), batch_of(&config, 1..3)];
            let (split, split_gradients) = learn(&config, &parts);
            assert!((whole - split).abs() < 1e-4, "{whole} and {split}");
            for (whole, split) in whole_gradients.iter().zip(&split_gradients) {
                let scale = whole.abs().max(1.0);
                assert!((whole - split).abs() < 1e-4 * scale, "{whole} and {split}: {config:?}");
            }
        }
    });
}

#[test]
fn every_parameter_has_a_gradient() {
    on_each_device(|| {
        for config in variants() {
            let model = model(&config);
            let names = model.parameters().iter();
            let names = names.map(|parameter| (parameter.name(), parameter.size()));
            let (_, gradients) = learn(&config, &[batch_of(&config, 0..3)]);
            let mut first = 0;
            for (name, len) in names {
                let gradient = &gradients[first..first + len];
                first += len;
                // The softmax is invariant to a constant added to all scores of a query.
                let useless = name.ends_with("key.bias") || is_out_of_sight(name, &config);
                let learns = gradient.iter().any(|&slope| slope != 0.0);
                assert!(learns || useless, "{name}: {config:?}");
            }
        }
    });
}

/// `config` with dropout of all kinds.
fn with_dropout(config: ModelConfig) -> ModelConfig {
    ModelConfig { dropout: 0.3, attention_dropout: 0.2, activation_dropout: 0.2, ..config }
}

#[test]
fn gradients_that_are_seen_early_are_complete() {
    on_each_device(|| {
        for config in variants() {
            let config = with_dropout(config);
            let model = model(&config);
            let batch = batch_of(&config, 0..3);
            let loss = model.loss(&batch, 0.1, &Pass::training(1, 1, Float::F32));
            let mut seen: HashMap<ParamId, Vec<f32>> = HashMap::new();
            let mut see = |param, gradient: &Buffer| {
                let again = seen.insert(param, gradient.values().into_owned());
                assert!(again.is_none(), "each is seen once");
            };
            let mut gradients = loss.loss.backward_watched(&mut see);
            let gradients = model.take_gradients(&mut gradients);
            for (param, gradient) in model.trained().zip(gradients) {
                let seen = seen.remove(&param.id());
                let name = param.name();
                assert_eq!(seen.as_deref(), Some(&*gradient.values()), "{name}: {config:?}");
            }
        }
    });
}

#[test]
fn frozen_parameters_have_no_gradient_and_change_no_other() {
    on_each_device(|| {
        for config in variants() {
            let config = with_dropout(config);
            let gradients = |is_frozen: &dyn Fn(&str) -> bool| {
                let model = model(&config);
                model.freeze(is_frozen);
                let batch = batch_of(&config, 0..3);
                let loss = model.loss(&batch, 0.1, &Pass::training(1, 1, Float::F32));
                let gradients = model.take_gradients(&mut loss.loss.backward());
                let named = |(param, gradient): (&Param, Buffer)| {
                    assert!(!is_frozen(param.name()));
                    (param.name().to_owned(), gradient.into_vec())
                };
                let gradients: Vec<_> = model.trained().zip(gradients).map(named).collect();
                (loss.losses.sums().loss, gradients)
            };
            let (loss, all) = gradients(&|_| false);
            assert_eq!(all.len(), model(&config).parameters().len());
            let place = |name: &str| all.iter().position(|(other, _)| other == name);
            let cases: [&dyn Fn(&str) -> bool; 4] = [
                &|name| name.starts_with("encoder.") || name.starts_with("src."),
                &|name| !name.contains("embedding"),
                &|name| place(name).is_some_and(|place| place % 2 == 0),
                &|name| place(name).is_some_and(|place| place % 2 == 1),
            ];
            for is_frozen in cases {
                let mut expected = all.clone();
                expected.retain(|(name, _)| !is_frozen(name));
                if !expected.is_empty() {
                    assert_eq!(gradients(is_frozen), (loss, expected), "{config:?}");
                }
            }
        }
    });
}

/// A forward recurrent encoder has no state before the first position.
fn is_out_of_sight(name: &str, config: &ModelConfig) -> bool {
    let first = Pooling::First;
    matches!(config.family, FamilyConfig::Classifier { pooling, .. } if pooling == first)
        && name == "encoder.layers.1.forward.hidden.weight"
}

#[test]
fn dropout_depends_on_the_micro_batch() {
    on_each_device(|| {
        for config in variants() {
            let config = with_dropout(config);
            let model = model(&config);
            let batch = batch_of(&config, 0..3);
            let loss = |step| model.loss(&batch, 0.1, &Pass::training(1, step, Float::F32)).sums().loss;
            assert_eq!(loss(1), loss(1));
            assert_ne!(loss(1), loss(2));
        }
    });
}

#[test]
fn tied_matrices_are_stored_once() {
    let names = |tied: &str| -> Vec<String> {
        let model = model(&variant(&format!("tie_embeddings = '{tied}'")));
        let all = model.parameters().iter();
        let large = all.filter(|parameter| parameter.shape() == [VOCAB, 12]);
        large.map(|parameter| parameter.name().to_owned()).collect()
    };
    assert_eq!(names("all"), ["src.embedding.weight"]);
    assert_eq!(names("decoder"), ["src.embedding.weight", "tgt.embedding.weight"]);
    assert_eq!(names("none"), ["src.embedding.weight", "tgt.embedding.weight", "head.weight"]);
}

#[test]
fn tables_that_are_only_looked_up_are_those_that_are_not_the_projection() {
    let names = |tied: &str| -> Vec<String> {
        let model = model(&variant(&format!("tie_embeddings = '{tied}'")));
        let tables = model.lookup_tables().into_iter();
        tables.map(|table| table.name().to_owned()).collect()
    };
    assert_eq!(names("all"), [""; 0]);
    assert_eq!(names("decoder"), ["src.embedding.weight"]);
    assert_eq!(names("none"), ["src.embedding.weight", "tgt.embedding.weight"]);
}

#[test]
fn a_probe_names_the_first_layer_with_nan() {
    on_each_device(|| {
        let config = ModelConfig { d_model: 12, ..base() };
        let model = model(&config);
        let name = "encoder.layers.1.feed_forward.outer.bias";
        let mut named = model.parameters().iter();
        let damaged = named.find(|parameter| parameter.name() == name).unwrap();
        damaged.change(|values| values[0] = f32::INFINITY);
        let probe = Probe::default();
        model.loss(&batch(&SRC, &TGT), 0.1, &Pass::inference().probed(&probe));
        assert_eq!(probe.first_non_finite().as_deref(), Some("encoder.layers.1"));
    });
}

/// The batches are so large that the buffers of activations come from the pool; at the end, all are back or
/// freed.
#[test]
fn a_rehearsal_counts_what_an_update_takes() {
    let update = |model: &Model, batch: &Batch| {
        let pass = Pass::training(1, 0, Float::F32);
        let loss = model.loss(batch, 0.1, &pass).loss;
        model.take_gradients(&mut loss.backward());
    };
    for config in variants() {
        let architecture = config.architecture(VOCAB, VOCAB);
        let batch = repeated(&batch_of(&config, 0..3), 100);
        let rehearsed = rehearse(|| update(&Model::imagined(&architecture), &batch));
        let held = std::thread::scope(|scope| {
            let run = || {
                let model = Model::new(&architecture, config.init, 3);
                update(&model, &batch);
                pooled()
            };
            scope.spawn(run).join().unwrap()
        });
        assert!(held > 0);
        assert_eq!(rehearsed.now, held, "{config:?}");
    }
}

/// A batch of `times` as many rows.
fn repeated(batch: &Batch, times: usize) -> Batch {
    let rows = |padded: &Padded| Padded {
        ids: padded.ids.repeat(times),
        lengths: Lengths::new(padded.lens().repeat(times), padded.width()),
    };
    let src = |src: &Src| match src {
        Src::Tokens(tokens) => rows(tokens).into(),
        Src::Vectors { values, d_input, lengths } => Src::Vectors {
            values: values.repeat(times),
            d_input: *d_input,
            lengths: Lengths::new(lengths.lens().repeat(times), lengths.width()),
        },
    };
    Batch {
        inputs: batch.inputs.as_ref().map(src, rows),
        tgt_out: rows(&batch.tgt_out),
        lines: Vec::new(),
        weights: Vec::new(),
        aligned: Vec::new(),
    }
}
