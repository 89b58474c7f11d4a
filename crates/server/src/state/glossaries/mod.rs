//! Glossaries: required translations of terms. They are kept in RAM until they are deleted or the server
//! stops.

mod dictionary;
mod terms;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use attentive_pipeline::service::Client;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use uuid::Uuid;

use crate::language::{Language, TranslationDirection};
use crate::problem::{Problem, ProblemKind};
use crate::state::shares::Shares;
use crate::work::thread_pool::StopFlag;

use self::dictionary::{check_distinct, full};

pub(crate) use self::dictionary::{Dictionary, NewDictionary, no_dictionary};
pub(crate) use self::terms::{Terms, placed};

/// The maximum number of glossaries of all clients, and of one client.
const MAX_GLOSSARIES: [usize; 2] = [1000, 100];

/// The maximum number of bytes of all glossaries, and of those of one client.
const MEMORY: [usize; 2] = [64 << 20, 48 << 20];

/// The maximum number of dictionaries of a glossary.
const MAX_DICTIONARIES: usize = 100;

/// The maximum number of bytes of a name.
const MAX_NAME_BYTES: usize = 1024;

/// The glossaries of all clients.
#[derive(Debug)]
pub(crate) struct Glossaries {
    kept: Mutex<Kept>,
    memory: Arc<Shares>,
}

#[derive(Debug, Default)]
struct Kept {
    /// Oldest first.
    all: Vec<Arc<StoredGlossary>>,
    /// The clients that may have glossaries; `None` if all may.
    owners: Option<HashSet<Client>>,
}

/// A dictionary for each of one or more pairs of languages.
#[derive(Clone, Debug)]
pub(crate) struct StoredGlossary {
    pub(crate) id: String,
    pub(crate) name: String,
    /// The time of creation, as in RFC 3339.
    pub(crate) created: String,
    pub(crate) dictionaries: Vec<Arc<Dictionary>>,
    owner: Client,
}

impl StoredGlossary {
    /// The dictionary between these languages.
    pub(crate) fn dictionary(&self, source: &Language, target: &Language) -> Option<&Arc<Dictionary>> {
        self.dictionaries.iter().find(|one| one.direction.is_between(source, target))
    }
}

impl Glossaries {
    pub(crate) fn new() -> Self {
        let [all, each] = MEMORY;
        Self { kept: Mutex::default(), memory: Shares::new(all, each) }
    }

    /// Creates a glossary. The time grows with the number of entries.
    ///
    /// # Errors
    /// A [`Problem`] for entries that cannot be read, too many entries, too many glossaries, or an owner who
    /// may have none.
    pub(crate) fn add(
        &self,
        owner: Client,
        name: String,
        dictionaries: Vec<NewDictionary>,
        stop: &StopFlag,
    ) -> Result<Arc<StoredGlossary>, Problem> {
        check_name(&name)?;
        check_distinct(&dictionaries)?;
        // Entries need not be read if there is no room for them.
        self.lock().check_room(owner)?;
        let mut glossary =
            StoredGlossary { id: new_id(), name, created: now(), dictionaries: Vec::new(), owner };
        for new in dictionaries {
            let dictionary = new.read(self.memory.of(owner), None, stop)?;
            glossary.put(dictionary)?;
        }
        let glossary = Arc::new(glossary);
        let mut kept = self.lock();
        // Other requests may have added glossaries in the meantime, or the key may have been revoked.
        kept.check_room(owner)?;
        kept.all.push(Arc::clone(&glossary));
        Ok(glossary)
    }

    /// Gives the glossary of `owner` with this `id` another name, if there is one, and adds the entries of
    /// `dictionaries` to its dictionaries, where they replace entries for the same terms.
    ///
    /// # Errors
    /// Those of [`Glossaries::add`] and [`Glossaries::get`].
    pub(crate) fn change(
        &self,
        owner: Client,
        id: &str,
        name: Option<&str>,
        dictionaries: &[NewDictionary],
        stop: &StopFlag,
    ) -> Result<Arc<StoredGlossary>, Problem> {
        name.map_or(Ok(()), check_name)?;
        check_distinct(dictionaries)?;
        loop {
            stop.check()?;
            let before = self.get(owner, id)?;
            let read = |new: &NewDictionary| {
                let TranslationDirection { source, target } = &new.direction;
                let earlier = before.dictionary(source, target).map(|one| &*one.terms);
                new.read(self.memory.of(owner), earlier, stop)
            };
            let read = dictionaries.iter().map(read).collect::<Result<Vec<_>, _>>()?;
            let mut changed = StoredGlossary::clone(&before);
            changed.name = name.unwrap_or(&before.name).to_owned();
            read.into_iter().try_for_each(|dictionary| changed.put(dictionary))?;
            let mut kept = self.lock();
            let place = kept.position(owner, id)?;
            // Otherwise another request has changed it in the meantime.
            if Arc::ptr_eq(&kept.all[place], &before) {
                kept.all[place] = Arc::new(changed);
                return Ok(Arc::clone(&kept.all[place]));
            }
        }
    }

