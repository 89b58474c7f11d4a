//! Connections beyond the limit, so that monitoring still works on a crowded server.

use std::collections::VecDeque;

use tokio::task::{AbortHandle, yield_now};

/// The connections beyond the limit, oldest first. A request that is sent at once is answered; when there are
/// too many, the connection that has waited longest is closed.
#[derive(Debug)]
pub(super) struct Reserve {
    tasks: VecDeque<AbortHandle>,
    most: usize,
}

impl Reserve {
    /// Room for `most` connections, of which there is at least one.
    pub(super) fn new(most: usize) -> Self {
        Self { tasks: VecDeque::new(), most: most.max(1) }
    }

    /// Admits the connection that `task` serves. Returns when there is room for it: an aborted task closes
    /// its connection only when it is next scheduled, and until then it uses a file descriptor.
    pub(super) async fn admit(&mut self, task: AbortHandle) {
        self.tasks.retain(|task| !task.is_finished());
        if self.tasks.len() == self.most
            && let Some(oldest) = self.tasks.pop_front()
        {
            oldest.abort();
            while !oldest.is_finished() {
                yield_now().await;
            }
        }
        self.tasks.push_back(task);
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::sync::Arc;

    use tokio::task::JoinSet;

    use super::Reserve;

    const MAX_TASKS: usize = 64;

    #[tokio::test]
    async fn nobody_is_admitted_before_the_oldest_has_gone() {
        let (mut reserve, mut tasks) = (Reserve::new(MAX_TASKS), JoinSet::new());
        let file = Arc::new(());
        for _ in 0..3 * MAX_TASKS {
            let held = Arc::clone(&file);
            let task = tasks.spawn(async move {
                let _held = held;
                pending::<()>().await;
            });
            reserve.admit(task).await;
            assert!(Arc::strong_count(&file) <= MAX_TASKS + 1);
        }
    }
}
