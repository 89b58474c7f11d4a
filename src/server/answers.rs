//! The events of a request to a model, brought from the threads of the model to those of the server.

use std::collections::VecDeque;
use std::sync::Arc;

use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};

use super::models::Model;
use super::problem::{Kind, Problem};
use crate::pipeline::Pipeline;
use crate::pipeline::service::{Client, Event, Refused, Reply, Service, Ticket};

/// How a text that was not fetched in time is joined with the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Merge {
    /// It replaces the one before it: it is the whole text so far.
    Replace,
    /// It goes on where the one before it ends.
    Append,
}

/// Requests to a model and their events. Dropping it cancels them.
pub(super) struct Answers<T> {
    model: Arc<Model>,
    events: UnboundedReceiver<(usize, Event<T>)>,
    /// Until the first event is asked for.
    sender: Option<UnboundedSender<(usize, Event<T>)>>,
    fetched: VecDeque<(usize, Event<T>)>,
    merge: Merge,
    tickets: Vec<Ticket>,
}

impl<T: Send + 'static> Answers<T> {
    /// No requests yet.
    pub(super) fn new(model: &Arc<Model>, merge: Merge) -> Self {
        let (sender, events) = mpsc::unbounded_channel();
        Self {
            // Kept while it works on the requests, even if another one takes its place.
            model: Arc::clone(model),
            events,
            sender: Some(sender),
            fetched: VecDeque::new(),
            merge,
            tickets: Vec::new(),
        }
    }

    /// Sends a request, as `send` does with the reply that it is given. Its jobs are numbered from `first`.
    ///
    /// # Errors
    /// A [`Problem`] if it is refused.
    pub(super) fn send(
        &mut self,
        first: usize,
        send: impl FnOnce(&Service, Reply<T>) -> Result<Ticket, Refused>,
    ) -> Result<(), Problem> {
        let sender = self.sender.clone();
        let reply = move |number, event| {
            if let Some(sender) = &sender {
                // Nobody reads any more if the request was cancelled.
                let _ = sender.send((first + number, event));
            }
        };
        let ticket = send(self.model.service(), Arc::new(reply))?;
        self.tickets.push(ticket);
        Ok(())
    }

    /// The next event with the number of its job; `None` after the last. Texts that have piled up come as one.
    pub(super) async fn next(&mut self) -> Option<(usize, Event<T>)> {
        // The events end when the model has dropped all replies.
        self.sender = None;
        if self.fetched.is_empty() {
            let event = self.events.recv().await?;
            self.fetched.push_back(event);
        }
        while let Ok((number, event)) = self.events.try_recv() {
            self.add(number, event);
        }
        self.fetched.pop_front()
    }

    fn add(&mut self, number: usize, event: Event<T>) {
        let Event::Text(text) = event else {
            self.fetched.push_back((number, event));
            return;
        };
        let known = self.fetched.iter_mut().find_map(|(of, known)| match known {
            Event::Text(known) if *of == number => Some(known),
            _ => None,
        });
        match (known, self.merge) {
            (Some(known), Merge::Replace) => *known = text,
            (Some(known), Merge::Append) => known.push_str(&text),
            (None, _) => self.fetched.push_back((number, Event::Text(text))),
        }
    }

    /// All results, in the order of the `count` jobs.
    ///
    /// # Errors
    /// The first [`Problem`] with any of them.
    pub(super) async fn all(mut self, count: usize) -> Result<Vec<T>, Problem> {
        let mut results: Vec<Option<T>> = (0..count).map(|_| None).collect();
        let mut missing = count;
        while missing > 0 {
            let Some((number, event)) = self.next().await else {
                return Err(lost());
            };
            if let Event::Done(result) = event {
                let result = result.map_err(|error| Problem::failed(&error))?;
                if let Some(place) = results.get_mut(number) {
                    *place = Some(result);
                    missing -= 1;
                }
            }
        }
        Ok(results.into_iter().flatten().collect())
    }
}

/// Does `work` with a model when it is its turn.
///
/// # Errors
/// A [`Problem`] if it is refused or fails.
pub(super) async fn compute<T: Send + 'static>(
    model: &Arc<Model>,
    client: Client,
    work: impl FnOnce(&Pipeline) -> crate::error::Result<T> + Send + 'static,
) -> Result<T, Problem> {
    let send = |service: &Service, reply| service.compute(client, work, reply);
    let mut answers = Answers::new(model, Merge::Replace);
    answers.send(0, send)?;
    let mut results = answers.all(1).await?;
    results.pop().ok_or_else(lost)
}

/// The model gave no result.
pub(super) fn lost() -> Problem {
    Problem::new(Kind::Internal, "the model failed to answer")
}
