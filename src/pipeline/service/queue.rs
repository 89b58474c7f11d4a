//! The jobs that wait.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::ops::ControlFlow;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::job::{Job, Work};
use super::{Client, Limits, Refused};

/// The jobs that wait. Clients take turns by what their jobs cost: next is whoever has been given least.
#[derive(Debug)]
pub(super) struct Queue {
    limits: Limits,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// The clients that have jobs, and those that have been given more than others.
    accounts: HashMap<Client, Account>,
    /// The clients whose jobs wait, by what they were given, then in the order of their turns.
    turns: BTreeSet<Turn>,
    /// What the client of the last job had been given before. Whoever comes begins with no less.
    now: u64,
    /// The most that any client was given. When nobody waits, everybody begins with it, so that nothing is owed.
    latest: u64,
    /// The number of turns so far.
    n_turns: u64,
    /// Jobs that wait, and their rows.
    waiting: usize,
    waiting_rows: usize,
    closed: bool,
    /// The number of rows that each worker has; `None` while it does other work.
    rows: Vec<Option<usize>>,
}

/// What a client has asked for and been given.
#[derive(Debug, Default)]
struct Account {
    jobs: VecDeque<Job>,
    /// The cost of its jobs so far, as if it had always been there.
    given: u64,
    /// Rows of its jobs in work.
    rows: usize,
}

/// The place of a client among those whose jobs wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Turn {
    given: u64,
    number: u64,
    client: Client,
}

impl Queue {
    /// An empty queue for the workers of `limits`.
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            limits,
            state: Mutex::new(State {
                rows: vec![Some(0); limits.workers],
                ..State::default()
            }),
            changed: Condvar::new(),
        }
    }

    /// Adds all of `jobs`, or none.
    pub(super) fn add(&self, client: Client, jobs: Vec<Job>) -> Result<(), Refused> {
        let (mut state, most) = (self.lock(), self.limits.queue);
        if state.closed {
            return Err(Refused::Closed);
        }
        if state.waiting + jobs.len() > most {
            state.forget_cancelled();
        }
        if state.waiting + jobs.len() > most {
            return Err(Refused::Full {
                waiting: state.waiting,
                jobs: jobs.len(),
            });
        }
        state.add(client, jobs);
        self.changed.notify_all();
        Ok(())
    }

    /// The next job of a worker that has so many rows, with its client, who is to be [released](Self::release) from it. A
    /// worker without rows waits for a job; one with rows gets none that workers with fewer rows can take, and a full one gets
    /// none but of a client whom another one crowds out. Breaks once the queue is closed and empty.
    pub(super) fn take(
        &self,
        worker: usize,
        rows: usize,
    ) -> ControlFlow<(), Option<(Client, Job)>> {
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
        let batch = self.limits.batch;
        let turn = match rows < batch {
            true => state.turns.first().copied(),
            false if rows < 2 * batch => state.crowded_out(batch),
            false => None,
        };
        let Some((client, job)) = turn.and_then(|turn| state.next(turn)) else {
            return ControlFlow::Continue(None);
        };
        if matches!(job.work, Work::Compute { .. }) {
            state.rows[worker] = None;
        }
        ControlFlow::Continue(Some((client, job)))
    }

    /// A job of `client` is no longer in work, which had so many rows.
    pub(super) fn release(&self, client: Client, rows: usize) {
        self.lock().release(client, rows);
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
        self.waiting_rows += rows(&jobs);
        let now = self.now;
        let account = self.accounts.entry(client).or_default();
        let is_new = account.jobs.is_empty();
        account.jobs.extend(jobs);
        if is_new {
            account.given = account.given.max(now);
            self.queue_up(client);
        }
    }

    /// Gives `client` a turn, after those who were given as much.
    fn queue_up(&mut self, client: Client) {
        let given = self
            .accounts
            .get(&client)
            .map_or(0, |account| account.given);
        self.n_turns += 1;
        self.turns.insert(Turn {
            given,
            number: self.n_turns,
            client,
        });
    }

    /// The number of rows at which all workers that decode have the same number, with those of the jobs that wait.
    fn share(&self) -> usize {
        let decoding = || self.rows.iter().flatten();
        let rows = decoding().sum::<usize>() + self.waiting_rows;
        rows.div_ceil(decoding().count().max(1))
    }

    /// The first client in turn with less than its share of the rows, if another one has more than twice that.
    fn crowded_out(&self, batch: usize) -> Option<Turn> {
        let active = self.accounts.values();
        let active = active.filter(|account| account.rows > 0 || !account.jobs.is_empty());
        let share = (batch * self.rows.len()).div_ceil(active.count().max(1));
        let crowds = |account: &Account| account.rows > 2 * share;
        let waits = |turn: &&Turn| {
            let account = self.accounts.get(&turn.client);
            account.is_some_and(|account| account.rows < share)
        };
        let mut all = self.accounts.values();
        let is_crowded = all.any(crowds);
        self.turns
            .iter()
            .find(waits)
            .filter(|_| is_crowded)
            .copied()
    }

    /// The next job of the client whose turn is `turn`.
    fn next(&mut self, turn: Turn) -> Option<(Client, Job)> {
        self.turns.remove(&turn);
        let client = turn.client;
        let account = self.accounts.get_mut(&client)?;
        let job = account.jobs.pop_front()?;
        self.now = self.now.max(account.given);
        account.given += job.cost.total();
        self.latest = self.latest.max(account.given);
        account.rows += job.cost.rows;
        self.waiting -= 1;
        self.waiting_rows -= job.cost.rows;
        if !account.jobs.is_empty() {
            self.queue_up(client);
        }
        if self.turns.is_empty() {
            self.now = self.latest;
        }
        Some((client, job))
    }

    fn release(&mut self, client: Client, rows: usize) {
        if let Some(account) = self.accounts.get_mut(&client) {
            account.rows -= rows;
        }
        /// Accounts in which nothing is remembered but what was given.
        const MOST_IDLE: usize = 1024;
        let idle = |account: &Account| account.rows == 0 && account.jobs.is_empty();
        let now = self.now;
        let gone = |account: &Account| idle(account) && account.given <= now;
        if self.accounts.get(&client).is_some_and(gone) {
            self.accounts.remove(&client);
        }
        if self.accounts.len() > self.turns.len() + MOST_IDLE {
            self.accounts.retain(|_, account| !idle(account));
        }
    }

    /// Drops the jobs that nobody waits for any more.
    fn forget_cancelled(&mut self) {
        for account in self.accounts.values_mut() {
            account.jobs.retain(|job| !job.cancelled.get());
        }
        let accounts = &self.accounts;
        let has_jobs =
            |client: &Client| accounts.get(client).is_some_and(|one| !one.jobs.is_empty());
        self.turns.retain(|turn| has_jobs(&turn.client));
        let jobs = || self.accounts.values().flat_map(|account| &account.jobs);
        self.waiting = jobs().count();
        self.waiting_rows = jobs().map(|job| job.cost.rows).sum();
    }
}

