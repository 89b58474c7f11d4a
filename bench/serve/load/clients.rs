//! Clients that send requests after each answer or at given times.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Scope};
use std::time::{Duration, Instant};

use crate::arrivals::Arrivals;
use crate::check::{Exchange, Verdict};
use crate::http::{Connection, Target};

/// Stack of a client's thread in bytes.
const STACK: usize = 128 << 10;

/// The requests of a measurement, and the way in which they are sent.
pub(crate) struct Load {
    pub(crate) target: Target,
    pub(crate) clients: usize,
    /// Requests per second; `None` if clients wait for answers.
    pub(crate) rate: Option<f64>,
    /// The number of requests; `None` if the time limits them.
    pub(crate) requests: Option<usize>,
    pub(crate) warm_up: Duration,
    pub(crate) measured: Duration,
    pub(crate) timeout: Duration,
    pub(crate) seed: u64,
    /// True if the texts of right answers are needed.
    pub(crate) keep_answers: bool,
}

/// The outcome of a request. Times count from the start of the load.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    pub(crate) number: usize,
    pub(crate) arrived: Duration,
    pub(crate) ended: Duration,
    pub(crate) verdict: Verdict,
}

/// Requests that have arrived and wait for a client.
#[derive(Default)]
struct Waiting {
    requests: VecDeque<(usize, Duration)>,
    /// The number of clients that wait for a request.
    idle: usize,
    is_over: bool,
}

/// The state that clients share.
struct Shared<'a> {
    load: &'a Load,
    exchange: &'a Exchange,
    started: Instant,
    /// The number of requests so far, if clients wait for answers.
    sent: AtomicUsize,
    waiting: Mutex<Waiting>,
    arrived: Condvar,
    outcomes: Mutex<Vec<Outcome>>,
}

impl Load {
    /// Sends all requests and waits for the last answer.
    pub(crate) fn run(&self, exchange: &Exchange) -> Vec<Outcome> {
        let shared = Shared {
            load: self,
            exchange,
            started: Instant::now(),
            sent: AtomicUsize::new(0),
            waiting: Mutex::default(),
            arrived: Condvar::new(),
            outcomes: Mutex::default(),
        };
        thread::scope(|scope| match self.rate {
            Some(rate) => shared.arrive(scope, Arrivals::new(rate, self.seed)),
            None => (0..self.clients).for_each(|_| start(scope, || shared.in_turn())),
        });
        let mut outcomes = shared.outcomes.into_inner().unwrap_or_else(PoisonError::into_inner);
        outcomes.sort_unstable_by_key(|outcome| outcome.number);
        outcomes
    }

    /// Time in which requests are sent.
    pub(crate) fn duration(&self) -> Duration {
        self.warm_up + self.measured
    }
}

fn start<'scope>(scope: &'scope Scope<'scope, '_>, work: impl FnOnce() + Send + 'scope) {
    let thread = thread::Builder::new().stack_size(STACK);
    thread.spawn_scoped(scope, work).expect("the system has a thread for each client");
}

impl Shared<'_> {
    /// Sends the next request as soon as the last one is answered.
    fn in_turn(&self) {
        let mut connection = Connection::new(self.load.target.clone());
        let mut outcomes = Vec::new();
        loop {
            let arrived = self.started.elapsed();
            let number = self.sent.fetch_add(1, Ordering::Relaxed);
            let is_over = match self.load.requests {
                Some(requests) => number >= requests,
                None => arrived >= self.load.duration(),
            };
            if is_over {
                break;
            }
            outcomes.push(self.send(&mut connection, number, arrived));
        }
        self.finish(outcomes);
    }

    /// Hands requests to clients as they arrive, and starts another client if none is idle.
    fn arrive<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>, arrivals: Arrivals) {
        let mut clients = 0;
        for (number, moment) in arrivals.enumerate() {
            let is_over = match self.load.requests {
                Some(requests) => number >= requests,
                None => moment >= self.load.duration(),
            };
            if is_over {
                break;
            }
            thread::sleep(moment.saturating_sub(self.started.elapsed()));
            let mut waiting = self.waiting();
            waiting.requests.push_back((number, moment));
            let is_crowded = waiting.requests.len() > waiting.idle;
            drop(waiting);
            if is_crowded && clients < self.load.clients {
                clients += 1;
                start(scope, || self.on_call());
            } else {
                self.arrived.notify_one();
            }
        }
        self.waiting().is_over = true;
        self.arrived.notify_all();
    }

    /// Sends requests that have arrived.
    fn on_call(&self) {
        let mut connection = Connection::new(self.load.target.clone());
        let mut outcomes = Vec::new();
        while let Some((number, moment)) = self.next() {
            outcomes.push(self.send(&mut connection, number, moment));
        }
        self.finish(outcomes);
    }

    /// The request that has waited longest; `None` if none is left and none will come.
    fn next(&self) -> Option<(usize, Duration)> {
        let mut waiting = self.waiting();
        loop {
            if let Some(request) = waiting.requests.pop_front() {
                return Some(request);
            }
            if waiting.is_over {
                return None;
            }
            waiting.idle += 1;
            waiting = self.arrived.wait(waiting).unwrap_or_else(PoisonError::into_inner);
            waiting.idle -= 1;
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn finish(&self, outcomes: Vec<Outcome>) {
        let mut all = self.outcomes.lock().unwrap_or_else(PoisonError::into_inner);
        all.extend(outcomes);
    }

    fn send(&self, connection: &mut Connection, number: usize, arrived: Duration) -> Outcome {
        let line = self.exchange.line(number);
        let request = self.exchange.request(&self.load.target, line);
        let deadline = self.started + arrived + self.load.timeout;
        let verdict = match connection.exchange(&request, deadline) {
            Ok(response) => match self.exchange.judge(line, &response) {
                Verdict::Right(_) if !self.load.keep_answers => Verdict::Right(String::new()),
                verdict => verdict,
            },
            Err(_) if Instant::now() >= deadline => Verdict::Unanswered,
            Err(error) => Verdict::Broken(error.kind().to_string()),
        };
        Outcome { number, arrived, ended: self.started.elapsed(), verdict }
    }
}
