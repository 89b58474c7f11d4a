//! Construction of layers: one walk names the parameters and numbers the dropout sites.

use std::cell::{Cell, RefCell};
use std::fmt::Display;

use super::{Dropout, ParameterDeclaration, ParameterInit, ParameterKind, Storage};

/// Where layers find their weights. Each is asked for once.
pub trait WeightSource<S: Storage> {
    /// Returns the declared matrix.
    fn matrix(&mut self, declaration: ParameterDeclaration) -> S::Matrix;

    /// Returns the declared vector.
    fn vector(&mut self, declaration: ParameterDeclaration) -> S::Vector;
}

/// The construction of one model.
pub struct Construction<'a, S: Storage> {
    source: RefCell<&'a mut dyn WeightSource<S>>,
    sites: Cell<u32>,
}

/// A place in the tree of layers, named by its path, for example `encoder.layers.0`.
pub struct Scope<'a, S: Storage> {
    path: String,
    construction: &'a Construction<'a, S>,
}

impl<'a, S: Storage> Construction<'a, S> {
    /// Begins a model with the weights of `source`.
    pub fn new(source: &'a mut dyn WeightSource<S>) -> Self {
        Self { source: RefCell::new(source), sites: Cell::new(0) }
    }

    /// Returns the root of the tree.
    pub fn root(&'a self) -> Scope<'a, S> {
        Scope { path: String::new(), construction: self }
    }
}

impl<S: Storage> Scope<'_, S> {
    /// Returns the place `name` below this one.
    pub fn at(&self, name: impl Display) -> Self {
        Self { path: self.below(name), construction: self.construction }
    }

    /// Returns the path from the root.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Declares the matrix `name` at this place, and returns its weights.
    pub fn matrix(&self, name: &str, shape: [usize; 2], init: ParameterInit) -> S::Matrix {
        let (name, kind) = (self.below(name), ParameterKind::Matrix);
        let declaration = ParameterDeclaration { name, shape: shape.into(), init, kind };
        self.construction.source.borrow_mut().matrix(declaration)
    }

    /// Declares the vector `name` at this place, and returns its weights.
    pub fn vector<const D: usize>(&self, name: &str, shape: [usize; D], init: ParameterInit) -> S::Vector {
        let (name, kind) = (self.below(name), ParameterKind::Vector);
        let declaration = ParameterDeclaration { name, shape: shape.into(), init, kind };
        self.construction.source.borrow_mut().vector(declaration)
    }

    /// Returns the next dropout site of the model.
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
