//! Training data on disk: encoded once, and read while training.

use std::path::Path;

use attentive_base::count::count;
use attentive_base::error::{Error, Result};
use attentive_base::interrupt::Interrupt;
use attentive_config::{Config, CorpusSource, StoreKind, Task};
use attentive_data::{
    Corpus, CorpusParts, CorpusReader, DataKind, ExampleLayout, Examples, LineEncoder, NumberedItem,
    Progress, ReservoirSample, SourceFile, Store, StoreFacts, StoreKey, StoreWriter, training_files,
};
use attentive_processes::Processes;
use attentive_text::Tokenizers;

use super::origin::{check_same_data, check_same_everywhere, provenance};
use super::{
    Material, RunContext, alignments, batches, learn, report, shared_tokenizers, unknown, validation_set,
    weights,
};
use crate::corpora::{self, TRAINING, report_progress};
use crate::memory;
use crate::pretrained::PretrainedModel;
use crate::report::{Event, Observer};

/// The share of the free memory above which files are encoded on disk. In memory, training data take a
/// multiple of the size of their files.
const SHARE_OF_MEMORY: f64 = 0.125;
/// The number of lines that are encoded at a time.
const LINES: usize = 1 << 14;

/// Returns true if the training data are kept on disk; `processes` is the number of processes on this
/// machine.
///
/// # Errors
/// [`Error::Config`] if they should be, but cannot; [`Error::Io`] if a file cannot be accessed.
pub(super) fn is_chosen(config: &Config, context: RunContext<'_>, processes: usize) -> Result<bool> {
    match config.data.store {
        StoreKind::Memory => Ok(false),
        StoreKind::Disk => check_possible(config).map(|()| true),
        StoreKind::Auto if obstacle(config)?.is_some() => Ok(false),
        StoreKind::Auto => {
            let (stores, key) = (config.data.stores()?, StoreKey::of(config)?);
            let bytes = key.source_bytes() as f64;
            let tokenizers = context.tokenizers(config, Vec::new)?;
            let encoded = tokenizers.map(|tokenizers| key.clone().encoded_with(&tokenizers));
            let keys = [Some(key), encoded].into_iter().flatten();
            let found = keys.map(|key| Store::find(&stores, &key)).collect::<Result<Vec<_>>>()?;
            let is_made = found.iter().any(Option::is_some);
            let is_large = |limit| bytes > SHARE_OF_MEMORY * limit;
            Ok(is_made || memory::limit(config, processes).is_some_and(is_large))
        }
    }
}

/// Rejects training data that cannot be kept on disk.
fn check_possible(config: &Config) -> Result<()> {
    match obstacle(config)? {
        None => Ok(()),
        Some(obstacle) => Err(Error::Config {
            key: "data.store".into(),
            expected: "training data that can be kept on disk".into(),
            found: format!("data that cannot: {obstacle}"),
            hint: Some("such data need no preparation: set `data.store = \"memory\"`".into()),
        }),
    }
}

fn is_generated(source: &CorpusSource) -> bool {
    matches!(source, CorpusSource::Builtin { .. })
}

fn is_in_memory(source: &CorpusSource) -> bool {
    matches!(source, CorpusSource::InMemory { .. })
}

/// Returns true if there is a file at `path` that can be read only once.
fn is_stream(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| !metadata.is_file())
}

/// See [`crate::encode_corpus`].
pub(crate) fn encode_corpus(config: &Config, observer: &mut dyn Observer) -> Result<Store> {
    check_possible(config)?;
    let given = tokenizers_of_source(config)?;
    store(config, given.as_ref(), observer).map(|(store, _)| store)
}

/// See [`crate::store_key`].
pub(crate) fn store_key(config: &Config) -> Result<StoreKey> {
    let key = StoreKey::of(config)?;
    Ok(match tokenizers_of_source(config)? {
        Some(given) => key.encoded_with(&given),
        None => key,
    })
}

