//! `attentive serve`: answers requests over HTTP.

mod files;
mod log;

use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process;
use std::thread;
use std::time::Duration;

use attentive_base::error::{Error, Result};
use attentive_base::essential::essential;
use attentive_base::platform::signals::{self, RELOAD};
use attentive_config::TrainDevice;
use attentive_model::engine::Precision;
use attentive_server::{Control, DEFAULT_ADDRESS, Log, ServeConfig, ServedModel, Server};
use listenfd::ListenFd;

use self::log::LogFormat;
use crate::precision;

/// The maximum time for writing the end of the log.
const LAST_WORDS: Duration = Duration::from_secs(1);

const EXAMPLES: &str = "\
Examples:
  attentive serve en-de=runs/multi30k
  attentive serve en-de=runs/multi30k mlm=runs/multi30k-mlm --listen 0.0.0.0:8080 --api-key-file keys
  attentive serve --config serve.toml
  curl -s localhost:8080/translate -d q='A dog runs.' -d source=en -d target=de

Open the printed address in a browser to try the models.

APIs:
  LibreTranslate (`/translate`, `/detect`, `/languages`), DeepL (`/v2/translate`), OpenAI (`/v1/completions`, \
`/v1/chat/completions`, `/v1/embeddings`, `/v1/models`), and one of its own: `/api/translate`, `/api/generate`, `/api/fill`, \
`/api/tag`, `/api/classify`, `/api/embed` and `/api/explain`. `/openapi.json` describes them. A model name such as `en-de` \
tells the languages of a translation model, which clients of LibreTranslate and DeepL need; a configuration file can set them \
for other names.

Operation:
  The address is printed on standard output as soon as clients can connect; models may still be loading then. `/readyz` tells \
whether requests are answered, `/livez` whether the process is alive, and `/metrics` has counters for Prometheus. SIGTERM and \
SIGINT finish the accepted requests, then stop; a second signal stops at once. SIGHUP reloads models and keys without losing \
a request. The log goes to standard error; `RUST_LOG` filters it. Log lines that cannot be written are dropped and counted.

Configuration file:
  The keys are `listen`, `api_key_file`, `allowed_hosts`, `precision`, `device`, `threads` and `log_text`; a section `[models.NAME]` \
for each model with `dir`, `source`, `target` and `precision`; and a section `[limits]` with `queue`, `batch`, `body`, \
`bodies`, `characters`, `in_progress`, `texts`, `tokens`, `phrases`, `stop`, `new_tokens`, `alternatives`, `beam_width`, \
`connections`, `connections_per_address`, and, in seconds, `timeout`, `head_timeout`, `stall_timeout` and `drain_timeout`. \
Options of the command line override the file.";

/// Answer requests over HTTP, with the APIs of LibreTranslate, DeepL and OpenAI.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Models to serve: a name for each, and its model directory.
    #[arg(value_name = "NAME=DIR", required_unless_present = "config")]
    models: Vec<String>,
    /// Address and port to listen on; port 0 takes any free port [default: 127.0.0.1:8080].
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// Answer only requests with one of the keys in this file, one per line [default: no key is needed].
    #[arg(long, value_name = "FILE")]
    api_key_file: Option<PathBuf>,
    /// Host name by which clients may call the server, for example behind a reverse proxy; may be repeated.
    /// `localhost` and IP addresses are always allowed, and `*` allows all names [default: all, or none if
    /// only this machine can reach the server].
    #[arg(long = "allowed-host", value_name = "NAME")]
    allowed_hosts: Vec<String>,
    /// Read models and settings from this TOML file.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Number type of the matrix products [default: as the model is stored].
    #[arg(long, value_name = "TYPE", value_parser = precision::one_of(&Precision::ALL))]
    precision: Option<Precision>,
    /// Device for decoding: `cpu`, `gpu`, or `gpu:N` with a number of `attentive devices` [default: cpu].
    /// GPUs compute in f32, with weights in f32 or bf16.
    #[arg(long, value_name = "DEVICE")]
    device: Option<TrainDevice>,
    /// Maximum time for a request, from its arrival to the end of the response [default: 60].
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<f64>,
    /// Maximum number of hypotheses (sentences times beam width) that each thread decodes together [default:
    /// 32].
    #[arg(long, value_name = "N")]
    max_batch: Option<NonZeroUsize>,
    /// Maximum number of sentences and other jobs that wait for a model; more are refused [default: 4096].
    #[arg(long, value_name = "N")]
    max_queue: Option<NonZeroUsize>,
    /// Maximum size of a request's body [default: 2097152, 2 MiB].
    #[arg(long, value_name = "BYTES")]
    max_body: Option<NonZeroUsize>,
    /// Format of the log.
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    log_format: LogFormat,
    /// Write the texts of requests to the log.
    #[arg(long)]
    log_text: bool,
}

