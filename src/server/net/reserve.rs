//! Connections beyond those that are allowed, so that operators reach a crowded server.

use std::collections::VecDeque;

use tokio::task::AbortHandle;

/// The most connections of this kind. Whoever asks at once is answered; the one that has waited longest makes room.
const MOST: usize = 64;

/// The connections beyond those that are allowed, oldest first.
#[derive(Debug, Default)]
pub(super) struct Reserve(VecDeque<AbortHandle>);

impl Reserve {
    /// Admits the connection that `task` answers.
    pub(super) fn admit(&mut self, task: AbortHandle) {
        self.0.retain(|task| !task.is_finished());
        if self.0.len() == MOST
            && let Some(oldest) = self.0.pop_front()
        {
            oldest.abort();
        }
        self.0.push_back(task);
    }
}
