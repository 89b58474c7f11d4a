//! Translated files, kept in RAM until they are fetched or too old.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use attentive_document::FileFormat;
use attentive_pipeline::service::Client;
use axum::body::Bytes;
use uuid::Uuid;

use crate::problem::{Problem, ProblemKind};
use crate::state::shares::{ClientShare, Shares};

/// The maximum number of files of all clients, and of one client.
const MAX_DOCUMENTS: [usize; 2] = [1000, 100];

/// The maximum number of bytes of all files, and of those of one client.
const MEMORY: [usize; 2] = [128 << 20, 64 << 20];

/// The time for which a file is kept.
const KEPT: Duration = Duration::from_secs(60 * 60);

/// The files of all clients.
#[derive(Debug)]
pub(crate) struct Documents {
    kept: Mutex<Vec<Kept>>,
    memory: Arc<Shares>,
}

#[derive(Debug)]
struct Kept {
    id: String,
    key: String,
    access: FileAccess,
    owner: Client,
    since: Instant,
    status: TranslationStatus,
    memory: ClientShare,
}

/// Who may fetch a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileAccess {
    /// Its owner, with its identifier and its key.
    Owner,
    /// Whoever knows its key.
    Key,
}

/// What has become of a file.
#[derive(Clone, Debug)]
pub(crate) enum TranslationStatus {
    Translating,
    Done(Arc<FinishedDocument>),
    Failed(String),
}

/// A translated file.
#[derive(Debug)]
pub(crate) struct FinishedDocument {
    /// The name of the file that the client sent.
    pub(crate) name: String,
    pub(crate) format: FileFormat,
    pub(crate) content: Bytes,
    /// The number of characters of the source.
    pub(crate) characters: usize,
    pub(crate) warnings: Vec<String>,
}

/// How a client names a file.
#[derive(Clone, Debug)]
pub(crate) struct DocumentHandle {
    pub(crate) id: String,
    pub(crate) key: String,
}

impl DocumentHandle {
    /// A name that nobody can guess, of 32 and 64 digits as those of DeepL.
    fn new() -> Self {
        let digits = || format!("{:X}", Uuid::new_v4().simple());
        Self { id: digits(), key: digits() + &digits() }
    }
}

impl Documents {
    pub(crate) fn new() -> Self {
        let [all, each] = MEMORY;
        Self { kept: Mutex::default(), memory: Shares::new(all, each) }
    }

    /// Makes room for a file of `owner` of about `size` bytes that is being translated.
    ///
    /// # Errors
    /// A [`Problem`] for too many files, or too large ones.
    pub(crate) fn begin(
        &self,
        owner: Client,
        access: FileAccess,
        size: usize,
    ) -> Result<DocumentHandle, Problem> {
        let mut kept = self.lock();
        let [most, each] = MAX_DOCUMENTS;
        // Those that are done make room, the oldest first.
        if kept.iter().filter(|one| one.owner == owner).count() >= each {
            release(&mut kept, |one| one.owner == owner);
        }
        if kept.len() >= most {
            release(&mut kept, |_| true);
        }
        let own = kept.iter().filter(|one| one.owner == owner).count();
        if own >= each || kept.len() >= most {
            let problem = "too many files are being translated";
            return Err(Problem::new(ProblemKind::Quota, problem).hint("try again when others are done"));
        }
        let memory = self.memory.of(owner);
        while let Err(exhausted) = memory.grow(size) {
            if !release(&mut kept, |one| one.owner == owner) && !release(&mut kept, |_| true) {
                return Err(exhausted.into());
            }
        }
        let handle = DocumentHandle::new();
        kept.push(Kept {
            id: handle.id.clone(),
            key: handle.key.clone(),
            access,
            owner,
            since: Instant::now(),
            status: TranslationStatus::Translating,
            memory,
        });
        Ok(handle)
    }

    /// Ends the translation of a file.
    pub(crate) fn end(&self, handle: &DocumentHandle, found: Result<TranslatedDocument, Problem>) {
        let mut kept = self.lock();
        let Some(one) = kept.iter_mut().find(|one| one.id == handle.id) else { return };
        one.since = Instant::now();
        let finished = found.and_then(|TranslatedDocument { name, format, text, characters, warnings }| {
            one.memory.resize(text.len() + warnings.iter().map(String::len).sum::<usize>())?;
            Ok(FinishedDocument { name, format, content: text.into(), characters, warnings })
        });
        one.status = match finished {
            Ok(finished) => TranslationStatus::Done(Arc::new(finished)),
            Err(Problem { message, hint, .. }) => {
                // Nothing of it is kept.
                let _ = one.memory.resize(0);
                TranslationStatus::Failed(
                    [Some(message), hint].into_iter().flatten().collect::<Vec<_>>().join("; "),
                )
            }
        };
    }

