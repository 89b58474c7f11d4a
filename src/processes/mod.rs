//! Several processes that share the work of one call, on one machine or many.
//!
//! Each process runs the same program with the same arguments. [`Processes`] says which of them this one is, which part
//! of the work is its own, and moves bytes between them. What they compute together is defined elsewhere, so that the
//! order of a sum, for example, never depends on the library that carries the messages.

mod agree;
mod launcher;
#[cfg(feature = "mpi")]
mod mpi;
#[cfg(test)]
mod threads;
mod transport;

use std::cell::Cell;
use std::fmt;
use std::ops::Range;
use std::rc::Rc;
use std::time::{Duration, Instant};

pub use launcher::n_on_this_machine;
#[cfg(test)]
pub(crate) use threads::in_threads;

pub(crate) use self::transport::Message;
use self::transport::Transport;
use crate::count::count;
use crate::error::{Error, Result};

/// How far several processes that miss others wait for each other's reports.
const STAGGER: Duration = Duration::from_millis(50);
/// How much longer a process waits for each further process that it misses. One that misses a single process knows best
/// which one is to blame.
const FURTHER: Duration = Duration::from_secs(1);

/// The processes that share the work. Clones stand for the same processes.
#[derive(Clone, Debug, Default)]
pub struct Processes {
    /// `None` for a process that works alone.
    group: Option<Rc<Group>>,
}

#[derive(Debug)]
struct Group {
    transport: Box<dyn Transport>,
    number: usize,
    /// In order of their numbers.
    places: Vec<Place>,
    /// How long a process may keep others waiting.
    timeout: Duration,
    /// True if `timeout` applies.
    limited: Cell<bool>,
    lost: fn(&Error),
    /// True if all processes know of the failure.
    agreed: Cell<bool>,
    /// The time spent in exchanges.
    time: Cell<Duration>,
    /// The bytes sent.
    sent: Cell<u64>,
}

/// Where a process runs.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    host: String,
    pid: u32,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PID {} on {}", self.pid, self.host)
    }
}

impl Processes {
    /// This process alone.
    pub fn alone() -> Self {
        Self::default()
    }

    /// The processes that `mpirun`, `srun` or another MPI launcher started together with this one; this process alone if
    /// no launcher started it.
    ///
    /// A process that keeps others waiting for longer than `timeout` is taken for lost: `lost` is called with an error
    /// that names it, then all processes are ended.
    ///
    /// # Errors
    /// [`Error::Usage`] if this process is one of several, but the program was built without the feature `mpi`.
    pub fn launched(timeout: Duration, lost: fn(&Error)) -> Result<Self> {
        if !launcher::is_present() {
            return Ok(Self::alone());
        }
        launcher::connect(timeout, lost)
    }

    /// True if there is no other process.
    pub fn is_alone(&self) -> bool {
        self.group.is_none()
    }

    /// The number of processes.
    pub fn count(&self) -> usize {
        self.group.as_ref().map_or(1, |group| group.places.len())
    }

    /// The number of this process, counted from 0.
    pub fn number(&self) -> usize {
        self.group.as_ref().map_or(0, |group| group.number)
    }

    /// True if this is the process that writes files and messages.
    pub fn is_first(&self) -> bool {
        self.number() == 0
    }

    /// The number of processes on the machine of this one.
    pub fn on_this_machine(&self) -> usize {
        let Some(group) = &self.group else { return 1 };
        let here = &group.places[group.number].host;
        group
            .places
            .iter()
            .filter(|place| place.host == *here)
            .count()
    }

    /// The part of `n` numbered things that belongs to this process. The parts are in the order of the processes, and as
    /// equal as possible.
    pub fn share(&self, n: usize) -> Range<usize> {
        self.share_of(self.number(), n)
    }

    /// The part of `n` numbered things that belongs to `process`.
    pub fn share_of(&self, process: usize, n: usize) -> Range<usize> {
        let bound = |process: usize| process * n / self.count();
        bound(process)..bound(process + 1)
    }

    /// From now on no process may keep others waiting for longer than the time-out. Before, while data are prepared, it may.
    pub fn limit_waits(&self) {
        self.set_limited(true);
    }

    /// Sets whether the time-out applies, and returns whether it did.
    fn set_limited(&self, limited: bool) -> bool {
        let group = self.group.as_ref();
        group.is_some_and(|group| group.limited.replace(limited))
    }

