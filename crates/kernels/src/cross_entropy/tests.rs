use super::*;
use crate::reference;
use crate::testing::{assert_close, assert_same_on_all_pools, bits, random, random_below, wide};

/// A call with random inputs; every fifth target is ignored.
struct Case {
    shape: ProjectionShape,
    x: Vec<f32>,
    weight: Vec<f32>,
    bias: Option<Vec<f32>>,
    targets: Vec<u32>,
    row_weights: Option<Vec<f32>>,
    smoothing: f32,
    /// The outputs of a second pass, and the factor of the divergence.
    twin: Option<(Vec<f32>, f32)>,
}

impl Case {
    fn new(rows: usize, d_model: usize, vocab: usize) -> Self {
        let mut targets = random_below(rows, vocab as u32, 4);
        targets.iter_mut().skip(1).step_by(5).for_each(|target| *target = IGNORE);
        Self {
            shape: ProjectionShape { rows, d_model, vocab, precision: Float::F32 },
            x: random(rows * d_model, 1).iter().map(|x| 2.0 * x).collect(),
            weight: random(vocab * d_model, 2),
            bias: Some(random(vocab, 3)),
            targets,
            row_weights: None,
            smoothing: 0.1,
            twin: None,
        }
    }

    fn inputs(&self) -> ProjectionInputs<'_, &[f32]> {
        ProjectionInputs {
            x: &self.x[..],
            weight: &self.weight[..],
            bias: self.bias.as_deref(),
            targets: &self.targets[..],
            row_weights: self.row_weights.as_deref(),
            label_smoothing: self.smoothing,
            twin: self.twin.as_ref().map(|(x, strength)| Twin { x: &x[..], strength: *strength }),
        }
    }

    fn forward(&self) -> LossSums {
        cross_entropy(self.shape, self.inputs(), ProjectionGradients::default())
    }

    /// The sums, dx, dweight and dbias.
    fn run(&self) -> (LossSums, [Vec<f32>; 3]) {
        let (sums, [dx, _, dweight, dbias]) = self.run_twins();
        (sums, [dx, dweight, dbias])
    }

    /// The sums, dx, dtwin, dweight and dbias.
    fn run_twins(&self) -> (LossSums, [Vec<f32>; 4]) {
        let biases = self.bias.as_ref().map_or(0, Vec::len);
        let twins = self.twin.as_ref().map_or(0, |(x, _)| x.len());
        let mut gradients = [self.x.len(), twins, self.weight.len(), biases].map(|len| vec![f32::NAN; len]);
        let [dx, dtwin, dweight, dbias] = &mut gradients;
        let targets = ProjectionGradients {
            x: Some(dx),
            twin: self.twin.is_some().then_some(dtwin),
            weight: Some(dweight),
            bias: self.bias.is_some().then_some(dbias),
        };
        let sums = cross_entropy(self.shape, self.inputs(), targets.map(Vec::as_mut_slice));
        (sums, gradients)
    }
}

/// The tolerance: the kernel may round a logit gradient to a different bfloat16 than the reference.
fn slack(precision: Float) -> f64 {
    match precision {
        Float::F32 => 2e-5,
        Float::Bf16 => 1e-3,
    }
}

