use attentive_samples::{model, variant};
use attentive_tape::Param;

use super::*;

/// Updates a model with tables of embeddings that are only looked up.
fn updated() -> Optimizer {
    let model = model(&variant("tie_embeddings = 'none'"));
    let mut optimizer = Optimizer::new(&TrainConfig::default(), &model);
    let gradients: Vec<Buffer> =
        (model.trained()).map(|parameter| Buffer::from(vec![0.5; parameter.size()])).collect();
    let scale = UpdateScale { step: 1, learning_rate: 0.1, gradient_scale: 1.0 };
    optimizer.update(&model, &gradients, scale);
    optimizer
}

#[test]
fn the_state_is_whole_once_updates_are_carried_out() {
    let mut optimizer = updated();
    optimizer.settle();
    assert!(optimizer.state().all(|slot| {
        let size: usize = slot.shape.iter().product();
        slot.values.len() == size
    }));
}

#[test]
#[should_panic(expected = "is read before deferred updates are carried out")]
fn a_state_without_the_values_of_a_table_is_refused() {
    updated().state().for_each(drop);
}

#[test]
fn muon_steps_by_orthogonal_matrices_and_leaves_the_rest_to_adam() {
    let [muon, adam] = [OptimizerKind::Muon, OptimizerKind::Adamw].map(|kind| {
        let model = model(&variant("tie_embeddings = 'none'"));
        let before: Vec<Vec<f32>> = model.trained().map(Param::to_vec).collect();
        let config = OptimizerConfig { kind, ..OptimizerConfig::default() };
        let mut optimizer =
            Optimizer::new(&TrainConfig { optimizer: config, ..TrainConfig::default() }, &model);
        let gradient = |parameter: &Param| -> Buffer {
            (0..parameter.size()).map(|i| (i as f32 * 0.7).sin()).collect::<Vec<f32>>().into()
        };
        let gradients: Vec<Buffer> = model.trained().map(gradient).collect();
        let scale = UpdateScale { step: 1, learning_rate: 0.1, gradient_scale: 1.0 };
        optimizer.update(&model, &gradients, scale);
        optimizer.settle();
        assert!(optimizer.state().all(|slot| slot.values.values().iter().any(|&value| value != 0.0)));
        let change = |(parameter, before): (&Param, Vec<f32>)| -> Vec<f32> {
            parameter.to_vec().iter().zip(before).map(|(new, old)| old - new).collect()
        };
        let changes: Vec<Vec<f32>> = model.trained().zip(before).map(change).collect();
        let names: Vec<(String, Vec<usize>)> =
            model.trained().map(|one| (one.name().to_owned(), one.shape().to_vec())).collect();
        (names, changes)
    });
    let (names, changes) = muon;
    let mut n_hidden = 0;
    for (((name, shape), change), adams) in names.iter().zip(changes).zip(adam.1) {
        let is_hidden = (name.starts_with("encoder") || name.starts_with("decoder")) && shape.len() == 2;
        if !is_hidden {
            assert_eq!(change, adams, "{name}");
            continue;
        }
        n_hidden += 1;
        // An orthogonal matrix has a Frobenius norm of √min(rows, cols).
        let norm = change.iter().map(|x| x * x).sum::<f32>().sqrt();
        let longest = shape.iter().copied().max().unwrap_or(0) as f32;
        let rank = norm / (0.1 * 0.2 * longest.sqrt());
        assert!(rank > 0.6 && rank < 1.2 * (shape.iter().copied().min().unwrap() as f32).sqrt(), "{name}");
    }
    assert!(n_hidden > 8, "{n_hidden} matrices");
}

#[test]
fn the_average_follows_the_weights_and_comes_in_their_place() {
    let model = model(&variant(""));
    let config = TrainConfig { ema: 0.7, ..TrainConfig::default() };
    let mut optimizer = Optimizer::new(&config, &model);
    let all = |model: &Model| -> Vec<f32> { model.trained().flat_map(Param::to_vec).collect() };
    let mut expected: Vec<f64> = all(&model).into_iter().map(f64::from).collect();
    // The first updates count more than `ema`: 9/(9 + i).
    for (step, rate) in (1..).zip([0.9, 9.0 / 11.0, 0.75, 0.7, 0.7]) {
        let gradients: Vec<Buffer> =
            model.trained().map(|parameter| vec![step as f32; parameter.size()].into()).collect();
        let scale = UpdateScale { step, learning_rate: 0.1, gradient_scale: 1.0 };
        optimizer.update(&model, &gradients, scale);
        for (average, value) in expected.iter_mut().zip(all(&model)) {
            *average += rate * (f64::from(value) - *average);
        }
    }
    let raw = all(&model);
    optimizer.swap_averages(&model, |_, _| ());
    for (found, expected) in all(&model).into_iter().zip(expected) {
        assert!((f64::from(found) - expected).abs() < 1e-5, "{found}, not {expected}");
    }
    assert!(optimizer.state().any(|slot| slot.name.starts_with("raw.")));
    optimizer.swap_averages(&model, |_, _| ());
    assert_eq!(all(&model), raw);
}
