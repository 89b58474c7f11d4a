//! Connections.

mod linger;
mod progress;
mod reserve;
mod stall;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::response::Response;
use hyper::Request;
use hyper::body::Incoming;
use hyper::header::{CONNECTION, HeaderMap, HeaderValue, TRANSFER_ENCODING};
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use self::linger::{Lingering, Turns};
use self::progress::ConnectionProgress;
use self::reserve::Reserve;
use self::stall::Stalling;
use crate::api::Api;
use crate::http::auth::Peers;
use crate::http::visit::Peer;
use crate::problem::{Problem, ProblemKind};
use crate::state::app::SharedApp;
use crate::state::phase::Stage;
use crate::state::shares::{ClientShare, Shares};

/// The maximum number of bytes of a request's head.
const HEAD: usize = 32 << 10;

/// The time for connections to end when no request is in progress any more.
const FAREWELL: Duration = Duration::from_secs(1);

/// The time for the head of a request on a connection beyond the limit.
const HASTE: Duration = Duration::from_secs(1);

/// Answers the connections of `listener` until the server drains, and then ends them in an orderly way.
pub(super) async fn serve(app: SharedApp, router: Router, listener: TcpListener) {
    let peers = Peers::default();
    let limits = &app.config.limits;
    let places = Shares::new(limits.connections, limits.share_of_connections());
    let turns = Turns::default();
    let mut reserve = Reserve::new(limits.reserve());
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            Some(_) = connections.join_next() => continue,
            () = app.phase.reached(Stage::Ending) => break,
        };
        match accepted {
            Ok((stream, address)) => {
                let client = peers.client(address.ip());
                let place = places.of(client);
                let place = place.grow(1).ok().map(|()| place);
                let has_place = place.is_some();
                let line = Line {
                    app: Arc::clone(&app),
                    router: router.clone(),
                    peer: Peer(address.ip(), client),
                    place,
                    turns: turns.clone(),
                };
                let task = connections.spawn(line.converse(stream));
                if !has_place {
                    reserve.admit(task).await;
                }
            }
            Err(error) => {
                // No file descriptors are left, or the client has already disconnected.
                tracing::warn!(%error, "a connection could not be accepted");
                sleep(Duration::from_millis(20)).await;
            }
        }
    }
    drop(listener);
    let all = async { while connections.join_next().await.is_some() {} };
    let _ = timeout(FAREWELL, all).await;
}

/// The response to a request whose transfer is encoded in another way than in chunks, so that a proxy might
/// see another end.
fn encoded() -> Response {
    let problem = "the only `Transfer-Encoding` of a request may be `chunked`";
    let mut response = Api::Operation.refuse(&Problem::new(ProblemKind::Malformed, problem));
    let close = HeaderValue::from_static("close");
    response.headers_mut().insert(CONNECTION, close);
    response
}

/// True without an encoding of the transfer, and if it is exactly `chunked`. hyper would ignore other
/// encodings before it, and hand over what they encode.
fn is_chunked_at_most(headers: &HeaderMap) -> bool {
    let mut encodings = headers.get_all(TRANSFER_ENCODING).iter();
    let first = encodings.next();
    let is_chunked = |encoding: &HeaderValue| encoding.as_bytes().eq_ignore_ascii_case(b"chunked");
    first.is_none_or(is_chunked) && encodings.next().is_none()
}

/// The response to a request on a connection beyond the limit.
fn crowded(app: &SharedApp, api: Api) -> Response {
    app.metrics.refused_connection();
    let mut response = api.refuse(&Problem::crowded());
    api.decorate(response.headers_mut());
    response
}

/// A connection.
struct Line {
    app: SharedApp,
    router: Router,
    peer: Peer,
    /// The place among the allowed connections. A connection beyond the limit has none: it accepts one
    /// request, for monitoring only.
    place: Option<ClientShare>,
    /// Limits how many unused bodies are read.
    turns: Turns,
}

impl Line {
    /// Answers the requests of the connection.
    async fn converse(self, stream: TcpStream) {
        let limits = self.app.config.limits;
        let (has_place, peer) = (self.place.is_some(), self.peer);
        let head_timeout = if has_place { limits.head_timeout } else { limits.head_timeout.min(HASTE) };
        // Small answers should not be delayed; if the system does not support this, they may be.
        let _ = stream.set_nodelay(true);
        let _open = Open::count(&self.app);
        let (stream, progress) = (Arc::new(stream), ConnectionProgress::default());
        let stalling = Stalling::new(Arc::clone(&stream), limits.stall_timeout);
        let io = TokioIo::new(stalling);
        let requests = progress.clone();
        let inner = TowerToHyperService::new(self.router);
        let app = Arc::clone(&self.app);
        let answer = service_fn(move |request: Request<Incoming>| {
            requests.asked(request.version());
            let requests = requests.clone();
            let is_encoded = !is_chunked_at_most(request.headers());
            let api = Api::of(request.uri().path());
            let (head, body) = request.into_parts();
            let response = if is_encoded {
                Err(encoded())
            } else {
                let body = Lingering::new(&head.headers, body, self.turns.clone());
                let mut request = Request::from_parts(head, Body::new(body));
                request.extensions_mut().insert(peer);
                if has_place || api == Api::Operation {
                    Ok(inner.call(request))
                } else {
                    Err(crowded(&app, api))
                }
            };
            async move {
                let response = match response {
                    Ok(response) => response.await,
                    Err(response) => Ok::<_, Infallible>(response),
                };
                requests.answered();
                response
            }
        });
        let mut connection = std::pin::pin!(
            http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(head_timeout)
                .max_buf_size(HEAD)
                .keep_alive(has_place)
                // A client that has sent its request may close its side, and read on.
                .half_close(true)
                .serve_connection(io, answer)
        );
        let ended = tokio::select! {
            ended = &mut connection => Some(ended),
            // Or it has gone: nobody can tell before something is sent.
            () = progress.left(&stream) => return,
            () = self.app.phase.reached(Stage::Ending) => None,
        };
        let ended = match ended {
            Some(ended) => ended,
            None => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = ended {
            tracing::debug!(%error, peer = %peer.0, "a connection broke off");
        }
    }
}

/// Counts an open connection in the metrics.
struct Open<'a>(&'a SharedApp);

impl<'a> Open<'a> {
    fn count(app: &'a SharedApp) -> Self {
        app.metrics.opened_connection();
        Self(app)
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.metrics.closed_connection();
    }
}