    /// Puts a dictionary in the place of the one for the same languages, or adds it.
    ///
    /// # Errors
    /// Those of [`Glossaries::change`].
    pub(crate) fn replace(
        &self,
        owner: Client,
        id: &str,
        new: &NewDictionary,
        stop: &StopFlag,
    ) -> Result<Arc<Dictionary>, Problem> {
        self.get(owner, id)?;
        let read = new.read(self.memory.of(owner), None, stop)?;
        self.update(owner, id, |glossary| glossary.put(Arc::clone(&read)))?;
        Ok(read)
    }

    /// Removes a dictionary.
    ///
    /// # Errors
    /// Those of [`Glossaries::get`]; a [`Problem`] if there is none for these languages.
    pub(crate) fn remove_dictionary(
        &self,
        owner: Client,
        id: &str,
        source: &Language,
        target: &Language,
    ) -> Result<(), Problem> {
        let remove = |glossary: &mut StoredGlossary| {
            let before = glossary.dictionaries.len();
            glossary.dictionaries.retain(|one| !one.direction.is_between(source, target));
            if glossary.dictionaries.len() < before { Ok(()) } else { Err(no_dictionary(source, target)) }
        };
        self.update(owner, id, remove).map(drop)
    }

    /// Puts a changed copy in the place of a glossary. Requests that use it are not affected.
    fn update(
        &self,
        owner: Client,
        id: &str,
        change: impl FnOnce(&mut StoredGlossary) -> Result<(), Problem>,
    ) -> Result<Arc<StoredGlossary>, Problem> {
        let mut kept = self.lock();
        let place = kept.position(owner, id)?;
        let mut changed = StoredGlossary::clone(&kept.all[place]);
        change(&mut changed)?;
        kept.all[place] = Arc::new(changed);
        Ok(Arc::clone(&kept.all[place]))
    }

    /// Lets only `owners` have glossaries, and releases those of all others. Requests that use them are not
    /// affected.
    pub(crate) fn keep_those_of(&self, owners: HashSet<Client>) {
        let mut kept = self.lock();
        kept.all.retain(|one| owners.contains(&one.owner));
        kept.owners = Some(owners);
    }

    /// The glossaries of `owner`, oldest first.
    pub(crate) fn of(&self, owner: Client) -> Vec<Arc<StoredGlossary>> {
        let kept = self.lock();
        let own = kept.all.iter().filter(|one| one.owner == owner);
        own.cloned().collect()
    }

    /// Returns the glossary of `owner` with this `id`.
    ///
    /// # Errors
    /// A [`Problem`] if there is none.
    pub(crate) fn get(&self, owner: Client, id: &str) -> Result<Arc<StoredGlossary>, Problem> {
        let kept = self.lock();
        Ok(Arc::clone(&kept.all[kept.position(owner, id)?]))
    }

    /// Removes the glossary of `owner` with this `id`. Requests that use it are not affected.
    ///
    /// # Errors
    /// A [`Problem`] if there is none.
    pub(crate) fn remove(&self, owner: Client, id: &str) -> Result<(), Problem> {
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
        let hint = "`GET /v3/glossaries` lists them; they are gone when the server is started again";
        found.ok_or_else(|| Problem::new(ProblemKind::NoGlossary, "there is no such glossary").hint(hint))
    }

    /// Refuses another glossary if there are too many, or `owner` may have none.
    fn check_room(&self, owner: Client) -> Result<(), Problem> {
        if self.owners.as_ref().is_some_and(|owners| !owners.contains(&owner)) {
            return Err(Problem::new(ProblemKind::WrongKey, "this API key was revoked"));
        }
        let [most, each] = MAX_GLOSSARIES;
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

impl StoredGlossary {
    /// Adds a dictionary, in the place of the one for the same languages.
    fn put(&mut self, dictionary: Arc<Dictionary>) -> Result<(), Problem> {
        let TranslationDirection { source, target } = &dictionary.direction;
        self.dictionaries.retain(|one| !one.direction.is_between(source, target));
        if self.dictionaries.len() >= MAX_DICTIONARIES {
            let problem = format!("a glossary may have at most {MAX_DICTIONARIES} dictionaries");
            return Err(Problem::field("dictionaries", problem));
        }
        self.dictionaries.push(dictionary);
        Ok(())
    }
}

fn check_name(name: &str) -> Result<(), Problem> {
    let problem = match name.trim() {
        "" => "Missing or invalid argument: name".to_owned(),
        _ if name.len() > MAX_NAME_BYTES => format!("the name has more than {MAX_NAME_BYTES} bytes"),
        _ => return Ok(()),
    };
    Err(Problem::field("name", problem))
}

/// A new identifier, which nobody can guess.
fn new_id() -> String {
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
mod tests;
