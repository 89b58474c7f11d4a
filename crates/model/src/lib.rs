//! Sequence models: their layers ([`nn`]), whole models for training ([`model`]), and the engines that
//! decode: on the CPU ([`engine`]) and on other devices ([`device_engine`]), or wherever it is
//! ([`any_engine`]).

pub mod any_engine;
pub mod device_engine;
pub mod engine;
pub mod incremental;
pub mod model;
pub mod nn;
pub mod profile;
pub mod shortlist;
pub mod trace;
