//! Scheduled sampling (Bengio et al. 2015): the decoder learns to recover from its own mistakes.
//!
//! A pass without gradients first computes the model's predictions; then the usual pass reads a mixture of
//! these and the reference. A recurrent decoder predicts from the mixture so far, token by token, as in the
//! paper; a Transformer predicts all positions at once from the reference, in two passes (Mihaylova and
//! Martins 2019).

use std::borrow::Cow;

use attentive_architecture::DecoderSpec;
use attentive_base::batch::{Batch, Padded, TokenId};
use attentive_base::random::Random;
use attentive_config::{Config, SamplingConfig, SamplingKind};
use attentive_decode::{Stepper, argmax};
use attentive_model::engine::{Dense, Engine, Precision};
use attentive_model::model::Model;

/// The random stream of micro-batch 0; micro-batch `n` uses this plus `n`.
const FIRST_STREAM: u64 = 0x7363_6865_6475_0000;

/// Mixes the decoder's inputs.
#[derive(Clone, Debug)]
pub(super) struct ScheduledSampling {
    config: SamplingConfig,
    seed: u64,
    /// The number of micro-batches per update.
    accumulate: u64,
}

impl ScheduledSampling {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            config: config.train.scheduled_sampling.clone(),
            seed: config.seed,
            accumulate: config.train.micro_batches_per_update.max(1) as u64,
        }
    }

    /// The ε of update number `step`, counted from 1; `None` without scheduled sampling.
    pub(super) fn reference_probability_in(&self, step: u64) -> Option<f64> {
        let is_used = !matches!(self.config.kind, SamplingKind::None);
        is_used.then(|| self.reference_probability(step.saturating_sub(1)))
    }

    /// ε: the probability of using the reference's token after `step` updates.
    fn reference_probability(&self, step: u64) -> f64 {
        let SamplingConfig { kind, least, decay_steps: k } = self.config;
        let i = step as f64;
        let falling = match kind {
            SamplingKind::None => return 1.0,
            SamplingKind::Constant => least,
            SamplingKind::Linear => 1.0 - i / k,
            SamplingKind::Exponential => (-i / k).exp(),
            SamplingKind::InverseSigmoid => k / (k + (i / k).exp()),
        };
        falling.max(least)
    }

    /// Returns micro-batch `number` with mixed decoder inputs. `model` predicts.
    pub(super) fn mix<'a>(&self, batch: &'a Batch, number: u64, model: &Model) -> Cow<'a, Batch> {
        let probability = self.reference_probability(number / self.accumulate);
        let Some(tgt_in) = batch.tgt_in().filter(|_| probability < 1.0) else {
            return Cow::Borrowed(batch);
        };
        let mut random = Random::new(self.seed, FIRST_STREAM.wrapping_add(number));
        let n_places = tgt_in.ids.len();
        let from_model: Vec<bool> = (0..n_places).map(|_| !random.chance(probability)).collect();
        let mixed = match model.architecture().decoder() {
            Some(DecoderSpec::Recurrent(_)) => one_by_one(model, batch, tgt_in, &from_model),
            _ => at_once(model, batch, tgt_in, &from_model),
        };
        Cow::Owned(Batch {
            inputs: batch.inputs.as_ref().map(Clone::clone, |_| mixed),
            tgt_out: batch.tgt_out.clone(),
            lines: batch.lines.clone(),
            weights: batch.weights.clone(),
            aligned: batch.aligned.clone(),
        })
    }
}

/// Predictions from the reference. The prediction at one position is read at the next.
fn at_once(model: &Model, batch: &Batch, tgt_in: &Padded, from_model: &[bool]) -> Padded {
    let predicted = model.predict(batch);
    let mut mixed = tgt_in.clone();
    let width = mixed.width();
    for (row, &len) in tgt_in.lens().iter().enumerate() {
        for place in row * width + 1..row * width + len.max(1) {
            if from_model[place] {
                mixed.ids[place] = predicted[place - 1];
            }
        }
    }
    mixed
}

/// Predictions from the mixture so far.
fn one_by_one(model: &Model, batch: &Batch, tgt_in: &Padded, from_model: &[bool]) -> Padded {
    let mut mixed = tgt_in.clone();
    let width = mixed.width();
    let steps = engine(model);
    let mut state = steps.start();
    let none = || Padded::empty(tgt_in.rows());
    let sources = batch.src_tokens().cloned().unwrap_or_else(none);
    steps.admit(&sources, &mut state);
    for position in 1..width {
        let column = |ids: &[TokenId], position: usize| -> Vec<TokenId> {
            let rows = ids.chunks_exact(width);
            rows.map(|row| row[position]).collect()
        };
        let last = column(&mixed.ids, position - 1);
        let predicted = argmax(steps.logits(steps.step(&last, &mut state)));
        for (row, (&len, predicted)) in tgt_in.lens().iter().zip(predicted).enumerate() {
            let place = row * width + position;
            if position < len && from_model[place] {
                mixed.ids[place] = predicted;
            }
        }
    }
    mixed
}