#[test]
fn sums_and_gradients_match_the_reference() {
    for (rows, d_model, vocab) in
        [(1, 1, 1), (1, 4, 9), (7, 17, 33), (70, 8, 100), (300, 5, 20), (400, 3, 2), (0, 4, 5)]
    {
        for (smoothing, precision, weighted) in [
            (0.0, Float::F32, false),
            (0.1, Float::F32, false),
            (0.1, Float::F32, true),
            (0.1, Float::Bf16, false),
        ] {
            let mut case = Case { smoothing, ..Case::new(rows, d_model, vocab) };
            // 0, 0.5, 1, 1.5, 0, …
            case.row_weights = weighted.then(|| (0..rows).map(|row| (row % 4) as f32 / 2.0).collect());
            case.shape.precision = precision;
            let (sums, [dx, dweight, dbias]) = case.run();
            let Case { shape, x, weight, bias, targets, row_weights, smoothing, .. } = &case;
            let bias = bias.as_ref().map(|bias| wide(bias));
            let (twin, [twin_dx, twin_dweight, twin_dbias]) = reference::cross_entropy(
                *shape,
                &wide(x),
                &wide(weight),
                bias.as_deref(),
                targets,
                row_weights.as_deref(),
                f64::from(*smoothing),
            );
            let what = format!("{shape:?}, smoothing {smoothing}");
            let near = |a: f64, b: f64| (a - b).abs() <= 1e-5 * (1.0 + b.abs());
            assert!(near(sums.loss, twin.loss) && near(sums.nll, twin.nll), "{what}: {sums:?}, not {twin:?}");
            assert_eq!((sums.n_tokens, sums.n_correct), (twin.n_tokens, twin.n_correct), "{what}");
            assert_eq!(case.forward(), sums, "{what}: without gradients");
            assert_close(&dx, &twin_dx, slack(precision), &what);
            assert_close(&dweight, &twin_dweight, slack(precision), &what);
            assert_close(&dbias, &twin_dbias, 2e-5, &what);
        }
    }
}

#[test]
fn two_passes_match_the_reference() {
    for (rows, d_model, vocab) in [(1, 1, 1), (1, 4, 9), (7, 17, 33), (300, 5, 20), (400, 3, 700), (0, 4, 5)]
    {
        for (smoothing, strength, weighted) in [(0.0, 0.0, false), (0.1, 2.5, false), (0.1, 0.5, true)] {
            let mut case = Case { smoothing, ..Case::new(rows, d_model, vocab) };
            case.row_weights = weighted.then(|| (0..rows).map(|row| (row % 4) as f32 / 2.0).collect());
            let second: Vec<f32> = random(rows * d_model, 5).iter().map(|x| 2.0 * x).collect();
            case.twin = Some((second.clone(), strength));
            let (sums, gradients) = case.run_twins();
            let bias = case.bias.as_ref().map(|bias| wide(bias));
            let (twin, twins) = reference::consistent_cross_entropy(
                case.shape,
                [&wide(&case.x), &wide(&second)],
                &wide(&case.weight),
                bias.as_deref(),
                &case.targets,
                case.row_weights.as_deref(),
                [f64::from(smoothing), f64::from(strength)],
            );
            let what = format!("{:?}, smoothing {smoothing}, strength {strength}", case.shape);
            let near = |a: f64, b: f64| (a - b).abs() <= 1e-5 * (1.0 + b.abs());
            assert!(near(sums.loss, twin.loss) && near(sums.nll, twin.nll), "{what}: {sums:?}, not {twin:?}");
            assert_eq!((sums.n_tokens, sums.n_correct), (twin.n_tokens, twin.n_correct), "{what}");
            assert_eq!(case.forward(), sums, "{what}: without gradients");
            for (found, expected) in gradients.iter().zip(&twins) {
                assert_close(found, expected, 4e-5, &what);
            }
        }
    }
}

#[test]
fn equal_passes_have_the_loss_of_one() {
    let one = Case::new(70, 8, 100);
    let both = Case { twin: Some((one.x.clone(), 2.5)), ..Case::new(70, 8, 100) };
    let ((expected, [dx, ..]), (sums, [first, second, ..])) = (one.run(), both.run_twins());
    assert!((sums.loss - expected.loss).abs() < 1e-6 * expected.loss, "{} {}", sums.loss, expected.loss);
    assert_eq!((sums.nll, sums.n_correct), (expected.nll, expected.n_correct));
    for ((a, b), whole) in first.iter().zip(&second).zip(dx) {
        assert!((a - 0.5 * whole).abs() < 1e-6 && (b - 0.5 * whole).abs() < 1e-6, "{a} {b} {whole}");
    }
}

