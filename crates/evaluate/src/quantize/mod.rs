//! Quantization of a model: fewer bits per weight, and for a translation model a report of the effect on size,
//! speed and quality.

mod report;

use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Instant;
use std::{fs, io};

use attentive_kernels::threads::Threads;
use attentive_metrics::{Bleu, Bootstrap, Chrf, CorpusMetric, Paired, Score, Segments};
use rayon::prelude::*;
use serde::Serialize;

pub use self::report::{Change, Report, ScoreComparison, ShortlistCost};

use attentive_base::count::count;
use attentive_base::error::{Error, Result};
use attentive_checkpoint::atomic::ContentWriter;
use attentive_checkpoint::{self as checkpoint, Description, Provenance, StoredNumbers, TensorFile, files};
use attentive_config::{Config, Float, Task};
use attentive_model::engine::Precision;
use attentive_model::nn::Blueprint;
use attentive_model::shortlist::{self, Shortlist, ShortlistLimits};
use attentive_pipeline::{Pipeline, TranslateOptions};

use crate::check;

/// Options of [`quantize`].
#[derive(Clone, Copy, Debug)]
pub struct QuantizeOptions<'a> {
    /// The number type of the new weights. `f32` changes no number: the weights are only stored as engines read
    /// them.
    pub precision: Precision,
    /// The number type in which the new model keeps keys and values; by default, that of the original model.
    pub cache_precision: Option<Float>,
    /// The paired test of both models.
    pub bootstrap: Bootstrap,
    /// The largest loss of BLEU that is accepted, in points.
    pub max_drop: Option<f64>,
    /// Sentences and their translations, line by line, from which a shortlist is learned if given.
    pub shortlist: Option<[&'a [String]; 2]>,
    /// The options with which both models translate the test set; by default, those of the model's
    /// configuration.
    pub search: Option<TranslateOptions>,
}

impl QuantizeOptions<'_> {
    /// Returns options that change nothing but the number type of the weights.
    pub fn new(precision: Precision) -> Self {
        Self {
            precision,
            cache_precision: None,
            bootstrap: Bootstrap::default(),
            max_drop: None,
            shortlist: None,
            search: None,
        }
    }
}

/// The translations of one model.
struct Run {
    translations: Vec<String>,
    seconds: f64,
}

/// A test set that both models translate.
#[derive(Clone, Copy, Debug)]
pub struct Test<'a> {
    /// The sentences.
    pub src: &'a [String],
    /// At least one stream of references, each with a line for every sentence.
    pub references: &'a [Vec<String>],
}

/// A quantized model that was written.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Quantized {
    /// The number type of the new weights.
    pub precision: Precision,
    /// The number type in which the original weights are stored.
    pub original: StoredNumbers,
    /// The weights in bytes.
    pub bytes: Change<u64>,
    /// The report, if there was a test set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub report: Option<Report>,
}

/// Both models' translations of a test set.
struct Measured<'a> {
    test: Test<'a>,
    /// The options with which both models translated it.
    translate: TranslateOptions,
    original: Run,
    /// By the new model, with its shortlist if it has one.
    quantized: Run,
    shortlist: Option<ShortlistCost>,
}

