//! The events of a request to a model, passed from the model's threads to the server's.

use std::sync::Arc;

pub(crate) use crate::work::mailbox::Merge;
use attentive_pipeline::Pipeline;
use attentive_pipeline::service::{
    Admission, Chunk, Client, JobEvent, Refused, Reply, RequestHandle, Service,
};

use crate::problem::{Problem, ProblemKind};
use crate::state::models::ModelInstance;
use crate::work::mailbox::{Mailbox, Sender};

/// Requests to a model and their events. Dropping it cancels them.
pub(crate) struct Answers<T> {
    model: Arc<ModelInstance>,
    events: Mailbox<T>,
    /// Present until the first event is requested.
    sender: Option<Sender<T>>,
    handles: Vec<RequestHandle>,
}

impl<T: Send + 'static> Answers<T> {
    /// Creates a value without requests.
    pub(crate) fn new(model: &Arc<ModelInstance>, merge: Merge) -> Self {
        let (sender, events) = Mailbox::new(merge);
        Self {
            // Kept while it works on the requests, even if another model replaces it.
            model: Arc::clone(model),
            events,
            sender: Some(sender),
            handles: Vec::new(),
        }
    }

    /// Sends a request by calling `send` with the reply.
    ///
    /// # Errors
    /// A [`Problem`] if the request is refused.
    pub(crate) fn send(
        &mut self,
        send: impl FnOnce(&Service, Reply<T>) -> Result<RequestHandle, Refused>,
    ) -> Result<(), Problem> {
        let sender = self.sender.clone();
        let reply = move |number, event| {
            if let Some(sender) = &sender {
                sender.send(number, event);
            }
        };
        let handle = send(self.model.service(), Arc::new(reply))?;
        self.handles.push(handle);
        Ok(())
    }

    /// Returns the next event with the number of its job; `None` after the last one. Texts that have
    /// accumulated are merged.
    pub(crate) async fn next(&mut self) -> Option<(usize, JobEvent<T>)> {
        // The events end when the model has dropped all replies.
        self.sender = None;
        self.events.next().await
    }

    /// Returns all results, in the order of the `count` jobs.
    ///
    /// # Errors
    /// The first [`Problem`] of any job.
    pub(crate) async fn all(mut self, count: usize) -> Result<Vec<T>, Problem> {
        let mut results: Vec<Option<T>> = (0..count).map(|_| None).collect();
        let mut missing = count;
        while missing > 0 {
            let Some((number, event)) = self.next().await else {
                return Err(lost());
            };
            if let JobEvent::Done(result) = event {
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

/// The approximate number of tokens of a text of `bytes` bytes.
pub(crate) fn positions_of(bytes: usize) -> usize {
    /// The average number of bytes of a token.
    const EACH: usize = 3;
    bytes / EACH
}

/// The number of positions of a chunk: as many as a model reads in a fraction of a second.
pub(crate) const ENOUGH: usize = 1024;

/// The number of positions of a chunk with which `all` positions make at most `most` chunks; [`ENOUGH`] if
/// that is sufficient.
pub(crate) fn enough_for(most: usize, all: usize) -> usize {
    // Two successive chunks together have more positions than the limit of one, or they would be one chunk.
    ENOUGH.max(2 * all.div_ceil(most.max(1)))
}

/// Groups `items` into chunks of `enough` positions, unless a single item has more. `work` creates the
/// computation for a chunk.
pub(crate) fn grouped<I, T, W>(
    enough: usize,
    items: impl IntoIterator<Item = I>,
    positions: impl Fn(&I) -> usize,
    work: impl Fn(Vec<I>) -> W,
) -> Vec<Chunk<T>>
where
    W: FnOnce(&Pipeline) -> attentive_base::error::Result<T> + Send + 'static,
{
    let (mut chunks, mut group, mut sum) = (Vec::new(), Vec::new(), 0);
    for item in items {
        let more = positions(&item).max(1);
        if sum + more > enough && !group.is_empty() {
            chunks.push(Chunk::new(sum, work(std::mem::take(&mut group))));
            sum = 0;
        }
        sum += more;
        group.push(item);
    }
    if !group.is_empty() {
        chunks.push(Chunk::new(sum, work(group)));
    }
    chunks
}

/// Returns the results of `chunks` of work with a model, each of which waits for its turn.
///
/// # Errors
/// A [`Problem`] if they are refused or fail.
pub(crate) async fn compute<T: Send + 'static>(
    model: &Arc<ModelInstance>,
    client: Client,
    admission: Admission,
    chunks: Vec<Chunk<T>>,
) -> Result<Vec<T>, Problem> {
    let count = chunks.len();
    if count == 0 {
        return Ok(Vec::new());
    }
    let send = |service: &Service, reply| service.compute(client, admission, chunks, reply);
    let mut answers = Answers::new(model, Merge::Replace);
    answers.send(send)?;
    answers.all(count).await
}

/// The problem that the model gave no result.
pub(crate) fn lost() -> Problem {
    Problem::new(ProblemKind::Internal, "the model failed to answer")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_never_more_chunks_than_allowed() {
        let seven = |number: usize| 1 + number * 7919 % 700;
        let shapes: [&dyn Fn(usize) -> usize; 4] = [&|_| 1, &|_| 1000, &|_| 5000, &seven];
        for positions in shapes {
            for (most, items) in [(1, 1), (1, 900), (2, 900), (7, 900), (512, 900), (900, 900)] {
                let all: usize = (0..items).map(positions).sum();
                let chunks = grouped(
                    enough_for(most, all),
                    0..items,
                    |&item| positions(item),
                    |group| move |_: &Pipeline| Ok(group),
                );
                assert!(chunks.len() <= most, "{} of {most}", chunks.len());
                let sum: usize = chunks.iter().map(|chunk| chunk.positions).sum();
                assert_eq!(sum, all);
                // The chunks are no larger than necessary.
                assert!(chunks.len() >= most.min(all / 5000) / 2);
            }
        }
        let few =
            grouped(enough_for(512, 3 * ENOUGH), vec![ENOUGH; 3], |&item| item, |_| |_: &Pipeline| Ok(()));
        assert_eq!(few.len(), 3);
    }
}
