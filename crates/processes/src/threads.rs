//! Threads in place of processes.

use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread;
use std::time::Duration;

use super::Processes;
use super::transport::{Message, Transport, numbered};

/// The longest time that a thread may keep the others waiting, on a machine that may be busy.
const TIMEOUT: Duration = Duration::from_secs(300);

/// A message and its number.
type Numbered = (usize, Vec<u8>);

#[derive(Debug)]
struct Threads {
    number: usize,
    out: Vec<Sender<Numbered>>,
    into: Vec<Receiver<Numbered>>,
}

impl Transport for Threads {
    fn count(&self) -> usize {
        self.out.len()
    }

    fn number(&self) -> usize {
        self.number
    }

    fn exchange(
        &self,
        out: &[Message<'_>],
        into: &mut [(usize, &mut [u8])],
        work: &mut dyn FnMut(&mut dyn FnMut()),
        waiting: &mut dyn FnMut(&[usize]),
    ) {
        let numbers = numbered(out.iter().map(|message| message.to));
        let mut unsent: Vec<(&Message<'_>, usize)> = out.iter().zip(numbers).collect();
        let mut send = || {
            unsent.retain(|(message, number)| {
                let Some(bytes) = message.bytes() else {
                    return true;
                };
                // A thread that has ended needs no message.
                let _ = self.out[message.to].send((*number, bytes.to_vec()));
                false
            });
        };
        work(&mut send);
        send();
        assert!(unsent.is_empty(), "a message was not filled");
        let processes: Vec<usize> = into.iter().map(|(process, _)| *process).collect();
        for &process in &processes {
            let (number, bytes) = loop {
                match self.into[process].try_recv() {
                    Ok(message) => break message,
                    Err(TryRecvError::Empty) => waiting(&[process]),
                    Err(TryRecvError::Disconnected) => panic!("process {process} has ended"),
                }
                thread::sleep(Duration::from_micros(10));
            };
            let mut places = into.iter_mut().filter(|(from, _)| *from == process);
            let (_, buffer) = places.nth(number).expect("as many messages as buffers");
            buffer.copy_from_slice(&bytes);
        }
    }

    fn abort(&self, exit_code: u8) -> ! {
        panic!("aborted with exit code {exit_code}")
    }
}

/// Runs `work` in `n` threads that act as processes, and returns their results in order.
pub fn in_threads<R: Send>(n: usize, work: impl Fn(Processes) -> R + Sync) -> Vec<R> {
    in_threads_within(n, TIMEOUT, work)
}

/// [`in_threads`], where a thread may keep the others waiting for `timeout`.
pub(crate) fn in_threads_within<R: Send>(
    n: usize,
    timeout: Duration,
    work: impl Fn(Processes) -> R + Sync,
) -> Vec<R> {
    let (mut out, mut into): (Vec<Vec<_>>, Vec<Vec<_>>) = (0..n).map(|_| (Vec::new(), Vec::new())).unzip();
    for from in &mut out {
        for to in &mut into {
            let (sender, receiver) = channel();
            from.push(sender);
            to.push(receiver);
        }
    }
    let ends: Vec<Threads> = out
        .into_iter()
        .zip(into)
        .enumerate()
        .map(|(number, (out, into))| Threads { number, out, into })
        .collect();
    thread::scope(|scope| {
        let work = &work;
        let run = |end: Threads| {
            let host = "a thread".to_owned();
            move || work(Processes::connected(end, host, timeout, |error| panic!("{error}")))
        };
        let threads: Vec<_> = ends.into_iter().map(|end| scope.spawn(run(end))).collect();
        let results = threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        results.collect()
    })
}
