//! Sequence models: their layers ([`nn`]), whole models for training ([`model`]), and the engine that decodes ([`engine`]).

pub mod engine;
pub mod model;
pub mod nn;
pub mod shortlist;
