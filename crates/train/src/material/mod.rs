//! Tokenizers and encoded data of a run.

mod named_tokenizers;
mod on_disk;
mod origin;
mod unknown;

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use attentive_base::batch::TokenId;
use attentive_base::count::count;
use attentive_base::error::{Error, Result};
use attentive_base::interrupt::Interrupt;
use attentive_checkpoint::{ParentModel, Provenance, StoredNumbers};
use attentive_config::{Config, Task, TokenizerConfig, TokenizerKind};
use attentive_data::{
    self as data, Batcher, Budget, Corpus, CorpusAlignments, CorpusParts, EncodeStats, Examples, Feed, Guide,
    LabelOrigin, LineEncoder, Masking, SourceFile, Stream, TokenCounts, Variation,
};
use attentive_processes::Processes;
use attentive_text::{self as text, Masks, Tokenizers};

use self::origin::{check_same_data, check_same_everywhere, provenance};
use super::corpora::{self, InMemoryCorpora, TRAINING, VALIDATION, report_progress};
use super::directory::StoredRun;
use super::disk::most_on_disk;
use super::pretrained::PretrainedModel;
use super::report::{Event, Observer, Preparing, StartReport};
use super::validate::{ValidationExamples, ValidationSet};
use super::{Learner, MemoryEstimate};

/// Facts that are known before the training data are read. Only the first of several processes knows them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RunContext<'a> {
    /// The stored run, with its directory.
    pub run: Option<(&'a Path, &'a StoredRun)>,
    /// The model from which training starts, unless the run has already begun.
    pub pretrained: Option<&'a PretrainedModel>,
}

impl<'a> RunContext<'a> {
    /// The tokenizers, if they need not be learned. New labels are taken from `labels`.
    fn tokenizers(self, config: &Config, labels: impl FnOnce() -> Vec<String>) -> Result<Option<Tokenizers>> {
        let known = match (self.run, self.pretrained) {
            (Some((_, run)), _) => Some(run.tokenizers.clone()),
            (None, Some(pretrained)) => Some(pretrained.tokenizers(config, labels)?),
            (None, None) => named_tokenizers::tokenizers(config, labels)?,
        };
        if let Some(tokenizers) = &known {
            check_tags(config, tokenizers)?;
        }
        Ok(known)
    }

    /// Where the labels come from.
    fn labels(self, config: &Config) -> LabelOrigin<'a> {
        match self.pretrained.and_then(PretrainedModel::labels_of) {
            Some(model) => LabelOrigin::Model(model),
            None => LabelOrigin::Learned(config.tokenizer.vocab_size),
        }
    }

    /// The origin, for the provenance, of the model from which training started.
    fn origin(self) -> Option<ParentModel> {
        let of_run = || self.run.and_then(|(_, run)| run.provenance.from.clone());
        self.pretrained.map(PretrainedModel::origin).or_else(of_run)
    }

    /// The number type of the imported model from which training started.
    fn numbers(self) -> StoredNumbers {
        let of_run = || self.run.map(|(_, run)| run.provenance.numbers);
        self.pretrained.map(PretrainedModel::numbers).or_else(of_run).unwrap_or_default()
    }
}

/// Refuses tags of corpora that are no single tokens of the source vocabulary.
fn check_tags(config: &Config, tokenizers: &Tokenizers) -> Result<()> {
    for (key, source) in [("data.train.tag", &config.data.train), ("data.valid.tag", &config.data.valid)] {
        let parts = source.iter().flat_map(|source| source.parts());
        for tag in parts.filter_map(|(part, _)| part.tag()) {
            let source = tokenizers.src();
            if source.encode(tag)?.iter().copied().ne(source.id(tag)) {
                return Err(Error::Config {
                    key: key.into(),
                    expected: "a symbol of the vocabulary".into(),
                    found: format!("`{tag}`"),
                    hint: Some("symbols are set when a vocabulary is learned: `tokenizer.symbols`".into()),
                });
            }
        }
    }
    Ok(())
}

/// Tokenizers and encoded data.
#[derive(Debug)]
pub(super) struct Material {
    pub tokenizers: Tokenizers,
    pub feed: Feed,
    /// The number of sentence pairs, texts or windows to train on.
    pub n_examples: usize,
    pub validation: Option<ValidationSet>,
    pub provenance: Provenance,
}

impl Material {
    /// The size of the encoded corpora in bytes.
    pub(super) fn bytes(&self) -> usize {
        let validation = self.validation.as_ref().map_or(0, ValidationSet::bytes);
        self.feed.bytes() + validation
    }

