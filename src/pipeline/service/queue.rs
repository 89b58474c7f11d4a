//! The jobs that wait.

use std::collections::{HashMap, VecDeque};
use std::ops::ControlFlow;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::job::{Job, Work};
use super::{Client, Refused};

/// The jobs that wait. Clients take turns, job by job.
#[derive(Debug)]
pub(super) struct Queue {
    capacity: usize,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// The jobs of each client that has any.
    jobs: HashMap<Client, VecDeque<Job>>,
    /// The clients that have jobs, in the order of their turns.
    turns: VecDeque<Client>,
    waiting: usize,
    closed: bool,
    /// The number of rows that each worker has; `None` while it does other work.
    rows: Vec<Option<usize>>,
}

impl Queue {
    /// An empty queue of at most `capacity` jobs for so many workers.
    pub(super) fn new(capacity: usize, workers: usize) -> Self {
        Self {
            capacity,
            state: Mutex::new(State {
                rows: vec![Some(0); workers],
                ..State::default()
            }),
            changed: Condvar::new(),
        }
    }

    /// Adds all of `jobs`, or none.
    pub(super) fn add(&self, client: Client, jobs: Vec<Job>) -> Result<(), Refused> {
        let mut state = self.lock();
        if state.closed {
            return Err(Refused::Closed);
        }
        if state.waiting + jobs.len() > self.capacity {
            state.forget_cancelled();
        }
        if state.waiting + jobs.len() > self.capacity {
            return Err(Refused::Full {
                waiting: state.waiting,
                jobs: jobs.len(),
            });
        }
        state.add(client, jobs);
        self.changed.notify_all();
        Ok(())
    }

    /// The next job of a worker that has so many rows. A worker without rows waits for a job; one with rows gets none that
    /// workers with fewer rows can take. Breaks once the queue is closed and empty.
    pub(super) fn take(&self, worker: usize, rows: usize) -> ControlFlow<(), Option<Job>> {
        let mut state = self.lock();
        state.rows[worker] = Some(rows);
        while rows == 0 && state.waiting == 0 {
            if state.closed {
                return ControlFlow::Break(());
            }
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        if rows >= state.share() {
            return ControlFlow::Continue(None);
        }
        let Some(job) = state.next() else {
            return ControlFlow::Continue(None);
        };
        if matches!(job.work, Work::Compute(_)) {
            state.rows[worker] = None;
        }
        ControlFlow::Continue(Some(job))
    }

    /// The number of jobs.
    pub(super) fn waiting(&self) -> usize {
        self.lock().waiting
    }

    /// Refuses further jobs.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn add(&mut self, client: Client, jobs: Vec<Job>) {
        if jobs.is_empty() {
            return;
        }
        self.waiting += jobs.len();
        let of_client = self.jobs.entry(client).or_default();
        if of_client.is_empty() {
            self.turns.push_back(client);
        }
        of_client.extend(jobs);
    }

    /// The number of rows at which all workers that decode have the same number, with a row for each job that waits.
    fn share(&self) -> usize {
        let decoding = || self.rows.iter().flatten();
        let rows = decoding().sum::<usize>() + self.waiting;
        rows.div_ceil(decoding().count())
    }

    /// The next job of the client whose turn it is.
    fn next(&mut self) -> Option<Job> {
        let client = self.turns.pop_front()?;
        let jobs = self.jobs.get_mut(&client)?;
        let job = jobs.pop_front()?;
        match jobs.is_empty() {
            true => drop(self.jobs.remove(&client)),
            false => self.turns.push_back(client),
        }
        self.waiting -= 1;
        Some(job)
    }

    /// Drops the jobs that nobody waits for any more.
    fn forget_cancelled(&mut self) {
        self.jobs.retain(|_, jobs| {
            jobs.retain(|job| !job.cancelled.get());
            !jobs.is_empty()
        });
        self.turns.retain(|client| self.jobs.contains_key(client));
        self.waiting = self.jobs.values().map(VecDeque::len).sum();
    }
}

#[cfg(test)]
mod tests {
    use super::super::job::Ticket;
    use super::*;
    use crate::pipeline::Pipeline;

    /// `count` jobs, and the ticket that they have in common.
    fn jobs(count: usize) -> (Ticket, Vec<Job>) {
        let ticket = Ticket::new();
        let job = |_| Job {
            cancelled: ticket.cancelled(),
            work: Work::Compute(Box::new(|_: &Pipeline| ())),
        };
        let jobs = (0..count).map(job).collect();
        (ticket, jobs)
    }

    /// What a worker with so many rows takes.
    fn take(queue: &Queue, worker: usize, rows: usize) -> Option<Job> {
        match queue.take(worker, rows) {
            ControlFlow::Continue(job) => job,
            ControlFlow::Break(()) => panic!("the queue is open, or not yet empty"),
        }
    }

    #[test]
    fn clients_take_turns() {
        let queue = Queue::new(100, 1);
        let tickets: Vec<Ticket> = [(1, 5), (2, 1), (3, 2)]
            .into_iter()
            .map(|(client, count)| {
                let (ticket, jobs) = jobs(count);
                queue.add(Client(client), jobs).unwrap();
                ticket
            })
            .collect();
        let mut order = Vec::new();
        while queue.waiting() > 0 {
            let job = take(&queue, 0, 0).unwrap();
            // The ticket by which the job is known.
            let is_of = |ticket: &Ticket| ticket.cancelled().is_of(&job.cancelled);
            order.push(1 + tickets.iter().position(is_of).unwrap());
        }
        assert_eq!(order, [1, 2, 3, 1, 3, 1, 1, 1]);
    }

    #[test]
    fn a_request_is_added_as_a_whole_or_not_at_all() {
        let queue = Queue::new(5, 1);
        let (first, three) = jobs(3);
        queue.add(Client(1), three).unwrap();
        let (_second, more) = jobs(3);
        assert!(matches!(
            queue.add(Client(2), more),
            Err(Refused::Full {
                waiting: 3,
                jobs: 3
            })
        ));
        // Cancelled jobs make room.
        drop(first);
        let (_third, more) = jobs(5);
        queue.add(Client(2), more).unwrap();
        assert_eq!(queue.waiting(), 5);
        queue.close();
        let (_fourth, more) = jobs(1);
        assert!(matches!(queue.add(Client(2), more), Err(Refused::Closed)));
        for _ in 0..5 {
            assert!(take(&queue, 0, 0).is_some(), "what was accepted is done");
        }
        assert!(queue.take(0, 0).is_break());
    }

    #[test]
    fn the_worker_with_the_fewest_rows_takes_the_next_job() {
        let queue = Queue::new(100, 3);
        for worker in 0..3 {
            assert!(take(&queue, worker, 1).is_none());
        }
        let (_ticket, one) = jobs(1);
        queue.add(Client(1), one).unwrap();
        assert!(take(&queue, 0, 15).is_none());
        assert!(take(&queue, 1, 10).is_none());
        assert!(take(&queue, 2, 5).is_some());
    }

    #[test]
    fn a_worker_that_does_other_work_is_not_waited_for() {
        let queue = Queue::new(100, 2);
        let (_ticket, two) = jobs(2);
        queue.add(Client(1), two).unwrap();
        assert!(take(&queue, 0, 0).is_some());
        assert!(take(&queue, 1, 30).is_some());
    }
}
