//! The module for web pages: the server of `attentive serve` without a network, whose requests and files come
//! from JavaScript. On other systems, this crate is empty.

#![cfg(target_arch = "wasm32")]

mod engine;
#[allow(unsafe_code)]
mod exports;
