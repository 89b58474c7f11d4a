//! Attentive trains, evaluates, quantizes and runs sequence models on the CPU: Transformers and recurrent
//! networks that translate, generate text, fill in masked tokens, tag, classify and embed. This library does
//! the work of the program `attentive`, from raw text to an HTTP server, and is for Rust programs that do the
//! same without starting another process.
//!
//! # Use a model
//!
//! A model directory contains everything that is needed to run the model: weights, tokenizers and
//! configuration. [`Pipeline::load`](pipeline::Pipeline::load) reads it, and a
//! [`Pipeline`](pipeline::Pipeline) has a method for each task:
//!
//! ```no_run
//! use attentive::pipeline::Pipeline;
//!
//! let pipeline = Pipeline::load("runs/multi30k")?;
//! for translation in pipeline.translate(&["A man rides a bike.", "Two dogs are playing."])? {
//!     println!("{translation}");
//! }
//! # Ok::<(), attentive::Error>(())
//! ```
//!
//! # Train a model
//!
//! [`train::train`] trains a model as a [`config::Config`] describes it, writes the model directory, and
//! reports its progress to a [`train::report::Observer`]:
//!
//! ```no_run
//! use std::path::Path;
//!
//! use attentive::config::Config;
//! use attentive::interrupt::Interrupt;
//! use attentive::processes::Processes;
//! use attentive::train::report::{Event, Observer};
//! use attentive::train::{Existing, RunOptions, train};
//!
//! /// Prints the loss on the validation data.
//! struct Validations;
//!
//! impl Observer for Validations {
//!     fn on(&mut self, event: &Event<'_>) {
//!         if let Event::Validation(report) = event {
//!             println!("update {}: loss {:.3} per token", report.step, report.loss);
//!         }
//!     }
//! }
//!
//! let overrides = ["train.max_steps=1000".to_owned()];
//! let config = Config::load(Path::new("configs/multi30k.toml"), &overrides)?;
//! let options = RunOptions {
//!     out: "runs/multi30k".into(),
//!     existing: Existing::Refuse,
//!     interrupt: Interrupt::none(),
//!     processes: Processes::alone(),
//! };
//! let summary = train(&config, &options, &mut Validations)?;
//! println!("{} updates in {:.0} s", summary.step, summary.seconds);
//! # Ok::<(), attentive::Error>(())
//! ```
//!
//! # Score translations
//!
//! [`metrics`] needs no model. Its scores are the same as sacreBLEU's, and its paired tests tell whether a
//! difference between two systems is statistically significant:
//!
//! ```
//! use attentive::metrics::{Bleu, Bootstrap, Segments};
//!
//! let references = [vec!["the cat sat on a mat", "it rained"]];
//! let baseline = Segments::new(Bleu::default(), &["the cat sat on the mat", "it rains"], &references);
//! let system = Segments::new(Bleu::default(), &["the cat sat on a mat", "it rains"], &references);
//! assert_eq!(format!("{:.2}", system.value()), "92.41");
//! let paired = Bootstrap::default().paired(&baseline, &system);
//! println!("{:+.2} BLEU, p = {:.3}", paired.difference.value, paired.difference.p_value);
//! ```
//!
//! # Modules
//!
//! | Purpose | Modules |
//! |---|---|
//! | run models | [`pipeline`], [`document`] (long texts, HTML), [`decode`] (search), [`engine`], [`device_engine`], [`shortlist`] |
//! | train models | [`config`], [`train`], [`checkpoint`] (model directories), [`distill`] (students), [`processes`], [`interrupt`] |
//! | evaluate | [`metrics`], [`evaluate`], [`compare`] |
//! | visualize | [`plot`] (SVG charts), [`page`] (HTML pages) |
//! | convert models | [`interop`] (import and export), [`quantize`] (bfloat16 and int8) |
//! | serve models over HTTP | `server`, with the feature `server` |
//! | read text | [`text`] (tokenizers), [`data`] (corpora), [`batch`] |
//! | build networks | [`architecture`], [`model`], [`nn`], [`tape`] (operations with gradients), [`device`] (computes them), [`random`] |
//! | report problems | [`error`], [`count`] (numbers with nouns in messages) |
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
//! # Errors
//!
//! Every function that can fail because of its input or the environment returns an [`Error`]. Its message
//! describes the problem and where it is, and [`Error::hint`] suggests what to try.
//!
//! # Features
//!
//! | Feature | Default | What it adds |
//! |---|---|---|
//! | `cli` | yes | the program `attentive`: command-line parsing, progress bars, signal handling and an allocator |
//! | `server` | yes | the module `server` and the command `attentive serve`; it includes `cli` |
//! | `gpu` | no | training and decoding on GPUs, by Vulkan, Metal or DirectX 12 |
//! | `mpi` | no | training and translation by several processes under MPI; it needs `mpicc` and libclang to build |
//!
//! A program that uses only the library can turn off the defaults with `default-features = false`.

#[doc(inline)]
pub use attentive_architecture as architecture;
#[doc(inline)]
pub use attentive_base::{Error, Result};
#[doc(inline)]
pub use attentive_base::{batch, count, error, interrupt, random};
#[doc(inline)]
pub use attentive_checkpoint as checkpoint;
#[doc(inline)]
pub use attentive_config as config;
#[doc(inline)]
pub use attentive_data as data;
#[doc(inline)]
pub use attentive_decode as decode;
#[doc(inline)]
pub use attentive_device as device;
#[doc(inline)]
pub use attentive_distill as distill;
#[doc(inline)]
pub use attentive_document as document;
#[doc(inline)]
pub use attentive_evaluate as evaluate;
#[doc(inline)]
pub use attentive_evaluate::{compare, quantize};
#[doc(inline)]
pub use attentive_interop as interop;
#[doc(inline)]
pub use attentive_metrics as metrics;
#[doc(inline)]
pub use attentive_model::{
    any_engine, device_engine, engine, incremental, model, nn, profile, shortlist, trace,
};
#[doc(inline)]
pub use attentive_page as page;
#[doc(inline)]
pub use attentive_pipeline as pipeline;
#[doc(inline)]
pub use attentive_plot as plot;
#[doc(inline)]
pub use attentive_processes as processes;
#[cfg(feature = "server")]
#[doc(inline)]
pub use attentive_server as server;
#[doc(inline)]
pub use attentive_tape as tape;
#[doc(inline)]
pub use attentive_text as text;
#[doc(inline)]
pub use attentive_train as train;

/// The Rust of the documents, which the tests compile. A page needs a language after each fence, or its
/// output is taken for Rust.
#[cfg(doctest)]
mod documents {
    #[doc = include_str!("../README.md")]
    mod readme {}
}
