//! Several processes that share the work of one call, on one machine or many.
//!
//! Each process runs the same program with the same arguments. [`Processes`] tells the number of this process
//! and its part of the work, and moves bytes between processes. The computations on these bytes are defined
//! elsewhere, so that, for example, the order of a sum never depends on the library that carries the
//! messages.

mod agree;
mod launcher;
#[cfg(feature = "mpi")]
mod mpi;
mod threads;
mod transport;

use std::cell::Cell;
use std::fmt;
use std::ops::Range;
use std::rc::Rc;
use std::time::{Duration, Instant};

pub use launcher::n_on_this_machine;
pub use threads::in_threads;

pub use self::transport::Message;
use attentive_base::count::count;
use attentive_base::error::{Error, Result};

use self::transport::Transport;

/// The difference between the times that successive processes wait before they report missing ones.
const STAGGER: Duration = Duration::from_millis(50);
/// The additional time that a process waits for each further process that it misses. A process that misses
/// only one other is most likely to name the right one.
const FURTHER: Duration = Duration::from_secs(1);

/// The processes that share the work. Clones refer to the same processes.
#[derive(Clone, Debug, Default)]
pub struct Processes {
    /// `None` for a process that works alone.
    group: Option<Rc<Group>>,
}

#[derive(Debug)]
struct Group {
    transport: Box<dyn Transport>,
    number: usize,
    /// The places of the processes, in the order of their numbers.
    places: Vec<Place>,
    /// The longest time that a process may keep others waiting.
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

/// The place where a process runs.
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
    /// Returns this process alone.
    pub fn alone() -> Self {
        Self::default()
    }

    /// Returns the processes that `mpirun`, `srun` or another MPI launcher started together with this one;
    /// this process alone if no launcher started it.
    ///
    /// A process that keeps others waiting for longer than `timeout` is considered lost: `lost` is called
    /// with an error that names it, then all processes are ended.
    ///
    /// # Errors
    /// [`Error::Usage`] if this process is one of several, but the program was built without the feature
    /// `mpi`.
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

    /// Returns the number of processes.
    pub fn count(&self) -> usize {
        self.group.as_ref().map_or(1, |group| group.places.len())
    }

    /// Returns the number of this process, counted from 0.
    pub fn number(&self) -> usize {
        self.group.as_ref().map_or(0, |group| group.number)
    }

    /// True if this is the process that writes files and messages.
    pub fn is_first(&self) -> bool {
        self.number() == 0
    }

    /// Returns the number of processes on the machine on which this one runs.
    pub fn on_this_machine(&self) -> usize {
        let Some(group) = &self.group else { return 1 };
        let here = &group.places[group.number].host;
        group.places.iter().filter(|place| place.host == *here).count()
    }

    /// Returns the number of this process among those on its machine, counted from 0.
    pub fn number_on_this_machine(&self) -> usize {
        let Some(group) = &self.group else { return 0 };
        let here = &group.places[group.number].host;
        let before = &group.places[..group.number];
        before.iter().filter(|place| place.host == *here).count()
    }

    /// Returns the part of `n` numbered things that belongs to this process. The parts are in the order of
    /// the processes, and as equal as possible.
    pub fn share(&self, n: usize) -> Range<usize> {
        self.share_of(self.number(), n)
    }

    /// Returns the part of `n` numbered things that belongs to `process`.
    pub fn share_of(&self, process: usize, n: usize) -> Range<usize> {
        let bound = |process: usize| process * n / self.count();
        bound(process)..bound(process + 1)
    }

    /// Applies the time-out from now on. Until then, while data are prepared, a process may keep others
    /// waiting for longer.
    pub fn limit_waits(&self) {
        self.set_limited(true);
    }

    /// Sets whether the time-out applies, and returns the previous setting.
    fn set_limited(&self, limited: bool) -> bool {
        let group = self.group.as_ref();
        group.is_some_and(|group| group.limited.replace(limited))
    }

    /// Returns the time that this process has spent in exchanges so far, including waiting, but without
    /// computations that it did while messages were under way.
    pub fn time(&self) -> Duration {
        self.group.as_ref().map_or(Duration::ZERO, |group| group.time.get())
    }

    /// Returns the number of bytes that this process has sent so far.
    pub fn bytes_sent(&self) -> u64 {
        self.group.as_ref().map_or(0, |group| group.sent.get())
    }

    /// Ends the processes after `error`: together if all know of it, otherwise by force. The error is passed
    /// to `report` once.
    pub fn fail(&self, error: &Error, report: impl FnOnce(&Error)) {
        match &self.group {
            None => report(error),
            Some(group) if group.agreed.get() => {
                if group.number == 0 {
                    report(error);
                }
            }
            Some(group) => {
                report(&self.failure(group.number, error.to_string(), error.hint(), error.exit_code()));
                group.transport.abort(error.exit_code());
            }
        }
    }

    /// Returns the error of `process`, for the other processes.
    fn failure(&self, process: usize, problem: String, hint: Option<String>, exit_code: u8) -> Error {
        let place = self.group.as_ref().map(|group| &group.places[process]);
        let place = place.map_or(String::new(), |place| format!(" ({place})"));
        Error::Process { process: format!("process {process}{place}"), problem, hint, exit_code }
    }

    /// Sends each of `out` to its process and fills each of `into` from its process, all at once. `doing` is
    /// the purpose, for messages. A process that works alone has no one to exchange with.
    pub fn exchange(&self, doing: &str, out: &[(usize, &[u8])], into: &mut [(usize, &mut [u8])]) {
        let out = out.iter().map(|&(to, bytes)| Message::ready(to, bytes));
        let out: Vec<Message<'_>> = out.collect();
        self.exchange_during(doing, &out, into, |_| ());
    }

    /// Like [`Processes::exchange`], while `work` runs, which fills those of `out` that are not ready. From
    /// time to time it must call the function that it is given, which sends them.
    pub fn exchange_during(
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
        group.transport.exchange(out, into, &mut timed, &mut waiting);
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
            places: vec![Place { host: String::new(), pid: 0 }; transport.count()],
            transport,
            timeout,
            limited: Cell::new(false),
            lost,
            agreed: Cell::new(false),
            time: Cell::default(),
            sent: Cell::default(),
        }
    }

    /// Returns while the `missing` processes may still be waited for; afterwards, reports them and ends all
    /// processes.
    fn wait(&self, doing: &str, waited: Duration, missing: &[usize]) {
        let further = missing.len().saturating_sub(1) as u32;
        if waited <= self.timeout + FURTHER * further + STAGGER * self.number as u32 {
            return;
        }
        let named: Vec<String> =
            missing.iter().map(|&process| format!("process {process} ({})", self.places[process])).collect();
        let (named, timeout) = (named.join(", "), self.timeout.as_secs() as usize);
        let error = Error::Lost {
            problem: format!("no answer from {named} for {} while {doing}", count(timeout, "second")),
        };
        (self.lost)(&error);
        self.transport.abort(error.exit_code());
    }
}
