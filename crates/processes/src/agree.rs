//! Exchanges of small messages, by which processes agree on how to continue.

use std::rc::Rc;
use std::time::Duration;

use attentive_base::error::{Error, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::transport::Transport;
use super::{Group, Place, Processes};

/// Size of the first message of an exchange, in bytes: the length of the content, and its beginning.
const HEAD: usize = 64;
const LENGTH: usize = size_of::<u64>();
/// The reason why a message can be read.
const SAME_PROGRAM: &str = "all processes run the same program";

/// An error, as one process reports it to another.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Failure {
    problem: String,
    hint: Option<String>,
    exit_code: u8,
}

impl Failure {
    fn of(error: &Error) -> Self {
        Self { problem: error.to_string(), hint: error.hint(), exit_code: error.exit_code() }
    }
}

impl Processes {
    /// Returns the processes that `transport` connects. Each tells the others where it runs.
    pub(super) fn connected(
        transport: impl Transport + 'static,
        host: String,
        timeout: Duration,
        lost: fn(&Error),
    ) -> Self {
        if transport.count() == 1 {
            return Self::alone();
        }
        let here = format!("{} {host}", std::process::id());
        let unnamed = Self { group: Some(Rc::new(Group::new(Box::new(transport), timeout, lost))) };
        let places = unnamed.gather("the processes were introduced", here.as_bytes());
        let places = places.iter().map(|place| {
            let place = String::from_utf8_lossy(place);
            let (pid, host) = place.split_once(' ').unwrap_or(("0", &place));
            Place { host: host.into(), pid: pid.parse().unwrap_or(0) }
        });
        let places = places.collect();
        let mut group = unnamed.group;
        let group = group.take().and_then(Rc::into_inner).map(|group| Rc::new(Group { places, ..group }));
        Self { group }
    }

    /// Returns what each process says, in the order of their numbers. All processes must call this together.
    pub fn gather(&self, doing: &str, said: &[u8]) -> Vec<Vec<u8>> {
        if self.is_alone() {
            return vec![said.to_vec()];
        }
        let head = head(said);
        let mut heads = vec![[0; HEAD]; self.count()];
        heads[self.number()] = head;
        self.exchange(doing, &self.to_others(&head), &mut self.for_others(&mut heads));
        let lengths = heads.iter().map(length);
        let mut all: Vec<Vec<u8>> = heads
            .iter()
            .zip(lengths)
            .map(|(head, length)| {
                let mut all = head[LENGTH..].to_vec();
                all.resize(length, 0);
                all
            })
            .collect();
        let rest = said.get(HEAD - LENGTH..).unwrap_or(&[]);
        let out = match rest {
            [] => Vec::new(),
            rest => self.to_others(rest),
        };
        let mut rests: Vec<(usize, &mut [u8])> = all
            .iter_mut()
            .enumerate()
            .filter(|(process, all)| *process != self.number() && all.len() > HEAD - LENGTH)
            .map(|(process, all)| (process, &mut all[HEAD - LENGTH..]))
            .collect();
        self.exchange(doing, &out, &mut rests);
        all[self.number()] = said.to_vec();
        all
    }

    /// Returns what `make` returns in the first process; the others get a copy. If it fails, all processes
    /// fail.
    fn made_by_first(&self, doing: &str, make: impl FnOnce() -> Result<Vec<u8>>) -> Result<Vec<u8>> {
        if self.is_alone() {
            return make();
        }
        // The first process may take as long as it needs, for example to read what a user types.
        let limited = self.set_limited(false);
        let made = self.is_first().then(make).transpose();
        let made = self.agree(doing, made);
        self.set_limited(limited);
        let made = made?;
        match made {
            Some(made) => {
                self.exchange(doing, &self.to_others(&head(&made)), &mut []);
                self.exchange(doing, &self.to_others(&made), &mut []);
                Ok(made)
            }
            None => {
                let mut head = [0; HEAD];
                self.exchange(doing, &[], &mut [(0, &mut head)]);
                let mut made = vec![0; length(&head)];
                self.exchange(doing, &[], &mut [(0, &mut made)]);
                Ok(made)
            }
        }
    }