    /// The report at the start of the run, after update `step`.
    pub(super) fn start_report(
        &self,
        config: &Config,
        learner: &Learner,
        memory: MemoryEstimate,
        step: u64,
    ) -> StartReport {
        let accumulate = config.train.micro_batches_per_update.max(1) as u64;
        let tgt = self.tokenizers.tgt();
        let model = learner.model();
        let n_weights = model.n_weights();
        let n_trained: usize = model.trained().map(|param| param.size()).sum();
        let has_labels = matches!(config.model.family.task(), Task::Tag | Task::Classify);
        StartReport {
            step,
            max_steps: config.train.max_steps,
            n_parameters: n_weights,
            n_examples: self.n_examples,
            src_vocab: match config.model.family.d_input() {
                None => self.tokenizers.src().vocab_size(),
                Some(_) => 0,
            },
            tgt_vocab: tgt.vocab_size(),
            labels: has_labels.then(|| tgt.labels().len()),
            steps_per_epoch: (self.feed.batches_per_epoch() as u64).div_ceil(accumulate),
            memory: memory.most() as u64,
            gpu_memory: memory.on_gpu as u64,
            disk: most_on_disk(&config.train, n_trained, n_weights - n_trained),
            processes: learner.exchange.processes().count(),
            products: learner.products(),
        }
    }
}

/// Reads the corpora, and learns tokenizers or takes the known ones. With several processes, all use the
/// tokenizers of the first one. `in_memory` are the corpora in RAM.
pub(super) fn material(
    config: &Config,
    context: RunContext<'_>,
    in_memory: InMemoryCorpora,
    processes: &Processes,
    observer: &mut dyn Observer,
) -> Result<Material> {
    // One machine may have more memory than another, but all have to make the same choice.
    let is_on_disk = processes.value_of_first("the training data were looked for", || {
        on_disk::is_chosen(config, context, processes.on_this_machine())
    });
    if is_on_disk? {
        return on_disk::material(config, context, processes, observer);
    }
    let read = read(config, context, in_memory, observer);
    let (train, valid, alignments, provenance) = processes.agree("the training data were read", read)?;
    let checked = check_same_everywhere(processes, &provenance);
    processes.agree("the training data were compared", checked)?;
    let tokenizers = shared_tokenizers(config, processes, || {
        let labels = || train.tgt_texts().into_iter().map(str::to_owned).collect();
        match context.tokenizers(config, labels)? {
            Some(tokenizers) => Ok(tokenizers),
            None => learn(config, &train, observer),
        }
    })?;
    let encode = || {
        Interrupt::check()?;
        let labels = context.labels(config);
        let (feed, n_examples) = feed(config, &tokenizers, &train, alignments, labels, observer)?;
        // The raw text is as large as all data derived from it, so it is freed early.
        drop(train);
        let validation =
            valid.map(|valid| validation_set(config, &tokenizers, valid, labels, observer)).transpose()?;
        Interrupt::check()?;
        Ok((feed, n_examples, validation))
    };
    let (feed, n_examples, validation) = processes.agree("the training data were encoded", encode())?;
    Ok(Material { tokenizers, feed, n_examples, validation, provenance })
}

/// Reads training and validation data, which must be those of the stored run.
fn read(
    config: &Config,
    context: RunContext<'_>,
    in_memory: InMemoryCorpora,
    observer: &mut dyn Observer,
) -> Result<(Corpus, Option<Corpus>, Option<CorpusAlignments>, Provenance)> {
    let mut train = corpora::training(config, in_memory.train, observer)?;
    let valid = corpora::validation(config, in_memory.valid, Some(&mut train), observer)?;
    Interrupt::check()?;
    let n_lines = train.stats().lines;
    let (alignments, file) = alignments(config)?.unzip();
    alignments.iter().try_for_each(|alignments: &CorpusAlignments| alignments.check_lines(n_lines))?;
    let files: Vec<SourceFile> = train.sources().iter().cloned().chain(file).collect();
    let provenance = provenance(config, context, &files, valid.as_ref());
    if let Some((dir, run)) = context.run {
        check_same_data(dir, &run.provenance, &provenance)?;
    }
    Ok((train, valid, alignments, provenance))
}

/// The alignments of the training corpus, if training uses them, and their file.
fn alignments(config: &Config) -> Result<Option<(CorpusAlignments, SourceFile)>> {
    let path = config.data.alignments.as_ref().filter(|_| config.train.reads_alignments());
    path.map(|path| CorpusAlignments::read(&config.data.path(path))).transpose()
}

