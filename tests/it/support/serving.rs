//! Servers in this process.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle, sleep};
use std::time::{Duration, Instant};

use attentive::server::{Control, ServeConfig, ServedModel, Server};

use super::http::get;

/// The model directory of a fixture.
pub(crate) fn fixture(name: &str) -> PathBuf {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/runs");
    fixtures.join(name).join("run")
}

/// Two translation models, a language model, a masked one and a tagger, on a free port.
pub(crate) fn config() -> ServeConfig {
    let model = |name: &str, of: &str| ServedModel::new(name, fixture(of));
    let models = vec![
        model("en-de", "transformer-post"),
        model("fr-de", "seq2seq-luong"),
        model("lm", "decoder-only"),
        model("mlm", "encoder-only"),
        model("tagger", "tagger"),
    ];
    ServeConfig { listen: "127.0.0.1:0".into(), threads: 2, ..ServeConfig::new(models) }
}

/// A server on a thread of its own, which is stopped at the end.
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    pub(crate) control: Control,
    thread: Option<JoinHandle<attentive::Result<()>>>,
}

impl Running {
    /// A server that is ready.
    pub(crate) fn start(config: ServeConfig) -> Self {
        let server = Server::bind(config).unwrap();
        let running = Self {
            address: server.address().unwrap(),
            control: server.control(),
            thread: Some(thread::spawn(move || server.run())),
        };
        until("ready", || get(running.address, "/readyz").status == 200);
        running
    }

    /// The sum of the values of a metric over its labels that contain `labels`.
    pub(crate) fn metric(&self, name: &str, labels: &str) -> f64 {
        metric(self.address, name, labels)
    }

    /// Stops it, and waits until it has ended.
    pub(crate) fn stop(mut self) -> attentive::Result<()> {
        self.control.stop();
        self.thread.take().unwrap().join().unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.control.stop();
        if let Some(thread) = self.thread.take() {
            let result = thread.join();
            if !thread::panicking() {
                result.unwrap().unwrap();
            }
        }
    }
}

/// The sum of the values of a metric over its labels that contain `labels`.
pub(crate) fn metric(address: SocketAddr, name: &str, labels: &str) -> f64 {
    let body = get(address, "/metrics").body;
    let lines = body.lines().filter(|line| {
        let rest = line.strip_prefix(name);
        rest.is_some_and(|rest| rest.starts_with(['{', ' ']) && rest.contains(labels))
    });
    lines.map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()).sum()
}

/// Waits until `is_so`.
#[track_caller]
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(300), "never {what}");
        sleep(Duration::from_millis(5));
    }
}
