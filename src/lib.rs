//! Sequence models from raw text to use: recurrent networks and Transformers that translate, continue, fill in and label.
//!
//! Text flows through the modules in this order:
//!
//! ```text
//! text ─ text::Tokenizer ─▶ ids ─ data::Feed ─▶ batch::Batch
//!                                                      │
//!                   model::Model ──▶ loss ─ backward ─▶ train::Optimizer ─▶ checkpoint (the model directory)
//!                                                                               │
//! text ◀─ pipeline::Pipeline (decode::search over model::Stepper) ◀─────────────┘ ─▶ evaluate, compare, metrics
//! ```
//!
//! A model directory holds everything that a model needs, so using one takes two lines:
//!
//! ```no_run
//! use attentive::pipeline::Pipeline;
//!
//! let pipeline = Pipeline::load("runs/multi30k")?;
//! println!("{}", pipeline.translate(&["A man rides a bike."])?[0]);
//! # Ok::<(), attentive::Error>(())
//! ```
//!
//! So does measuring:
//!
//! ```
//! use attentive::metrics::Bleu;
//!
//! let score = Bleu::default().corpus(&["the cat sat on the mat"], &[vec!["the cat sat on a mat"]]);
//! assert_eq!(format!("{:.2}", score.value), "53.73");
//! ```

// Burn's nested generic types go deeper than the default limit.
#![recursion_limit = "256"]

pub mod count;
pub mod error;

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