    /// The time that this process has spent in exchanges so far, waiting included, but not what it computed while messages were
    /// under way.
    pub fn time(&self) -> Duration {
        self.group
            .as_ref()
            .map_or(Duration::ZERO, |group| group.time.get())
    }

    /// The bytes that this process has sent so far.
    pub fn bytes_sent(&self) -> u64 {
        self.group.as_ref().map_or(0, |group| group.sent.get())
    }

    /// Ends the processes after `error`: together if all know of it, otherwise by force. Reports it by `report`, once.
    pub fn fail(&self, error: &Error, report: impl FnOnce(&Error)) {
        match &self.group {
            None => report(error),
            Some(group) if group.agreed.get() => {
                if group.number == 0 {
                    report(error);
                }
            }
            Some(group) => {
                report(&self.failure(
                    group.number,
                    error.to_string(),
                    error.hint(),
                    error.exit_code(),
                ));
                group.transport.abort(error.exit_code());
            }
        }
    }

    /// The error of `process`, for the others.
    fn failure(
        &self,
        process: usize,
        problem: String,
        hint: Option<String>,
        exit_code: u8,
    ) -> Error {
        let place = self.group.as_ref().map(|group| &group.places[process]);
        let place = place.map_or(String::new(), |place| format!(" ({place})"));
        Error::Process {
            process: format!("process {process}{place}"),
            problem,
            hint,
            exit_code,
        }
    }

    /// Sends each of `out` to its process and fills each of `into` from its process, all at once. `doing` is the
    /// purpose, for messages. A process that works alone has nobody to exchange with.
    pub(crate) fn exchange(
        &self,
        doing: &str,
        out: &[(usize, &[u8])],
        into: &mut [(usize, &mut [u8])],
    ) {
        let out = out.iter().map(|&(to, bytes)| Message::ready(to, bytes));
        let out: Vec<Message<'_>> = out.collect();
        self.exchange_during(doing, &out, into, |_| ());
    }

    /// Like [`Processes::exchange`], while `work` goes on, which fills those of `out` that are not ready. It calls the
    /// function that it is given now and then, so that they are sent.
    pub(crate) fn exchange_during(
        &self,
        doing: &str,
        out: &[Message<'_>],
        into: &mut [(usize, &mut [u8])],
        work: impl FnOnce(&mut dyn FnMut()),
    ) {
        let Some(group) = &self.group else {
            return work(&mut || ());
        };
        let (spent, start) = (Cell::new(Duration::ZERO), Cell::new(Instant::now()));
        let mut work = Some(work);
        let mut timed = |progress: &mut dyn FnMut()| {
            let work = work.take().expect("a transport calls it once");
            work(&mut || {
                let start = Instant::now();
                progress();
                spent.set(spent.get() + start.elapsed());
            });
            start.set(Instant::now());
        };
        let mut waiting = |missing: &[usize]| {
            if group.limited.get() {
                group.wait(doing, start.get().elapsed(), missing);
            }
        };
        group
            .transport
            .exchange(out, into, &mut timed, &mut waiting);
        let spent = spent.get() + start.get().elapsed();
        group.time.set(group.time.get() + spent);
        let sent: usize = out.iter().filter_map(Message::bytes).map(<[u8]>::len).sum();
        group.sent.set(group.sent.get() + sent as u64);
    }
}

impl Group {
    fn new(transport: Box<dyn Transport>, timeout: Duration, lost: fn(&Error)) -> Self {
        Self {
            number: transport.number(),
            places: vec![
                Place {
                    host: String::new(),
                    pid: 0
                };
                transport.count()
            ],
            transport,
            timeout,
            limited: Cell::new(false),
            lost,
            agreed: Cell::new(false),
            time: Cell::default(),
            sent: Cell::default(),
        }
    }

    /// Returns as long as the `missing` processes may still be waited for; then reports them and ends all processes.
    fn wait(&self, doing: &str, waited: Duration, missing: &[usize]) {
        let further = missing.len().saturating_sub(1) as u32;
        if waited <= self.timeout + FURTHER * further + STAGGER * self.number as u32 {
            return;
        }
        let named: Vec<String> = missing
            .iter()
            .map(|&process| format!("process {process} ({})", self.places[process]))
            .collect();
        let (named, timeout) = (named.join(", "), self.timeout.as_secs() as usize);
        let error = Error::Lost {
            problem: format!(
                "no answer from {named} for {} while {doing}",
                count(timeout, "second")
            ),
        };
        (self.lost)(&error);
        self.transport.abort(error.exit_code());
    }
}
