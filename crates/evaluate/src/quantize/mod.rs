//! Quantization of a translation model: fewer bits per weight, and a report of the effect on size, speed and
//! quality.

mod report;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use attentive_kernels::threads::Threads;
use attentive_metrics::{Bleu, Bootstrap, Chrf, CorpusMetric, Paired, Score, Segments};
use rayon::prelude::*;
use serde::Serialize;

pub use self::report::{Change, Report, ScoreComparison, ShortlistCost};

use attentive_base::count::count;
use attentive_base::error::{Error, Result};
use attentive_checkpoint::atomic::ContentWriter;
use attentive_checkpoint::{self as checkpoint, LoadedWeights, Provenance, files};
use attentive_config::{Float, Task};
use attentive_model::engine::Precision;
use attentive_model::shortlist::{self, Shortlist, ShortlistLimits};
use attentive_pipeline::{Pipeline, TranslateOptions};

use crate::check;

/// Options of [`quantize`].
#[derive(Clone, Copy, Debug)]
pub struct QuantizeOptions<'a> {
    /// The number type of the new weights; not `f32`.
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
    /// The weights in bytes.
    pub bytes: Change<u64>,
    /// The report, if there was a test set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub report: Option<Report>,
}

/// The new model, and both models' translations of a test set.
struct Outcome {
    quantized: Pipeline,
    /// The options with which both models translated the test set, and their translations.
    runs: Option<(TranslateOptions, [Run; 2])>,
    shortlist: Option<ShortlistCost>,
}

/// Quantizes the model directory `model`, and writes the new model directory `out`. With a test set, both
/// models translate it, and the new directory contains a report. The directory is created with all its files
/// or not at all.
///
/// # Errors
/// An `out` that exists; a model that is damaged, quantized already, or does not translate; a limit that is
/// NaN, or without a test set; [`Error::Data`] for a test set that is empty or whose files have different
/// numbers of lines, for text with more sentences than translations or the reverse, and if BLEU falls by more
/// than `options.max_drop`.
pub fn quantize(
    model: &Path,
    out: &Path,
    test: Option<Test<'_>>,
    options: &QuantizeOptions<'_>,
) -> Result<Quantized> {
    refuse_early(out, test, options)?;
    let loaded = checkpoint::load(model)?;
    let LoadedWeights::Dense(weights) = &loaded.weights else {
        return Err(Error::usage(
            format!("`{}` is quantized already", model.display()),
            "quantize the model that it was made from",
        ));
    };
    let sizes = weights.iter().map(|weight| size_of_val(&*weight.values));
    let before = sizes.sum::<usize>() as u64;
    let provenance = loaded.provenance.clone();
    let original = Pipeline::from_loaded(loaded, None)?;
    let task = original.config().model.family.task();
    if task != Task::Translate {
        return Err(Error::usage(
            format!("only translation models can be quantized: this one {}", task.verb()),
            "use it as it is; a language model can also be rounded each time it is loaded",
        ));
    }
    let cache = original.config().decode.cache_precision;
    let outcome = match test {
        Some(test) => quantize_and_measure(original, test, options)?,
        None => quantize_only(original, options)?,
    };
    let mut packed = Vec::new();
    checkpoint::write_packed(outcome.quantized.engine(), &mut packed).map_err(Error::io("write", out))?;
    let bytes = Change::of(before, packed.len() as u64);
    let report = test.map(|test| report(&outcome, test, bytes, cache, &provenance, options)).transpose()?;
    write(out, &outcome.quantized, provenance, report.as_ref(), &packed)?;
    Ok(Quantized { precision: options.precision, bytes, report })
}

/// Quantizes the model, with the requested shortlist.
fn quantize_only(original: Pipeline, options: &QuantizeOptions<'_>) -> Result<Outcome> {
    let mut quantized = round(original, options)?;
    if let Some(text) = options.shortlist {
        let shortlist = learn_shortlist(&quantized, text, ShortlistLimits::default())?;
        quantized = quantized.with_shortlist(Some(Arc::new(shortlist)));
    }
    Ok(Outcome { quantized, runs: None, shortlist: None })
}

/// The model with the new number types.
fn round(original: Pipeline, options: &QuantizeOptions<'_>) -> Result<Pipeline> {
    let quantized = original.into_precision(options.precision)?;
    match options.cache_precision {
        Some(precision) => quantized.with_cache_precision(precision),
        None => Ok(quantized),
    }
}

