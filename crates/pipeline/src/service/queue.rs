//! The queue of jobs.

#[cfg(test)]
mod tests;

use std::future::poll_fn;
use std::ops::ControlFlow;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use super::fair_queue::{FairQueue, Queued};
use super::job::{Job, Work};
use super::{Admission, Client, Refused, ServiceLimits};

/// The jobs that wait for the workers of a service.
#[derive(Debug)]
pub(super) struct Queue {
    limits: ServiceLimits,
    /// True if workers wait for jobs on threads of their own.
    blocks: bool,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    jobs: FairQueue<Job>,
    closed: bool,
    /// The number of rows of each worker; `None` while it does other work.
    rows: Vec<Option<usize>>,
    /// Wakes the task that waits for jobs.
    waker: Option<Waker>,
}

impl Queued for Job {
    fn cost(&self) -> u64 {
        self.cost.total()
    }

    fn size(&self) -> usize {
        self.cost.rows
    }

    fn is_canceled(&self) -> bool {
        self.canceled.get()
    }
}

impl Queue {
    /// An empty queue for the workers of `limits`. If it does not block, a worker without rows gets no job
    /// where it would wait for one.
    pub(super) fn new(limits: ServiceLimits, blocks: bool) -> Self {
        Self {
            limits,
            blocks,
            state: Mutex::new(State { rows: vec![Some(0); limits.workers], ..State::default() }),
            changed: Condvar::new(),
        }
    }

    /// Adds all of `jobs`, or none.
    pub(super) fn add(&self, client: Client, admission: Admission, jobs: Vec<Job>) -> Result<(), Refused> {
        let mut state = self.lock();
        if state.closed {
            return Err(Refused::Closed);
        }
        if admission == Admission::New {
            state.make_room(client, jobs.len(), &self.limits)?;
        }
        state.jobs.add(client, admission, jobs);
        self.tell(state);
        Ok(())
    }

    /// Takes the next job for a worker that has `rows` rows, with its client, which is to be
    /// [released](Self::release) later. A worker without rows waits for a job. A worker with rows gets none
    /// that workers with fewer rows can take, and a full one gets jobs only of a client that is crowded out
    /// by another. Breaks once the queue is closed and empty.
    pub(super) fn take(&self, worker: usize, rows: usize) -> ControlFlow<(), Option<(Client, Job)>> {
        let mut state = self.lock();
        state.rows[worker] = Some(rows);
        while rows == 0 && state.jobs.waiting() == 0 {
            if state.closed {
                return ControlFlow::Break(());
            }
            if !self.blocks {
                return ControlFlow::Continue(None);
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if rows >= state.share() {
            return ControlFlow::Continue(None);
        }
        let batch = self.limits.batch;
        let next = if rows < batch {
            state.jobs.next(|_| true)
        } else if rows < 2 * batch {
            state.crowded_out(batch)
        } else {
            None
        };
        let Some((client, job)) = next else {
            return ControlFlow::Continue(None);
        };
        if matches!(job.work, Work::Compute { .. }) {
            state.rows[worker] = None;
        }
        ControlFlow::Continue(Some((client, job)))
    }

    /// Waits until there is a job or the queue is closed, without blocking the thread. Only one task may wait.
    pub(super) async fn filled(&self) {
        poll_fn(|context| {
            let mut state = self.lock();
            if state.closed || state.jobs.waiting() > 0 {
                return Poll::Ready(());
            }
            state.waker = Some(context.waker().clone());
            Poll::Pending
        })
        .await;
    }

    /// Records that a job of `client` with `rows` rows is finished.
    pub(super) fn release(&self, client: Client, rows: usize) {
        self.lock().jobs.release(client, rows);
    }

    /// The number of jobs.
    pub(super) fn waiting(&self) -> usize {
        self.lock().jobs.waiting()
    }

    /// Refuses further jobs.
    pub(super) fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        self.tell(state);
    }

    /// Wakes those who wait for a change.
    fn tell(&self, mut state: MutexGuard<'_, State>) {
        let waker = state.waker.take();
        drop(state);
        self.changed.notify_all();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Makes room for `jobs` more jobs of `client`.
    fn make_room(&mut self, client: Client, jobs: usize, limits: &ServiceLimits) -> Result<(), Refused> {
        if self.room(client, jobs, limits).is_err() {
            self.jobs.forget_canceled();
        }
        self.room(client, jobs, limits)
    }

    /// Refuses `jobs` more jobs of `client` if there is no room for them.
    fn room(&self, client: Client, jobs: usize, limits: &ServiceLimits) -> Result<(), Refused> {
        let waiting = self.jobs.waiting();
        if waiting + jobs > limits.queue {
            return Err(Refused::Full { waiting, jobs });
        }
        let waiting = self.jobs.waiting_of(client);
        if waiting + jobs > limits.per_client { Err(Refused::Crowding { waiting, jobs }) } else { Ok(()) }
    }

    /// The number of rows per worker if the current rows and the waiting jobs were divided equally among all
    /// workers that decode.
    fn share(&self) -> usize {
        let decoding = || self.rows.iter().flatten();
        let rows = decoding().sum::<usize>() + self.jobs.waiting_size();
        rows.div_ceil(decoding().count().max(1))
    }

    /// The next job of the first client in turn with less than its share of the rows, if another one has more
    /// than twice its share.
    fn crowded_out(&mut self, batch: usize) -> Option<(Client, Job)> {
        let share = (batch * self.rows.len()).div_ceil(self.jobs.in_use().count().max(1));
        let is_crowded = self.jobs.in_use().any(|rows| rows > 2 * share);
        is_crowded.then(|| self.jobs.next(|rows| rows < share))?
    }
}
