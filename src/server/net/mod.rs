//! Connections.

mod framing;
mod stall;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::response::Response;
use hyper::body::Incoming;
use hyper::header::{CONNECTION, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use self::framing::Heads;
use self::stall::Stalling;
use super::api::Api;
use super::app::Shared;
use super::auth::Peers;
use super::phase::Stage;
use super::problem::{Kind, Problem};
use super::visit::Peer;

/// Bytes of a request's head.
const HEAD: usize = 32 << 10;

/// The answer to a connection that is one too many.
const CROWDED: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\nContent-Type: text/plain\r\n\
    Content-Length: 21\r\n\r\ntoo many connections\n";

/// Time for connections to end when nothing is in progress any more.
const FAREWELL: Duration = Duration::from_secs(1);

/// Answers the connections of `listener` until the server drains, and then ends them in an orderly way.
pub(super) async fn serve(app: Shared, router: Router, listener: TcpListener) {
    let peers = Arc::new(Peers::default());
    let places = Arc::new(Semaphore::new(app.config.limits.connections));
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            Some(_) = connections.join_next() => continue,
            () = app.phase.reached(Stage::Ending) => break,
        };
        match accepted {
            Ok((stream, address)) => match Arc::clone(&places).try_acquire_owned() {
                Ok(place) => {
                    let peer = Peer(address.ip(), peers.client(address.ip()));
                    let (app, router) = (Arc::clone(&app), router.clone());
                    connections.spawn(converse(app, router, stream, peer, place));
                }
                Err(_) => {
                    app.metrics.refused_connection();
                    tokio::spawn(timeout(FAREWELL, turn_away(stream)));
                }
            },
            Err(error) => {
                // Out of file descriptors, or the client has gone already.
                tracing::warn!(%error, "a connection could not be accepted");
                sleep(Duration::from_millis(20)).await;
            }
        }
    }
    drop(listener);
    let all = async { while connections.join_next().await.is_some() {} };
    let _ = timeout(FAREWELL, all).await;
}

/// The response to a request whose length has two meanings, of which a proxy might take the other.
fn ambiguous() -> Response {
    let problem = "a request has either `Content-Length` or `Transfer-Encoding`, not both, and chunks are as RFC 9112 says";
    let mut response = Api::Operation.refuse(&Problem::new(Kind::Malformed, problem));
    let close = HeaderValue::from_static("close");
    response.headers_mut().insert(CONNECTION, close);
    response
}

/// Says that there is no room. The few bytes fit into the buffer of a new connection, so this does not wait.
async fn turn_away(stream: TcpStream) {
    if stream.writable().await.is_ok() {
        let _ = stream.try_write(CROWDED);
    }
}

/// Answers the requests of a connection.
async fn converse(
    app: Shared,
    router: Router,
    stream: TcpStream,
    peer: Peer,
    place: OwnedSemaphorePermit,
) {
    let limits = app.config.limits;
    // Small answers should not wait; where the system cannot do that, they do.
    let _ = stream.set_nodelay(true);
    app.metrics.connections(1.0);
    let heads = Heads::default();
    let io = TokioIo::new(Stalling::new(stream, limits.stall_timeout, heads.clone()));
    let inner = TowerToHyperService::new(router);
    let answer = service_fn(move |mut request: hyper::Request<Incoming>| {
        let is_clear = heads.is_clear(&request);
        request.extensions_mut().insert(peer);
        let response = is_clear.then(|| inner.call(request.map(Body::new)));
        async move {
            match response {
                Some(response) => response.await,
                None => Ok::<_, Infallible>(ambiguous()),
            }
        }
    });
    let mut connection = std::pin::pin!(
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(limits.head_timeout)
            .max_buf_size(HEAD)
            .serve_connection(io, answer)
    );
    let ended = tokio::select! {
        ended = &mut connection => Some(ended),
        () = app.phase.reached(Stage::Ending) => None,
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
    app.metrics.connections(-1.0);
    drop(place);
}
