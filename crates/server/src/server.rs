//! The server that listens on an address.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::mpsc as sync;
use std::thread;
use std::time::Duration;

use attentive_base::error::{Error, Result};
use tokio::runtime::{self, Runtime};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::timeout;

use crate::config::ServeConfig;
use crate::log::Log;
use crate::net;
use crate::router::router;
use crate::state::app::{App, SharedApp};
use crate::state::phase::Stage;
use crate::work::thread_pool::FairThreadPool;
use crate::work::threading::Threading;

/// The number of connections that may wait to be accepted, if the system allows as many.
const BACKLOG: i32 = 4096;

/// The number of threads that read and write; models compute on their own threads.
const THREADS: usize = 2;

/// The number of threads that read large bodies of requests, in addition to those of the [`FairThreadPool`].
const PARSERS: usize = 2;

/// A server that is bound to its address.
pub struct Server {
    app: SharedApp,
    listener: TcpListener,
    runtime: Runtime,
    control: Control,
    commands: UnboundedReceiver<Command>,
}

/// Controls a server from other threads.
#[derive(Clone, Debug)]
pub struct Control(UnboundedSender<Command>);

/// A command to a server.
#[derive(Debug)]
enum Command {
    Stop,
    Reload,
    /// All models are loaded for the first time, or loading failed.
    Loaded(Result<()>),
}

impl Control {
    /// Finishes accepted requests and stops the server.
    pub fn stop(&self) {
        self.tell(Command::Stop);
    }

    /// Reloads keys and models. New keys count at once; requests go on with the old models until the new ones
    /// are loaded. If any of them cannot be loaded, the old ones stay, and the reason is written to the log.
    pub fn reload(&self) {
        self.tell(Command::Reload);
    }

    /// Sends a command; if the server is gone, there is nothing to do.
    fn tell(&self, command: Command) {
        let _ = self.0.send(command);
    }
}

impl Server {
    /// Binds the address of `config`. Clients can connect from then on; they are answered once
    /// [`Server::run`] is called.
    ///
    /// # Errors
    /// [`Error::Usage`] for an invalid configuration, [`Error::Io`] if the address cannot be bound.
    pub fn bind(config: ServeConfig) -> Result<Self> {
        config.check()?;
        let listener = TcpListener::bind(&config.listen).map_err(|error| {
            let hint = match error.kind() {
                io::ErrorKind::AddrInUse => {
                    "another program listens there: use another port, or port 0 for a free one"
                }
                _ => "give an address and a port, as in `127.0.0.1:8080`",
            };
            Error::usage(format!("cannot listen on `{}`: {error}", config.listen), hint)
        })?;
        // The standard library allows 128 waiting connections. In a larger burst, some clients would have to
        // try again after a second.
        if let Err(error) = rustix::net::listen(&listener, BACKLOG) {
            tracing::warn!(%error, "the queue of new connections could not be enlarged");
        }
        Self::on(listener, config)
    }

    /// Creates a server on a socket that is already bound, for example by systemd.
    ///
    /// # Errors
    /// The errors of [`Server::bind`].
    pub fn on(listener: TcpListener, config: ServeConfig) -> Result<Self> {
        let failed = |action| Error::io(action, "the server");
        listener.set_nonblocking(true).map_err(failed("set up"))?;
        let runtime = runtime::Builder::new_multi_thread()
            .worker_threads(THREADS)
            .thread_name("server")
            .max_blocking_threads(FairThreadPool::default_permits() + PARSERS)
            .enable_io()
            .enable_time()
            .build()
            .map_err(failed("start"))?;
        let (sender, commands) = unbounded_channel();
        let address = listener.local_addr().map_err(failed("set up"))?;
        Ok(Self {
            app: App::new(config, address, Threading::Own)?,
            listener,
            runtime,
            control: Control(sender),
            commands,
        })
    }

    /// Returns the address that the server listens on.
    ///
    /// # Errors
    /// [`Error::Io`] if the system cannot tell.
    pub fn address(&self) -> Result<SocketAddr> {
        let address = self.listener.local_addr();
        address.map_err(Error::io("find the address of", "the server"))
    }

