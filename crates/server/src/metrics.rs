//! Metrics of a server, for Prometheus.

use std::sync::OnceLock;
use std::time::Duration;

use metrics::{
    Unit, counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram,
};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle, PrometheusRecorder};

use super::api::Api;
use super::log::Log;
use super::models::Model;
use super::phase::{Phase, Stage};

/// Bounds of the histograms' buckets, in seconds.
const BUCKETS: [f64; 14] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0,
];

const REQUESTS: &str = "attentive_requests_total";
const DURATION: &str = "attentive_request_duration_seconds";
const FIRST: &str = "attentive_time_to_first_token_seconds";
const IN_PROGRESS: &str = "attentive_requests_in_progress";
const ABANDONED: &str = "attentive_requests_abandoned_total";
const CONNECTIONS: &str = "attentive_connections";
const REFUSED: &str = "attentive_connections_refused_total";
const READY: &str = "attentive_ready";
const DROPPED: &str = "attentive_log_lines_dropped_total";
const RELOADS: &str = "attentive_reloads_total";
const WAITING: &str = "attentive_queue_jobs";
const RUNNING: &str = "attentive_running_jobs";
const STEPS: &str = "attentive_decoding_steps_total";
const ROWS: &str = "attentive_decoding_rows_total";
const TOKENS: &str = "attentive_tokens_total";

/// The metrics of one server. Labels have few values: APIs, statuses and names of models.
pub(super) struct Metrics {
    recorder: PrometheusRecorder,
    handle: PrometheusHandle,
    log: OnceLock<Log>,
}

impl Metrics {
    pub(super) fn new() -> Self {
        let builder = PrometheusBuilder::new();
        let builder = builder
            .set_buckets(&BUCKETS)
            .expect("buckets are not empty");
        let recorder = builder.build_recorder();
        let handle = recorder.handle();
        let log = OnceLock::new();
        let metrics = Self {
            recorder,
            handle,
            log,
        };
        metrics.record(describe);
        metrics
    }

    /// Counts the lines that `log` drops.
    pub(super) fn watch(&self, log: Log) {
        // Only the first call has an effect.
        let _ = self.log.set(log);
    }

    fn record<T>(&self, what: impl FnOnce() -> T) -> T {
        metrics::with_local_recorder(&self.recorder, what)
    }

    /// Records that a response has ended, or was abandoned by its client.
    pub(super) fn ended(&self, api: Api, status: u16, took: Duration, abandoned: bool) {
        self.record(|| {
            let status = status.to_string();
            counter!(REQUESTS, "api" => api.name(), "status" => status).increment(1);
            histogram!(DURATION, "api" => api.name()).record(took.as_secs_f64());
            if abandoned {
                counter!(ABANDONED, "api" => api.name()).increment(1);
            }
        });
    }

    /// Records the first piece of a streamed text.
    pub(super) fn first_token(&self, api: Api, took: Duration) {
        self.record(|| histogram!(FIRST, "api" => api.name()).record(took.as_secs_f64()));
    }

    /// Records that a connection was opened or, with -1, closed.
    pub(super) fn connections(&self, change: f64) {
        self.record(|| gauge!(CONNECTIONS).increment(change));
    }

    /// Records that a connection was refused because there were too many.
    pub(super) fn refused_connection(&self) {
        self.record(|| counter!(REFUSED).increment(1));
    }

    /// Records a reload of the models.
    pub(super) fn reloaded(&self, well: bool) {
        let result = if well { "success" } else { "failure" };
        self.record(|| counter!(RELOADS, "result" => result).increment(1));
    }

    /// Renders all metrics in the text format of Prometheus.
    pub(super) fn render<'a>(
        &self,
        phase: &Phase,
        models: impl IntoIterator<Item = &'a Model>,
    ) -> String {
        self.record(|| {
            counter!(DROPPED).absolute(self.log.get().map_or(0, Log::dropped));
            gauge!(IN_PROGRESS).set(phase.accepted() as f64);
            gauge!(READY).set(f64::from(u8::from(phase.stage() == Stage::Serving)));
            for model in models {
                let name = || model.name().to_owned();
                let load = model.load();
                gauge!(WAITING, "model" => name()).set(load.waiting as f64);
                gauge!(RUNNING, "model" => name()).set(load.running as f64);
                counter!(STEPS, "model" => name()).absolute(load.steps);
                counter!(ROWS, "model" => name()).absolute(load.rows);
                let tokens = |side| counter!(TOKENS, "model" => name(), "side" => side);
                tokens("source").absolute(load.src_tokens);
                tokens("target").absolute(load.tgt_tokens);
            }
        });
        self.handle.render()
    }

    /// Moves recorded values into the histograms; otherwise every single value would be kept.
    pub(super) fn tidy(&self) {
        self.handle.run_upkeep();
    }
}

fn describe() {
    describe_counter!(REQUESTS, "Requests that have ended.");
    describe_histogram!(
        DURATION,
        Unit::Seconds,
        "Time from the header of a request to the end of its response."
    );
    describe_histogram!(
        FIRST,
        Unit::Seconds,
        "Time from the header of a request to the first piece of a stream."
    );
    describe_gauge!(IN_PROGRESS, "Requests in progress.");
    describe_counter!(
        ABANDONED,
        "Requests whose client closed the connection before the end of the response."
    );
    describe_gauge!(CONNECTIONS, "Open connections.");
    describe_counter!(
        REFUSED,
        "Connections that were refused because too many were open."
    );
    describe_gauge!(
        READY,
        "1 while requests are answered, 0 while models are loaded or the server stops."
    );
    describe_counter!(
        DROPPED,
        "Lines of the log that were dropped because they could not be written."
    );
    describe_counter!(RELOADS, "Times that models and keys were reloaded.");
    describe_gauge!(WAITING, "Sentences and other jobs that wait for a model.");
    describe_gauge!(RUNNING, "Sentences and other jobs that a model works on.");
    describe_counter!(STEPS, "Decoding steps.");
    describe_counter!(
        ROWS,
        "Rows (hypotheses) of all decoding steps; divided by the steps, this is the average batch size."
    );
    describe_counter!(TOKENS, "Tokens read (source) and written (target).");
}