fn rows(jobs: &[Job]) -> usize {
    jobs.iter().map(|job| job.cost.rows).sum()
}

#[cfg(test)]
mod tests {
    use super::super::job::{Cost, Ticket};
    use super::*;

    fn queue(capacity: usize, workers: usize) -> Queue {
        Queue::new(Limits {
            workers,
            batch: 32,
            queue: capacity,
        })
    }

    /// `count` jobs of so many rows, each of which takes so many positions, and the ticket that they have in common.
    fn jobs(count: usize, rows: usize, positions: usize) -> (Ticket, Vec<Job>) {
        let ticket = Ticket::new();
        let job = |_| Job {
            cancelled: ticket.cancelled(),
            cost: Cost { rows, positions },
            work: Work::Compute {
                positions,
                work: Box::new(|_| ()),
            },
        };
        let jobs = (0..count).map(job).collect();
        (ticket, jobs)
    }

    /// What a worker with so many rows takes.
    fn take(queue: &Queue, worker: usize, rows: usize) -> Option<Client> {
        match queue.take(worker, rows) {
            ControlFlow::Continue(taken) => taken.map(|(client, _)| client),
            ControlFlow::Break(()) => panic!("the queue is open, or not yet empty"),
        }
    }

    /// The clients in the order of their turns, of jobs that end at once.
    fn order(queue: &Queue) -> Vec<u64> {
        let mut order = Vec::new();
        while queue.waiting() > 0 {
            let ControlFlow::Continue(Some((client, job))) = queue.take(0, 0) else {
                panic!("there are jobs");
            };
            queue.release(client, job.cost.rows);
            order.push(client.0);
        }
        order
    }

