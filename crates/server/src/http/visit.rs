//! The path of every request through the server: it is counted, limited in time, and answered in the format
//! of its API.

use std::net::IpAddr;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use attentive_pipeline::service::Client;
use axum::body::{Body, Bytes};
use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use futures_util::FutureExt;
use hyper::Method;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use hyper::header::{CONNECTION, HeaderValue};
use tokio::time::{Instant, timeout_at};

use crate::api::Api;
use crate::http::origin;
use crate::problem::{Problem, ProblemKind};
use crate::state::app::SharedApp;
use crate::state::phase::{Accepted, Stage};
use crate::state::shares::ClientShare;

/// The address that a connection comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer(pub(crate) IpAddr, pub(crate) Client);

/// A request in progress, for its handler.
#[derive(Clone, Debug)]
pub(crate) struct Visit {
    pub(crate) api: Api,
    /// The client, if no key is needed.
    pub(crate) peer: Client,
    pub(crate) started: Instant,
    /// The time by which the response must have ended.
    pub(crate) deadline: Instant,
    /// The characters of the request, which count among those of all requests until this request is over.
    pub(crate) carried: Arc<ClientShare>,
}

impl Visit {
    /// The visit of a request that came in through [`enter`].
    pub(crate) fn of(request: &Request) -> Result<Self, Problem> {
        let visit = request.extensions().get::<Self>().cloned();
        visit.ok_or_else(|| {
            Problem::new(
                ProblemKind::Internal,
                "the request was not registered, which is an error in the server",
            )
        })
    }

    /// The problem of a request that took too long.
    pub(crate) fn late() -> Problem {
        Problem::new(ProblemKind::Timeout, "the request took longer than the server allows")
    }
}

/// Handles a request from its arrival to its response.
pub(crate) async fn enter(State(app): State<SharedApp>, mut request: Request, next: Next) -> Response {
    let api = Api::of(request.uri().path());
    let started = Instant::now();
    let peer = request.extensions().get::<Peer>().copied();
    let client = peer.map_or(Client(0), |Peer(_, client)| client);
    let visit = Visit {
        api,
        peer: client,
        started,
        deadline: started + app.config.limits.timeout,
        carried: Arc::new(app.carried.of(client)),
    };
    request.extensions_mut().insert(visit.clone());
    // Held until the response has ended, since jobs keep what was read of a body.
    let bytes = Arc::new(app.bodies.of(client));
    request.extensions_mut().insert(Arc::clone(&bytes));
    let known = app.hosts.check(&request);
    // Browsers send no key for pages of other sites.
    let known = if app.needs_key() { known } else { known.and_then(|()| origin::check(api, &request)) };
    let route = request.extensions().get::<MatchedPath>();
    let mut record = Record {
        route: route.map_or_else(String::new, |route| route.as_str().to_owned()),
        method: request.method().clone(),
        visit,
        peer,
        status: 0,
        ended: false,
        app,
        accepted: None,
        bytes,
    };
    let answered = match known.and_then(|()| record.admit()) {
        Ok(()) => AssertUnwindSafe(record.answer(request, next)).catch_unwind().await,
        Err(problem) => Ok(Err(problem)),
    };
    let panicked = || Problem::new(ProblemKind::Internal, "the server failed to answer");
    let mut response = match answered.unwrap_or_else(|_| Err(panicked())) {
        Ok(response) => response,
        Err(problem) => api.refuse(&problem),
    };
    if record.app.phase.stage() >= Stage::Draining {
        let close = HeaderValue::from_static("close");
        response.headers_mut().insert(CONNECTION, close);
    }
    api.decorate(response.headers_mut());
    record.status = response.status().as_u16();
    response.map(|body| Body::new(Tracked { body, record }))
}

/// A request for the log and the metrics; it is over when this is dropped.
struct Record {
    app: SharedApp,
    route: String,
    method: Method,
    visit: Visit,
    peer: Option<Peer>,
    /// The status; 0 before there is a response.
    status: u16,
    /// True if the client has received the whole response.
    ended: bool,
    accepted: Option<Accepted>,
    /// The bytes of its body.
    bytes: Arc<ClientShare>,
}

