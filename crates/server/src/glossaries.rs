//! Glossaries: required translations of terms. They are kept in RAM until they are deleted or the server
//! stops.

mod entries;
mod finder;
mod terms;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use attentive_pipeline::service::Client;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use uuid::Uuid;

use self::finder::Finder;
use super::desk::Stop;
use super::language::Direction;
use super::problem::{Kind, Problem};
use super::shares::{Share, Shares};

pub(super) use self::entries::{Entry, Format};
pub(super) use self::terms::Terms;

/// The maximum number of glossaries of all clients, and of one client.
const MOST: [usize; 2] = [1000, 100];

/// The maximum number of bytes of all glossaries, and of those of one client.
const MEMORY: [usize; 2] = [64 << 20, 48 << 20];

/// The maximum number of entries of a glossary.
const MOST_ENTRIES: usize = 10_000;

/// The maximum number of bytes of all entries of a glossary.
const MOST_BYTES: usize = 1 << 20;

/// The maximum number of bytes of a name, and of a term.
const LONGEST: usize = 1024;

/// The glossaries of all clients.
#[derive(Debug)]
pub(super) struct Glossaries {
    kept: Mutex<Kept>,
    memory: Arc<Shares>,
}

#[derive(Debug, Default)]
struct Kept {
    /// Oldest first.
    all: Vec<Arc<Glossary>>,
    /// The clients that may have glossaries; `None` if all may.
    owners: Option<HashSet<Client>>,
}

/// Terms and their translations.
#[derive(Debug)]
pub(super) struct Glossary {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) direction: Direction,
    /// The time of creation, as in RFC 3339.
    pub(super) created: String,
    pub(super) entries: Vec<Entry>,
    finder: Finder,
    owner: Client,
    _memory: Share,
}

/// A new glossary as a client describes it.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) name: String,
    pub(super) direction: Direction,
    pub(super) format: Format,
    pub(super) entries: String,
}

impl Glossaries {
    pub(super) fn new() -> Self {
        let [all, each] = MEMORY;
        Self { kept: Mutex::default(), memory: Shares::new(all, each) }
    }

    /// Creates a glossary from `draft`. The time grows with the number of entries.
    ///
    /// # Errors
    /// A [`Problem`] for entries that cannot be read, too many entries, too many glossaries, or an owner who
    /// may have none.
    pub(super) fn add(&self, owner: Client, draft: Draft, stop: &Stop) -> Result<Arc<Glossary>, Problem> {
        check_name(&draft.name)?;
        // Entries need not be read if there is no room for them.
        self.lock().check_room(owner)?;
        entries::check_size(&draft.entries)?;
        let memory = self.memory.of(owner);
        let (entries, finder) = entries::read(&draft, &memory, stop)?;
        let glossary = Arc::new(Glossary {
            id: new_id(),
            name: draft.name,
            direction: draft.direction,
            created: now(),
            entries,
            finder,
            owner,
            _memory: memory,
        });
        let mut kept = self.lock();
        // Other requests may have added glossaries in the meantime, or the key may have been revoked.
        kept.check_room(owner)?;
        kept.all.push(Arc::clone(&glossary));
        Ok(glossary)
    }

    /// Lets only `owners` have glossaries, and releases those of all others. Requests that use them are not
    /// affected.
    pub(super) fn keep_those_of(&self, owners: HashSet<Client>) {
        let mut kept = self.lock();
        kept.all.retain(|one| owners.contains(&one.owner));
        kept.owners = Some(owners);
    }

    /// The glossaries of `owner`, oldest first.
    pub(super) fn of(&self, owner: Client) -> Vec<Arc<Glossary>> {
        let kept = self.lock();
        let own = kept.all.iter().filter(|one| one.owner == owner);
        own.cloned().collect()
    }

    /// Returns the glossary of `owner` with this `id`.
    ///
    /// # Errors
    /// A [`Problem`] if there is none.
    pub(super) fn get(&self, owner: Client, id: &str) -> Result<Arc<Glossary>, Problem> {
        let kept = self.lock();
        Ok(Arc::clone(&kept.all[kept.position(owner, id)?]))
    }

