//! Pages for the browser, each a self-contained HTML file. The console needs the server that it comes from,
//! or models beside it; the others need no network and no server.

mod attention;

mod console;
mod explanation;
mod shared;
mod trace;
mod web;

pub use attention::attention;

pub use console::{console, console_policy};
pub use trace::{has_inner_operations, trace, trace_data};
pub use web::{offline_script, web_page};

pub use explanation::{bytes_of, check_size, exact_explanation, explanation};
