//! A model's parameters as named vectors, for saving, loading, averaging and the optimizer.

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::tensor::{Device, Gradients, Tensor, TensorData};

use crate::ops::{self, Leaf};

/// A parameter, or values of the same shape, such as its gradient.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// The field path of the parameter, for example `encoder.layers.0.self_attention.query.weight`.
    pub name: String,
    /// The dimensions.
    pub shape: Vec<usize>,
    /// The elements, row after row.
    pub values: Vec<f32>,
}

/// Returns all parameters in the order of the model's fields.
pub fn parameters<M: Module>(model: &M) -> Vec<Parameter> {
    let mut found = Vec::new();
    visit(model, |name, tensor| {
        found.push(Parameter {
            name,
            shape: tensor.shape,
            values: (tensor.values)(),
        });
    });
    found
}

/// Returns the names and shapes of all parameters.
pub fn shapes<M: Module>(model: &M) -> Vec<(String, Vec<usize>)> {
    let mut found = Vec::new();
    visit(model, |name, tensor| found.push((name, tensor.shape)));
    found
}

/// Returns `model` without gradients for the parameters for which `is_frozen` returns true. The functions that update a model
/// leave frozen parameters unchanged; see [`trained`].
pub fn freeze<M: Module>(model: M, is_frozen: impl Fn(&str) -> bool) -> M {
    struct Freezer<F> {
        path: Path,
        is_frozen: F,
    }
    impl<F: Fn(&str) -> bool> ModuleMapper for Freezer<F> {
        fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
            match (self.is_frozen)(&self.path.name()) {
                true => param.set_require_grad(false),
                false => param,
            }
        }
        fn enter_module(&mut self, name: &str, container: &str) {
            self.path.enter(name, container);
        }
        fn exit_module(&mut self, _name: &str, _container: &str) {
            self.path.exit();
        }
    }
    model.map(&mut Freezer {
        path: Path::default(),
        is_frozen,
    })
}

/// Returns the names and shapes of the trained parameters, in the order of [`parameters`]: those of a model under autodiff that
/// are not frozen.
pub fn trained<M: Module>(model: &M) -> Vec<(String, Vec<usize>)> {
    let mut found = Vec::new();
    visit(model, |name, tensor| {
        if tensor.is_trained {
            found.push((name, tensor.shape));
        }
    });
    found
}

/// Identifies each of the [`trained`] parameters in a forward pass and the following backward pass. See [`ops::leaf`].
pub fn leaves<M: Module>(model: &M) -> Vec<Option<Leaf>> {
    struct Finder(Vec<Option<Leaf>>);
    impl ModuleVisitor for Finder {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            let value = param.val();
            if value.is_require_grad() {
                self.0.push(ops::leaf(&value));
            }
        }
    }
    let mut finder = Finder(Vec::new());
    model.visit(&mut finder);
    finder.0
}

/// Removes the gradient of each of the [`trained`] parameters from `gradients` and returns it; zeros if there is none.
pub fn take_gradients<M: Module>(model: &M, gradients: &mut Gradients) -> Vec<Parameter> {
    struct Taker<'a> {
        path: Path,
        gradients: &'a mut Gradients,
        found: Vec<Parameter>,
    }
    impl ModuleVisitor for Taker<'_> {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            let value = param.val();
            if !value.is_require_grad() {
                return;
            }
            let shape = value.shape().to_vec();
            let values = match value.grad_remove(self.gradients) {
                Some(gradient) => values(gradient),
                None => vec![0.0; shape.iter().product()],
            };
            self.found.push(Parameter {
                name: self.path.name(),
                shape,
                values,
            });
        }
        fn enter_module(&mut self, name: &str, container: &str) {
            self.path.enter(name, container);
        }
        fn exit_module(&mut self, _name: &str, _container: &str) {
            self.path.exit();
        }
    }
    let mut taker = Taker {
        path: Path::default(),
        gradients,
        found: Vec::new(),
    };
    model.visit(&mut taker);
    taker.found
}

/// Returns the model with the values of every parameter replaced by `change(name, shape, values)`; all are trained afterwards.
pub fn map_parameters<M: Module>(
    model: M,
    device: &Device,
    change: impl FnMut(&str, &[usize], Vec<f32>) -> Vec<f32>,
) -> M {
    map(model, device, Which::All, change)
}

/// Like [`map_parameters`], for the [`trained`] parameters alone. The others are left unchanged.
pub fn map_trained<M: Module>(
    model: M,
    device: &Device,
    change: impl FnMut(&str, &[usize], Vec<f32>) -> Vec<f32>,
) -> M {
    map(model, device, Which::Trained, change)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Which {
    All,
    Trained,
}

fn map<M: Module>(
    model: M,
    device: &Device,
    which: Which,
    change: impl FnMut(&str, &[usize], Vec<f32>) -> Vec<f32>,
) -> M {
    struct Changer<'a, F> {
        path: Path,
        device: &'a Device,
        which: Which,
        change: F,
    }
    impl<F: FnMut(&str, &[usize], Vec<f32>) -> Vec<f32>> ModuleMapper for Changer<'_, F> {
        fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
            if self.which == Which::Trained && !param.val().is_require_grad() {
                return param;
            }
            let value = param.into_value();
            let shape = value.shape().to_vec();
            let changed = (self.change)(&self.path.name(), &shape, values(value.inner()));
            Param::from_data(TensorData::new(changed, shape), self.device)
        }
        fn enter_module(&mut self, name: &str, container: &str) {
            self.path.enter(name, container);
        }
        fn exit_module(&mut self, _name: &str, _container: &str) {
            self.path.exit();
        }
    }
    model.map(&mut Changer {
        path: Path::default(),
        device,
        which,
        change,
    })
}

struct Seen<'a> {
    shape: Vec<usize>,
    is_trained: bool,
    values: &'a dyn Fn() -> Vec<f32>,
}

fn visit<M: Module>(model: &M, see: impl FnMut(String, Seen<'_>)) {
    struct Viewer<F> {
        path: Path,
        see: F,
    }
    impl<F: FnMut(String, Seen<'_>)> ModuleVisitor for Viewer<F> {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            let value = param.val();
            let shape = value.shape().to_vec();
            let is_trained = value.is_require_grad();
            let read = || values(value.clone().inner());
            (self.see)(
                self.path.name(),
                Seen {
                    shape,
                    is_trained,
                    values: &read,
                },
            );
        }
        fn enter_module(&mut self, name: &str, container: &str) {
            self.path.enter(name, container);
        }
        fn exit_module(&mut self, _name: &str, _container: &str) {
            self.path.exit();
        }
    }
    model.visit(&mut Viewer {
        path: Path::default(),
        see,
    });
}

fn values<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor
        .into_data()
        .try_into_vec()
        .expect("parameters and their gradients are f32")
}

/// Field names; enum variants have none.
#[derive(Default)]
struct Path(Vec<Option<String>>);

impl Path {
    fn enter(&mut self, name: &str, container: &str) {
        let is_variant = container.starts_with("Enum:");
        self.0.push((!is_variant).then(|| name.to_owned()));
    }
    fn exit(&mut self) {
        self.0.pop();
    }
    fn name(&self) -> String {
        let fields: Vec<&str> = self.0.iter().flatten().map(String::as_str).collect();
        fields.join(".")
    }
}
