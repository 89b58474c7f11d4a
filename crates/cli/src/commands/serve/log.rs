//! The log on standard error.

use std::io;
use std::panic;
use std::thread;

use attentive_base::error::{Error, Result};
use attentive_server::Log;
use clap::ValueEnum;
use tracing_subscriber::EnvFilter;

use super::LAST_WORDS;

/// A format of the log.
#[derive(Clone, Copy, ValueEnum)]
pub(super) enum LogFormat {
    /// A line of text for each event.
    Text,
    /// A JSON object for each event.
    Json,
}

/// Sends events and panics to standard error: `info` and worse, unless `RUST_LOG` says otherwise.
pub(super) fn start(format: LogFormat) -> Result<Log> {
    let log = Log::to(io::stderr()).map_err(Error::io("start a thread of", "the log"))?;
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let writer = log.clone();
    let events = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(move || writer.clone())
        .with_ansi(false)
        .log_internal_errors(false)
        .with_target(false);
    match format {
        LogFormat::Text => events.init(),
        LogFormat::Json => events.json().flatten_event(true).init(),
    }
    log_panics(log.clone());
    Ok(log)
}

/// Logs panics as events, since the standard library's own output to standard error might block if it has no
/// reader.
fn log_panics(log: Log) {
    panic::set_hook(Box::new(move |panic| {
        let thread = thread::current();
        let name = thread.name().unwrap_or("unnamed");
        let place = panic.location().map_or_else(String::new, ToString::to_string);
        let said = panic.payload_as_str().unwrap_or("an unknown problem");
        tracing::error!("thread `{name}` panicked at {place}: {said}");
        if name == "main" {
            // The process is about to end.
            log.flush(LAST_WORDS);
        }
    }));
}
