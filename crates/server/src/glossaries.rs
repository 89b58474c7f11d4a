//! Glossaries: required translations of terms. They are kept in RAM until they are deleted or the server
//! stops.

mod terms;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use attentive_pipeline as pipeline;
use attentive_pipeline::service::Client;
use attentive_pipeline::{Codes, Entries, GlossaryFormat};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use uuid::Uuid;

use super::desk::Stop;
use super::language::{Direction, Language};
use super::problem::{Kind, Problem};
use super::shares::{Share, Shares};

pub(super) use self::terms::{Terms, placed};

/// The maximum number of glossaries of all clients, and of one client.
const MOST: [usize; 2] = [1000, 100];

/// The maximum number of bytes of all glossaries, and of those of one client.
const MEMORY: [usize; 2] = [64 << 20, 48 << 20];

/// The maximum number of entries of a dictionary.
const MOST_ENTRIES: usize = 10_000;

/// The maximum number of bytes of all entries of a dictionary.
const MOST_BYTES: usize = 1 << 20;

/// The maximum number of dictionaries of a glossary.
const MOST_DICTIONARIES: usize = 100;

/// The maximum number of bytes of a name.
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

/// A dictionary for each of one or more pairs of languages.
#[derive(Clone, Debug)]
pub(super) struct Glossary {
    pub(super) id: String,
    pub(super) name: String,
    /// The time of creation, as in RFC 3339.
    pub(super) created: String,
    pub(super) dictionaries: Vec<Arc<Dictionary>>,
    owner: Client,
}

/// Terms and their translations into another language.
#[derive(Debug)]
pub(super) struct Dictionary {
    pub(super) direction: Direction,
    pub(super) terms: Arc<pipeline::Glossary>,
    _memory: Share,
}

/// A new dictionary as a client describes it.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) direction: Direction,
    pub(super) format: GlossaryFormat,
    pub(super) entries: String,
}

impl Glossary {
    /// The dictionary between these languages.
    pub(super) fn dictionary(&self, source: &Language, target: &Language) -> Option<&Arc<Dictionary>> {
        self.dictionaries.iter().find(|one| one.direction.is_between(source, target))
    }
}

impl Glossaries {
    pub(super) fn new() -> Self {
        let [all, each] = MEMORY;
        Self { kept: Mutex::default(), memory: Shares::new(all, each) }
    }