    /// Returns `result` if no process has failed; otherwise an error in all processes, taken from the first
    /// failed one. `doing` says what was done meanwhile, as in "the data were read".
    ///
    /// # Errors
    /// The error of `result` if it is the same in all processes, otherwise [`Error::Process`].
    pub fn agree<T>(&self, doing: &str, result: Result<T>) -> Result<T> {
        let Some(group) = &self.group else {
            return result;
        };
        let said = match &result {
            Ok(_) => Vec::new(),
            Err(error) => serde_json::to_vec(&Failure::of(error)).unwrap_or_default(),
        };
        let reports = self.gather(doing, &said);
        let failed = reports.iter().position(|report| !report.is_empty());
        let Some(failed) = failed else { return result };
        group.agreed.set(true);
        let is_common = reports.iter().all(|report| *report == reports[failed]);
        match result {
            Err(error) if is_common || failed == self.number() && self.is_first() => Err(error),
            _ => Err(self.told(failed, &reports[failed])),
        }
    }

    /// Returns the value of the first process in all processes. If it fails, all processes fail.
    ///
    /// # Errors
    /// The error of the first process.
    pub fn value_of_first<T: Serialize + DeserializeOwned>(
        &self,
        doing: &str,
        make: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        if self.is_alone() {
            return make();
        }
        let mut own = None;
        let said = self.made_by_first(doing, || {
            let value = own.insert(make()?);
            Ok(serde_json::to_vec(value).unwrap_or_default())
        })?;
        Ok(own.unwrap_or_else(|| serde_json::from_slice(&said).expect(SAME_PROGRAM)))
    }

    /// Returns the lines of all processes, in the order of their numbers. If one process fails, all fail.
    ///
    /// # Errors
    /// Any error of [`Processes::agree`].
    pub fn gather_lines(&self, doing: &str, lines: Result<Vec<String>>) -> Result<Vec<String>> {
        if self.is_alone() {
            return lines;
        }
        let lines = self.agree(doing, lines)?;
        let said = serde_json::to_vec(&lines).unwrap_or_default();
        let all = self.gather(doing, &said).into_iter();
        let read = |said: Vec<u8>| -> Vec<String> { serde_json::from_slice(&said).expect(SAME_PROGRAM) };
        Ok(all.flat_map(read).collect())
    }

    /// Refuses to continue if `description`, which describes `what`, is not the same in all processes.
    ///
    /// # Errors
    /// [`Error::Usage`], which names the first process whose description differs.
    pub fn require_same(&self, what: &str, description: &str) -> Result<()> {
        let doing = "the processes were compared";
        let all = self.gather(doing, description.as_bytes());
        let result = if description.as_bytes() == all[0] {
            Ok(())
        } else {
            Err(Error::usage(
                format!("{what} differs from process 0's"),
                "give all processes the same files, version and options",
            ))
        };
        self.agree(doing, result)
    }

    /// Refuses to continue with several processes.
    ///
    /// # Errors
    /// [`Error::Usage`], which says that `what` is done by one process.
    pub fn require_alone(&self, what: &str) -> Result<()> {
        let n = self.count();
        let refused = Err(Error::usage(
            format!("{what} runs in one process, and this is one of {n}"),
            "start it without an MPI launcher",
        ));
        self.agree("the command began", if n == 1 { Ok(()) } else { refused })
    }

    /// Records that all processes have failed in the same way and know of it.
    pub fn fail_together(&self) {
        if let Some(group) = &self.group {
            group.agreed.set(true);
        }
    }

    /// Returns the largest `number` of all processes.
    pub fn largest(&self, doing: &str, number: u64) -> u64 {
        self.numbers(doing, number).max().unwrap_or(0)
    }

    /// Returns the sum of the `number`s of all processes.
    pub fn total(&self, doing: &str, number: u64) -> u64 {
        self.numbers(doing, number).sum()
    }

    /// The `number`s of all processes, in the order of their numbers.
    fn numbers(&self, doing: &str, number: u64) -> impl Iterator<Item = u64> + use<> {
        let numbers = self.gather(doing, &number.to_le_bytes());
        let number = |bytes: Vec<u8>| bytes.try_into().map_or(0, u64::from_le_bytes);
        numbers.into_iter().map(number)
    }

    fn told(&self, process: usize, report: &[u8]) -> Error {
        let unreadable = |_| Failure { problem: "failed".into(), hint: None, exit_code: 1 };
        let Failure { problem, hint, exit_code } = serde_json::from_slice(report).unwrap_or_else(unreadable);
        self.failure(process, problem, hint, exit_code)
    }