impl Record {
    /// Counts the request.
    ///
    /// # Errors
    /// A [`Problem`] while the server drains, or if the request needs models that are still being loaded.
    fn admit(&mut self) -> Result<(), Problem> {
        if matches!(self.visit.api, Api::Operation | Api::Console) {
            return Ok(());
        }
        self.accepted = self.app.phase.accept();
        if self.accepted.is_none() {
            return Err(Problem::stopping());
        }
        match self.app.phase.stage() {
            Stage::Loading => Err(Problem::new(ProblemKind::Unavailable, "models are being loaded")),
            _ => Ok(()),
        }
    }

    /// Returns the response of the handler, within the time limit.
    async fn answer(&self, request: Request, next: Next) -> Result<Response, Problem> {
        let response = tokio::select! {
            response = timeout_at(self.visit.deadline, next.run(request)) => response,
            () = self.app.phase.reached(Stage::Ending) => return Err(Problem::stopping()),
        };
        let mut response = response.map_err(|_| Visit::late())?;
        match response.extensions_mut().remove::<Problem>() {
            Some(problem) => Err(problem),
            None => Ok(response),
        }
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        let took = self.visit.started.elapsed();
        let abandoned = !self.ended;
        // The status that nginx logs for clients that close the connection.
        const CLOSED: u16 = 499;
        let status = if self.status == 0 { CLOSED } else { self.status };
        (self.app.metrics).ended(self.visit.api, status, took, abandoned);
        if self.visit.api == Api::Operation {
            // Not logged, since monitoring asks for these paths repeatedly.
            return;
        }
        tracing::info!(
            method = %self.method,
            route = self.route,
            status,
            seconds = took.as_secs_f64(),
            peer = self.peer.map(|Peer(address, _)| tracing::field::display(address)),
            abandoned,
            "request",
        );
    }
}

/// Keeps the client's shares until all of `data` is written: hyper drops a body as soon as it has received
/// the last part, even if the client does not read.
fn keep_shares(data: Bytes, shares: [Arc<ClientShare>; 2]) -> Bytes {
    struct Held {
        data: Bytes,
        _shares: [Arc<ClientShare>; 2],
    }
    impl AsRef<[u8]> for Held {
        fn as_ref(&self) -> &[u8] {
            &self.data
        }
    }
    Bytes::from_owner(Held { data, _shares: shares })
}

/// The body of a response, which ends the record of its request.
struct Tracked {
    body: Body,
    record: Record,
}

impl HttpBody for Tracked {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let this = self.get_mut();
        let frame = Pin::new(&mut this.body).poll_frame(context);
        if matches!(frame, Poll::Ready(None)) || this.body.is_end_stream() {
            this.record.ended = true;
        }
        let shares = [&this.record.bytes, &this.record.visit.carried];
        frame.map(|frame| {
            let frame = frame?;
            Some(frame.map(|frame| frame.map_data(|data| keep_shares(data, shares.map(Arc::clone)))))
        })
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;

    use super::*;
    use crate::config::{ServeConfig, ServedModel};
    use crate::state::app::App;
    use crate::state::shares::Shares;
    use crate::work::threading::Threading;

    /// A response to a request that has taken `shares`.
    fn response(body: &'static str, shares: [Arc<ClientShare>; 2]) -> Tracked {
        let config = ServeConfig::new(vec![ServedModel::new("none", "none")]);
        let [bytes, carried] = shares;
        let visit = Visit {
            api: Api::Own,
            peer: Client(1),
            started: Instant::now(),
            deadline: Instant::now(),
            carried,
        };
        let record = Record {
            app: App::new(config, ([127, 0, 0, 1], 0).into(), Threading::Own).unwrap(),
            route: String::new(),
            method: Method::GET,
            visit,
            peer: None,
            status: 200,
            ended: false,
            accepted: None,
            bytes,
        };
        let body = Body::from(body);
        Tracked { body, record }
    }

    #[test]
    fn a_response_counts_until_it_is_written() {
        let shares = Shares::new(10, 10);
        let share = || Arc::new(shares.of(Client(1)));
        let (bytes, carried) = (share(), share());
        bytes.grow(4).unwrap();
        carried.grow(3).unwrap();
        let mut body = response("abc", [bytes, carried]);
        let frame = body.frame().now_or_never().flatten();
        let mut data = frame.unwrap().unwrap().into_data().unwrap();
        drop(body);
        assert_eq!(data.split_to(1), "a");
        assert!(share().grow(4).is_err(), "a part is not written yet");
        assert_eq!(data, "bc");
        drop(data);
        assert!(share().grow(10).is_ok());
    }
}