/// Sends the tokenizers of the first process to all processes.
fn shared_tokenizers(
    config: &Config,
    processes: &Processes,
    of_first: impl FnOnce() -> Result<Tokenizers>,
) -> Result<Tokenizers> {
    if processes.is_alone() {
        return of_first();
    }
    let mut own = None;
    let doing = "the vocabulary was learned";
    let files: Vec<String> = processes.value_of_first(doing, || {
        let tokenizers = own.insert(of_first()?);
        let files = tokenizers.files().into_iter();
        let text = |(_, json)| String::from_utf8(json).expect("JSON is text");
        Ok(files.map(text).collect())
    })?;
    let read = || Tokenizers::from_files(files, config.special_names())?.for_model(&config.model);
    let tokenizers = own.map_or_else(read, Ok);
    processes.agree(doing, tokenizers)
}

pub(super) use on_disk::{encode_corpus, store_key};

/// Prepares for training by `work`, which reads and learns: that can take a while, and nothing is lost if it
/// is stopped.
///
/// # Errors
/// Those of `work`; a request to stop by `interrupt`.
pub(super) fn preparing<T>(interrupt: &Interrupt, work: impl FnOnce() -> Result<T>) -> Result<T> {
    interrupt.during(work).map_err(|error| match error {
        Error::Interrupted { signal, .. } => Error::Interrupted {
            signal,
            saved: "nothing had been computed yet, and what an earlier start saved is still there".into(),
        },
        error => error,
    })
}

/// Learns tokenizers from the text of `train`.
fn learn(config: &Config, train: &Corpus, observer: &mut dyn Observer) -> Result<Tokenizers> {
    observer.on(&Event::Preparing(Preparing::Vocabulary));
    // Every tag and label is needed.
    let train = match config.model.family.task() {
        Task::Tag | Task::Classify => Cow::Borrowed(train),
        Task::Translate | Task::Generate | Task::Fill | Task::Embed => {
            train.sample(config.tokenizer.sample_lines)
        }
    };
    let (src, tgt) = (train.src_texts(), train.tgt_texts());
    let tokenizer = &config.tokenizer;
    let learned = match config.model.family.task() {
        Task::Translate | Task::Generate | Task::Embed => text::learn(tokenizer, Masks::Without, &src, &tgt),
        Task::Fill => text::learn(tokenizer, Masks::With, &src, &tgt),
        Task::Tag | Task::Classify => text::learn_tagged(tokenizer, &src, &tgt),
    };
    let learned = learned?;
    let is_labeled = matches!(config.model.family.task(), Task::Tag | Task::Classify);
    if let Some(note) = fewer_tokens(tokenizer, &learned, is_labeled) {
        observer.on(&Event::Note(&note));
    }
    learned.for_model(&config.model)
}

/// Returns a note if a vocabulary of subwords is smaller than requested. Vocabularies of words and characters
/// contain what occurs.
fn fewer_tokens(asked: &TokenizerConfig, learned: &Tokenizers, is_labeled: bool) -> Option<String> {
    if !matches!(asked.kind, TokenizerKind::Bpe | TokenizerKind::Unigram) {
        return None;
    }
    let (src, tgt) = (learned.src().vocab_size(), learned.tgt().vocab_size());
    let found = if is_labeled { src } else { src.min(tgt) };
    (found < asked.vocab_size).then(|| {
        format!(
            "the vocabulary has {}, fewer than `tokenizer.vocab_size` = {}: the text has no more pieces that \
             occur {}; add text, or ask for a smaller vocabulary",
            count(found, "token"),
            asked.vocab_size,
            count(asked.min_frequency as usize, "time")
        )
    })
}

/// Batches of `train`, and the number of its examples.
fn feed(
    config: &Config,
    tokenizers: &Tokenizers,
    train: &Corpus,
    alignments: Option<CorpusAlignments>,
    labels: LabelOrigin<'_>,
    observer: &mut dyn Observer,
) -> Result<(Feed, usize)> {
    let window = config.model.max_len;
    if let Some(text) = train.stream() {
        let ids = tokenizers.tgt().encode(text)?;
        report(TRAINING, stream_stats(&ids, tokenizers), config, tokenizers, observer);
        let stream = Stream::new(ids, window, batch_tokens(config) / window, config.seed)?;
        let n_windows = stream.n_windows();
        return Ok((Feed::Stream(stream), n_windows));
    }
    let task = config.model.family.task();
    let max_len = config.data.max_len.min(window);
    let encoder = LineEncoder::new(task, tokenizers, max_len).cropping(config.data.crop);
    let encoder = encoder.within_ratio(config.data.max_ratio);
    let (examples, encoded) =
        data::encode(train, encoder.with_labels(labels), &mut report_progress(TRAINING, observer))?;
    report(TRAINING, encoded, config, tokenizers, observer);
    let n_examples = examples.len();
    let parts = match train.ends() {
        [] => CorpusParts::whole(n_examples),
        ends => CorpusParts::by_line(&examples, ends, &weights(config)?),
    };
    Ok((batches(config, tokenizers, examples, parts, alignments)?, n_examples))
}