/// Quantizes the model directory `model`, and writes the new model directory `out`. With a test set, both
/// models translate it, and the new directory contains a report. The directory is created with all its files
/// or not at all.
///
/// The weights are read matrix by matrix, and take the RAM of the new model and of the largest matrix; with a
/// test set, first that of the original model.
///
/// # Errors
/// An `out` that exists; a model that is damaged, quantized already, or reads vectors; a test set or a
/// shortlist for a model that does not translate; a limit that is NaN, or without a test set;
/// [`Error::Data`] for a test set that is empty or whose files have different numbers of lines, for text with
/// more sentences than translations or the reverse, for a model that is replaced meanwhile, and if BLEU falls
/// by more than `options.max_drop`.
pub fn quantize(
    model: &Path,
    out: &Path,
    test: Option<Test<'_>>,
    options: &QuantizeOptions<'_>,
) -> Result<Quantized> {
    refuse_early(out, test, options)?;
    if checkpoint::is_quantized(model) {
        return Err(Error::usage(
            format!("`{}` was written by `quantize` already", model.display()),
            "quantize the model that it was made from",
        ));
    }
    let described = checkpoint::describe(model)?;
    refuse_model(&described, test.is_some(), options)?;
    let numbers = described.numbers();
    let before = Blueprint::new(&described.architecture).n_weights() * numbers.bytes();
    // The original model is gone when the new one is made.
    let first = test.map(|test| translate_original(model, test, options)).transpose()?;
    let (mut quantized, provenance) = Pipeline::load_with_provenance(model, Some(options.precision))?;
    if first.as_ref().is_some_and(|(_, _, original)| *original != provenance) {
        return Err(Error::data(
            format!("`{}` was replaced while it was measured", model.display()),
            "quantize a checkpoint of the run, or wait for its end",
        ));
    }
    let cache = quantized.config().decode.cache_precision;
    if let Some(precision) = options.cache_precision {
        quantized = quantized.with_cache_precision(precision)?;
    }
    if options.shortlist.is_some() {
        quantized = quantized.with_shortlist(None);
    }
    let learned = options.shortlist.map(|text| learn_shortlist(&quantized, text, ShortlistLimits::default()));
    let learned = learned.transpose()?.map(Arc::new);
    let mut measured = None;
    if let Some((test, (translate, original, _))) = test.zip(first) {
        let mut run = run(&quantized, test.src, &translate)?;
        let mut shortlist = None;
        if let Some(learned) = &learned {
            quantized = quantized.with_shortlist(Some(Arc::clone(learned)));
            let without = std::mem::replace(&mut run, self::run(&quantized, test.src, &translate)?);
            shortlist = Some(shortlist_cost(&quantized, test, [&without, &run], options)?);
        }
        measured = Some(Measured { test, translate, original, quantized: run, shortlist });
    } else if learned.is_some() {
        quantized = quantized.with_shortlist(learned);
    }
    let packed = checkpoint::encode_packed(quantized.packed_weights()).map_err(Error::io("write", out))?;
    let bytes = Change::of(before as u64, packed.size());
    let report =
        measured.map(|measured| report(&quantized, measured, numbers, bytes, cache, &provenance, options));
    let report = report.transpose()?;
    write(model, out, &quantized, provenance, report.as_ref(), &packed)?;
    Ok(Quantized { precision: options.precision, original: numbers, bytes, report })
}

/// Refuses models that cannot be quantized, and parts of the request that have no effect on them.
fn refuse_model(described: &Description, has_test: bool, options: &QuantizeOptions<'_>) -> Result<()> {
    if described.config.model.family.d_input().is_some() {
        return Err(Error::usage(
            "a model that reads vectors cannot be quantized",
            "use it as it is: only models of text can be quantized",
        ));
    }
    let task = described.architecture.task();
    let evaluate = match task {
        Task::Embed => "leave it out, and compare the vectors of both models",
        _ => "leave it out: `evaluate` measures the new model and the original",
    };
    let (translates, decodes) = (task == Task::Translate, matches!(task, Task::Translate | Task::Generate));
    for (is_refused, problem, hint) in [
        (has_test && !translates, "a test set measures translations only", evaluate),
        (
            options.shortlist.is_some() && !translates,
            "only a model that translates has a shortlist",
            "leave it out",
        ),
        (
            options.cache_precision.is_some() && !decodes,
            "only a model that decodes keeps keys and values",
            "leave the precision of the cache out",
        ),
    ] {
        if is_refused {
            return Err(Error::usage(format!("{problem}: this model {}", task.verb()), hint));
        }
    }
    Ok(())
}

/// The translations of a test set by the model in the directory `model` as it is, the options of the search,
/// and the origin of the model.
fn translate_original(
    model: &Path,
    test: Test<'_>,
    options: &QuantizeOptions<'_>,
) -> Result<(TranslateOptions, Run, Provenance)> {
    let (mut original, provenance) = Pipeline::load_with_provenance(model, None)?;
    if options.shortlist.is_some() {
        // A new shortlist replaces it.
        original = original.with_shortlist(None);
    }
    let own = || TranslateOptions::from(&original.config().decode);
    let translate = options.search.unwrap_or_else(own);
    Ok((translate, run(&original, test.src, &translate)?, provenance))
}

