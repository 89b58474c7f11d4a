//! Every operation's gradients against central finite differences of its forward pass. The forward passes are
//! those of the kernels, which are compared with double-precision references in their own crate.

use attentive_device::{Cpu, Device, on};
use attentive_kernels::cross_entropy::IGNORE;
use attentive_oracle::PLAIN;

use super::*;

mod arrange;
mod attention;
mod cross_entropy;
mod guided_attention;
mod mean;
mod recurrent;

/// Numbers between −1 and 1 that depend on `seed`.
pub(crate) fn numbers(seed: u64, count: usize) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x1234_5678;
    let mut next = || {
        // SplitMix64 (Steele et al. 2014).
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        let z = (z ^ (z >> 31)) >> 40;
        2.0 * (z as f32 / (1u32 << 24) as f32) - 1.0
    };
    (0..count).map(|_| next()).collect()
}

pub(crate) fn random(seed: u64, shape: [usize; 2]) -> Value {
    Value::new(numbers(seed, shape[0] * shape[1]), shape)
}

/// Runs a test on each device that computes.
pub(crate) fn on_each_device(test: impl Fn()) {
    for device in [&Cpu as &'static dyn Device, &PLAIN] {
        on(device, &test);
    }
}

type Operation<'a> = &'a dyn Fn(&[Value]) -> Value;

/// Operands of an operation.
struct Case {
    inputs: Vec<Param>,
    /// The differentiated scalar is Σ output · weight.
    seed: u64,
}

impl Case {
    fn new(seed: u64, shapes: &[[usize; 2]]) -> Self {
        let input = |(number, &[rows, columns]): (u64, &[usize; 2])| {
            let values = numbers(100 * seed + number, rows * columns);
            Param::new(format!("{number}"), vec![rows, columns], values)
        };
        Self { inputs: (0..).zip(shapes).map(input).collect(), seed }
    }

    fn weights(&self, output: &Value) -> Vec<f32> {
        numbers(1000 + self.seed, output.values().len())
    }

    fn scalar(&self, operation: Operation<'_>) -> f64 {
        let inputs: Vec<Value> = self.inputs.iter().map(Param::constant).collect();
        let output = operation(&inputs);
        assert!(output.target.is_none(), "constants have no history");
        let weights = self.weights(&output);
        let output = output.values();
        let products = output.iter().zip(weights);
        products.map(|(&y, w)| f64::from(y) * f64::from(w)).sum()
    }

    /// The output, and the gradient of the scalar for each input.
    fn gradients(&self, operation: Operation<'_>) -> (Vec<f32>, Vec<Vec<f32>>) {
        let inputs: Vec<Value> = self.inputs.iter().map(Param::value).collect();
        let output = operation(&inputs);
        let values = output.values().to_vec();
        let mut gradients = self.weighted(output).backward();
        let gradients = self.inputs.iter().map(|input| gradients.take(input));
        (values, gradients.map(Buffer::into_vec).collect())
    }

    /// The scalar, as a value.
    fn weighted(&self, output: Value) -> Value {
        let weights = Value::new(self.weights(&output), output.shape());
        let weights = map_of(&row(weights), None);
        let epilogue = TapeEpilogue::plain(Float::F32);
        linear(row(output), vec![weights], epilogue)
    }

    /// d(scalar) / d(element).
    fn slope(&self, operation: Operation<'_>, input: &Param, element: usize) -> f64 {
        const H: f32 = 1e-2;
        let before = input.to_vec()[element];
        let at = |value: f32| {
            input.change(|values| values[element] = value);
            self.scalar(operation)
        };
        let (above, below) = (at(before + H), at(before - H));
        let width = f64::from(before + H) - f64::from(before - H);
        input.change(|values| values[element] = before);
        (above - below) / width
    }

    /// The gradient for one input, while the others are constants.
    fn gradient_alone(&self, operation: Operation<'_>, wanted: &Param) -> Vec<f32> {
        let value = |input: &Param| {
            if input.id() == wanted.id() { input.value() } else { input.constant() }
        };
        let inputs: Vec<Value> = self.inputs.iter().map(value).collect();
        let mut gradients = self.weighted(operation(&inputs)).backward();
        gradients.take(wanted).into_vec()
    }