    #[test]
    fn clients_take_turns() {
        let queue = queue(100, 1);
        let _tickets = [(1, 5), (2, 1), (3, 2)].map(|(client, count)| {
            let (ticket, jobs) = jobs(count, 1, 10);
            queue.add(Client(client), jobs).unwrap();
            ticket
        });
        assert_eq!(order(&queue), [1, 2, 3, 1, 3, 1, 1, 1]);
    }

    #[test]
    fn turns_are_weighed_by_cost() {
        let queue = queue(100, 1);
        let (_one, costly) = jobs(3, 16, 100);
        queue.add(Client(1), costly).unwrap();
        assert!(take(&queue, 0, 0) == Some(Client(1)));
        let (_two, cheap) = jobs(20, 1, 100);
        queue.add(Client(2), cheap).unwrap();
        // 16 of the one are as costly as one of the other.
        let mut expected = vec![2; 16];
        expected.extend([1, 2, 2, 2, 2, 1]);
        assert_eq!(order(&queue), expected);
        // What was given is forgotten once nobody waits.
        let (_one, again) = jobs(1, 1, 1);
        let (_two, other) = jobs(1, 1, 1);
        queue.add(Client(1), again).unwrap();
        queue.add(Client(2), other).unwrap();
        assert_eq!(order(&queue), [1, 2]);
    }

    #[test]
    fn a_client_that_is_crowded_out_is_let_in_beyond_the_batch() {
        let queue = queue(1000, 1);
        let (_heavy, heavy) = jobs(10, 16, 500);
        queue.add(Client(1), heavy).unwrap();
        assert_eq!(take(&queue, 0, 0), Some(Client(1)));
        assert_eq!(take(&queue, 0, 16), Some(Client(1)));
        assert_eq!(take(&queue, 0, 32), None, "nobody else waits");
        let tickets: Vec<Ticket> = (2..=6)
            .map(|client| {
                let (ticket, jobs) = jobs(9, 1, 10);
                queue.add(Client(client), jobs).unwrap();
                ticket
            })
            .collect();
        let taken: Vec<_> = (32..70).map_while(|rows| take(&queue, 0, rows)).collect();
        // A share is a sixth of the batch.
        assert_eq!(taken.len(), 5 * 6);
        for client in 2..=6 {
            assert_eq!(taken.iter().filter(|one| one.0 == client).count(), 6);
        }
        drop(tickets);
    }

    #[test]
    fn a_request_is_added_as_a_whole_or_not_at_all() {
        let queue = queue(5, 1);
        let (first, three) = jobs(3, 1, 1);
        queue.add(Client(1), three).unwrap();
        let (_second, more) = jobs(3, 1, 1);
        assert!(matches!(
            queue.add(Client(2), more),
            Err(Refused::Full {
                waiting: 3,
                jobs: 3
            })
        ));
        // Cancelled jobs make room.
        drop(first);
        let (_third, more) = jobs(5, 1, 1);
        queue.add(Client(2), more).unwrap();
        assert_eq!(queue.waiting(), 5);
        queue.close();
        let (_fourth, more) = jobs(1, 1, 1);
        assert!(matches!(queue.add(Client(2), more), Err(Refused::Closed)));
        for _ in 0..5 {
            assert!(take(&queue, 0, 0).is_some(), "what was accepted is done");
        }
        assert!(queue.take(0, 0).is_break());
    }

    #[test]
    fn the_worker_with_the_fewest_rows_takes_the_next_job() {
        let queue = queue(100, 3);
        for worker in 0..3 {
            assert!(take(&queue, worker, 1).is_none());
        }
        let (_ticket, one) = jobs(1, 1, 1);
        queue.add(Client(1), one).unwrap();
        assert!(take(&queue, 0, 15).is_none());
        assert!(take(&queue, 1, 10).is_none());
        assert!(take(&queue, 2, 5).is_some());
    }

    #[test]
    fn a_worker_that_does_other_work_is_not_waited_for() {
        let queue = queue(100, 2);
        let (_ticket, two) = jobs(2, 1, 1);
        queue.add(Client(1), two).unwrap();
        assert!(take(&queue, 0, 0).is_some());
        assert!(take(&queue, 1, 30).is_some());
    }

    #[test]
    fn accounts_are_forgotten() {
        let queue = queue(100, 1);
        for client in 0..10_000 {
            let (_ticket, one) = jobs(1, 1, 1 + client as usize % 7);
            queue.add(Client(client), one).unwrap();
            assert_eq!(order(&queue), [client]);
        }
        assert!(queue.lock().accounts.len() <= 1025);
    }
}