    /// Returns `bytes` for each other process.
    pub fn to_others<'a>(&self, bytes: &'a [u8]) -> Vec<(usize, &'a [u8])> {
        let others = (0..self.count()).filter(|&process| process != self.number());
        others.map(|process| (process, bytes)).collect()
    }

    /// Returns the parts of `buffers`, one for each process, except the part of this process.
    fn for_others<'a, const N: usize>(&self, buffers: &'a mut [[u8; N]]) -> Vec<(usize, &'a mut [u8])> {
        let buffers = buffers.iter_mut().map(|buffer| buffer.as_mut_slice());
        buffers.enumerate().filter(|(process, _)| *process != self.number()).collect()
    }
}

fn head(said: &[u8]) -> [u8; HEAD] {
    let mut head = [0; HEAD];
    head[..LENGTH].copy_from_slice(&(said.len() as u64).to_le_bytes());
    let begun = said.len().min(HEAD - LENGTH);
    head[LENGTH..LENGTH + begun].copy_from_slice(&said[..begun]);
    head
}

fn length(head: &[u8; HEAD]) -> usize {
    let mut length = [0; LENGTH];
    length.copy_from_slice(&head[..LENGTH]);
    u64::from_le_bytes(length) as usize
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use super::*;
    use crate::in_threads;
    use crate::threads::in_threads_within;

    #[test]
    fn messages_of_any_length_arrive_in_order() {
        for n in 1..5 {
            let said = |process: usize| vec![process as u8; [0, 1, 56, 57, 1000][process]];
            let heard = in_threads(n, |processes| {
                let process = processes.number();
                processes.gather("testing", &said(process))
            });
            let expected: Vec<Vec<u8>> = (0..n).map(said).collect();
            assert!(heard.into_iter().all(|heard| heard == expected), "{n}");
        }
    }

    #[test]
    fn all_get_what_the_first_makes() {
        let heard = in_threads(3, |processes| {
            let make = || Ok(vec![7; 100]);
            processes.made_by_first("testing", make).unwrap()
        });
        assert_eq!(heard, vec![vec![7; 100]; 3]);
    }

    #[test]
    fn an_error_of_one_is_an_error_of_all_and_names_it() {
        let errors = in_threads(3, |processes| {
            let result = match processes.number() {
                1 => Err(Error::usage("no space", "make some")),
                _ => Ok(()),
            };
            let error = processes.agree("testing", result).unwrap_err();
            (error.to_string(), error.hint(), error.exit_code())
        });
        for (problem, hint, exit_code) in errors {
            assert!(problem.starts_with("process 1 ("), "{problem}");
            assert!(problem.ends_with("): no space"), "{problem}");
            assert_eq!((hint.as_deref(), exit_code), (Some("make some"), 2));
        }
    }

    #[test]
    fn an_error_that_all_have_names_none() {
        let errors = in_threads(2, |processes| {
            let result: Result<()> = Err(Error::usage("nonsense", "no"));
            processes.agree("testing", result).unwrap_err().to_string()
        });
        assert_eq!(errors, ["nonsense", "nonsense"]);
    }

    #[test]
    fn shares_are_complete_and_even() {
        for n in 1..6 {
            for things in 0..20 {
                let shares = in_threads(n, |processes| processes.share(things));
                let joined: Vec<usize> = shares.iter().cloned().flatten().collect();
                assert_eq!(joined, (0..things).collect::<Vec<_>>());
                let lengths: Vec<usize> = shares.iter().map(ExactSizeIterator::len).collect();
                let (least, most) = (lengths.iter().min(), lengths.iter().max());
                assert!(most.unwrap() - least.unwrap() <= 1, "{lengths:?}");
            }
        }
    }

    #[test]
    #[should_panic(expected = "no answer from process 1")]
    fn a_silent_process_is_named() {
        // Process 1 says nothing until process 0 has given up, which drops the sender.
        let (sender, receiver) = channel::<()>();
        let (sender, receiver) = (Mutex::new(Some(sender)), Mutex::new(receiver));
        in_threads_within(2, Duration::from_millis(100), |processes| {
            processes.limit_waits();
            if processes.is_first() {
                let _sender = sender.lock().unwrap().take();
                processes.gather("testing", b"here");
            } else {
                let _ = receiver.lock().unwrap().recv();
            }
        });
    }
}