#[test]
fn the_thread_count_changes_nothing_of_two_passes() {
    let case = Case { twin: Some((random(600 * 40, 5), 1.0)), ..Case::new(600, 40, 700) };
    assert_same_on_all_pools(|| {
        let (sums, gradients) = case.run_twins();
        let loss = sums.loss.to_bits();
        [gradients.concat(), vec![f32::from_bits((loss >> 32) as u32), f32::from_bits(loss as u32)]].concat()
    });
}

#[test]
fn each_gradient_can_be_computed_alone() {
    let case = Case::new(300, 5, 20);
    let (sums, all) = case.run();
    for (number, expected) in all.iter().enumerate() {
        let mut gradient = vec![f32::NAN; expected.len()];
        let mut targets = ProjectionGradients::default();
        let ProjectionGradients { x, weight, bias, .. } = &mut targets;
        *[x, weight, bias][number] = Some(&mut gradient[..]);
        assert_eq!(cross_entropy(case.shape, case.inputs(), targets), sums);
        assert_eq!(bits(&gradient), bits(expected), "gradient {number}");
    }
}

#[test]
fn padding_gives_identical_bits() {
    let full = Case::new(400, 6, 30);
    let real: Vec<usize> = (0..400).filter(|&row| full.targets[row] != IGNORE).collect();
    let mut dense = Case::new(real.len(), 6, 30);
    dense.x = real.iter().flat_map(|&row| full.x[row * 6..][..6].to_vec()).collect();
    dense.targets = real.iter().map(|&row| full.targets[row]).collect();
    let (full_sums, [full_dx, full_dweight, full_dbias]) = full.run();
    let (dense_sums, [dense_dx, dense_dweight, dense_dbias]) = dense.run();
    assert_eq!(full_sums, dense_sums);
    assert_eq!(bits(&full_dweight), bits(&dense_dweight));
    assert_eq!(bits(&full_dbias), bits(&dense_dbias));
    for (i, &row) in real.iter().enumerate() {
        assert_eq!(bits(&full_dx[row * 6..][..6]), bits(&dense_dx[i * 6..][..6]));
    }
    assert!(full_dx[6..12].iter().all(|&x| x == 0.0), "row 1 is padding");
}

#[test]
fn only_padding_gives_zeros() {
    let mut case = Case::new(3, 4, 5);
    case.targets.fill(IGNORE);
    let (sums, gradients) = case.run();
    assert_eq!(sums, LossSums::default());
    assert!(gradients.iter().flatten().all(|&x| x == 0.0));
}

#[test]
fn the_first_of_equal_maxima_counts() {
    let mut case = Case::new(2, 1, 3);
    case.x.fill(0.0);
    case.bias = None;
    case.targets = vec![0, 1];
    assert_eq!(case.forward().n_correct, 1);
    let (sums, _) = case.run();
    assert!((sums.nll - 2.0 * 3f64.ln()).abs() < 1e-6);
}

#[test]
fn large_logits_stay_finite_and_nan_propagates() {
    let mut case = Case::new(2, 1, 3);
    case.targets = vec![0, 1];
    case.x = vec![1e30, -1e30];
    let (sums, gradients) = case.run();
    assert!(sums.loss.is_finite() && gradients.iter().flatten().all(|x| x.is_finite()));
    case.x[0] = f32::NAN;
    let (sums, _) = case.run();
    assert!(sums.loss.is_nan() && sums.nll.is_nan());
}

#[test]
fn the_thread_count_changes_nothing() {
    let case = Case::new(600, 40, 700);
    assert_same_on_all_pools(|| {
        let (sums, gradients) = case.run();
        let loss = sums.loss.to_bits();
        [gradients.concat(), vec![f32::from_bits((loss >> 32) as u32), f32::from_bits(loss as u32)]].concat()
    });
}

#[test]
#[should_panic(expected = "target 5 among 5 classes")]
fn an_unknown_class_is_refused() {
    let mut case = Case::new(1, 2, 5);
    case.targets[0] = 5;
    case.forward();
}
