use super::super::job::{Cost, RequestHandle};
use super::*;

fn queue(capacity: usize, workers: usize) -> Queue {
    Queue::new(ServiceLimits { workers, batch: 32, queue: capacity, per_client: capacity }, true)
}

/// Adds jobs for which there must be room.
fn add(queue: &Queue, client: u64, jobs: Vec<Job>) -> Result<(), Refused> {
    queue.add(Client(client), Admission::New, jobs)
}

/// `count` jobs of `rows` rows of `positions` positions each, and their common handle.
fn jobs(count: usize, rows: usize, positions: usize) -> (RequestHandle, Vec<Job>) {
    let handle = RequestHandle::new();
    let job = |_| Job {
        canceled: handle.canceled(),
        cost: Cost { rows, positions },
        work: Work::Compute { positions, work: Box::new(|_| ()) },
    };
    let jobs = (0..count).map(job).collect();
    (handle, jobs)
}

/// The client of the job that a worker with `rows` rows takes.
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
    let _handles = [(1, 5), (2, 1), (3, 2)].map(|(client, count)| {
        let (handle, jobs) = jobs(count, 1, 10);
        add(&queue, client, jobs).unwrap();
        handle
    });
    assert_eq!(order(&queue), [1, 2, 3, 1, 3, 1, 1, 1]);
}

#[test]
fn turns_are_weighed_by_cost() {
    let queue = queue(100, 1);
    let (_one, costly) = jobs(3, 16, 100);
    add(&queue, 1, costly).unwrap();
    assert!(take(&queue, 0, 0) == Some(Client(1)));
    let (_two, cheap) = jobs(20, 1, 100);
    add(&queue, 2, cheap).unwrap();
    // 16 jobs of the one client cost as much as one job of the other.
    let mut expected = vec![2; 16];
    expected.extend([1, 2, 2, 2, 2, 1]);
    assert_eq!(order(&queue), expected);
    // The amounts that clients have received are forgotten once no job waits.
    let (_one, again) = jobs(1, 1, 1);
    let (_two, other) = jobs(1, 1, 1);
    add(&queue, 1, again).unwrap();
    add(&queue, 2, other).unwrap();
    assert_eq!(order(&queue), [1, 2]);
}

#[test]
fn a_client_that_is_crowded_out_is_let_in_beyond_the_batch() {
    let queue = queue(1000, 1);
    let (_heavy, heavy) = jobs(10, 16, 500);
    add(&queue, 1, heavy).unwrap();
    assert_eq!(take(&queue, 0, 0), Some(Client(1)));
    assert_eq!(take(&queue, 0, 16), Some(Client(1)));
    assert_eq!(take(&queue, 0, 32), None, "nobody else waits");
    let handles: Vec<RequestHandle> = (2..=6)
        .map(|client| {
            let (handle, jobs) = jobs(9, 1, 10);
            add(&queue, client, jobs).unwrap();
            handle
        })
        .collect();
    let taken: Vec<_> = (32..70).map_while(|rows| take(&queue, 0, rows)).collect();
    // A share is a sixth of the batch.
    assert_eq!(taken.len(), 5 * 6);
    for client in 2..=6 {
        assert_eq!(taken.iter().filter(|one| one.0 == client).count(), 6);
    }
    drop(handles);
}

#[test]
fn a_request_is_added_as_a_whole_or_not_at_all() {
    let queue = queue(5, 1);
    let (first, three) = jobs(3, 1, 1);
    add(&queue, 1, three).unwrap();
    let (_second, more) = jobs(3, 1, 1);
    assert!(matches!(add(&queue, 2, more), Err(Refused::Full { waiting: 3, jobs: 3 })));
    // Canceled jobs make room.
    drop(first);
    let (_third, more) = jobs(5, 1, 1);
    add(&queue, 2, more).unwrap();
    assert_eq!(queue.waiting(), 5);
    queue.close();
    let (_fourth, more) = jobs(1, 1, 1);
    assert!(matches!(add(&queue, 2, more), Err(Refused::Closed)));
    for _ in 0..5 {
        assert!(take(&queue, 0, 0).is_some(), "what was accepted is done");
    }
    assert!(queue.take(0, 0).is_break());
}