/// The model in the representation that decoding uses.
fn engine(model: &Model) -> Engine {
    let weights = &mut Dense::new(Precision::F32, model.copied());
    Engine::new(model.architecture(), weights)
}

#[cfg(test)]
mod tests {
    use attentive_config::{Family, ModelConfig};

    use super::*;
    use crate::{Learner, NoUpdateObserver};

    fn sampling(kind: SamplingKind, least: f64, decay_steps: f64) -> ScheduledSampling {
        let mut config = Config::default();
        config.train.scheduled_sampling = SamplingConfig { kind, least, decay_steps };
        ScheduledSampling::new(&config)
    }

    #[test]
    fn epsilon_follows_its_formula_down_to_its_minimum() {
        let at = |kind, step| sampling(kind, 0.25, 100.0).reference_probability(step);
        assert_eq!(at(SamplingKind::None, 10_000), 1.0);
        assert_eq!(at(SamplingKind::Constant, 0), 0.25);
        assert_eq!(at(SamplingKind::Linear, 50), 0.5);
        assert_eq!(at(SamplingKind::Linear, 500), 0.25);
        assert!((at(SamplingKind::Exponential, 100) - (-1.0f64).exp()).abs() < 1e-12);
        assert!((at(SamplingKind::InverseSigmoid, 0) - 100.0 / 101.0).abs() < 1e-12);
        assert!((at(SamplingKind::InverseSigmoid, 461) - 0.5).abs() < 0.01);
        assert_eq!(at(SamplingKind::InverseSigmoid, 100_000), 0.25);
    }

    fn batch(family: Family) -> Batch {
        let src = Padded::new(&[vec![4, 5, 3], vec![6, 3]], 0);
        let tgt_in = Padded::new(&[vec![2, 5, 6, 7, 8], vec![2, 9, 4]], 0);
        Batch {
            tgt_out: Padded::new(&[vec![5, 6, 7, 8, 3], vec![9, 4, 3]], 0),
            lines: vec![1, 2],
            ..of(family, src, tgt_in)
        }
    }

    /// A batch for a model with a decoder, without expected output.
    fn of(family: Family, src: Padded, tgt_in: Padded) -> Batch {
        let tgt = |_| tgt_in;
        Batch::of(network(family).family.body().map(|_| src.into(), tgt))
    }

    fn tgt_in(batch: &Batch) -> &Padded {
        batch.tgt_in().unwrap()
    }

    fn network(family: Family) -> ModelConfig {
        let one = "n_encoder_layers = 1, n_decoder_layers = 1, max_len = 512, init = 'xavier_uniform'";
        attentive_samples::variant(&format!(
            "family = '{family}', d_ff = 16, n_heads = 2, {one}, recurrent = {{ d_hidden = 8 }}"
        ))
    }

    fn model(family: Family) -> Model {
        let config = network(family);
        Model::new(&config.architecture(11, 11), config.init, 3)
    }

    const FAMILIES: [Family; 3] = [Family::Transformer, Family::Seq2seq, Family::DecoderOnly];

    /// Without reference tokens, a recurrent decoder reads the result of greedy search.
    #[test]
    fn a_recurrent_decoder_reads_its_own_greedy_output() {
        let (model, batch) = (model(Family::Seq2seq), batch(Family::Seq2seq));
        let mixed = sampling(SamplingKind::Constant, 0.0, 1.0);
        let mixed = tgt_in(&mixed.mix(&batch, 0, &model)).clone();
        let steps = engine(&model);
        let mut state = steps.start();
        steps.admit(batch.src_tokens().unwrap(), &mut state);
        let mut last = vec![2, 2];
        for position in 1..5 {
            last = argmax(steps.logits(steps.step(&last, &mut state)));
            assert_eq!(mixed.ids[position], last[0]);
        }
        assert_eq!(mixed.ids[8..], [0, 0], "padding stays");
        assert_eq!(mixed.lens(), tgt_in(&batch).lens());
    }

    #[test]
    fn a_transformer_reads_what_it_predicts_from_the_reference() {
        for family in [Family::Transformer, Family::DecoderOnly] {
            let (model, batch) = (model(family), batch(family));
            let mixed = sampling(SamplingKind::Constant, 0.0, 1.0);
            let mixed = mixed.mix(&batch, 0, &model);
            let predicted = model.predict(&batch);
            let read = &tgt_in(&mixed).ids;
            assert_eq!(read[0], 2);
            assert_eq!(read[1..5], predicted[..4]);
            assert_eq!(read[6..8], predicted[5..7]);
            assert_eq!(read[8..], [0, 0]);
        }
    }

