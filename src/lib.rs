//! Sequence models, from raw text to use: recurrent networks and Transformers that translate, generate, fill gaps and
//! label tokens. Everything runs on the CPU, on top of [Burn](https://burn.dev).
//!
//! # Use a model
//!
//! A model directory holds everything that a model needs, so translating takes two lines:
//!
//! ```no_run
//! use attentive::pipeline::Pipeline;
//!
//! let pipeline = Pipeline::load("runs/multi30k")?;
//! println!("{}", pipeline.translate(&["A man rides a bike."])?[0]);
//! # Ok::<(), attentive::Error>(())
//! ```
//!
//! # Train a model
//!
//! [`train::train`] reads a [`config::Config`] and writes a model directory:
//!
//! ```no_run
//! use std::path::Path;
//!
//! use attentive::config::Config;
//! use attentive::interrupt::Interrupt;
//! use attentive::train::report::Silent;
//! use attentive::train::{Existing, RunOptions, train};
//!
//! let config = Config::load(Path::new("configs/multi30k.toml"), &[])?;
//! let options = RunOptions {
//!     out: "runs/multi30k".into(),
//!     existing: Existing::Refuse,
//!     interrupt: Interrupt::none(),
//! };
//! let summary = train(&config, &options, &mut Silent)?;
//! println!("{} updates", summary.step);
//! # Ok::<(), attentive::Error>(())
//! ```
//!
//! # Score an output
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
//! | To | Modules |
//! |---|---|
//! | use a model | [`pipeline`], [`decode`] |
//! | train a model | [`config`], [`train`], [`interrupt`], [`checkpoint`] |
//! | measure and look | [`metrics`], [`evaluate`], [`compare`], [`plot`], [`page`] |
//! | read text | [`text`], [`data`], [`batch`] |
//! | build models | [`model`], [`nn`], [`ops`], [`device`], [`random`] |
//!
//! Text flows through them in this order:
//!
//! ```text
//! text ─ text::Tokenizer ─▶ ids ─ data::Feed ─▶ batch::Batch
//!                                                      │
//!                   model::Model ──▶ loss ─ backward ─▶ train::Optimizer ─▶ checkpoint (the model directory)
//!                                                                               │
//! text ◀─ pipeline::Pipeline (decode::search over model::Stepper) ◀─────────────┘ ─▶ evaluate, compare, metrics
//! ```
//!
//! Every function that can fail because of its input returns an [`Error`] that says what is wrong, where, and what to try.
//!
//! # Features
//!
//! `cli`, on by default, adds what the program `attentive` needs: command-line parsing, progress bars, signals and its
//! allocator. A program that uses only the library turns it off with `default-features = false`.

// Burn's nested generic types go deeper than the default limit.
#![recursion_limit = "256"]

pub mod count;
pub mod error;

pub mod architecture;
pub mod config;
pub mod device;
pub mod interrupt;
pub mod random;

pub mod batch;
pub mod data;
pub mod text;

pub mod model;
pub mod nn;
pub mod ops;

pub mod checkpoint;
pub mod decode;
pub mod metrics;

pub mod compare;
pub mod evaluate;
pub mod page;
pub mod pipeline;
pub mod plot;
pub mod train;

pub use error::{Error, Result};