impl Args {
    fn config(&self, threads: Option<NonZeroUsize>) -> Result<ServeConfig> {
        let mut config = match &self.config {
            Some(path) => ServeConfig::load(path)?,
            None => ServeConfig::new(Vec::new()),
        };
        for model in &self.models {
            config.models.push(ServedModel::parse(model)?);
        }
        config.listen = self.listen.clone().unwrap_or(config.listen);
        config.api_key_file = self.api_key_file.clone().or(config.api_key_file);
        config.precision = self.precision.or(config.precision);
        config.device = self.device.unwrap_or(config.device);
        config.threads = threads.map_or(config.threads, NonZeroUsize::get);
        config.log_text |= self.log_text;
        if !self.allowed_hosts.is_empty() {
            config.allowed_hosts.clone_from(&self.allowed_hosts);
        }
        let limits = &mut config.limits;
        let set = |limit: &mut usize, given: Option<NonZeroUsize>| {
            *limit = given.map_or(*limit, NonZeroUsize::get);
        };
        set(&mut limits.queue, self.max_queue);
        set(&mut limits.batch, self.max_batch);
        set(&mut limits.body, self.max_body);
        if let Some(timeout) = self.timeout {
            limits.set_timeout(timeout)?;
        }
        Ok(config)
    }
}

pub(super) fn run(args: &Args, threads: Option<NonZeroUsize>) -> Result<()> {
    let mut config = args.config(threads)?;
    config.check()?;
    let log = log::start(args.log_format)?;
    files::make_room(&mut config.limits);
    let result = serve(config, &log);
    if !log.flush(LAST_WORDS) {
        // Standard error has no reader, so writing another line would block forever.
        process::exit(result.map_or_else(|error| error.exit_code().into(), |()| 0));
    }
    result
}

fn serve(config: ServeConfig, log: &Log) -> Result<()> {
    let needs_key = config.api_key_file.is_some();
    let server = match inherited()? {
        Some(listener) => Server::on(listener, config)?,
        None => Server::bind(config)?,
    };
    server.count_lines_of(log);
    let address = server.address()?;
    if !is_local(address.ip()) && !needs_key {
        tracing::warn!(
            "anyone who can reach {address} can use the models: set keys with `--api-key-file`, or use \
             `--listen {DEFAULT_ADDRESS}` to serve this machine only"
        );
    }
    listen_to_signals(server.control())?;
    announce(address)?;
    server.run()
}

/// The socket that systemd, or another program that speaks its protocol, has opened.
fn inherited() -> Result<Option<std::net::TcpListener>> {
    let mut sockets = ListenFd::from_env();
    let first = sockets.take_tcp_listener(0);
    first.map_err(Error::io("take over", "the socket of the service manager"))
}

fn is_local(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

/// Prints the address on standard output. The server goes on if this fails.
fn announce(address: SocketAddr) -> Result<()> {
    let tell = move || {
        let mut out = io::stdout();
        let told = writeln!(out, "http://{address}").and_then(|()| out.flush());
        if let Err(error) = told {
            tracing::warn!(%address, "the address could not be written to standard output: {error}");
        }
    };
    let thread = thread::Builder::new().name("announcement".to_owned());
    let started = thread.spawn(tell).map(drop);
    started.map_err(Error::io("start a thread of", "the server"))
}

/// Handles signals on a separate thread.
fn listen_to_signals(control: Control) -> Result<()> {
    let failed = |error| Error::io("handle signals of", "the server")(error);
    let stops = signals::that_stop().into_iter().filter(|signal| Some(*signal) != RELOAD);
    let watch = signals::watch(&stops.chain(RELOAD).collect::<Vec<_>>()).map_err(failed)?;
    let mut stopping = false;
    let mut obey = move |signal| {
        if Some(signal) == RELOAD {
            control.reload();
        } else if stopping {
            process::exit(128 + signal);
        } else {
            stopping = true;
            control.stop();
        }
    };
    essential("signals", move || watch(&mut obey)).map_err(failed)
}
