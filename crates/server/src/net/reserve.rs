//! Connections beyond the limit, so that monitoring still works on a crowded server.

use std::collections::VecDeque;

use tokio::task::{AbortHandle, yield_now};

/// The maximum number of such connections. A request that is sent at once is answered; when there are too many, the connection
/// that has waited longest is closed.
const MOST: usize = 64;

/// The connections beyond the limit, oldest first.
#[derive(Debug, Default)]
pub(super) struct Reserve(VecDeque<AbortHandle>);

impl Reserve {
    /// Admits the connection that `task` serves. Returns when there are at most [`MOST`]: an aborted task closes its connection
    /// only when it is next scheduled, and until then it uses a file descriptor.
    pub(super) async fn admit(&mut self, task: AbortHandle) {
        self.0.retain(|task| !task.is_finished());
        if self.0.len() == MOST
            && let Some(oldest) = self.0.pop_front()
        {
            oldest.abort();
            while !oldest.is_finished() {
                yield_now().await;
            }
        }
        self.0.push_back(task);
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::sync::Arc;

    use tokio::task::JoinSet;

    use super::{MOST, Reserve};

    #[tokio::test]
    async fn nobody_is_admitted_before_the_oldest_has_gone() {
        let (mut reserve, mut tasks) = (Reserve::default(), JoinSet::new());
        let file = Arc::new(());
        for _ in 0..3 * MOST {
            let held = Arc::clone(&file);
            let task = tasks.spawn(async move {
                let _held = held;
                pending::<()>().await;
            });
            reserve.admit(task).await;
            assert!(Arc::strong_count(&file) <= MOST + 1);
        }
    }
}
