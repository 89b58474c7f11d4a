//! Compares every fused operation with its portable implementation: values and Burn's gradients in `f32`, and the
//! fused backward rule with central finite differences of the portable implementation in `f64`.

use burn::tensor::{DType, Device, Tensor, TensorData};

use super::*;
use crate::batch::IGNORE;
use crate::random::Random;

mod attention;
mod cross_entropy;
mod mean;
mod recurrent;

/// The implementation to run.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    Fused,
    Portable,
}

type Operation<'a> = &'a dyn Fn(Form, &[Tensor<2>]) -> Tensor<2>;

struct Case {
    shapes: Vec<[usize; 2]>,
    values: Vec<Vec<f64>>,
    /// The differentiated scalar is Σ output · weight.
    weights: Random,
}

impl Case {
    fn new(seed: u64, shapes: &[[usize; 2]]) -> Self {
        let mut random = Random::new(seed, 1);
        let values = shapes
            .iter()
            .map(|[rows, columns]| (0..rows * columns).map(|_| random.normal()).collect())
            .collect();
        Self {
            shapes: shapes.to_vec(),
            values,
            weights: Random::new(seed, 2),
        }
    }

    fn tensors(&self, values: &[Vec<f64>], dtype: DType, device: &Device) -> Vec<Tensor<2>> {
        let tensors = self.shapes.iter().zip(values);
        tensors
            .map(|(&shape, values)| {
                let data = TensorData::new(values.clone(), shape).convert_dtype(dtype);
                Tensor::from_data(data, (device, dtype))
            })
            .collect()
    }

    fn weigh(&self, output: Tensor<2>) -> Tensor<1> {
        let shape = output.shape();
        let mut random = self.weights.clone();
        let weights: Vec<f64> = (0..shape.num_elements()).map(|_| random.normal()).collect();
        let data = TensorData::new(weights, shape).convert_dtype(output.dtype());
        let weights = Tensor::from_data(data, (&output.device(), output.dtype()));
        (output * weights).sum()
    }

    fn gradients(&self, form: Form, operation: Operation<'_>) -> (Vec<f64>, Vec<Vec<f64>>) {
        let device = Device::flex().autodiff();
        let inputs: Vec<_> = self
            .tensors(&self.values, DType::F32, &device)
            .into_iter()
            .map(Tensor::require_grad)
            .collect();
        let output = operation(form, &inputs);
        let gradients = self.weigh(output.clone()).backward();
        let gradients = inputs
            .iter()
            .map(|input| numbers(input.grad(&gradients).expect("every input has a gradient")))
            .collect();
        (numbers(output.inner()), gradients)
    }

    /// d(scalar) / d(element) of the portable implementation in double precision.
    fn slope(&self, operation: Operation<'_>, input: usize, element: usize) -> f64 {
        const H: f64 = 1e-6;
        let at = |shift: f64| -> f64 {
            let mut values = self.values.clone();
            values[input][element] += shift;
            let tensors = self.tensors(&values, DType::F64, &Device::flex());
            self.weigh(operation(Form::Portable, &tensors))
                .into_scalar()
        };
        (at(H) - at(-H)) / (2.0 * H)
    }

    fn check(&self, operation: Operation<'_>) {
        let (fused, fused_gradients) = self.gradients(Form::Fused, operation);
        let (portable, portable_gradients) = self.gradients(Form::Portable, operation);
        assert_close("output", &fused, &portable, 2e-5);
        for (input, gradient) in fused_gradients.iter().enumerate() {
            let what = format!("gradient of input {input}");
            assert_close(&what, gradient, &portable_gradients[input], 1e-4);
            let slopes: Vec<f64> = (0..gradient.len())
                .map(|element| self.slope(operation, input, element))
                .collect();
            assert_close(
                &format!("{what} by finite differences"),
                gradient,
                &slopes,
                1e-4,
            );
        }
    }
}

fn numbers<const D: usize>(tensor: Tensor<D>) -> Vec<f64> {
    tensor.into_data().iter::<f64>().collect()
}

