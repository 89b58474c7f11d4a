//! Sequence models from raw text to deployment: recurrent networks and Transformers that translate, generate, fill in
//! masked tokens, and tag or classify text. Everything runs on the CPU, on top of [Burn](https://burn.dev).
//!
//! # Using a model
//!
//! A model directory contains everything needed to run the model, so translating takes two lines:
//!
//! ```no_run
//! use attentive::pipeline::Pipeline;
//!
//! let pipeline = Pipeline::load("runs/multi30k")?;
//! println!("{}", pipeline.translate(&["A man rides a bike."])?[0]);
//! # Ok::<(), attentive::Error>(())
//! ```
//!
//! # Training a model
//!
//! [`train::train`] reads a [`config::Config`] and writes a model directory:
//!
//! ```no_run
//! use std::path::Path;
//!
//! use attentive::config::Config;
//! use attentive::interrupt::Interrupt;
//! use attentive::processes::Processes;
//! use attentive::train::report::Silent;
//! use attentive::train::{Existing, RunOptions, train};
//!
//! let config = Config::load(Path::new("configs/multi30k.toml"), &[])?;
//! let options = RunOptions {
//!     out: "runs/multi30k".into(),
//!     existing: Existing::Refuse,
//!     interrupt: Interrupt::none(),
//!     processes: Processes::alone(),
//! };
//! let summary = train(&config, &options, &mut Silent)?;
//! println!("{} updates", summary.step);
//! # Ok::<(), attentive::Error>(())
//! ```
//!
//! # Scoring an output
//!
//! ```
//! use attentive::metrics::Bleu;
//!
//! let score = Bleu::default().corpus(&["the cat sat on the mat"], &[vec!["the cat sat on a mat"]]);
//! assert_eq!(format!("{:.2}", score.value), "53.73");
//! ```
//!
//! # Modules
//!
//! | Task | Modules |
//! |---|---|
//! | use models | [`pipeline`], [`decode`], [`engine`], [`shortlist`], [`quantize`], [`document`], [`interop`] |
//! | serve models | [`pipeline::service`], `server` (feature `server`) |
//! | train models | [`config`], [`train`], [`processes`], [`interrupt`], [`checkpoint`] |
//! | evaluate and visualize | [`metrics`], [`evaluate`], [`compare`], [`plot`], [`page`] |
//! | read text | [`text`], [`data`], [`batch`] |
//! | build models | [`architecture`], [`model`], [`nn`], [`ops`], [`device`], [`random`] |
//! | report | [`error`], [`count`] |
//!
//! Text passes through them in this order:
//!
//! ```text
//! text ─ text::Tokenizer ─▶ ids ─ data::Feed ─▶ batch::Batch
//!                                                      │
//!                   model::Model ──▶ loss ─ backward ─▶ train::Optimizer ─▶ checkpoint (the model directory)
//!                                                                               │
//! text ◀─ pipeline::Pipeline (decode::search over engine::Engine) ◀─────────────┘ ─▶ evaluate, compare, metrics
//! ```
//!
//! Every function that can fail because of its input returns an [`Error`] that tells what is wrong, where, and what
//! to try.
//!
//! # Features
//!
//! - `cli` (default) adds what the program `attentive` needs: command-line parsing, progress bars, signal handling and its
//!   allocator.
//! - `server` (default) adds `server`, the HTTP server with its metrics and its log, and the command `attentive serve`. It
//!   includes `cli`.
//! - `mpi` lets several processes share the work of training and translation; it needs an MPI library to build.
//!
//! Programs that only use the library can disable the first two with `default-features = false`.

// Burn's nested generic types exceed the default limit.
#![recursion_limit = "256"]

pub mod count;
pub mod error;
mod small_file;

pub mod architecture;
pub mod config;
pub mod device;
pub mod interrupt;
pub mod processes;
pub mod random;

pub mod batch;
pub mod data;
pub mod shortlist;
pub mod text;

pub mod engine;
pub mod model;
pub mod nn;
pub mod ops;

pub mod checkpoint;
pub mod decode;
pub mod metrics;

pub mod compare;
pub mod document;
pub mod evaluate;
pub mod interop;
pub mod page;
pub mod pipeline;
pub mod plot;
pub mod quantize;
#[cfg(feature = "server")]
pub mod server;
pub mod train;

pub use error::{Error, Result};

/// The Rust of the documents, which the tests compile. A page needs a language after each fence, or its output is taken for Rust.
#[cfg(doctest)]
mod documents {
    #[doc = include_str!("../README.md")]
    mod readme {}
}