    /// Compares gradients with finite differences on both devices, and the devices with each other.
    fn check(&self, operation: Operation<'_>) {
        let ours = self.checked(operation);
        let inputs: Vec<Vec<f32>> = self.inputs.iter().map(Param::to_vec).collect();
        let plain = on(&PLAIN, || {
            let copy = |(input, values): (&Param, Vec<f32>)| {
                Param::new(input.name(), input.shape().to_vec(), values)
            };
            let case = Self { inputs: self.inputs.iter().zip(inputs).map(copy).collect(), seed: self.seed };
            case.checked(operation)
        });
        for (ours, plain) in ours.into_iter().zip(plain) {
            let [ours, plain] = [ours, plain].map(|all| Vec::from_iter(all.into_iter().map(f64::from)));
            assert_close("two devices", &ours, &plain, 1e-4);
        }
    }

    /// Compares the gradients with finite differences; returns the output and them.
    fn checked(&self, operation: Operation<'_>) -> Vec<Vec<f32>> {
        let (output, gradients) = self.gradients(operation);
        for (input, gradient) in self.inputs.iter().zip(&gradients) {
            let alone = self.gradient_alone(operation, input);
            assert_eq!(&alone, gradient, "{} alone", input.name());
        }
        for (input, gradient) in self.inputs.iter().zip(&gradients) {
            let slopes: Vec<f64> =
                (0..gradient.len()).map(|element| self.slope(operation, input, element)).collect();
            let gradient: Vec<f64> = gradient.iter().copied().map(f64::from).collect();
            let what = format!("gradient of input {}", input.name());
            assert_close(&what, &gradient, &slopes, 2e-3);
        }
        [vec![output], gradients].concat()
    }
}

/// All rows one after another.
fn row(x: Value) -> Value {
    let rows = (0..x.shape()[0]).map(|row| select_rows(x.clone(), &[row]));
    join(rows.collect())
}

/// Asserts equality within `tolerance`, relative to the larger of 1 and the largest magnitude.
fn assert_close(what: &str, found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len(), "{what}: lengths");
    let scale = expected.iter().fold(1.0f64, |scale, value| scale.max(value.abs()));
    for (index, (found, expected)) in found.iter().zip(expected).enumerate() {
        let distance = (found - expected).abs();
        assert!(distance <= tolerance * scale, "{what}, element {index}: found {found}, expected {expected}");
    }
}

fn dropout(rate: f32) -> DropoutCall {
    DropoutCall { rate, seed: 5, micro_batch: 3, site: 2 }
}

/// A linear layer.
fn map_of(weight: &Value, bias: Option<&Value>) -> AffineMap {
    AffineMap { weight: weight.clone(), bias: bias.cloned() }
}

#[test]
fn linear_layers() {
    // At the kink of ReLU, finite differences are wrong.
    let away_from_0 = |case: &Case, maps: usize| {
        for bias in &case.inputs[1 + maps..] {
            bias.change(|values| {
                for (index, value) in values.iter_mut().enumerate() {
                    *value = if index % 2 == 0 { 9.0 } else { -9.0 };
                }
            });
        }
    };
    let epilogues =
        [(Activation::Identity, None), (Activation::Relu, None), (Activation::Relu, Some(dropout(0.3)))];
    for (seed, (rows, d_in, d_out)) in (0..).zip([(1, 1, 1), (5, 7, 3), (13, 4, 9)]) {
        for (activation, dropout) in epilogues {
            for (maps, biased) in [(1, true), (1, false), (2, true), (3, false), (3, true)] {
                if activation == Activation::Relu && !biased {
                    continue;
                }
                let mut shapes = vec![[rows, d_in]];
                shapes.extend(vec![[d_out, d_in]; maps]);
                shapes.extend(vec![[1, d_out]; if biased { maps } else { 0 }]);
                let case = Case::new(seed, &shapes);
                away_from_0(&case, maps);
                case.check(&|inputs| {
                    let map = |map: usize| map_of(&inputs[1 + map], inputs.get(1 + maps + map));
                    let epilogue = TapeEpilogue { activation, dropout, precision: Float::F32 };
                    linear(inputs[0].clone(), (0..maps).map(map).collect(), epilogue)
                });
            }
        }
    }
}

#[test]
#[should_panic(expected = "layers without a bias follow")]
fn a_bias_after_a_layer_without_one_is_refused() {
    let (x, weight, bias) = (random(1, [2, 3]), random(2, [4, 3]), random(3, [1, 4]));
    let maps = vec![map_of(&weight, None), map_of(&weight, Some(&bias))];
    linear(x, maps, TapeEpilogue::plain(Float::F32));
}

