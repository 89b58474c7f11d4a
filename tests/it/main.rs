//! Integration tests of the program and the library.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[cfg(feature = "server")]
mod bombs;
#[cfg(all(unix, feature = "server"))]
mod changed_files;
mod cli_align;
mod cli_bench;
mod cli_checkpoint;
mod cli_classify;
mod cli_clean;
mod cli_compare;
mod cli_config;
mod cli_damage;
mod cli_decode;
mod cli_decode_refused;
mod cli_defaults;
mod cli_demo;
mod cli_distill;
mod cli_errors;
mod cli_explain;
mod cli_families;
mod cli_files;
mod cli_finetune;
mod cli_generate;
mod cli_glossary;
#[cfg(feature = "gpu")]
mod cli_gpu;
#[cfg(feature = "gpu")]
mod cli_gpu_decode;
mod cli_guided;
mod cli_help;
mod cli_hints;
mod cli_import;
mod cli_kill;
mod cli_label;
mod cli_log;
mod cli_masked;
mod cli_mbr;
mod cli_mean;
mod cli_model;
mod cli_output;
mod cli_pipes;
mod cli_plot;
mod cli_prepare;
#[cfg(feature = "mpi")]
mod cli_processes;
mod cli_profile;
mod cli_quantize;
mod cli_quantize_refused;
#[cfg(target_os = "linux")]
mod cli_refused;
mod cli_runs;
mod cli_score;
mod cli_sentences;
mod cli_significance;
mod cli_students;
mod cli_sums;
mod cli_symbols;
mod cli_synthesize;
mod cli_tokens;
mod cli_trace;
mod cli_training;
mod cli_tune;
#[cfg(unix)]
mod cli_validation;
mod cli_weights;
#[cfg(feature = "server")]
mod docs_commands;
#[cfg(feature = "server")]
mod docs_endpoints;
#[cfg(feature = "server")]
mod docs_keys;
#[cfg(feature = "server")]
mod docs_links;
#[cfg(feature = "server")]
mod docs_openai;
#[cfg(feature = "server")]
mod docs_run;
#[cfg(feature = "server")]
mod docs_rust;
mod docs_ways;
mod fixture;
mod flags;
mod fuzz;
mod given;
#[cfg(all(unix, feature = "server"))]
mod hostile_tokenizers;
mod invariance;
mod loaders;
mod multi30k;
mod platform_code;
mod recurrent_decoder_fixture;
mod recurrent_fixture;
mod run;
#[cfg(feature = "server")]
mod serve_bounds;
#[cfg(feature = "server")]
mod serve_chat;
#[cfg(feature = "server")]
mod serve_clients;
#[cfg(feature = "server")]
mod serve_deepl;
#[cfg(feature = "server")]
mod serve_files;
#[cfg(feature = "server")]
mod serve_framing;
mod serve_fuzz;
#[cfg(feature = "server")]
mod serve_glossaries;
#[cfg(feature = "server")]
mod serve_log;
#[cfg(feature = "server")]
mod serve_models;
#[cfg(feature = "server")]
mod serve_network;
#[cfg(feature = "server")]
mod serve_openai;
#[cfg(feature = "server")]
mod serve_operation;
#[cfg(all(unix, feature = "server"))]
mod serve_refusals;
#[cfg(feature = "server")]
mod serve_requests;
#[cfg(feature = "server")]
mod serve_sentences;
#[cfg(feature = "server")]
mod serve_translate;
mod shakespeare;
#[cfg(all(unix, feature = "server"))]
mod special_files;
#[cfg(feature = "server")]
mod stored;
mod support;
mod transformer_fixture;
mod type_names;
