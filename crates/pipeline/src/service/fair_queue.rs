//! A queue in which clients take turns by the cost of what they have received.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::fmt;

use super::{Admission, Client};

/// What waits in a [`FairQueue`].
pub trait Queued {
    /// The cost that counts when clients take turns. Sums of it must not overflow.
    fn cost(&self) -> u64;

    /// How many rows or places it takes from its turn until it is released.
    fn size(&self) -> usize;

    /// Returns true if nobody waits for it any more.
    fn is_canceled(&self) -> bool;
}

/// Waiting items of clients. The next one comes from the client that has received least.
pub struct FairQueue<T> {
    /// The clients whose items wait or are in use, and those that have received more than others.
    accounts: HashMap<Client, Account<T>>,
    /// The clients whose items wait, by what they have received, then in the order of their turns.
    turns: BTreeSet<Turn>,
    /// The amount that the client of the last item had received before. A new client begins with at least
    /// this amount.
    now: u64,
    /// The largest amount that any client has received. When nothing waits, all clients begin with it, so
    /// that no debts remain.
    latest: u64,
    /// The number of turns so far.
    n_turns: u64,
    waiting: usize,
    waiting_size: usize,
}

/// The items of a client, and the amount that it has received.
struct Account<T> {
    /// Items of requests in progress, which go first: a client that has waited for a translation need not
    /// wait as long again for its alignment.
    further: VecDeque<T>,
    new: VecDeque<T>,
    /// The cost of the client's items so far, as if it had always been there.
    given: u64,
    /// The size of the client's items that are in use.
    in_use: usize,
}

/// The position of a client among those whose items wait.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Turn {
    given: u64,
    number: u64,
    client: Client,
}

impl<T> Default for Account<T> {
    fn default() -> Self {
        Self { further: VecDeque::new(), new: VecDeque::new(), given: 0, in_use: 0 }
    }
}

impl<T> Account<T> {
    fn waiting(&self) -> usize {
        self.further.len() + self.new.len()
    }

    fn is_idle(&self) -> bool {
        self.in_use == 0 && self.waiting() == 0
    }

    fn items(&self) -> impl Iterator<Item = &T> {
        self.further.iter().chain(&self.new)
    }
}

impl<T> Default for FairQueue<T> {
    fn default() -> Self {
        Self {
            accounts: HashMap::new(),
            turns: BTreeSet::new(),
            now: 0,
            latest: 0,
            n_turns: 0,
            waiting: 0,
            waiting_size: 0,
        }
    }
}

impl<T> fmt::Debug for FairQueue<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} items of {} clients", self.waiting, self.turns.len())
    }
}

impl<T: Queued> FairQueue<T> {
    /// The number of items that wait.
    pub fn waiting(&self) -> usize {
        self.waiting
    }

    /// The size of all items that wait.
    pub fn waiting_size(&self) -> usize {
        self.waiting_size
    }

    /// The number of items of `client` that wait.
    pub fn waiting_of(&self, client: Client) -> usize {
        self.accounts.get(&client).map_or(0, Account::waiting)
    }

    /// For each client that has items, the size of those in use.
    pub fn in_use(&self) -> impl Iterator<Item = usize> {
        self.accounts.values().filter(|account| !account.is_idle()).map(|account| account.in_use)
    }

    /// Adds `items` of `client`, before its new ones if they continue a request.
    pub fn add(&mut self, client: Client, admission: Admission, items: impl IntoIterator<Item = T>) {
        let now = self.now;
        let account = self.accounts.entry(client).or_default();
        let before = account.waiting();
        let line = match admission {
            Admission::New => &mut account.new,
            Admission::Further => &mut account.further,
        };
        for item in items {
            self.waiting_size += item.size();
            line.push_back(item);
        }
        let added = account.waiting() - before;
        self.waiting += added;
        if before == 0 && added > 0 {
            account.given = account.given.max(now);
            self.queue_up(client);
        }
    }

    /// Gives `client` a turn, after those that have received as much.
    fn queue_up(&mut self, client: Client) {
        let given = self.accounts.get(&client).map_or(0, |account| account.given);
        self.n_turns += 1;
        self.turns.insert(Turn { given, number: self.n_turns, client });
    }

    /// Takes the next item of the first client in turn that `may` take one, given the size of its items in
    /// use. They are in use until they are [released](Self::release).
    pub fn next(&mut self, may: impl Fn(usize) -> bool) -> Option<(Client, T)> {
        let in_use = |client| self.accounts.get(client).map_or(0, |account| account.in_use);
        let turn = *self.turns.iter().find(|turn| may(in_use(&turn.client)))?;
        self.turns.remove(&turn);
        let client = turn.client;
        let account = self.accounts.get_mut(&client)?;
        let item = account.further.pop_front().or_else(|| account.new.pop_front())?;
        self.now = self.now.max(account.given);
        account.given += item.cost();
        account.in_use += item.size();
        self.latest = self.latest.max(account.given);
        self.waiting -= 1;
        self.waiting_size -= item.size();
        if account.waiting() > 0 {
            self.queue_up(client);
        }
        if self.turns.is_empty() {
            self.now = self.latest;
        }
        Some((client, item))
    }

    /// Records that items of `client` of this size are no longer in use.
    pub fn release(&mut self, client: Client, size: usize) {
        /// The maximum number of accounts of clients without items.
        const MAX_IDLE: usize = 1024;
        let now = self.now;
        if let Some(account) = self.accounts.get_mut(&client) {
            account.in_use -= size;
            if account.is_idle() && account.given <= now {
                self.accounts.remove(&client);
            }
        }
        if self.accounts.len() > self.turns.len() + MAX_IDLE {
            self.accounts.retain(|_, account| !account.is_idle());
        }
    }

    /// Drops canceled items.
    pub fn forget_canceled(&mut self) {
        for account in self.accounts.values_mut() {
            account.further.retain(|item| !item.is_canceled());
            account.new.retain(|item| !item.is_canceled());
        }
        let accounts = &self.accounts;
        self.turns.retain(|turn| accounts.get(&turn.client).is_some_and(|one| one.waiting() > 0));
        self.waiting = accounts.values().map(Account::waiting).sum();
        self.waiting_size = accounts.values().flat_map(Account::items).map(Queued::size).sum();
    }

    #[cfg(test)]
    pub(super) fn accounts(&self) -> usize {
        self.accounts.len()
    }
}