    /// Removes the glossary of `owner` with this `id`. Requests that use it are not affected.
    ///
    /// # Errors
    /// A [`Problem`] if there is none.
    pub(super) fn remove(&self, owner: Client, id: &str) -> Result<(), Problem> {
        let mut kept = self.lock();
        let place = kept.position(owner, id)?;
        kept.all.remove(place);
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    /// The index of the glossary of `owner` with this `id`.
    fn position(&self, owner: Client, id: &str) -> Result<usize, Problem> {
        let mut all = self.all.iter();
        let found = all.position(|one| one.owner == owner && one.id == id);
        let hint = "`GET /v2/glossaries` lists them; they are gone when the server is started again";
        found.ok_or_else(|| Problem::new(Kind::NoGlossary, "there is no such glossary").hint(hint))
    }

    /// Refuses another glossary if there are too many, or `owner` may have none.
    fn check_room(&self, owner: Client) -> Result<(), Problem> {
        if self.owners.as_ref().is_some_and(|owners| !owners.contains(&owner)) {
            return Err(Problem::new(Kind::WrongKey, "this API key was revoked"));
        }
        let [most, each] = MOST;
        let own = self.all.iter().filter(|one| one.owner == owner).count();
        if own >= each {
            return Err(full(format!("you have {own} glossaries; a client may have at most {each}")));
        }
        if self.all.len() >= most {
            Err(full(format!("the server already keeps {most} glossaries, the maximum")))
        } else {
            Ok(())
        }
    }
}

fn full(problem: impl Into<String>) -> Problem {
    Problem::new(Kind::Quota, problem).hint("delete one that is not needed")
}

fn check_name(name: &str) -> Result<(), Problem> {
    let problem = match name.trim() {
        "" => "Missing or invalid argument: name".to_owned(),
        _ if name.len() > LONGEST => format!("the name has more than {LONGEST} bytes"),
        _ => return Ok(()),
    };
    Err(Problem::field("name", problem))
}

/// A new identifier, which nobody can guess.
pub(super) fn new_id() -> String {
    Uuid::new_v4().to_string()
}

/// The present time, such as `2026-11-22T10:15:42.708262Z`.
fn now() -> String {
    let mut text = String::new();
    // Writing to a string never fails.
    let _ = SystemTime.format_time(&mut Writer::new(&mut text));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft(entries: &str) -> Draft {
        Draft {
            name: "terms".into(),
            direction: Direction::of_name("en-de").unwrap(),
            format: Format::Tsv,
            entries: entries.into(),
        }
    }

    #[test]
    fn identifiers_are_random_uuids() {
        let ids: Vec<String> = (0..100).map(|_| new_id()).collect();
        for id in &ids {
            let lens: Vec<usize> = id.split('-').map(str::len).collect();
            assert_eq!(lens, [8, 4, 4, 4, 12], "{id}");
            assert_eq!(&id[14..15], "4");
            assert!("89ab".contains(&id[19..20]), "{id}");
        }
        let distinct: std::collections::HashSet<_> = ids.iter().collect();
        assert_eq!(distinct.len(), ids.len());
    }

    #[test]
    fn glossaries_belong_to_their_owners_and_are_bounded() {
        let glossaries = Glossaries::new();
        let add = |owner, text: &str| glossaries.add(Client(owner), draft(text), &Stop::default());
        let first = add(1, "a\tb").unwrap();
        assert_eq!(add(2, "a\tb\na\tc").unwrap_err().kind, Kind::Invalid);
        assert!(glossaries.of(Client(2)).is_empty());
        let get = |owner| glossaries.get(Client(owner), &first.id);
        assert_eq!(get(2).unwrap_err().kind, Kind::NoGlossary);
        assert_eq!(get(1).unwrap().entries[0].target, "b");
        for _ in 1..MOST[1] {
            add(1, "a\tb").unwrap();
        }
        assert_eq!(add(1, "a\tb").unwrap_err().kind, Kind::Quota);
        add(2, "a\tb").unwrap();
        assert!(glossaries.remove(Client(2), &first.id).is_err());
        glossaries.remove(Client(1), &first.id).unwrap();
        assert!(get(1).is_err());
        add(1, "a\tb").unwrap();
    }

    #[test]
    fn glossaries_of_revoked_keys_are_released() {
        let glossaries = Glossaries::new();
        let add = |owner| glossaries.add(Client(owner), draft("a\tb"), &Stop::default());
        let used = add(1).unwrap();
        let memory = Arc::downgrade(&used);
        // More rotations of keys than there is room for if nothing were released.
        for owner in 1..=3 * MOST[0] as u64 / 5 {
            glossaries.keep_those_of([Client(owner)].into());
            for _ in 0..5 {
                add(owner).unwrap();
            }
            assert_eq!(glossaries.of(Client(owner)).len(), 5 + usize::from(owner == 1));
        }
        assert!(glossaries.of(Client(1)).is_empty());
        assert_eq!(add(1).unwrap_err().kind, Kind::WrongKey);
        // A request that uses one goes on.
        assert_eq!(used.entries[0].target, "b");
        drop(used);
        assert!(memory.upgrade().is_none());
    }

    #[test]
    fn memory_is_bounded_and_comes_back() {
        let glossaries = Glossaries::new();
        let term = "x".repeat(LONGEST - 8);
        let large: String = (0..500).map(|n| format!("{n}\t{term}\n")).collect();
        let add = || glossaries.add(Client(1), draft(&large), &Stop::default());
        let added: Vec<_> = std::iter::from_fn(|| add().ok()).collect();
        assert!((5..MOST[1]).contains(&added.len()), "{}", added.len());
        assert_eq!(add().unwrap_err().kind, Kind::Quota);
        let id = added[0].id.clone();
        drop(added);
        glossaries.remove(Client(1), &id).unwrap();
        add().unwrap();
    }
}
