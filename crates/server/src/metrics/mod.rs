//! Metrics of a server, for Prometheus.

mod exposition;

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use attentive_pipeline::service::Load;

use self::exposition::{Exposition, Histogram, MetricKind, Samples};
use crate::api::Api;
use crate::log::Log;
use crate::state::models::ModelInstance;
use crate::state::phase::{Phase, Stage};

/// The metrics of one server. Labels have few values: APIs, statuses and names of models.
#[derive(Default)]
pub(super) struct Metrics {
    counts: Mutex<Counts>,
    log: OnceLock<Log>,
}

/// What has been counted since the start.
#[derive(Default)]
struct Counts {
    requests: BTreeMap<(Api, u16), u64>,
    durations: BTreeMap<Api, Histogram>,
    first_tokens: BTreeMap<Api, Histogram>,
    abandoned: BTreeMap<Api, u64>,
    /// The connections that are open now.
    connections: u64,
    refused_connections: u64,
    reloads: u64,
    failed_reloads: u64,
}

impl Metrics {
    /// Counts the lines that `log` drops.
    pub(super) fn watch(&self, log: Log) {
        // Only the first call has an effect.
        let _ = self.log.set(log);
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records that a response has ended, or was abandoned by its client.
    pub(super) fn ended(&self, api: Api, status: u16, took: Duration, abandoned: bool) {
        let mut counts = self.counts();
        *counts.requests.entry((api, status)).or_default() += 1;
        counts.durations.entry(api).or_default().record(took);
        if abandoned {
            *counts.abandoned.entry(api).or_default() += 1;
        }
    }

    /// Records the first piece of a streamed text.
    pub(super) fn first_token(&self, api: Api, took: Duration) {
        let mut counts = self.counts();
        counts.first_tokens.entry(api).or_default().record(took);
    }

    /// Records that a connection was opened.
    pub(super) fn opened_connection(&self) {
        self.counts().connections += 1;
    }

    /// Records that a connection was closed.
    pub(super) fn closed_connection(&self) {
        self.counts().connections -= 1;
    }

    /// Records that a connection was refused because there were too many.
    pub(super) fn refused_connection(&self) {
        self.counts().refused_connections += 1;
    }

    /// Records a reload of the models.
    pub(super) fn reloaded(&self, well: bool) {
        let mut counts = self.counts();
        if well { counts.reloads += 1 } else { counts.failed_reloads += 1 }
    }

    /// Renders all metrics in the text format of Prometheus.
    pub(super) fn render<'a>(
        &self,
        phase: &Phase,
        models: impl IntoIterator<Item = &'a ModelInstance>,
    ) -> String {
        let mut text = Exposition::default();
        let ready = phase.stage() == Stage::Serving;
        text.single(
            MetricKind::Gauge,
            "attentive_ready",
            "1 while requests are answered, 0 while models are loaded or the server stops.",
            ready.into(),
        );
        text.single(
            MetricKind::Gauge,
            "attentive_requests_in_progress",
            "Requests in progress.",
            phase.accepted() as u64,
        );
        text.single(
            MetricKind::Counter,
            "attentive_log_lines_dropped_total",
            "Lines of the log that were dropped because they could not be written.",
            self.log.get().map_or(0, Log::dropped),
        );
        self.counts().render(&mut text);
        render_models(models, &mut text);
        text.into_text()
    }
}

impl Counts {
    fn render(&self, text: &mut Exposition) {
        let mut requests =
            text.metric(MetricKind::Counter, "attentive_requests_total", "Requests that have ended.");
        for ((api, status), &count) in &self.requests {
            let status = status.to_string();
            requests.add(&[("api", api.name()), ("status", &status)], count);
        }
        let mut abandoned = text.metric(
            MetricKind::Counter,
            "attentive_requests_abandoned_total",
            "Requests whose client closed the connection before the end of the response.",
        );
        for (api, &count) in &self.abandoned {
            abandoned.add(&[("api", api.name())], count);
        }
        render_histograms(
            &self.durations,
            text.metric(
                MetricKind::Histogram,
                "attentive_request_duration_seconds",
                "Time from the header of a request to the end of its response.",
            ),
        );
        render_histograms(
            &self.first_tokens,
            text.metric(
                MetricKind::Histogram,
                "attentive_time_to_first_token_seconds",
                "Time from the header of a request to the first piece of a stream.",
            ),
        );
        text.single(MetricKind::Gauge, "attentive_connections", "Open connections.", self.connections);
        text.single(
            MetricKind::Counter,
            "attentive_connections_refused_total",
            "Connections that were refused because too many were open.",
            self.refused_connections,
        );
        let mut reloads = text.metric(
            MetricKind::Counter,
            "attentive_reloads_total",
            "Times that models and keys were reloaded.",
        );
        reloads.add(&[("result", "success")], self.reloads);
        reloads.add(&[("result", "failure")], self.failed_reloads);
    }
}

fn render_histograms(of: &BTreeMap<Api, Histogram>, mut samples: Samples<'_>) {
    for (api, histogram) in of {
        samples.add_histogram(&[("api", api.name())], histogram);
    }
}

fn render_models<'a>(models: impl IntoIterator<Item = &'a ModelInstance>, text: &mut Exposition) {
    let models = models.into_iter().map(|model| (model.name(), model.load()));
    let loads: Vec<_> = models.collect();
    let mut render = |kind, name, help, value: fn(&Load) -> u64| {
        let mut samples = text.metric(kind, name, help);
        for (model, load) in &loads {
            samples.add(&[("model", model)], value(load));
        }
    };
    render(
        MetricKind::Gauge,
        "attentive_queue_jobs",
        "Sentences and other jobs that wait for a model.",
        |load| load.waiting as u64,
    );
    render(
        MetricKind::Gauge,
        "attentive_running_jobs",
        "Sentences and other jobs that a model works on.",
        |load| load.running as u64,
    );
    render(MetricKind::Counter, "attentive_decoding_steps_total", "Decoding steps.", |load| load.steps);
    render(
        MetricKind::Counter,
        "attentive_decoding_rows_total",
        "Rows (hypotheses) of all decoding steps; divided by the steps, this is the average batch size.",
        |load| load.rows,
    );
    let mut tokens = text.metric(
        MetricKind::Counter,
        "attentive_tokens_total",
        "Tokens read (source) and written (target).",
    );
    for (model, load) in &loads {
        tokens.add(&[("model", model), ("side", "source")], load.src_tokens);
        tokens.add(&[("model", model), ("side", "target")], load.tgt_tokens);
    }
}