    /// The status of the file with this key, which is enough to fetch it.
    ///
    /// # Errors
    /// A [`Problem`] if there is none.
    pub(crate) fn status_by_key(&self, key: &str) -> Result<TranslationStatus, Problem> {
        let kept = self.lock();
        let found = kept.iter().find(|one| one.access == FileAccess::Key && one.key == key);
        found.map(|one| one.status.clone()).ok_or_else(missing)
    }

    /// The status of a file of `owner`.
    ///
    /// # Errors
    /// A [`Problem`] if there is none with this identifier, and this key if one is given.
    pub(crate) fn status(
        &self,
        owner: Client,
        id: &str,
        key: Option<&str>,
    ) -> Result<TranslationStatus, Problem> {
        let kept = self.lock();
        let found = kept.iter().find(|one| one.owner == owner && one.id == id);
        let found = found.filter(|one| key.is_none_or(|key| key == one.key));
        found.map(|one| one.status.clone()).ok_or_else(missing)
    }

    /// Releases a file.
    pub(crate) fn remove(&self, id: &str) {
        self.lock().retain(|one| one.id != id);
    }

    /// Releases the files of all but `owners`.
    pub(crate) fn keep_those_of(&self, owners: &HashSet<Client>) {
        self.lock().retain(|one| owners.contains(&one.owner));
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Kept>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|one| matches!(one.status, TranslationStatus::Translating) || one.since.elapsed() < KEPT);
        kept
    }
}

fn missing() -> Problem {
    let problem = Problem::new(ProblemKind::NoDocument, "there is no such document");
    problem.hint("a translated file is kept for an hour, and with DeepL's API until it is fetched")
}

/// Releases the oldest file that `may` be released and is not being translated, if there is one.
fn release(kept: &mut Vec<Kept>, may: impl Fn(&Kept) -> bool) -> bool {
    let is_done = |one: &Kept| !matches!(one.status, TranslationStatus::Translating);
    let oldest = kept.iter().position(|one| is_done(one) && may(one));
    oldest.map(|oldest| kept.remove(oldest)).is_some()
}

/// A file as it comes from the models.
pub(crate) struct TranslatedDocument {
    pub(crate) name: String,
    pub(crate) format: FileFormat,
    pub(crate) text: String,
    pub(crate) characters: usize,
    pub(crate) warnings: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn translated(text: &str) -> TranslatedDocument {
        TranslatedDocument {
            name: "a.txt".into(),
            format: FileFormat::Text,
            text: text.into(),
            characters: 1,
            warnings: Vec::new(),
        }
    }

    #[test]
    fn files_belong_to_their_owners_and_are_bounded() {
        let documents = Documents::new();
        let (one, two) = (Client(1), Client(2));
        let handle = documents.begin(one, FileAccess::Owner, 1).unwrap();
        let status = |owner, key: Option<&str>| documents.status(owner, &handle.id, key);
        assert!(matches!(status(one, Some(&handle.key)).unwrap(), TranslationStatus::Translating));
        assert_eq!(status(two, None).unwrap_err().kind, ProblemKind::NoDocument);
        assert_eq!(status(one, Some("x")).unwrap_err().kind, ProblemKind::NoDocument);
        documents.end(&handle, Ok(translated("x")));
        assert!(matches!(status(one, None).unwrap(), TranslationStatus::Done(done) if done.content == "x"));
        for _ in 2..MAX_DOCUMENTS[1] {
            documents.begin(one, FileAccess::Owner, 1).unwrap();
        }
        let large = documents.begin(one, FileAccess::Owner, 1).unwrap();
        documents.end(&large, Ok(translated(&"x".repeat(MEMORY[1] + 1))));
        assert!(matches!(documents.status(one, &large.id, None).unwrap(), TranslationStatus::Failed(_)));
        // The first one is done, and makes room; then none is.
        documents.begin(one, FileAccess::Owner, 1).unwrap();
        assert!(documents.status(one, &handle.id, None).is_err());
        documents.begin(one, FileAccess::Owner, 1).unwrap();
        assert!(documents.status(one, &large.id, None).is_err());
        assert_eq!(documents.begin(one, FileAccess::Owner, 1).unwrap_err().kind, ProblemKind::Quota);
        documents.keep_those_of(&HashSet::from([two]));
        // Those that are done make room for bytes, too, and a key is enough only where that is meant.
        let half = MEMORY[1] / 2 + 1;
        let first = documents.begin(two, FileAccess::Key, half).unwrap();
        assert!(documents.begin(two, FileAccess::Owner, half).is_err());
        documents.end(&first, Ok(translated(&"x".repeat(half))));
        assert!(documents.status_by_key(&first.key).is_ok());
        let second = documents.begin(two, FileAccess::Owner, half).unwrap();
        assert!(documents.status_by_key(&first.key).is_err());
        assert!(documents.status_by_key(&second.key).is_err());
        documents.begin(one, FileAccess::Owner, 1).unwrap();
    }
}