/// The tokenizers of the model from which training starts, if it starts from one.
fn tokenizers_of_source(config: &Config) -> Result<Option<Tokenizers>> {
    let from = config.model.from.as_deref();
    let pretrained = from.map(|from| PretrainedModel::open(from, config)).transpose()?;
    let context = RunContext { run: None, pretrained: pretrained.as_ref() };
    // Training data with labels are never on disk.
    context.tokenizers(config, Vec::new)
}

/// The reason why the training data cannot be kept on disk, if there is one.
fn obstacle(config: &Config) -> Result<Option<&'static str>> {
    Ok(match (config.data.training()?, DataKind::of(config)) {
        (source, _) if source.parts().iter().any(|(part, _)| is_generated(part)) => {
            Some("the corpus is generated")
        }
        (source, _) if is_in_memory(source) => Some("the corpus is in RAM"),
        _ if config.data.valid.as_ref().is_some_and(is_in_memory) => Some("the validation data are in RAM"),
        _ if training_files(config)?.iter().any(|file| is_stream(file)) => Some("a file is a pipe"),
        _ if config.data.valid.as_ref().is_some_and(is_generated) => {
            Some("the validation data are generated")
        }
        (_, DataKind::Stream) => Some("`data.units` is `stream`"),
        (_, DataKind::TaggedTokens | DataKind::TaggedVectors(_) | DataKind::Labeled) => {
            Some("the corpus has tags or labels")
        }
        _ if config.data.hold_out > 0.0 => Some("`data.hold_out` is set"),
        _ => None,
    })
}

/// See [`super::material`].
pub(super) fn material(
    config: &Config,
    context: RunContext<'_>,
    processes: &Processes,
    observer: &mut dyn Observer,
) -> Result<Material> {
    let mut own = None;
    let tokenizers = shared_tokenizers(config, processes, || {
        // Training data with labels are never on disk.
        let given = context.tokenizers(config, Vec::new)?;
        let (store, tokenizers) = store(config, given.as_ref(), observer)?;
        own = Some(store);
        Ok(tokenizers)
    })?;
    // On a machine that does not share its disk with the first process, this creates the store.
    let find = || store(config, Some(&tokenizers), observer).map(|(store, _)| store);
    let store = own.map_or_else(find, Ok);
    let store = processes.agree("the training data were encoded", store)?;
    let mut read = || {
        let valid = corpora::validation(config, Vec::new(), None, observer)?;
        let (alignments, file) = alignments(config)?.unzip();
        if let (Some(alignments), Some(n_lines)) = (&alignments, store.n_lines()) {
            alignments.check_lines(n_lines)?;
        }
        let files: Vec<SourceFile> = store.files().iter().cloned().chain(file).collect();
        let provenance = provenance(config, context, &files, valid.as_ref());
        if let Some((dir, run)) = context.run {
            check_same_data(dir, &run.provenance, &provenance)?;
        }
        let validation = valid
            .map(|valid| validation_set(config, &tokenizers, valid, context.labels(config), observer))
            .transpose()?;
        Interrupt::check()?;
        Ok((validation, alignments, provenance))
    };
    let (validation, alignments, provenance) = processes.agree("the validation data were read", read())?;
    let checked = check_same_everywhere(processes, &provenance);
    processes.agree("the training data were compared", checked)?;
    let start = tokenizers.tgt().special().start;
    let n_examples = store.len();
    let parts = CorpusParts::new(store.ends(), &weights(config)?);
    let examples = Examples::Disk(store.starting_with(start));
    let feed = batches(config, &tokenizers, examples, parts, alignments);
    Ok(Material {
        n_examples,
        feed: processes.agree("the training data were opened", feed)?,
        tokenizers,
        validation,
        provenance,
    })
}