/// Asserts equality within `tolerance`, relative to the larger of 1 and the largest magnitude.
fn assert_close(what: &str, found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len(), "{what}: lengths");
    let scale = expected
        .iter()
        .fold(1.0f64, |scale, value| scale.max(value.abs()));
    for (index, (found, expected)) in found.iter().zip(expected).enumerate() {
        let distance = (found - expected).abs();
        assert!(
            distance <= tolerance * scale,
            "{what}, element {index}: found {found}, expected {expected}"
        );
    }
}

fn vector(row: &Tensor<2>) -> Tensor<1> {
    row.clone().flatten(0, 1)
}

fn dropout(rate: f32) -> Dropout {
    Dropout {
        rate,
        seed: 5,
        micro_batch: 3,
        site: 2,
    }
}

#[test]
fn linear_matches() {
    let epilogues = [
        (Activation::Identity, None),
        (Activation::Identity, Some(dropout(0.3))),
        (Activation::Relu, None),
        (Activation::Relu, Some(dropout(0.3))),
    ];
    for (seed, (rows, d_in, d_out)) in [(1, 1, 1), (5, 7, 3), (13, 4, 17)].into_iter().enumerate() {
        for (activation, dropout) in epilogues {
            for (maps, biased) in [(1, true), (1, false), (2, true), (3, false), (3, true)] {
                let mut shapes = vec![[rows, d_in]];
                shapes.extend(vec![[d_out, d_in]; maps]);
                shapes.extend(vec![[1, d_out]; if biased { maps } else { 0 }]);
                let case = Case::new(seed as u64, &shapes);
                case.check(&|form, inputs| {
                    let run = if form == Form::Fused {
                        linear
                    } else {
                        super::linear::portable
                    };
                    let map = |map: usize| {
                        let bias = inputs.get(1 + maps + map).map(vector);
                        map_of(inputs[1 + map].clone(), bias)
                    };
                    let epilogue = Epilogue {
                        activation,
                        dropout,
                        precision: Precision::F32,
                    };
                    run(inputs[0].clone(), (0..maps).map(map).collect(), epilogue)
                });
            }
        }
    }
}

#[test]
fn residual_norms_match() {
    for kind in [Norm::Layer, Norm::Rms, Norm::Scalar] {
        for dropout in [None, Some(dropout(0.3))] {
            let width = if kind == Norm::Scalar { 1 } else { 5 };
            let mut shapes = vec![[6, 5], [6, 5], [1, width]];
            if kind != Norm::Rms {
                shapes.push([1, width]);
            }
            Case::new(3, &shapes).check(&|form, inputs| {
                let (x, y) = (inputs[0].clone(), inputs[1].clone());
                let (gain, bias) = (vector(&inputs[2]), inputs.get(3).map(vector));
                match form {
                    Form::Fused => residual_norm(kind, [x, y], dropout, gain, bias, 1e-5),
                    Form::Portable => {
                        let y = match dropout {
                            Some(dropout) => super::dropout::portable(y, dropout),
                            None => y,
                        };
                        super::norm::portable(kind, x + y, gain, bias, 1e-5)
                    }
                }
            });
        }
    }
}

#[test]
fn norms_match() {
    for (seed, (rows, d)) in [(1, 2), (3, 5), (9, 16)].into_iter().enumerate() {
        for kind in [Norm::Layer, Norm::Rms, Norm::Scalar] {
            let width = if kind == Norm::Scalar { 1 } else { d };
            let mut shapes = vec![[rows, d], [1, width]];
            if kind != Norm::Rms {
                shapes.push([1, width]);
            }
            Case::new(seed as u64, &shapes).check(&|form, inputs| {
                let run = if form == Form::Fused {
                    norm
                } else {
                    super::norm::portable
                };
                run(
                    kind,
                    inputs[0].clone(),
                    vector(&inputs[1]),
                    inputs.get(2).map(vector),
                    1e-5,
                )
            });
        }
    }
}

