//! Resources that clients share: the total is bounded, and so is the share of each client.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use attentive_pipeline::service::Client;

/// A number of places or bytes that clients share.
#[derive(Debug)]
pub(crate) struct Shares {
    total: usize,
    /// The maximum for one client.
    each: usize,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    all: usize,
    /// The clients that have a share.
    by: HashMap<Client, usize>,
}

/// The share of one client, until this is dropped.
#[derive(Debug)]
pub(crate) struct ClientShare {
    of: Arc<Shares>,
    client: Client,
    size: AtomicUsize,
}

/// The error that not enough is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exhausted;

impl Shares {
    pub(crate) fn new(total: usize, each: usize) -> Arc<Self> {
        Arc::new(Self { total, each, taken: Mutex::default() })
    }

    /// An empty share of `client`.
    pub(crate) fn of(self: &Arc<Self>, client: Client) -> ClientShare {
        ClientShare { of: Arc::clone(self), client, size: AtomicUsize::new(0) }
    }
}

impl ClientShare {
    /// Takes `more`, or nothing if that is too much.
    pub(crate) fn grow(&self, more: usize) -> Result<(), Exhausted> {
        let Shares { total, each, taken } = &*self.of;
        let mut taken = taken.lock().unwrap_or_else(PoisonError::into_inner);
        let own = taken.by.get(&self.client).copied().unwrap_or_default();
        if more > total.saturating_sub(taken.all) || more > each.saturating_sub(own) {
            return Err(Exhausted);
        }
        taken.all += more;
        taken.by.insert(self.client, own + more);
        self.size.fetch_add(more, Relaxed);
        Ok(())
    }

    /// Makes this a share of `size`.
    pub(crate) fn resize(&mut self, size: usize) -> Result<(), Exhausted> {
        let own = *self.size.get_mut();
        if size > own {
            return self.grow(size - own);
        }
        self.size = AtomicUsize::new(size);
        // What is dropped is given back.
        drop(Self { of: Arc::clone(&self.of), client: self.client, size: AtomicUsize::new(own - size) });
        Ok(())
    }

    /// Returns true if there is room for `more` once the client has nothing else.
    pub(crate) fn may_grow(&self, more: usize) -> bool {
        let size = self.size.load(Relaxed);
        more <= self.of.each.saturating_sub(size)
    }
}

impl Drop for ClientShare {
    fn drop(&mut self) {
        let size = *self.size.get_mut();
        if size == 0 {
            return;
        }
        let mut taken = self.of.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.all -= size;
        if let Some(own) = taken.by.get_mut(&self.client) {
            *own -= size;
            if *own == 0 {
                taken.by.remove(&self.client);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_and_each_are_bounded_and_nothing_is_left_over() {
        let shares = Shares::new(10, 7);
        let (first, second) = (shares.of(Client(1)), shares.of(Client(2)));
        assert_eq!(first.grow(8), Err(Exhausted));
        assert_eq!(first.grow(4), Ok(()));
        let more = shares.of(Client(1));
        assert_eq!(more.grow(4), Err(Exhausted), "the client has 4 of 7");
        assert!(more.may_grow(7) && !more.may_grow(8));
        assert!(first.may_grow(3) && !first.may_grow(4));
        assert_eq!(more.grow(3), Ok(()));
        assert_eq!(second.grow(4), Err(Exhausted), "3 are left");
        assert_eq!(second.grow(3), Ok(()));
        assert_eq!(second.grow(usize::MAX), Err(Exhausted));
        drop((first, more));
        assert_eq!(second.grow(4), Ok(()));
        drop(second);
        let taken = shares.taken.lock().unwrap();
        assert_eq!((taken.all, taken.by.len()), (0, 0));
    }
}
