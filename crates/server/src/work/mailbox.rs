//! Events that wait to be read.

use std::collections::{HashMap, VecDeque};
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use attentive_pipeline::service::JobEvent;

/// The way in which a text that was not fetched in time is merged with the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Merge {
    /// It replaces the previous one, since it is the whole text so far.
    Replace,
    /// It is appended to the previous one.
    Append,
}

/// Events that wait to be read. However slowly they are read, there is at most one text and one result of
/// each job, and senders never wait.
#[derive(Debug)]
pub(crate) struct Mailbox<T>(Arc<Shared<T>>);

/// Puts events into a [`Mailbox`], which ends when all its senders are gone.
#[derive(Debug)]
pub(crate) struct Sender<T>(Arc<Shared<T>>);

#[derive(Debug)]
struct Shared<T> {
    merge: Merge,
    state: Mutex<State<T>>,
}

#[derive(Debug)]
struct State<T> {
    /// Jobs with events, in the order in which they are read.
    order: VecDeque<(usize, Next<T>)>,
    /// The text of each job that has one in `order`.
    texts: HashMap<usize, String>,
    senders: usize,
    /// The task that waits for an event.
    reader: Option<Waker>,
    /// True if the mailbox was dropped.
    closed: bool,
}

#[derive(Debug)]
enum Next<T> {
    Text,
    Done(attentive_base::error::Result<T>),
}

impl<T> Mailbox<T> {
    pub(crate) fn new(merge: Merge) -> (Sender<T>, Self) {
        let state =
            State { order: VecDeque::new(), texts: HashMap::new(), senders: 1, reader: None, closed: false };
        let shared = Arc::new(Shared { merge, state: Mutex::new(state) });
        (Sender(Arc::clone(&shared)), Self(shared))
    }

    /// Returns the next event with the number of its job; `None` after the last one.
    pub(crate) async fn next(&mut self) -> Option<(usize, JobEvent<T>)> {
        poll_fn(|context| {
            let mut state = self.0.lock();
            if let Some((number, next)) = state.order.pop_front() {
                let event = match next {
                    Next::Text => JobEvent::Text(state.texts.remove(&number).unwrap_or_default()),
                    Next::Done(result) => JobEvent::Done(result),
                };
                return Poll::Ready(Some((number, event)));
            }
            if state.senders == 0 {
                return Poll::Ready(None);
            }
            state.reader = Some(context.waker().clone());
            Poll::Pending
        })
        .await
    }
}

impl<T> Sender<T> {
    /// Adds an event of job `number`.
    pub(crate) fn send(&self, number: usize, event: JobEvent<T>) {
        let mut state = self.0.lock();
        if state.closed {
            return;
        }
        match event {
            JobEvent::Text(text) => state.text(number, text, self.0.merge),
            JobEvent::Done(result) => state.order.push_back((number, Next::Done(result))),
        }
        let reader = state.reader.take();
        drop(state);
        reader.into_iter().for_each(Waker::wake);
    }
}

impl<T> State<T> {
    fn text(&mut self, number: usize, text: String, merge: Merge) {
        match (self.texts.get_mut(&number), merge) {
            (Some(known), Merge::Replace) => *known = text,
            (Some(known), Merge::Append) => known.push_str(&text),
            (None, _) => {
                self.texts.insert(number, text);
                self.order.push_back((number, Next::Text));
            }
        }
    }
}

impl<T> Shared<T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        self.0.lock().senders += 1;
        Self(Arc::clone(&self.0))
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.senders -= 1;
        let reader = state.reader.take();
        drop(state);
        reader.into_iter().for_each(Waker::wake);
    }
}

impl<T> Drop for Mailbox<T> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.closed = true;
        let events = std::mem::take(&mut state.order);
        state.texts.clear();
        drop(state);
        drop(events);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::runtime::Builder;

    fn next(mailbox: &mut Mailbox<u32>) -> Option<(usize, Result<String, u32>)> {
        let runtime = Builder::new_current_thread().build().unwrap();
        let (number, event) = runtime.block_on(mailbox.next())?;
        let event = match event {
            JobEvent::Text(text) => Ok(text),
            JobEvent::Done(result) => Err(result.unwrap()),
        };
        Some((number, event))
    }

    #[test]
    fn what_is_not_read_does_not_pile_up() {
        for (merge, expected) in [(Merge::Replace, "c9999"), (Merge::Append, "c0c1")] {
            let (sender, mut mailbox) = Mailbox::new(merge);
            for step in 0..10_000 {
                for job in 0..3 {
                    sender.send(job, JobEvent::Text(format!("{}{step}", ["a", "b", "c"][job])));
                }
            }
            let state = sender.0.lock();
            assert_eq!((state.order.len(), state.texts.len()), (3, 3));
            drop(state);
            sender.send(1, JobEvent::Done(Ok(5)));
            assert_eq!(next(&mut mailbox).unwrap().0, 0);
            sender.send(0, JobEvent::Text("later".into()));
            assert_eq!(next(&mut mailbox).unwrap().0, 1);
            let (number, text) = next(&mut mailbox).unwrap();
            assert!(number == 2 && text.unwrap().starts_with(expected));
            assert_eq!(next(&mut mailbox), Some((1, Err(5))));
            assert_eq!(next(&mut mailbox), Some((0, Ok("later".into()))));
            let other = sender.clone();
            drop(sender);
            other.send(0, JobEvent::Done(Ok(6)));
            drop(other);
            assert_eq!(next(&mut mailbox), Some((0, Err(6))));
            assert_eq!(next(&mut mailbox), None);
        }
    }

    #[test]
    fn nothing_is_kept_for_a_reader_who_is_gone() {
        let (sender, mailbox) = Mailbox::<Arc<()>>::new(Merge::Replace);
        let result = Arc::new(());
        sender.send(0, JobEvent::Done(Ok(Arc::clone(&result))));
        drop(mailbox);
        sender.send(1, JobEvent::Done(Ok(Arc::clone(&result))));
        assert_eq!(Arc::strong_count(&result), 1);
    }
}