/// Like [`quantize_only`], and translates a test set with both models.
fn quantize_and_measure(
    mut original: Pipeline,
    Test { src, references }: Test<'_>,
    options: &QuantizeOptions<'_>,
) -> Result<Outcome> {
    if options.shortlist.is_some() {
        // A new shortlist replaces it.
        original = original.with_shortlist(None);
    }
    let own = || TranslateOptions::from(&original.config().decode);
    let translate = options.search.unwrap_or_else(own);
    let first = run(&original, src, &translate)?;
    let mut quantized = round(original, options)?;
    let mut second = run(&quantized, src, &translate)?;
    let mut shortlist = None;
    if let Some(text) = options.shortlist {
        let learned = learn_shortlist(&quantized, text, ShortlistLimits::default())?;
        quantized = quantized.with_shortlist(Some(Arc::new(learned)));
        let without = std::mem::replace(&mut second, run(&quantized, src, &translate)?);
        let runs = [&without, &second];
        shortlist = Some(shortlist_cost(&quantized, src, runs, references, options)?);
    }
    Ok(Outcome { quantized, runs: Some((translate, [first, second])), shortlist })
}

/// The report of both models' results on the test set. `bytes` is the size of the weights, and `cache` the
/// number type of the keys and values of the original model.
///
/// # Errors
/// [`Error::Data`] if BLEU falls by more than `options.max_drop`.
fn report(
    outcome: &Outcome,
    Test { src, references }: Test<'_>,
    bytes: Change<u64>,
    cache: Float,
    provenance: &Provenance,
    options: &QuantizeOptions<'_>,
) -> Result<Report> {
    let runs = outcome.runs.as_ref();
    let (translate, [first, second]) = runs.expect("both have translated it");
    let bleu = compare(Bleu::default(), first, second, references, options);
    refuse_drop(&bleu, options)?;
    Ok(Report {
        program: Provenance::this_program(),
        precision: options.precision,
        cache_precision: Change::of(cache, outcome.quantized.config().decode.cache_precision),
        original_sha256: provenance.sha256_of(files::WEIGHTS).map(str::to_owned),
        instructions: outcome.quantized.engine().instructions(),
        threads: Threads::current().count(),
        search: translate.search,
        batch_size: translate.batch_size,
        resamples: options.bootstrap.resamples,
        seed: options.bootstrap.seed,
        lines: src.len(),
        changed_lines: count_changed(first, second),
        bytes,
        seconds: Change::of(first.seconds, second.seconds),
        bleu,
        chrf: compare(Chrf::default(), first, second, references, options),
        shortlist: outcome.shortlist.clone(),
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
    src: &[String],
    [without, with]: [&Run; 2],
    references: &[Vec<String>],
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
    if out.exists() {
        return Err(Error::usage(
            format!("`{}` already exists", out.display()),
            "choose another directory for the quantized model",
        ));
    }
    if options.max_drop.is_some_and(f64::is_nan) {
        return Err(Error::usage("the largest loss of BLEU is not a number", "give a number such as 0.3"));
    }
    if let Some([src, tgt]) = options.shortlist
        && src.len() != tgt.len()
    {
        return Err(Error::Data {
            problem: format!(
                "the text for the shortlist has {} but {}",
                count(src.len(), "sentence"),
                count(tgt.len(), "translation")
            ),
            hint: Some("give a translation for each sentence".into()),
        });
    }
    if options.precision == Precision::F32 {
        return Err(Error::usage("`f32` is the precision of trained models", "quantize to `int8` or `bf16`"));
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
        Some(most) if drop > most => Err(Error::Data {
            problem: format!(
                "quantizing to {} lowers BLEU by {drop:.2}, from {:.2} to {:.2}; at most {most} is accepted",
                options.precision, baseline.value, system.value
            ),
            hint: Some("nothing was written; `bf16` loses less than `int8`".into()),
        }),
        _ => Ok(()),
    }
}

fn write(
    out: &Path,
    quantized: &Pipeline,
    provenance: Provenance,
    report: Option<&Report>,
    packed: &[u8],
) -> Result<()> {
    let sha256 = checkpoint::weights::sha256_of(packed);
    let provenance = Provenance {
        scores: Vec::new(),
        sha256: BTreeMap::from([(files::PACKED.to_owned(), sha256)]),
        ..provenance
    };
    let report = report.map(checkpoint::to_json).transpose()?;
    let mut shortlist = None;
    if let Some(list) = quantized.engine().shortlist() {
        let file = shortlist.insert(Vec::new());
        checkpoint::write_shortlist(list, file).map_err(Error::io("write", out))?;
    }
    let written = |content: &[u8], path: &Path| fs::write(path, content);
    let write_packed = |path: &Path| written(packed, path);
    let write_report = |path: &Path| written(report.as_deref().unwrap_or_default(), path);
    let write_shortlist = |path: &Path| written(shortlist.as_deref().unwrap_or_default(), path);
    let mut others: Vec<(&str, &ContentWriter<'_>)> = vec![(files::PACKED, &write_packed)];
    if report.is_some() {
        others.push((files::REPORT, &write_report));
    }
    if shortlist.is_some() {
        others.push((files::SHORTLIST, &write_shortlist));
    }
    let (config, tokenizers) = (quantized.config(), quantized.tokenizers());
    checkpoint::write_model(out, config, tokenizers, &others, &|| provenance.clone())
}