    /// The predictions that the decoder may read at each position but the first.
    fn predictions(model: &Model, batch: &Batch, mixed: &Padded) -> Vec<TokenId> {
        let width = mixed.width();
        let Some(DecoderSpec::Recurrent(_)) = model.architecture().decoder() else {
            let predicted = model.predict(batch);
            return predicted.chunks(width).flat_map(|row| [&[0], &row[..width - 1]].concat()).collect();
        };
        let steps = engine(model);
        let mut state = steps.start();
        steps.admit(batch.src_tokens().unwrap(), &mut state);
        let mut all = vec![0; mixed.ids.len()];
        for position in 1..width {
            let last: Vec<TokenId> = mixed.ids.chunks(width).map(|row| row[position - 1]).collect();
            let predicted = argmax(steps.logits(steps.step(&last, &mut state)));
            for (row, predicted) in all.chunks_mut(width).zip(predicted) {
                row[position] = predicted;
            }
        }
        all
    }

    #[test]
    fn the_share_of_the_reference_is_epsilon() {
        let (rows, len) = (200, 30);
        let token = |row: usize, place: usize| (4 + (row * 31 + place * place * 3 + place) % 7) as TokenId;
        let row = |row: usize| -> Vec<TokenId> {
            std::iter::once(2).chain((1..len).map(|place| token(row, place))).collect()
        };
        let all = Padded::new(&(0..rows).map(row).collect::<Vec<_>>(), 0);
        for family in FAMILIES {
            let (model, batch) = (model(family), of(family, all.clone(), all.clone()));
            let mixed = sampling(SamplingKind::Constant, 0.25, 1.0);
            let mixed = tgt_in(&mixed.mix(&batch, 7, &model)).clone();
            let (mut from_reference, mut from_model) = (0.0, 0.0);
            let predicted = predictions(&model, &batch, &mixed);
            for (place, (&read, &predicted)) in mixed.ids.iter().zip(&predicted).enumerate() {
                let reference = tgt_in(&batch).ids[place];
                if place % len == 0 {
                    assert_eq!(read, 2);
                } else if reference != predicted {
                    assert!(read == reference || read == predicted, "{read}");
                    from_reference += f64::from(read == reference);
                    from_model += f64::from(read == predicted);
                }
            }
            let all = from_reference + from_model;
            assert!(all > 2000.0, "{all} places tell the two apart");
            // Five standard deviations.
            let share = from_reference / all;
            assert!((share - 0.25_f64).abs() < 0.05, "{family:?}: {share}");
        }
    }

    #[test]
    fn epsilon_falls_by_updates_not_by_micro_batches() {
        let mut config = Config::default();
        config.train.micro_batches_per_update = 2;
        config.train.scheduled_sampling =
            SamplingConfig { kind: SamplingKind::Linear, least: 0.0, decay_steps: 2.0 };
        let falling = ScheduledSampling::new(&config);
        let without_reference = sampling(SamplingKind::Constant, 0.0, 1.0);
        let (model, batch) = (model(Family::DecoderOnly), batch(Family::DecoderOnly));
        for number in [0, 1] {
            let mixed = falling.mix(&batch, number, &model);
            assert_eq!(*mixed, batch);
            let predicts_nothing = matches!(mixed, Cow::Borrowed(_));
            assert!(predicts_nothing, "all is from the reference");
        }
        let mixed = |sampling: &ScheduledSampling, number| sampling.mix(&batch, number, &model).into_owned();
        let predicted = mixed(&without_reference, 0);
        let halfway = [2, 3].map(|number| mixed(&falling, number));
        assert!(halfway.iter().any(|mixed| *mixed != batch && *mixed != predicted));
        for number in [4, 5] {
            assert_eq!(mixed(&falling, number), predicted);
        }
    }

    /// Without reference tokens, an update has a different loss and result than under teacher forcing.
    #[test]
    fn training_reads_the_mixture() {
        for family in FAMILIES {
            let learned = |kind| {
                let mut config = Config { model: network(family), ..Config::default() };
                config.train.scheduled_sampling =
                    SamplingConfig { kind, least: 0.0, ..SamplingConfig::default() };
                let mut learner = Learner::new(model(family), &config);
                let update = learner.learn(1, 0.1, &[batch(family)], &mut NoUpdateObserver).unwrap();
                (update.sums.loss, learner.model().copied())
            };
            let (forced, sampled) = (learned(SamplingKind::None), learned(SamplingKind::Constant));
            assert_ne!(forced.0, sampled.0, "{family:?}: the loss");
            assert_ne!(forced.1, sampled.1, "{family:?}: the weights");
            assert_eq!(forced, learned(SamplingKind::None), "{family:?}");
        }
    }

    #[test]
    fn mixtures_repeat_with_their_number() {
        let model = model(Family::Seq2seq);
        let (sampling, batch) = (sampling(SamplingKind::Constant, 0.5, 1.0), batch(Family::Seq2seq));
        let mix = |number| sampling.mix(&batch, number, &model).into_owned();
        assert_eq!(mix(1), mix(1));
        assert!((2..9).any(|number| mix(1) != mix(number)));
    }
}