#[test]
fn norms() {
    for (seed, (rows, d)) in (0..).zip([(1, 4), (3, 5), (5, 8)]) {
        for kind in [NormKind::Layer, NormKind::Rms, NormKind::Scalar] {
            let width = if kind == NormKind::Scalar { 1 } else { d };
            let mut shapes = vec![[rows, d], [rows, d], [1, width]];
            if kind != NormKind::Rms {
                shapes.push([1, width]);
            }
            let case = Case::new(seed, &shapes);
            // Far from a variance of zero, where the slope changes fast.
            case.inputs[0].change(|values| {
                for (index, value) in values.iter_mut().enumerate() {
                    *value += if index % 2 == 0 { 2.0 } else { -2.0 };
                }
            });
            case.check(&|inputs| {
                let (gain, bias) = (inputs[2].clone(), inputs.get(3).cloned());
                let alone = norm(kind, inputs[0].clone(), gain, bias, 1e-5);
                add(alone, inputs[1].clone())
            });
            for dropout in [None, Some(dropout(0.3))] {
                case.check(&|inputs| {
                    let both = [inputs[0].clone(), inputs[1].clone()];
                    let (gain, bias) = (inputs[2].clone(), inputs.get(3).cloned());
                    residual_norm(kind, both, dropout, gain, bias, 1e-5)
                });
            }
        }
    }
}

#[test]
fn residual_sums() {
    for rate in [0.1, 0.5] {
        let mask = dropout(rate);
        Case::new(7, &[[5, 9], [5, 9]]).check(&|inputs| {
            let (x, residual) = (inputs[0].clone(), inputs[1].clone());
            dropout_add(x, Some(residual), Some(mask))
        });
        let case = Case::new(8, &[[3, 11]]);
        let dropped: Operation<'_> = &|inputs| dropout_add(inputs[0].clone(), None, Some(mask));
        case.check(dropped);
        let mut scales = vec![1.0; 33];
        mask.apply(&mut scales);
        let x = case.inputs[0].to_vec();
        let expected: Vec<f32> = x.iter().zip(scales).map(|(x, scale)| x * scale).collect();
        assert_eq!(case.gradients(dropped).0, expected);
    }
    Case::new(9, &[[2, 3], [2, 3]]).check(&|inputs| add(inputs[0].clone(), inputs[1].clone()));
    Case::new(10, &[[2, 3]]).check(&|inputs| scale(inputs[0].clone(), -1.5));
}

#[test]
fn embeddings() {
    let table: std::sync::Arc<Vec<f32>> = std::sync::Arc::new((0..40).map(|i| i as f32 / 7.0).collect());
    let rows = TapePositionRows { table, len: 2 };
    for positions in [None, Some(rows)] {
        for dropout in [None, Some(dropout(0.3))] {
            Case::new(9, &[[6, 5]]).check(&|inputs| {
                let ids = [3, 0, 3, 5];
                embedding(&ids, inputs[0].clone(), 2.0, positions.clone(), dropout)
            });
        }
    }
}

#[test]
fn products_in_bf16_differ_from_those_in_f32() {
    on_each_device(|| {
        let (x, weight) = (random(1, [6, 40]), random(2, [7, 40]));
        let rows = |precision| {
            let epilogue = TapeEpilogue::plain(precision);
            linear(x.clone(), vec![map_of(&weight, None)], epilogue).into_vec()
        };
        let targets = [2, IGNORE, 0, 6, 2, 1];
        let loss = |precision| {
            let map = map_of(&weight, None);
            cross_entropy(x.clone(), map, &targets, None, 0.1, precision).loss.into_vec()
        };
        assert_ne!(rows(Float::F32), rows(Float::Bf16));
        assert_ne!(loss(Float::F32), loss(Float::Bf16));
    });
}

#[test]
fn nonlinearities() {
    for f in [ActivationKind::Relu, ActivationKind::Gelu, ActivationKind::GeluTanh, ActivationKind::Silu] {
        let case = |seed, shape: [usize; 2]| {
            let case = Case::new(seed, &[shape]);
            // Not at the kink of ReLU.
            case.inputs[0].change(|values| {
                values.iter_mut().for_each(|value| *value += 0.05f32.copysign(*value));
            });
            case
        };
        case(13, [4, 6]).check(&|inputs| nonlinear(f, inputs[0].clone()));
        case(14, [5, 8]).check(&|inputs| gated(f, inputs[0].clone()));
    }
    Case::new(15, &[[3, 7]]).check(&|inputs| tanh(inputs[0].clone()));
}

#[test]
fn rotations() {
    let rotary = Rotary::new(1e4, 4);
    for (len, width) in [(2, 11), (6, 8)] {
        Case::new(15, &[[6, width]]).check(&|inputs| rotary.turn(inputs[0].clone(), 2, len));
    }
}