    /// Returns a control for this server.
    pub fn control(&self) -> Control {
        self.control.clone()
    }

    /// Adds the number of lines that `log` drops to the metrics.
    pub fn count_lines_of(&self, log: &Log) {
        self.app.metrics.watch(log.clone());
    }

    /// Loads the models and answers requests until the server is told to stop.
    ///
    /// # Errors
    /// The errors of the first model that cannot be loaded; [`Error::Io`] if the system fails.
    pub fn run(self) -> Result<()> {
        let Self { app, listener, runtime, control, mut commands } = self;
        let (orders, ordered) = sync::channel();
        let (loading, loaded) = (Arc::clone(&app), control.clone());
        let loader = thread::Builder::new().name("loader".to_owned());
        loader
            .spawn(move || load(&loading, &loaded, &ordered))
            .map_err(Error::io("start a thread of", "the server"))?;
        let result = runtime.block_on(async {
            let listener =
                tokio::net::TcpListener::from_std(listener).map_err(Error::io("set up", "the server"))?;
            let mut net = tokio::spawn(net::serve(Arc::clone(&app), router(&app), listener));
            let result = tokio::select! {
                result = obey(&app, &mut commands, &orders) => result,
                // Only a panic ends it before the stage that ends it.
                _ = &mut net => return Err(failed_inside("accepting connections")),
            };
            // Requests that are still in progress are aborted now.
            app.phase.go_on(Stage::Ending);
            let _ = net.await;
            result
        });
        // Ends the loader. A model that is still being loaded is not waited for.
        drop(orders);
        runtime.shutdown_timeout(Duration::from_millis(100));
        result
    }
}

/// Obeys commands until the server has stopped.
async fn obey(
    app: &SharedApp,
    commands: &mut UnboundedReceiver<Command>,
    orders: &sync::Sender<()>,
) -> Result<()> {
    loop {
        match commands.recv().await {
            Some(Command::Loaded(result)) => {
                result?;
                app.phase.go_on(Stage::Serving);
                tracing::info!("ready");
            }
            Some(Command::Reload) => {
                // The loader is gone only if it has failed, which is reported separately.
                let _ = orders.send(());
            }
            Some(Command::Stop) | None => {
                tracing::info!(in_progress = app.phase.accepted(), "draining");
                app.phase.go_on(Stage::Draining);
                let patience = app.config.limits.drain_timeout;
                if timeout(patience, app.phase.idle()).await.is_err() {
                    let cut = app.phase.accepted();
                    tracing::warn!(cut, "requests were cut off");
                }
                return Ok(());
            }
        }
    }
}

/// Does `work` on a thread that must go on: a panic, which the panic hook reports, becomes an error.
///
/// # Errors
/// Those of `work`, and [`Error::Data`] if it panics in `doing` it.
fn survived<T>(doing: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let done = panic::catch_unwind(AssertUnwindSafe(work));
    done.unwrap_or_else(|_| Err(failed_inside(doing)))
}

/// The error of a mistake in the program.
fn failed_inside(doing: &str) -> Error {
    Error::data(
        format!("{doing} failed because of a mistake in the program"),
        "the log has the place: please report it",
    )
}

/// Loads the models, and reloads them on each order.
fn load(app: &App, control: &Control, orders: &sync::Receiver<()>) {
    let result = survived("loading the models", || app.load_models());
    let well = result.is_ok();
    control.tell(Command::Loaded(result));
    if !well {
        return;
    }
    while orders.recv().is_ok() {
        // Several waiting orders count as one.
        while orders.try_recv().is_ok() {}
        tracing::info!("reloading");
        let result = survived("reloading", || app.reload());
        app.metrics.reloaded(result.is_ok());
        match result {
            Ok(()) => tracing::info!("reloaded"),
            Err(error) => {
                tracing::error!(%error, "reloading failed; the models stay as they were, and so do the keys \
                                         if they are the reason")
            }
        }
    }
}