#[test]
fn no_client_fills_the_queue() {
    let queue = Queue::new(ServiceLimits { workers: 1, batch: 32, queue: 8, per_client: 6 }, true);
    let (first, four) = jobs(4, 1, 1);
    add(&queue, 1, four).unwrap();
    let (_refused, three) = jobs(3, 1, 1);
    let refused = add(&queue, 1, three).unwrap_err();
    assert!(matches!(refused, Refused::Crowding { waiting: 4, jobs: 3 }), "{refused:?}");
    assert!(refused.to_string().contains("you already have 4 jobs"));
    let (_second, two) = jobs(2, 1, 1);
    add(&queue, 1, two).unwrap();
    let (_other, two) = jobs(2, 1, 1);
    add(&queue, 2, two).unwrap();
    // Now it is the server that is full.
    let (_third, one) = jobs(1, 1, 1);
    let refused = add(&queue, 3, one).unwrap_err();
    assert!(matches!(refused, Refused::Full { waiting: 8, jobs: 1 }), "{refused:?}");
    // Canceled jobs make room in a client's share as well.
    drop(first);
    let (_again, four) = jobs(4, 1, 1);
    add(&queue, 1, four).unwrap();
    assert_eq!(queue.waiting(), 8);
}

#[test]
fn what_was_begun_goes_on_in_a_full_queue() {
    let queue = queue(2, 1);
    let (_first, two) = jobs(2, 1, 1);
    add(&queue, 1, two).unwrap();
    let (_further, more) = jobs(3, 1, 1);
    queue.add(Client(1), Admission::Further, more).unwrap();
    let (_second, one) = jobs(1, 1, 1);
    assert!(matches!(add(&queue, 2, one), Err(Refused::Full { waiting: 5, .. })));
    assert_eq!(order(&queue).len(), 5);
    queue.close();
    let (_late, one) = jobs(1, 1, 1);
    let late = queue.add(Client(1), Admission::Further, one);
    assert!(matches!(late, Err(Refused::Closed)));
}

#[test]
fn what_was_begun_goes_before_what_is_new() {
    let queue = queue(100, 1);
    let numbered = |first: usize, count: usize| {
        let (handle, mut jobs) = jobs(count, 1, 1);
        for (number, job) in (first..).zip(&mut jobs) {
            job.cost.positions = number;
        }
        (handle, jobs)
    };
    let (_new, three) = numbered(1, 3);
    add(&queue, 1, three).unwrap();
    let (_begun, two) = numbered(10, 2);
    queue.add(Client(1), Admission::Further, two).unwrap();
    let (gone, one) = numbered(15, 1);
    queue.add(Client(1), Admission::Further, one).unwrap();
    let (_later, two) = numbered(20, 2);
    queue.add(Client(1), Admission::Further, two).unwrap();
    drop(gone);
    queue.lock().jobs.forget_canceled();
    assert_eq!(queue.waiting(), 7);
    let next = |_| match queue.take(0, 0) {
        ControlFlow::Continue(Some((client, job))) => {
            queue.release(client, job.cost.rows);
            job.cost.positions
        }
        _ => panic!("there are jobs"),
    };
    let order: Vec<usize> = (0..7).map(next).collect();
    assert_eq!(order, [10, 11, 20, 21, 1, 2, 3]);
    assert_eq!(queue.waiting(), 0);
}

#[test]
fn the_worker_with_the_fewest_rows_takes_the_next_job() {
    let queue = queue(100, 3);
    for worker in 0..3 {
        assert!(take(&queue, worker, 1).is_none());
    }
    let (_handle, one) = jobs(1, 1, 1);
    add(&queue, 1, one).unwrap();
    assert!(take(&queue, 0, 15).is_none());
    assert!(take(&queue, 1, 10).is_none());
    assert!(take(&queue, 2, 5).is_some());
}

#[test]
fn a_worker_that_does_other_work_is_not_waited_for() {
    let queue = queue(100, 2);
    let (_handle, two) = jobs(2, 1, 1);
    add(&queue, 1, two).unwrap();
    assert!(take(&queue, 0, 0).is_some());
    assert!(take(&queue, 1, 30).is_some());
}

#[test]
fn accounts_are_forgotten() {
    let queue = queue(100, 1);
    for client in 0..10_000 {
        let (_handle, one) = jobs(1, 1, 1 + client as usize % 7);
        add(&queue, client, one).unwrap();
        assert_eq!(order(&queue), [client]);
    }
    assert!(queue.lock().jobs.accounts() <= 1025);
}

#[test]
fn endless_jobs_have_their_turn() {
    let queue = queue(100, 1);
    for _ in 0..3 {
        let (_handle, endless) = jobs(3, 16, usize::MAX);
        add(&queue, 1, endless).unwrap();
        let (_handle, other) = jobs(1, 1, 10);
        add(&queue, 2, other).unwrap();
        assert_eq!(order(&queue), [1, 2, 1, 1]);
    }
}
