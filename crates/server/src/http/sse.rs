//! Streams of server-sent events.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::Duration;

use attentive_pipeline::service::JobEvent;
use axum::body::{Body, Bytes};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE};
use serde::Serialize;
use tokio::time::{sleep, sleep_until, timeout_at};

use crate::http::visit::Visit;
use crate::problem::Problem;
use crate::state::app::SharedApp;
use crate::state::phase::Stage;
use crate::work::answers::{Answers, lost};

/// The interval at which comments are sent while there is nothing else, so that dead connections are noticed.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// An event with a name.
pub(crate) fn named(name: &str, data: &impl Serialize) -> Bytes {
    let data = serde_json::to_string(data).unwrap_or_default();
    Bytes::from(format!("event: {name}\ndata: {data}\n\n"))
}

/// An event without a name.
pub(crate) fn unnamed(data: &impl Serialize) -> Bytes {
    let data = serde_json::to_string(data).unwrap_or_default();
    Bytes::from(format!("data: {data}\n\n"))
}

/// Turns the events of a request to a model into the events of a stream.
pub(crate) trait EventEncoder<T>: Send + 'static {
    /// Returns the events that are sent first.
    fn begin(&mut self) -> Vec<Bytes> {
        Vec::new()
    }

    /// Returns the events for a text of job `number`.
    fn text(&mut self, number: usize, text: String) -> Vec<Bytes>;

    /// Returns the events for the result of job `number`.
    ///
    /// # Errors
    /// A [`Problem`], which ends the stream.
    fn result(
        &mut self,
        number: usize,
        result: T,
    ) -> impl Future<Output = Result<Vec<Bytes>, Problem>> + Send;

    /// Returns the events that are sent at the end, when all jobs are done.
    fn end(&mut self) -> Vec<Bytes>;

    /// Returns the events that are sent last if there is a problem.
    fn problem(&mut self, problem: &Problem) -> Vec<Bytes>;
}

/// A stream in progress.
struct Stream<T, S> {
    app: SharedApp,
    visit: Visit,
    answers: Answers<T>,
    /// The number of jobs that are not done.
    missing: usize,
    encoder: S,
    ready: VecDeque<Bytes>,
    /// True once a text has arrived.
    begun: bool,
    over: bool,
}

impl<T: Send + 'static, S: EventEncoder<T>> Stream<T, S> {
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(chunk) = self.ready.pop_front() {
                return Some(chunk);
            }
            if self.over {
                return None;
            }
            let more = self.more().await.unwrap_or_else(|problem| {
                self.over = true;
                self.encoder.problem(&problem)
            });
            self.ready.extend(more);
        }
    }

    /// The bytes for the next event.
    async fn more(&mut self) -> Result<Vec<Bytes>, Problem> {
        if self.missing == 0 {
            self.over = true;
            return Ok(self.encoder.end());
        }
        let event = tokio::select! {
            event = self.answers.next() => event.ok_or_else(lost)?,
            () = sleep_until(self.visit.deadline) => return Err(Visit::late()),
            () = self.app.phase.reached(Stage::Ending) => return Err(Problem::stopping()),
            () = sleep(HEARTBEAT) => return Ok(vec![Bytes::from_static(b":\n\n")]),
        };
        if !self.begun {
            self.begun = true;
            let Visit { api, started, .. } = self.visit;
            self.app.metrics.first_token(api, started.elapsed());
        }
        match event {
            (number, JobEvent::Text(text)) => Ok(self.encoder.text(number, text)),
            (number, JobEvent::Done(result)) => {
                self.missing -= 1;
                let result = result.map_err(|error| Problem::failed(&error))?;
                let events = self.encoder.result(number, result);
                timeout_at(self.visit.deadline, events).await.map_err(|_| Visit::late())?
            }
        }
    }
}

/// The response that streams the `answers` of `jobs` jobs as events of `encoder`. When the client stops
/// reading, the response is dropped, and the request with it.
pub(crate) fn response<T: Send + 'static, S: EventEncoder<T>>(
    app: SharedApp,
    visit: Visit,
    answers: Answers<T>,
    jobs: usize,
    mut encoder: S,
) -> Response {
    let stream = Stream {
        app,
        visit,
        answers,
        missing: jobs,
        ready: encoder.begin().into(),
        encoder,
        begun: false,
        over: false,
    };
    let chunks = stream::unfold(stream, |mut stream| async move {
        let chunk = stream.next().await?;
        Some((Ok::<_, Infallible>(chunk), stream))
    });
    let headers = [
        (CONTENT_TYPE.as_str(), "text/event-stream; charset=utf-8"),
        (CACHE_CONTROL.as_str(), "no-store"),
        // Otherwise nginx would buffer the events.
        ("x-accel-buffering", "no"),
    ];
    (headers, Body::from_stream(chunks)).into_response()
}