    /// Creates a glossary. The time grows with the number of entries.
    ///
    /// # Errors
    /// A [`Problem`] for entries that cannot be read, too many entries, too many glossaries, or an owner who
    /// may have none.
    pub(super) fn add(
        &self,
        owner: Client,
        name: String,
        drafts: Vec<Draft>,
        stop: &Stop,
    ) -> Result<Arc<Glossary>, Problem> {
        check_name(&name)?;
        check_distinct(&drafts)?;
        // Entries need not be read if there is no room for them.
        self.lock().check_room(owner)?;
        let mut glossary = Glossary { id: new_id(), name, created: now(), dictionaries: Vec::new(), owner };
        for draft in drafts {
            let dictionary = self.dictionary(owner, &draft, None, stop)?;
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
    /// `drafts` to its dictionaries, where they replace entries for the same terms.
    ///
    /// # Errors
    /// Those of [`Glossaries::add`] and [`Glossaries::get`].
    pub(super) fn change(
        &self,
        owner: Client,
        id: &str,
        name: Option<&str>,
        drafts: &[Draft],
        stop: &Stop,
    ) -> Result<Arc<Glossary>, Problem> {
        name.map_or(Ok(()), check_name)?;
        check_distinct(drafts)?;
        loop {
            stop.check()?;
            let before = self.get(owner, id)?;
            let read = |draft: &Draft| {
                let Direction { source, target } = &draft.direction;
                self.dictionary(owner, draft, before.dictionary(source, target).map(|one| &*one.terms), stop)
            };
            let read = drafts.iter().map(read).collect::<Result<Vec<_>, _>>()?;
            let mut changed = Glossary::clone(&before);
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
    pub(super) fn replace(
        &self,
        owner: Client,
        id: &str,
        draft: &Draft,
        stop: &Stop,
    ) -> Result<Arc<Dictionary>, Problem> {
        self.get(owner, id)?;
        let read = self.dictionary(owner, draft, None, stop)?;
        self.update(owner, id, |glossary| glossary.put(Arc::clone(&read)))?;
        Ok(read)
    }

    /// Removes a dictionary.
    ///
    /// # Errors
    /// Those of [`Glossaries::get`]; a [`Problem`] if there is none for these languages.
    pub(super) fn remove_dictionary(
        &self,
        owner: Client,
        id: &str,
        source: &Language,
        target: &Language,
    ) -> Result<(), Problem> {
        let remove = |glossary: &mut Glossary| {
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
        change: impl FnOnce(&mut Glossary) -> Result<(), Problem>,
    ) -> Result<Arc<Glossary>, Problem> {
        let mut kept = self.lock();
        let place = kept.position(owner, id)?;
        let mut changed = Glossary::clone(&kept.all[place]);
        change(&mut changed)?;
        kept.all[place] = Arc::new(changed);
        Ok(Arc::clone(&kept.all[place]))
    }

    /// Reads a dictionary, which also has the entries of `earlier` for other terms. Its memory is counted
    /// before it is allocated.
    fn dictionary(
        &self,
        owner: Client,
        draft: &Draft,
        earlier: Option<&pipeline::Glossary>,
        stop: &Stop,
    ) -> Result<Arc<Dictionary>, Problem> {
        let memory = self.memory.of(owner);
        check_size(draft)?;
        let wrong = |problem| {
            let problem = format!("Invalid glossary entries provided: {problem}");
            Problem::field("entries", problem)
        };
        let full = |_| full("this glossary and the others need more RAM than the server has for them");
        let mut terms = pipeline::Glossary::default();
        for line in Entries::of(&draft.entries, draft.format) {
            stop.check()?;
            let (number, entry, codes) = line.map_err(wrong)?;
            check_codes(codes, &draft.direction)
                .map_err(|problem| wrong(format!("line {number} {problem}")))?;
            memory.grow(entry.memory()).map_err(full)?;
            terms.insert(entry).map_err(|problem| wrong(format!("line {number} {problem}")))?;
        }
        if terms.entries().is_empty() {
            return Err(Problem::field("entries", "Missing or invalid argument: entries"));
        }
        for entry in earlier.iter().flat_map(|earlier| earlier.entries()) {
            stop.check()?;
            memory.grow(entry.memory()).map_err(full)?;
            // Entries that are already there are newer.
            let _ = terms.insert(entry.clone());
        }
        if terms.entries().len() > MOST_ENTRIES {
            return Err(too_many(terms.entries().len()));
        }
        Ok(Arc::new(Dictionary { direction: draft.direction.clone(), terms: terms.into(), _memory: memory }))
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
        let hint = "`GET /v3/glossaries` lists them; they are gone when the server is started again";
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

impl Glossary {
    /// Adds a dictionary, in the place of the one for the same languages.
    fn put(&mut self, dictionary: Arc<Dictionary>) -> Result<(), Problem> {
        let Direction { source, target } = &dictionary.direction;
        self.dictionaries.retain(|one| !one.direction.is_between(source, target));
        if self.dictionaries.len() >= MOST_DICTIONARIES {
            let problem = format!("a glossary may have at most {MOST_DICTIONARIES} dictionaries");
            return Err(Problem::field("dictionaries", problem));
        }
        self.dictionaries.push(dictionary);
        Ok(())
    }
}

/// The problem that a glossary has no dictionary for these languages.
pub(super) fn no_dictionary(source: &Language, target: &Language) -> Problem {
    let problem = format!("the glossary has no dictionary for {source} to {target}");
    Problem::new(Kind::NoGlossary, problem).hint("`GET /v3/glossaries` lists its dictionaries")
}

/// Refuses two dictionaries for the same languages.
fn check_distinct(drafts: &[Draft]) -> Result<(), Problem> {
    for (number, Draft { direction: Direction { source, target }, .. }) in drafts.iter().enumerate() {
        if drafts[..number].iter().any(|one| one.direction.is_between(source, target)) {
            let problem = format!("there are two dictionaries for {source} to {target}");
            return Err(Problem::field("dictionaries", problem));
        }
    }
    Ok(())
}

/// Refuses entries that are too long, or too many.
fn check_size(draft: &Draft) -> Result<(), Problem> {
    if draft.entries.len() > MOST_BYTES {
        let problem = format!("the entries have more than {MOST_BYTES} bytes");
        return Err(Problem { field: Some("entries".into()), ..Problem::new(Kind::TooLarge, problem) });
    }
    match Entries::of(&draft.entries, draft.format).count() {
        found if found > MOST_ENTRIES => Err(too_many(found)),
        _ => Ok(()),
    }
}

fn too_many(found: usize) -> Problem {
    let problem = format!("there are {found} entries; a glossary may have at most {MOST_ENTRIES}");
    Problem { field: Some("entries".into()), ..Problem::new(Kind::TooLarge, problem) }
}

/// Refuses an entry of other languages.
fn check_codes(codes: Codes, direction: &Direction) -> Result<(), String> {
    let Some([from, to]) = codes else { return Ok(()) };
    for (code, language) in [(from, &direction.source), (to, &direction.target)] {
        let known = code.parse::<Language>();
        if !known.is_ok_and(|known| known.base() == language.base()) {
            return Err(format!("is of another language than the glossary: `{code}`"));
        }
    }
    Ok(())
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
mod tests {
    use super::*;

    fn draft(entries: &str) -> Draft {
        of_languages("en-de", entries)
    }

    fn of_languages(name: &str, entries: &str) -> Draft {
        Draft {
            direction: Direction::of_name(name).unwrap(),
            format: GlossaryFormat::Tsv,
            entries: entries.into(),
        }
    }

    fn added(glossaries: &Glossaries, owner: u64, entries: &str) -> Result<Arc<Glossary>, Problem> {
        glossaries.add(Client(owner), "terms".into(), vec![draft(entries)], &Stop::default())
    }

    /// The terms of the only dictionary.
    fn terms(glossary: &Glossary) -> Vec<(&str, &str)> {
        let entries = glossary.dictionaries[0].terms.entries().iter();
        entries.map(|entry| (&*entry.source, &*entry.target)).collect()
    }

    #[test]
    fn dictionaries_are_merged_replaced_and_removed() {
        let glossaries = Glossaries::new();
        let (owner, stop) = (Client(1), Stop::default());
        let id = added(&glossaries, 1, "a\tb\nc\td").unwrap().id.clone();
        let more = [draft("c\te\nf\tg"), of_languages("de-en", "x\ty")];
        let changed = glossaries.change(owner, &id, Some("other"), &more, &stop).unwrap();
        assert_eq!((&*changed.name, changed.dictionaries.len()), ("other", 2));
        assert_eq!(terms(&changed), [("c", "e"), ("f", "g"), ("a", "b")]);
        glossaries.replace(owner, &id, &draft("z\tz"), &stop).unwrap();
        let replaced = glossaries.get(owner, &id).unwrap();
        let language = |code: &str| code.parse::<Language>().unwrap();
        let (en, de) = (language("en"), language("de"));
        assert_eq!(replaced.dictionary(&en, &de).unwrap().terms.entries().len(), 1);
        glossaries.remove_dictionary(owner, &id, &en, &de).unwrap();
        let gone = glossaries.remove_dictionary(owner, &id, &en, &de).unwrap_err();
        assert_eq!(gone.kind, Kind::NoGlossary);
        assert_eq!(glossaries.get(owner, &id).unwrap().dictionaries.len(), 1);
        let twice = vec![draft("a\tb"), draft("a\tb")];
        assert!(glossaries.change(owner, &id, None, &twice, &stop).is_err());
        assert!(glossaries.add(owner, "terms".into(), twice, &stop).is_err());
    }

    #[test]
    fn mistakes_are_named() {
        let of_csv = |entries: &str| Draft { format: GlossaryFormat::Csv, ..draft(entries) };
        for (draft, expected) in [
            (draft(""), "argument: entries"),
            (draft("\n \n"), "argument: entries"),
            (draft("a  b\tc\nd\te\na b\tf"), "line 3 has a second translation of `a  b`"),
            (of_csv("a,b,en,fr"), "line 1 is of another language than the glossary: `fr`"),
            (draft("a"), "provided: line 1 has 0 tabs"),
        ] {
            let found = Glossaries::new().add(Client(1), "terms".into(), vec![draft], &Stop::default());
            let problem = found.unwrap_err().message;
            assert!(problem.contains(expected), "{problem}");
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
        let add = |owner, text: &str| added(&glossaries, owner, text);
        let first = add(1, "a\tb").unwrap();
        assert_eq!(add(2, "a\tb\na\tc").unwrap_err().kind, Kind::Invalid);
        assert!(glossaries.of(Client(2)).is_empty());
        let get = |owner| glossaries.get(Client(owner), &first.id);
        assert_eq!(get(2).unwrap_err().kind, Kind::NoGlossary);
        assert_eq!(terms(&get(1).unwrap()), [("a", "b")]);
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
        let add = |owner| added(&glossaries, owner, "a\tb");
        let used = add(1).unwrap();
        let memory = Arc::downgrade(&used.dictionaries[0]);
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
        assert_eq!(terms(&used), [("a", "b")]);
        drop(used);
        assert!(memory.upgrade().is_none());
    }

    #[test]
    fn memory_is_bounded_and_comes_back() {
        let glossaries = Glossaries::new();
        let term = "x".repeat(LONGEST - 8);
        let large: String = (0..500).map(|n| format!("{n}\t{term}\n")).collect();
        let add = || added(&glossaries, 1, &large);
        let added: Vec<_> = std::iter::from_fn(|| add().ok()).collect();
        assert!((5..MOST[1]).contains(&added.len()), "{}", added.len());
        assert_eq!(add().unwrap_err().kind, Kind::Quota);
        let id = added[0].id.clone();
        drop(added);
        glossaries.remove(Client(1), &id).unwrap();
        add().unwrap();
    }
}
