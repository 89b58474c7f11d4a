//! Sends requests to a server that translates, checks every answer and prints what it measured as JSON; a
//! process of `bench/serve/compare.py`.
//!
//! With `--rate`, requests arrive at random moments (a Poisson process) whether or not earlier ones have been
//! answered, and a request's latency counts from its arrival, so that a server which falls behind cannot slow
//! its clients down. Without, each of the clients sends its next request when it has the answer to the last
//! one.
//!
//! ```text
//! serve_load http://127.0.0.1:8080/translate --lines test.en --expected test.de --clients 64 --rate 100 --seconds 30
//! ```

mod arrivals;
mod check;
mod clients;
mod http;
mod process;
mod report;

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Parser;

use crate::check::Exchange;
use crate::clients::Load;
use crate::process::Watch;

/// Sends requests to a server that translates and checks every answer.
#[derive(Parser)]
struct Arguments {
    /// Where requests go, such as http://127.0.0.1:8080/translate.
    url: String,
    /// A file with a text for each request; after the last one the first comes again.
    #[arg(long)]
    lines: PathBuf,
    /// A file with the answer to each line.
    #[arg(long)]
    expected: Option<PathBuf>,
    /// Write the answer to each line to this file, which needs as many requests as there are lines.
    #[arg(long)]
    record: Option<PathBuf>,
    /// The JSON of a request, in which `"LINE"` stands for the text.
    #[arg(long, default_value = r#"{"q":"LINE","source":"en","target":"de"}"#)]
    body: String,
    /// JSON pointer to the translation in an answer.
    #[arg(long, default_value = "/translatedText")]
    answer: String,
    /// Connections. With `--rate`, the most that are opened.
    #[arg(long, default_value_t = 1)]
    clients: usize,
    /// Mean number of requests per second.
    #[arg(long)]
    rate: Option<f64>,
    /// Number of requests, if not a time.
    #[arg(long)]
    requests: Option<usize>,
    /// Seconds in which requests are sent and counted.
    #[arg(long, default_value_t = 10.0)]
    seconds: f64,
    /// Seconds before that, in which they are not counted.
    #[arg(long, default_value_t = 0.0)]
    warm_up: f64,
    /// Seconds after which a request counts as unanswered.
    #[arg(long, default_value_t = 30.0)]
    timeout: f64,
    /// Seed of the arrivals.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Process whose memory and CPU time are measured.
    #[arg(long)]
    pid: Option<u32>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let lines = read(&arguments.lines)?;
    let expected = arguments.expected.as_deref().map(read).transpose()?;
    let exchange = Exchange::new(&lines, expected, &arguments.body, &arguments.answer)?;
    let requests = match &arguments.record {
        Some(_) => Some(lines.len()),
        None => arguments.requests,
    };
    let load = Load {
        target: arguments.url.parse()?,
        clients: arguments.clients.max(1),
        rate: arguments.rate,
        requests,
        warm_up: seconds(arguments.warm_up)?,
        measured: seconds(arguments.seconds)?,
        timeout: seconds(arguments.timeout)?,
        seed: arguments.seed,
        keep_answers: arguments.record.is_some(),
    };
    let watch = arguments.pid.map(Watch::start);
    let outcomes = load.run(&exchange);
    let watched = watch.map(Watch::stop);
    if let Some(path) = &arguments.record {
        fs::write(path, report::answers(&outcomes, lines.len())?)?;
    }
    println!("{}", report::summary(&load, &outcomes, watched.as_ref()));
    Ok(())
}

fn read(path: &Path) -> Result<Vec<String>, Box<dyn Error>> {
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    if lines.is_empty() { Err(format!("{} is empty", path.display()).into()) } else { Ok(lines) }
}

fn seconds(seconds: f64) -> Result<Duration, Box<dyn Error>> {
    Ok(Duration::try_from_secs_f64(seconds)?)
}