#[test]
fn dropout_add_matches() {
    for rate in [0.1, 0.5] {
        Case::new(7, &[[5, 9], [5, 9]]).check(&|form, inputs| {
            let (x, residual) = (inputs[0].clone(), inputs[1].clone());
            match form {
                Form::Fused => dropout_add(x, Some(residual), Some(dropout(rate))),
                Form::Portable => residual + super::dropout::portable(x, dropout(rate)),
            }
        });
        Case::new(8, &[[3, 11]]).check(&|form, inputs| match form {
            Form::Fused => dropout_add(inputs[0].clone(), None, Some(dropout(rate))),
            Form::Portable => super::dropout::portable(inputs[0].clone(), dropout(rate)),
        });
    }
}

#[test]
fn embedding_matches() {
    let table: std::sync::Arc<Vec<f32>> =
        std::sync::Arc::new((0..40).map(|i| i as f32 / 7.0).collect());
    let rows = PositionRows { table, len: 2 };
    for positions in [None, Some(rows)] {
        for dropout in [None, Some(dropout(0.3))] {
            Case::new(9, &[[6, 5]]).check(&|form, inputs| {
                let run = if form == Form::Fused {
                    embedding
                } else {
                    super::embedding::portable
                };
                let ids = [3, 0, 3, 5];
                run(&ids, inputs[0].clone(), 2.0, positions.clone(), dropout)
            });
        }
    }
}

/// The portable forms round the operands of products too.
#[test]
fn bf16_products_match() {
    let case = Case::new(12, &[[6, 40], [7, 40]]);
    let inputs = case.tensors(&case.values, DType::F32, &Device::flex());
    let map = || map_of(inputs[1].clone(), None);
    let targets = [2, IGNORE, 0, 6, 2, 1];
    let results = |precision| {
        let epilogue = Epilogue::plain(precision);
        let x = || inputs[0].clone();
        let fused = linear(x(), vec![map()], epilogue);
        let portable = super::linear::portable(x(), vec![map()], epilogue);
        assert_close("rows", &numbers(fused.clone()), &numbers(portable), 1e-5);
        let loss = cross_entropy(x(), map(), &targets, 0.1, precision).loss;
        let portable = super::cross_entropy::portable(x(), map(), &targets, 0.1, precision).loss;
        assert_close("loss", &numbers(loss), &numbers(portable), 1e-5);
        numbers(fused)
    };
    let (exact, rounded) = (results(Precision::F32), results(Precision::Bf16));
    let differs = exact
        .iter()
        .zip(&rounded)
        .any(|(a, b)| (a - b).abs() > 1e-4);
    assert!(differs, "rounding changed nothing");
}

#[test]
fn nonlinearities_match() {
    for f in [
        Nonlinearity::Relu,
        Nonlinearity::Gelu,
        Nonlinearity::GeluTanh,
        Nonlinearity::Silu,
    ] {
        Case::new(13, &[[4, 6]]).check(&|form, inputs| match form {
            Form::Fused => nonlinear(f, inputs[0].clone()),
            Form::Portable => super::nonlinearity::portable(f, inputs[0].clone()),
        });
        Case::new(14, &[[5, 8]]).check(&|form, inputs| match form {
            Form::Fused => gated(f, inputs[0].clone()),
            Form::Portable => super::nonlinearity::gated_portable(f, inputs[0].clone()),
        });
    }
}

#[test]
fn rotary_matches() {
    let table = attentive_kernels::rotary::RotaryTable::new(
        attentive_kernels::rotary::frequencies(1e4, 4),
        20,
    );
    let rotary = Rotary::new(1e4, 4);
    for (len, width) in [(2, 11), (6, 8)] {
        Case::new(15, &[[6, width]]).check(&|form, inputs| match form {
            Form::Fused => rotary.turn(inputs[0].clone(), 2, len),
            Form::Portable => super::rotary::portable(&table, inputs[0].clone(), 2, len),
        });
    }
}

/// A linear layer.
fn map_of(weight: Tensor<2>, bias: Option<Tensor<1>>) -> Map {
    Map { weight, bias }
}
