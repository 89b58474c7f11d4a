//! Construction of a model: the source of its parameters and their names.

use std::cell::{Cell, RefCell};
use std::fmt::Display;

use attentive_tape::{Buffer, Param};

use super::Dropout;

/// The initial elements of a parameter.
#[derive(Clone, Debug)]
pub struct Initial {
    /// One or two dimensions.
    pub shape: Vec<usize>,
    /// The elements, row after row.
    pub values: Buffer,
}

/// The construction of one model: makes its parameters and numbers its dropout sites.
pub struct Construction<'a> {
    values: RefCell<&'a mut dyn FnMut(&str) -> Initial>,
    sites: Cell<u32>,
    made: RefCell<Vec<Param>>,
}

/// A place in the tree of layers, named by its path, for example `encoder.layers.0`.
#[derive(Clone)]
pub struct Scope<'a> {
    path: String,
    construction: &'a Construction<'a>,
}

impl<'a> Construction<'a> {
    /// The construction of a model whose parameters are `values(name)`.
    pub fn new(values: &'a mut dyn FnMut(&str) -> Initial) -> Self {
        Self {
            values: RefCell::new(values),
            sites: Cell::new(0),
            made: RefCell::default(),
        }
    }

    /// All parameters made so far, in this order.
    pub fn parameters(&self) -> Vec<Param> {
        self.made.borrow().clone()
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
    pub fn parameter(&self, name: &str) -> Param {
        let Construction { values, made, .. } = self.construction;
        let name = self.below(name);
        let Initial { shape, values } = values.borrow_mut()(&name);
        let parameter = Param::new(name, shape, values);
        made.borrow_mut().push(parameter.clone());
        parameter
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