/// The report of both models' results on the test set. `bytes` is the size of the weights, and `cache` the
/// number type of the keys and values of the original model.
///
/// # Errors
/// [`Error::Data`] if BLEU falls by more than `options.max_drop`.
fn report(
    quantized: &Pipeline,
    measured: Measured<'_>,
    original_numbers: StoredNumbers,
    bytes: Change<u64>,
    cache: Float,
    provenance: &Provenance,
    options: &QuantizeOptions<'_>,
) -> Result<Report> {
    let Measured { test: Test { src, references }, translate, original, quantized: run, shortlist } =
        measured;
    let bleu = compare(Bleu::default(), &original, &run, references, options);
    refuse_drop(&bleu, options)?;
    Ok(Report {
        program: Provenance::this_program(),
        precision: options.precision,
        original: original_numbers,
        cache_precision: Change::of(cache, quantized.config().decode.cache_precision),
        original_sha256: provenance.sha256_of(files::WEIGHTS).map(str::to_owned),
        instructions: quantized.engine().instructions(),
        threads: Threads::current().count(),
        search: translate.search,
        batch_size: quantized.batch_size(&translate),
        resamples: options.bootstrap.resamples,
        seed: options.bootstrap.seed,
        lines: src.len(),
        changed_lines: count_changed(&original, &run),
        bytes,
        seconds: Change::of(original.seconds, run.seconds),
        bleu,
        chrf: compare(Chrf::default(), &original, &run, references, options),
        shortlist,
    })
}

/// Learns the shortlist of a model from sentences and their translations, as many of both.
///
/// # Errors
/// [`Error::Data`] for a text that cannot be divided into tokens.
pub fn learn_shortlist(
    pipeline: &Pipeline,
    text: [&[String]; 2],
    limits: ShortlistLimits,
) -> Result<Shortlist> {
    /// More sentence pairs would add little.
    const MAX_PAIRS: usize = 100_000;
    let (tokenizers, [src, tgt]) = (pipeline.tokenizers(), text);
    let step = src.len().div_ceil(MAX_PAIRS).max(1);
    let pairs: Vec<(&String, &String)> = src.iter().zip(tgt).step_by(step).collect();
    let encode =
        |(src, tgt): (&String, &String)| Ok((tokenizers.src().encode(src)?, tokenizers.tgt().encode(tgt)?));
    let pairs = pairs.into_par_iter().map(encode);
    let pairs = pairs.collect::<Result<Vec<_>>>()?;
    let vocabs = [tokenizers.src(), tokenizers.tgt()].map(|tokenizer| tokenizer.vocab_size());
    let end = tokenizers.tgt().special().eos;
    Ok(shortlist::learn(&pairs, vocabs, &[end], limits))
}

/// The effect of the shortlist of `pipeline`, from the runs without and with it.
fn shortlist_cost(
    pipeline: &Pipeline,
    Test { src, references }: Test<'_>,
    [without, with]: [&Run; 2],
    options: &QuantizeOptions<'_>,
) -> Result<ShortlistCost> {
    let shortlist = pipeline.engine().shortlist().expect("a shortlist");
    let tokenizer = pipeline.tokenizers().src();
    let counts = src.par_iter().map(|line| {
        let candidates = shortlist.candidates(&tokenizer.encode(line)?);
        Ok(candidates.len())
    });
    let counts = counts.collect::<Result<Vec<usize>>>()?;
    let mut file = Vec::new();
    let _ = checkpoint::write_shortlist(shortlist, &mut file);
    Ok(ShortlistCost {
        bytes: file.len() as u64,
        candidates: counts.iter().sum::<usize>() as f64 / counts.len() as f64,
        vocabulary: shortlist.tgt_vocab(),
        changed_lines: count_changed(without, with),
        seconds: Change::of(without.seconds, with.seconds),
        bleu: compare(Bleu::default(), without, with, references, options),
        chrf: compare(Chrf::default(), without, with, references, options),
    })
}

/// The number of lines that two models translate differently.
fn count_changed(before: &Run, after: &Run) -> usize {
    let pairs = before.translations.iter().zip(&after.translations);
    pairs.filter(|(before, after)| before != after).count()
}

