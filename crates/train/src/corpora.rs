//! The corpora of a run.

use std::collections::HashSet;

use attentive_base::count::count;
use attentive_base::error::{Error, Result};
use attentive_config::{Config, CorpusSource};
use attentive_data::{self as data, Corpus, DataKind, Filters, Item, Progress};

use super::report::{Event, Observer, Preparing, Silent};

/// Names of the corpora in messages.
pub(super) const TRAINING: &str = "training data";
pub(super) const VALIDATION: &str = "validation data";

/// The built-in validation pairs come from a different part of the generator's sequence than the training
/// pairs.
const VALIDATION_SEED: u64 = 0x5eed_0f7a_11da_7e00;

/// The lines of corpora in RAM ([`CorpusSource::InMemory`]), which the program gives that trains. They must
/// be of the kind of the task ([`DataKind::of`]).
#[derive(Clone, Debug, Default)]
pub struct InMemoryCorpora {
    /// The training corpus; empty if it is not in RAM.
    pub train: Vec<Item>,
    /// The validation corpus; empty if it is not in RAM.
    pub valid: Vec<Item>,
}

/// Returns the validation corpus of `config`, if it has one.
///
/// # Errors
/// The errors of [`data::read`] and [`Corpus::hold_out`].
pub fn validation_corpus(config: &Config) -> Result<Option<Corpus>> {
    let mut train = training(config, Vec::new(), &mut Silent)?;
    validation(config, Vec::new(), Some(&mut train), &mut Silent)
}

/// Reads the training corpus, or takes `items` if it is in RAM.
pub(super) fn training(config: &Config, items: Vec<Item>, observer: &mut dyn Observer) -> Result<Corpus> {
    let source = config.data.training()?;
    let (filters, seed) = (filters(config), config.seed);
    let train = match source {
        CorpusSource::InMemory { lines } => take(config, *lines, items, TRAINING, filters, observer),
        _ => read(config, source, TRAINING, seed, filters, observer),
    }?;
    note(observer, TRAINING, &train);
    Ok(train)
}

fn read(
    config: &Config,
    source: &CorpusSource,
    what: &str,
    seed: u64,
    filters: Filters,
    observer: &mut dyn Observer,
) -> Result<Corpus> {
    let dir = config.data.dir.as_deref();
    let progress = &mut report_progress(what, observer);
    data::read_filtered(source, DataKind::of(config), dir, seed, filters, progress)
}

/// Makes a corpus of `items`, which must be `lines` lines.
fn take(
    config: &Config,
    lines: usize,
    items: Vec<Item>,
    what: &str,
    filters: Filters,
    observer: &mut dyn Observer,
) -> Result<Corpus> {
    if items.len() != lines {
        return Err(Error::data(
            format!("the {what} are {} in RAM, and the program gives {}", count(lines, "line"), items.len()),
            "only the program that has these lines can train on them",
        ));
    }
    data::read_in_memory(DataKind::of(config), items, filters, &mut report_progress(what, observer))
}

/// The filters that drop lines of the training corpus.
pub(super) fn filters(config: &Config) -> Filters {
    Filters {
        repeated: config.data.drop_repeated,
        copies: config.data.drop_copies,
        rules: config.data.filters.clone(),
    }
}

/// Reports the progress of reading the corpus called `what` to `observer`.
pub(super) fn report_progress(what: &str, observer: &mut dyn Observer) -> impl FnMut(Progress) {
    move |progress| observer.on(&Event::Preparing(Preparing::Corpus { what, progress }))
}

/// Reads the validation corpus, takes `items` if it is in RAM, or splits it off the end of `train`.
/// Built-in validation data contain none of the training data if these are in memory.
pub(super) fn validation(
    config: &Config,
    items: Vec<Item>,
    mut train: Option<&mut Corpus>,
    observer: &mut dyn Observer,
) -> Result<Option<Corpus>> {
    if let (true, Some(train)) = (config.data.hold_out > 0.0, &mut train) {
        return train.hold_out(config.data.hold_out).map(Some);
    }
    let Some(source) = &config.data.valid else {
        return Ok(None);
    };
    let seed = config.seed ^ VALIDATION_SEED;
    let keep_all = Filters::default();
    let mut valid = match source {
        CorpusSource::InMemory { lines } => take(config, *lines, items, VALIDATION, keep_all, observer),
        _ => read(config, source, VALIDATION, seed, keep_all, observer),
    }?;
    if let (CorpusSource::Builtin { .. }, Some(train)) = (source, train) {
        let seen: HashSet<String> = train.entries().iter().map(|e| e.item.input()).collect();
        valid.retain(|item| !seen.contains(&item.input()));
    }
    note(observer, VALIDATION, &valid);
    Ok(Some(valid))
}

fn note(observer: &mut dyn Observer, what: &str, corpus: &Corpus) {
    observer.on(&Event::Note(&format!("{what}: {}", corpus.stats())));
    for warning in corpus.warnings() {
        observer.on(&Event::Warning(warning));
    }
}
