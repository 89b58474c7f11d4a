//! Construction of a model: the source of its parameters and their names.

use std::cell::{Cell, RefCell};
use std::fmt::Display;

use burn::module::Param;
use burn::tensor::{Device, Tensor, TensorData};

use super::Dropout;

/// The construction of one model: provides its parameters by name and numbers its dropout sites.
pub struct Construction<'a> {
    values: RefCell<&'a mut dyn FnMut(&str) -> TensorData>,
    sites: Cell<u32>,
    device: Device,
}

/// A place in the tree of layers, named by its path, for example `encoder.layers.0`.
#[derive(Clone)]
pub struct Scope<'a> {
    path: String,
    construction: &'a Construction<'a>,
}

impl<'a> Construction<'a> {
    /// The construction of a model on `device` whose parameters are `values(name)`.
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
    /// The place `name` below this one.
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

    /// The parameter `name` at this place.
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