/// Refuses invalid arguments before anything is read.
fn refuse_early(out: &Path, test: Option<Test<'_>>, options: &QuantizeOptions<'_>) -> Result<()> {
    match test {
        Some(test) => drop(check(test.src, test.references)?),
        None if options.max_drop.is_some() => {
            return Err(Error::usage(
                "the loss of BLEU can be limited only if a test set measures it",
                "give a test set, or leave the limit out",
            ));
        }
        None => {}
    }
    checkpoint::refuse_existing(out)?;
    if options.max_drop.is_some_and(f64::is_nan) {
        return Err(Error::usage("the largest loss of BLEU is not a number", "give a number such as 0.3"));
    }
    if let Some([src, tgt]) = options.shortlist
        && src.len() != tgt.len()
    {
        return Err(Error::data(
            format!(
                "the text for the shortlist has {} but {}",
                count(src.len(), "sentence"),
                count(tgt.len(), "translation")
            ),
            "give a translation for each sentence",
        ));
    }
    Ok(())
}

fn run(pipeline: &Pipeline, src: &[String], options: &TranslateOptions) -> Result<Run> {
    // The first sentences pack the weights and fill the caches.
    pipeline.best_translations(&src[..src.len().min(2)], options)?;
    let start = Instant::now();
    let translations = pipeline.best_translations(src, options)?;
    Ok(Run { seconds: start.elapsed().as_secs_f64(), translations })
}

fn compare<M: CorpusMetric>(
    metric: M,
    before: &Run,
    after: &Run,
    references: &[Vec<String>],
    options: &QuantizeOptions<'_>,
) -> ScoreComparison {
    let [before, after] =
        [before, after].map(|run| Segments::new(metric.clone(), &run.translations, references));
    let Score { signature, .. } = before.score();
    ScoreComparison { signature, paired: options.bootstrap.paired(&before, &after) }
}

fn refuse_drop(bleu: &ScoreComparison, options: &QuantizeOptions<'_>) -> Result<()> {
    let Paired { baseline, system, difference } = bleu.paired;
    let drop = 0.0 - difference.value;
    match options.max_drop {
        Some(most) if drop > most => Err(Error::data(
            format!(
                "quantizing to {} lowers BLEU by {drop:.2}, from {:.2} to {:.2}; at most {most} is accepted",
                options.precision, baseline.value, system.value
            ),
            match options.precision {
                Precision::Int8 => "nothing was written; `bf16` loses less than `int8`",
                Precision::Bf16 | Precision::F32 => {
                    "nothing was written; accept more, or keep the model as it is"
                }
            },
        )),
        _ => Ok(()),
    }
}

fn write(
    model: &Path,
    out: &Path,
    quantized: &Pipeline,
    provenance: Provenance,
    report: Option<&Report>,
    packed: &TensorFile<'_>,
) -> Result<()> {
    let report = report.map(checkpoint::to_json).transpose()?;
    let shortlist = if quantized.decodes() { quantized.engine().shortlist() } else { None };
    let precision = quantized.precision().expect("its weights are packed");
    let sha256 = OnceLock::new();
    let write_packed = |path: &Path| {
        let written = checkpoint::weights::write_hashed(path, |out| packed.write(out))?;
        sha256.set(written).map_err(|_| io::Error::other("written twice"))
    };
    let write_report = |path: &Path| fs::write(path, report.as_deref().unwrap_or_default());
    let write_shortlist = |path: &Path| match shortlist {
        Some(list) => checkpoint::write_shortlist(list, &mut fs::File::create(path)?),
        None => Ok(()),
    };
    let mut others: Vec<(&str, &ContentWriter<'_>)> = vec![(files::PACKED, &write_packed)];
    if report.is_some() {
        others.push((files::REPORT, &write_report));
    }
    if shortlist.is_some() {
        others.push((files::SHORTLIST, &write_shortlist));
    }
    let distillation = Config::home(model).join(files::DISTILLATION);
    let copy_distillation = |path: &Path| fs::copy(&distillation, path).map(drop);
    if distillation.exists() {
        others.push((files::DISTILLATION, &copy_distillation));
    }
    let provenance = || Provenance {
        // Numbers that did not change have the same scores.
        scores: if precision == Precision::F32 { provenance.scores.clone() } else { Vec::new() },
        sha256: sha256.get().map(|sha256| (files::PACKED.to_owned(), sha256.clone())).into_iter().collect(),
        ..provenance.clone()
    };
    let (config, tokenizers) = (quantized.config(), quantized.tokenizers());
    checkpoint::write_model(out, config, tokenizers, &others, &provenance)
}