/// The encoded training data, which are created if there are none, and their tokenizers: the `given` ones, or
/// tokenizers learned from the data.
///
/// # Errors
/// The errors of reading, learning and encoding the corpus, and [`Error::Io`] if the disk cannot be written;
/// a request to stop.
fn store(
    config: &Config,
    given: Option<&Tokenizers>,
    observer: &mut dyn Observer,
) -> Result<(Store, Tokenizers)> {
    let stores = config.data.stores()?;
    let key = StoreKey::of(config)?;
    if let Some(store) = Store::find(&stores, &key)? {
        let tokenizers = store.tokenizers()?.for_model(&config.model)?;
        if given.is_none_or(|given| given.files() == tokenizers.files()) {
            note_found(&store, config, &tokenizers, observer);
            return Ok((store, tokenizers));
        }
    }
    let (key, tokenizers) = match given {
        Some(given) => (key.encoded_with(given), given.clone()),
        None => {
            let sample = sample(config, observer)?;
            (key, learn(config, &sample, observer)?)
        }
    };
    if let Some(store) = Store::find(&stores, &key)? {
        note_found(&store, config, &tokenizers, observer);
        return Ok((store, tokenizers));
    }
    let store = make(config, &stores, key, &tokenizers, observer)?;
    Ok((store, tokenizers))
}

fn note_found(store: &Store, config: &Config, tokenizers: &Tokenizers, observer: &mut dyn Observer) {
    let (examples, dir) = (count(store.len(), "example"), store.dir().display());
    observer.on(&Event::Note(&format!("{TRAINING}: {examples} in `{dir}`")));
    unknown::warn(TRAINING, store.encode_stats(), config, tokenizers, observer);
}

/// Reads the lines from which a vocabulary is learned.
fn sample(config: &Config, observer: &mut dyn Observer) -> Result<Corpus> {
    let mut sample = ReservoirSample::new(config.tokenizer.sample_lines);
    let reader = read(config, observer, |entries, _| {
        entries.into_iter().for_each(|entry| sample.offer(entry));
        Ok(())
    })?;
    Corpus::sampled(sample, reader)
}

/// Encodes the training data.
fn make(
    config: &Config,
    stores: &Path,
    key: StoreKey,
    tokenizers: &Tokenizers,
    observer: &mut dyn Observer,
) -> Result<Store> {
    let task = config.model.family.task();
    let layout = match task {
        Task::Fill => ExampleLayout::Masked,
        _ => ExampleLayout::Decoded,
    };
    let mut writer = StoreWriter::begin(stores, &key, tokenizers, layout)?;
    let encoder = LineEncoder::new(task, tokenizers, key.max_len());
    let mut encoder = encoder.cropping(config.data.crop).within_ratio(config.data.max_ratio);
    let reader = read(config, observer, |entries, reader| {
        let examples = encoder.encode(&entries, |line, problem| reader.error(line, problem))?;
        examples.iter().try_for_each(|example| writer.push(example, reader.ends()))
    })?;
    reader.check_not_empty()?;
    let encoded = encoder.finish()?;
    let (read, n_parts, lines) = (reader.stats(), reader.ends().len(), reader.stats().lines);
    let files = reader.finish();
    observer.on(&Event::Note(&format!("{TRAINING}: {read}")));
    report(TRAINING, encoded, config, tokenizers, observer);
    writer.finish(StoreFacts { key, encoded, files, n_parts, lines })
}

/// Reads the training data and passes them to `take`, some lines at a time.
fn read(
    config: &Config,
    observer: &mut dyn Observer,
    mut take: impl FnMut(Vec<NumberedItem>, &CorpusReader) -> Result<()>,
) -> Result<CorpusReader> {
    let (source, kind) = (config.data.training()?, DataKind::of(config));
    let reader = CorpusReader::open(source, kind, config.data.dir.as_deref(), config.seed)?;
    let mut reader = reader.filtered(corpora::filters(config));
    loop {
        let entries = reader.next_entries(LINES)?;
        if entries.is_empty() {
            return Ok(reader);
        }
        take(entries, &reader)?;
        let lines = reader.stats().lines;
        report_progress(TRAINING, observer)(Progress::Read { lines });
        Interrupt::check()?;
    }
}
