//! Dictionaries: the terms of a glossary between two languages.

use std::sync::Arc;

use attentive_pipeline::{Codes, Entries, Glossary, GlossaryFormat};

use crate::language::{Language, TranslationDirection};
use crate::problem::{Problem, ProblemKind};
use crate::state::shares::ClientShare;
use crate::work::thread_pool::StopFlag;

/// The maximum number of entries of a dictionary.
const MAX_ENTRIES: usize = 10_000;

/// The maximum number of bytes of all entries of a dictionary.
const MAX_ENTRY_BYTES: usize = 1 << 20;

/// Terms and their translations into another language.
#[derive(Debug)]
pub(crate) struct Dictionary {
    pub(crate) direction: TranslationDirection,
    pub(crate) terms: Arc<Glossary>,
    _memory: ClientShare,
}

/// A new dictionary as a client describes it.
#[derive(Debug)]
pub(crate) struct NewDictionary {
    pub(crate) direction: TranslationDirection,
    pub(crate) format: GlossaryFormat,
    pub(crate) entries: String,
}

impl NewDictionary {
    /// Reads the dictionary, which also has the entries of `earlier` for other terms. Its memory is counted
    /// in `memory` before it is allocated.
    ///
    /// # Errors
    /// A [`Problem`] for entries that cannot be read, and too many entries.
    pub(super) fn read(
        &self,
        memory: ClientShare,
        earlier: Option<&Glossary>,
        stop: &StopFlag,
    ) -> Result<Arc<Dictionary>, Problem> {
        self.check_size()?;
        let wrong = |problem| {
            let problem = format!("Invalid glossary entries provided: {problem}");
            Problem::field("entries", problem)
        };
        let full = |_| full("this glossary and the others need more RAM than the server has for them");
        let mut terms = Glossary::default();
        for line in Entries::of(&self.entries, self.format) {
            stop.check()?;
            let (number, entry, codes) = line.map_err(wrong)?;
            check_codes(codes, &self.direction)
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
        if terms.entries().len() > MAX_ENTRIES {
            return Err(too_many(terms.entries().len()));
        }
        Ok(Arc::new(Dictionary { direction: self.direction.clone(), terms: terms.into(), _memory: memory }))
    }

    /// Refuses entries that are too long, or too many.
    fn check_size(&self) -> Result<(), Problem> {
        if self.entries.len() > MAX_ENTRY_BYTES {
            let problem = format!("the entries have more than {MAX_ENTRY_BYTES} bytes");
            return Err(Problem {
                field: Some("entries".into()),
                ..Problem::new(ProblemKind::TooLarge, problem)
            });
        }
        match Entries::of(&self.entries, self.format).count() {
            found if found > MAX_ENTRIES => Err(too_many(found)),
            _ => Ok(()),
        }
    }
}

/// The problem that a glossary has no dictionary for these languages.
pub(crate) fn no_dictionary(source: &Language, target: &Language) -> Problem {
    let problem = format!("the glossary has no dictionary for {source} to {target}");
    Problem::new(ProblemKind::NoGlossary, problem).hint("`GET /v3/glossaries` lists its dictionaries")
}

/// Refuses two dictionaries for the same languages.
pub(super) fn check_distinct(dictionaries: &[NewDictionary]) -> Result<(), Problem> {
    for (number, NewDictionary { direction: TranslationDirection { source, target }, .. }) in
        dictionaries.iter().enumerate()
    {
        if dictionaries[..number].iter().any(|one| one.direction.is_between(source, target)) {
            let problem = format!("there are two dictionaries for {source} to {target}");
            return Err(Problem::field("dictionaries", problem));
        }
    }
    Ok(())
}

fn too_many(found: usize) -> Problem {
    let problem = format!("there are {found} entries; a glossary may have at most {MAX_ENTRIES}");
    Problem { field: Some("entries".into()), ..Problem::new(ProblemKind::TooLarge, problem) }
}

/// Refuses an entry of other languages.
fn check_codes(codes: Codes, direction: &TranslationDirection) -> Result<(), String> {
    let Some([from, to]) = codes else { return Ok(()) };
    for (code, language) in [(from, &direction.source), (to, &direction.target)] {
        let known = code.parse::<Language>();
        if !known.is_ok_and(|known| known.base() == language.base()) {
            return Err(format!("is of another language than the glossary: `{code}`"));
        }
    }
    Ok(())
}

pub(super) fn full(problem: impl Into<String>) -> Problem {
    Problem::new(ProblemKind::Quota, problem).hint("delete one that is not needed")
}
