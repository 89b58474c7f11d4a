use attentive_device::{Losses, ProjectionGradients, ProjectionInputs, ProjectionShape, on};
use attentive_kernels::cross_entropy::IGNORE;
use attentive_kernels::gemm::Float;

use super::*;

/// All gradients and the sums, with gradients and without; the numbers of tokens and of those that are right.
pub(super) fn both(
    device: &dyn Device,
    shape: ProjectionShape,
    stored: Float,
    targets: &[u32],
    label_smoothing: f32,
    [biased, weighted]: [bool; 2],
) -> (Vec<Buffer>, [usize; 2]) {
    let ProjectionShape { rows, d_model, vocab, .. } = shape;
    let (x, bias) = (random(1, rows * d_model), random(3, vocab));
    let weight = weights(stored, 2, vocab * d_model);
    // 0, 0.5, 1, 1.5, 0, …
    let row_weights: Vec<f32> = (0..rows).map(|row| (row % 4) as f32 / 2.0).collect();
    let inputs = ProjectionInputs {
        x: &x,
        weight: &weight,
        bias: biased.then_some(&bias),
        targets,
        row_weights: weighted.then_some(&row_weights),
        label_smoothing,
        twin: None,
    };
    let (mut dx, mut dweight) = (room(rows * d_model), room(vocab * d_model));
    let mut dbias = room(vocab);
    let gradients = ProjectionGradients {
        x: Some(&mut dx),
        twin: None,
        weight: Some(&mut dweight),
        bias: Some(&mut dbias),
    };
    let (mut loss, mut same) = (room(1), room(1));
    let sums = device.cross_entropy(shape, inputs, gradients, &mut loss);
    let nothing = ProjectionGradients::default();
    let alone = device.cross_entropy(shape, inputs, nothing, &mut same);
    let [sums, alone] = Losses::all([&sums, &alone])[..] else { panic!("two sums") };
    let counts = [sums.n_tokens, sums.n_correct];
    let sums = [sums, alone].map(|sums| [sums.loss as f32, sums.nll as f32]);
    let results = vec![dx, dweight, dbias, loss, same, sums.concat().into()];
    (results, counts)
}

#[test]
fn losses() {
    let shapes = [(1, 1, 1), (5, 7, 3), (40, 33, 150), (3, 4, 2000), (130, 8, 70)];
    for (rows, d_model, vocab) in shapes {
        for (smoothing, ignored, flags) in
            [(0.0, 3, [true, false]), (0.1, 2, [false, true]), (0.2, 1, [true, true])]
        {
            let targets: Vec<u32> = (0..rows as u32)
                .map(|row| if row % 7 < ignored && row > 0 { IGNORE } else { row * 31 % vocab as u32 })
                .collect();
            for (precision, stored) in
                [(Float::F32, Float::F32), (Float::Bf16, Float::F32), (Float::F32, Float::Bf16)]
            {
                let shape = ProjectionShape { rows, d_model, vocab, precision };
                let mut counts = std::cell::RefCell::new(Vec::new());
                agree(&format!("{shape:?}, {stored:?}, {smoothing}"), |device| {
                    let (results, count) = both(device, shape, stored, &targets, smoothing, flags);
                    counts.borrow_mut().push(count);
                    results
                });
                counts.get_mut().dedup();
                assert!(counts.get_mut().len() <= 1, "{shape:?}: {counts:?}");
            }
        }
    }
}

#[test]
fn the_first_class_wins_a_tie() {
    let Some(gpu) = gpu() else {
        return;
    };
    let correct = |target: u32| {
        on(gpu, || {
            let shape = ProjectionShape { rows: 1, d_model: 1, vocab: 4, precision: Float::F32 };
            let (x, weight) = (vec![1.0].into(), vec![0.0, 2.0, 2.0, 1.0].into());
            let inputs = ProjectionInputs {
                x: &x,
                weight: &weight,
                bias: None,
                targets: &[target],
                row_weights: None,
                label_smoothing: 0.0,
                twin: None,
            };
            let nothing = ProjectionGradients::default();
            let losses = gpu.cross_entropy(shape, inputs, nothing, &mut room(1));
            losses.sums().n_correct
        })
    };
    assert_eq!([0, 1, 2, 3].map(correct), [0, 1, 0, 0]);
}
