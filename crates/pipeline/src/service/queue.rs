//! The queue of jobs.

#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::ops::ControlFlow;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::job::{Job, Work};
use super::{Admission, Client, Limits, Refused};

/// The queue of jobs. Clients take turns by the cost of their jobs: the next job comes from the client that
/// has received least.
#[derive(Debug)]
pub(super) struct Queue {
    limits: Limits,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// The clients that have jobs, and those that have received more than others.
    accounts: HashMap<Client, Account>,
    /// The clients whose jobs wait, by what they have received, then in the order of their turns.
    turns: BTreeSet<Turn>,
    /// The amount that the client of the last job had received before. A new client begins with at least this
    /// amount.
    now: u64,
    /// The largest amount that any client has received. When no job waits, all clients begin with it, so that
    /// no debts remain.
    latest: u64,
    /// The number of turns so far.
    n_turns: u64,
    /// The number of jobs that wait.
    waiting: usize,
    waiting_rows: usize,
    closed: bool,
    /// The number of rows of each worker; `None` while it does other work.
    rows: Vec<Option<usize>>,
}

/// The jobs of a client, and the amount that it has received.
#[derive(Debug, Default)]
struct Account {
    jobs: Line,
    /// The cost of the client's jobs so far, as if it had always been there.
    given: u64,
    /// The rows of the client's jobs that are being worked on.
    rows: usize,
}

/// The waiting jobs of a client.
#[derive(Debug, Default)]
struct Line {
    /// The jobs of requests in progress, which go first: a client that has waited for a translation need not
    /// wait as long again for its alignment.
    further: VecDeque<Job>,
    new: VecDeque<Job>,
}

impl Line {
    fn is_empty(&self) -> bool {
        self.further.is_empty() && self.new.is_empty()
    }

    fn len(&self) -> usize {
        self.further.len() + self.new.len()
    }

    fn iter(&self) -> impl Iterator<Item = &Job> {
        self.further.iter().chain(&self.new)
    }

    fn push(&mut self, admission: Admission, jobs: Vec<Job>) {
        match admission {
            Admission::New => self.new.extend(jobs),
            Admission::Further => self.further.extend(jobs),
        }
    }

    fn pop(&mut self) -> Option<Job> {
        self.further.pop_front().or_else(|| self.new.pop_front())
    }

    /// Drops canceled jobs.
    fn forget_canceled(&mut self) {
        for jobs in [&mut self.further, &mut self.new] {
            jobs.retain(|job| !job.canceled.get());
        }
    }
}

/// The position of a client among those whose jobs wait.
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
        state.add(client, admission, jobs);
        self.changed.notify_all();
        Ok(())
    }

    /// Takes the next job for a worker that has `rows` rows, with its client, which is to be
    /// [released](Self::release) later. A worker without rows waits for a job. A worker with rows gets none
    /// that workers with fewer rows can take, and a full one gets jobs only of a client that is crowded out
    /// by another. Breaks once the queue is closed and empty.
    pub(super) fn take(&self, worker: usize, rows: usize) -> ControlFlow<(), Option<(Client, Job)>> {
        let mut state = self.lock();
        state.rows[worker] = Some(rows);
        while rows == 0 && state.waiting == 0 {
            if state.closed {
                return ControlFlow::Break(());
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if rows >= state.share() {
            return ControlFlow::Continue(None);
        }
        let batch = self.limits.batch;
        let turn = if rows < batch {
            state.turns.first().copied()
        } else if rows < 2 * batch {
            state.crowded_out(batch)
        } else {
            None
        };
        let Some((client, job)) = turn.and_then(|turn| state.next(turn)) else {
            return ControlFlow::Continue(None);
        };
        if matches!(job.work, Work::Compute { .. }) {
            state.rows[worker] = None;
        }
        ControlFlow::Continue(Some((client, job)))
    }

    /// Records that a job of `client` with `rows` rows is finished.
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
    /// Makes room for `jobs` more jobs of `client`.
    fn make_room(&mut self, client: Client, jobs: usize, limits: &Limits) -> Result<(), Refused> {
        if self.room(client, jobs, limits).is_err() {
            self.forget_canceled();
        }
        self.room(client, jobs, limits)
    }

    /// Refuses `jobs` more jobs of `client` if there is no room for them.
    fn room(&self, client: Client, jobs: usize, limits: &Limits) -> Result<(), Refused> {
        let waiting = self.waiting;
        if waiting + jobs > limits.queue {
            return Err(Refused::Full { waiting, jobs });
        }
        let account = self.accounts.get(&client);
        let waiting = account.map_or(0, |account| account.jobs.len());
        if waiting + jobs > limits.per_client { Err(Refused::Crowding { waiting, jobs }) } else { Ok(()) }
    }

    fn add(&mut self, client: Client, admission: Admission, jobs: Vec<Job>) {
        if jobs.is_empty() {
            return;
        }
        self.waiting += jobs.len();
        self.waiting_rows += rows(&jobs);
        let now = self.now;
        let account = self.accounts.entry(client).or_default();
        let is_new = account.jobs.is_empty();
        account.jobs.push(admission, jobs);
        if is_new {
            account.given = account.given.max(now);
            self.queue_up(client);
        }
    }

    /// Gives `client` a turn, after those that have received as much.
    fn queue_up(&mut self, client: Client) {
        let given = self.accounts.get(&client).map_or(0, |account| account.given);
        self.n_turns += 1;
        self.turns.insert(Turn { given, number: self.n_turns, client });
    }

    /// The number of rows per worker if the current rows and the waiting jobs were divided equally among all
    /// workers that decode.
    fn share(&self) -> usize {
        let decoding = || self.rows.iter().flatten();
        let rows = decoding().sum::<usize>() + self.waiting_rows;
        rows.div_ceil(decoding().count().max(1))
    }

    /// The first client in turn with less than its share of the rows, if another one has more than twice its
    /// share.
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
        self.turns.iter().find(waits).filter(|_| is_crowded).copied()
    }

    /// The next job of the client whose turn is `turn`.
    fn next(&mut self, turn: Turn) -> Option<(Client, Job)> {
        self.turns.remove(&turn);
        let client = turn.client;
        let account = self.accounts.get_mut(&client)?;
        let job = account.jobs.pop()?;
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
        /// The maximum number of accounts of clients without jobs.
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

    /// Drops canceled jobs.
    fn forget_canceled(&mut self) {
        for account in self.accounts.values_mut() {
            account.jobs.forget_canceled();
        }
        let accounts = &self.accounts;
        let has_jobs = |client: &Client| accounts.get(client).is_some_and(|one| !one.jobs.is_empty());
        self.turns.retain(|turn| has_jobs(&turn.client));
        let jobs = || self.accounts.values().flat_map(|account| account.jobs.iter());
        self.waiting = jobs().count();
        self.waiting_rows = jobs().map(|job| job.cost.rows).sum();
    }
}

fn rows(jobs: &[Job]) -> usize {
    jobs.iter().map(|job| job.cost.rows).sum()
}
