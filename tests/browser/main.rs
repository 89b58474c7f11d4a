//! The pages in a real browser: Chromium, driven by its `chromedriver`.
//!
//! Without a `chromedriver` on the path, the tests are skipped with a message, unless
//! `ATTENTIVE_BROWSER_TESTS` is `required`. Pictures of the pages go to the folder that
//! `ATTENTIVE_SCREENSHOTS` names, if it is set.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod driver;
mod explain;
mod files;
mod fill;
mod generate;
#[allow(dead_code, reason = "the other tests need more of it")]
#[path = "../it/support/http.rs"]
mod http;
mod keys;
mod labels;
mod languages;
mod looks;
mod microscope;
mod models;
mod page;
#[allow(dead_code, reason = "the other tests need more of it")]
#[path = "../it/run.rs"]
mod run;
mod sentences;
mod server;
mod terms;
#[allow(dead_code, reason = "the other tests need more of it")]
#[path = "../it/support/toy.rs"]
mod toy;
mod trace;
mod translate;
mod web;
