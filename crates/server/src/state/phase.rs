//! The life of a server: it loads, serves, drains and ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{Notify, watch};

/// The stage of a server's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    /// Models are being loaded.
    Loading,
    /// Requests are answered.
    Serving,
    /// Accepted requests are finished; no new ones are accepted.
    Draining,
    /// Requests that are still in progress are aborted.
    Ending,
}

/// The stage, and the requests in progress.
#[derive(Debug)]
pub(crate) struct Phase {
    stage: watch::Sender<Stage>,
    accepted: AtomicUsize,
    finished: Notify,
}

/// A request in progress.
#[derive(Debug)]
pub(crate) struct Accepted(Arc<Phase>);

impl Phase {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            stage: watch::Sender::new(Stage::Loading),
            accepted: AtomicUsize::new(0),
            finished: Notify::new(),
        })
    }

    pub(crate) fn stage(&self) -> Stage {
        *self.stage.borrow()
    }

    /// Advances to `stage`; earlier stages are never entered again.
    pub(crate) fn go_on(&self, stage: Stage) {
        self.stage.send_if_modified(|now| {
            let later = stage > *now;
            *now = stage.max(*now);
            later
        });
    }

    /// Waits for `stage` or a later one.
    pub(crate) async fn reached(&self, stage: Stage) {
        // The sender is part of `self`, so it exists while this waits.
        let _ = self.stage.subscribe().wait_for(|now| *now >= stage).await;
    }

    /// Counts a new request, unless the server drains.
    pub(crate) fn accept(self: &Arc<Self>) -> Option<Accepted> {
        // Counted first, so that a drain that begins afterwards waits for it.
        self.accepted.fetch_add(1, Ordering::SeqCst);
        let accepted = Accepted(Arc::clone(self));
        (self.stage() < Stage::Draining).then_some(accepted)
    }

    /// Number of requests in progress.
    pub(crate) fn accepted(&self) -> usize {
        self.accepted.load(Ordering::SeqCst)
    }

    /// Waits until no request is in progress.
    pub(crate) async fn idle(&self) {
        loop {
            let finished = self.finished.notified();
            if self.accepted() == 0 {
                return;
            }
            finished.await;
        }
    }
}

impl Drop for Accepted {
    fn drop(&mut self) {
        self.0.accepted.fetch_sub(1, Ordering::SeqCst);
        self.0.finished.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draining_server_accepts_nothing_and_waits() {
        let phase = Phase::new();
        let accepted = phase.accept().unwrap();
        phase.go_on(Stage::Serving);
        phase.go_on(Stage::Draining);
        phase.go_on(Stage::Serving);
        assert_eq!(phase.stage(), Stage::Draining);
        assert!(phase.accept().is_none());
        assert_eq!(phase.accepted(), 1);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            tokio::join!(phase.idle(), async { drop(accepted) });
            phase.reached(Stage::Draining).await;
        });
        assert_eq!(phase.accepted(), 0);
    }
}
