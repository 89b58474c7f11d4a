//! Where the layers of a model take their parameters from while they are built.

use std::cell::{Cell, RefCell};
use std::fmt::Display;

use burn::module::Param;
use burn::tensor::{Device, Tensor, TensorData};

use super::Dropout;

/// The construction of one model: gives out its parameters by name and numbers its dropout sites.
pub struct Construction<'a> {
    values: RefCell<&'a mut dyn FnMut(&str) -> TensorData>,
    sites: Cell<u32>,
    device: Device,
}

/// A place in the tree of layers, named by its path as in `encoder.layers.0`.
#[derive(Clone)]
pub struct Scope<'a> {
    path: String,
    construction: &'a Construction<'a>,
}

impl<'a> Construction<'a> {
    /// For a model on `device` whose parameters have the values that `values` gives for their names.
    pub fn new(device: &Device, values: &'a mut dyn FnMut(&str) -> TensorData) -> Self {
        Self {
            values: RefCell::new(values),
            sites: Cell::new(0),
            device: device.clone(),
        }
    }

    /// The root of the tree.
    pub fn root(&'a self) -> Scope<'a> {
        Scope {
            path: String::new(),
            construction: self,
        }
    }
}

impl Scope<'_> {
    /// The place called `name` below this one.
    pub fn at(&self, name: impl Display) -> Self {
        Self {
            path: self.below(name),
            construction: self.construction,
        }
    }

    /// The path from the root.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The parameter called `name` here.
    pub fn parameter<const D: usize>(&self, name: &str) -> Param<Tensor<D>> {
        let Construction { values, device, .. } = self.construction;
        let values = values.borrow_mut()(&self.below(name));
        Param::from_data(values, device)
    }

    /// The next dropout site of the model.
    pub fn dropout(&self, rate: f64) -> Dropout {
        let site = self.construction.sites.get() + 1;
        self.construction.sites.set(site);
        Dropout { rate, site }
    }

    fn below(&self, name: impl Display) -> String {
        match self.path.as_str() {
            "" => name.to_string(),
            path => format!("{path}.{name}"),
        }
    }
}