/// The weight of each part of the training data.
fn weights(config: &Config) -> Result<Vec<f64>> {
    let parts = config.data.training()?.parts();
    Ok(parts.into_iter().map(|(_, weight)| weight).collect())
}

/// The size of batches, which may be as large as the corpus until [`super::fitting_batch::find`] has found
/// the size that fits into the RAM.
fn batch_tokens(config: &Config) -> usize {
    const UNLIMITED: usize = 1 << 40;
    match config.train.batch_tokens {
        0 => UNLIMITED,
        tokens => tokens,
    }
}

/// Batches of these examples.
fn batches(
    config: &Config,
    tokenizers: &Tokenizers,
    examples: impl Into<Examples>,
    parts: CorpusParts,
    alignments: Option<CorpusAlignments>,
) -> Result<Feed> {
    let budget = Budget::new(batch_tokens(config));
    let (seed, special) = (config.seed, tokenizers.sides());
    let masking = Masking::new(tokenizers.tgt(), seed);
    let mut batcher = Batcher::of_parts(examples, parts, budget, seed, special, masking)?;
    let alignments = alignments.map(Arc::new);
    if let Some(alignments) = &alignments {
        let guide = Guide::new(Arc::clone(alignments), tokenizers)?;
        let most = config.data.max_len.min(config.model.max_len);
        let guide = if config.data.crop { guide.of_cropped(most) } else { guide };
        batcher.check_guide(&guide)?;
        if config.train.guided_alignment > 0.0 {
            batcher = batcher.guided(guide);
        }
    }
    let batcher = batcher.varied(Variation::new(config, tokenizers, alignments)?)?;
    Ok(Feed::Lines(Box::new(batcher)))
}

/// Reports dropped and cropped lines and unknown tokens of the corpus called `what`.
fn report(
    what: &str,
    encoded: EncodeStats,
    config: &Config,
    tokenizers: &Tokenizers,
    observer: &mut dyn Observer,
) {
    if encoded.dropped() + encoded.cropped > 0 {
        observer.on(&Event::Note(&format!("{what}: {encoded}")));
    }
    unknown::warn(what, encoded, config, tokenizers, observer);
}

/// The counts of the tokens of a stream.
fn stream_stats(ids: &[TokenId], tokenizers: &Tokenizers) -> EncodeStats {
    EncodeStats { tgt: TokenCounts::of(ids, tokenizers.tgt().special()), ..EncodeStats::default() }
}

fn validation_set(
    config: &Config,
    tokenizers: &Tokenizers,
    valid: Corpus,
    labels: LabelOrigin<'_>,
    observer: &mut dyn Observer,
) -> Result<ValidationSet> {
    let task = config.model.family.task();
    let window = config.model.max_len;
    let divided = |examples: ValidationExamples| match config.train.batch_tokens {
        0 => Ok((Vec::new(), Some(examples))),
        tokens => examples.batches(tokens, config, tokenizers).map(|batches| (batches, None)),
    };
    if let Some(text) = valid.stream() {
        let ids = tokenizers.tgt().encode(text)?;
        let stats = stream_stats(&ids, tokenizers);
        report(VALIDATION, stats, config, tokenizers, observer);
        let (batches, undivided) = divided(ValidationExamples::Stream(ids))?;
        return Ok(ValidationSet { batches, undivided, src: Vec::new(), tgt: Vec::new() });
    }
    let (examples, encoded) = data::encode(
        &valid,
        LineEncoder::new(task, tokenizers, window).with_labels(labels),
        &mut report_progress(VALIDATION, observer),
    )?;
    report(VALIDATION, encoded, config, tokenizers, observer);
    let (batches, undivided) = divided(ValidationExamples::Lines(examples))?;
    let shown = match task {
        Task::Translate => config.train.validate_sentences,
        Task::Tag | Task::Classify | Task::Generate | Task::Fill | Task::Embed => 0,
    };
    let shown = valid.translations().take(shown);
    let (src, tgt) = shown.map(|(src, tgt)| (src.into(), tgt.into())).unzip();
    Ok(ValidationSet { batches, undivided, src, tgt })
}

#[cfg(test)]
mod tests;
