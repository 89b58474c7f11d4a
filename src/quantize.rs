//! Quantising a translation model: smaller and faster, with a receipt of what it costs.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Instant;

use serde::Serialize;

use crate::checkpoint::atomic::Content;
use crate::checkpoint::{self, LoadedWeights, Provenance, files};
use crate::config::Task;
use crate::engine::Precision;
use crate::error::{Error, Result};
use crate::evaluate::check;
use crate::metrics::{Bleu, Bootstrap, Chrf, CorpusMetric, Paired, Score, Segments};
use crate::pipeline::{Pipeline, TranslateOptions};

/// Options of [`quantize`].
#[derive(Clone, Copy, Debug)]
pub struct QuantizeOptions {
    /// The number type of the new weights; not `f32`.
    pub precision: Precision,
    /// The paired test of both models.
    pub bootstrap: Bootstrap,
    /// The largest loss of BLEU that is accepted.
    pub max_drop: Option<f64>,
}

/// What quantising cost, and what it gained. Stored in the new model directory as `receipt.json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Receipt {
    /// The program and its version.
    pub program: String,
    /// The number type of the new weights.
    pub precision: Precision,
    /// SHA-256 of the original weights, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub original_sha256: Option<String>,
    /// The instructions of the quantised products in the measurement.
    pub instructions: String,
    /// Threads of the measurement.
    pub threads: usize,
    /// Lines of the test set.
    pub lines: usize,
    /// Lines that are translated differently.
    pub changed_lines: usize,
    /// The weights in bytes.
    pub bytes: Change<u64>,
    /// Seconds for translating the test set.
    pub seconds: Change<f64>,
    /// BLEU, with 95 % intervals by paired bootstrap resampling.
    pub bleu: Comparison,
    /// chrF2, in the same way.
    pub chrf: Comparison,
}

/// A quantity of both models.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Change<T> {
    /// Of the original model.
    pub before: T,
    /// Of the quantised model.
    pub after: T,
}

/// A score of both models.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The signature of the metric.
    pub signature: String,
    /// The scores, their intervals, and their difference.
    #[serde(flatten)]
    pub paired: Paired,
}

/// The translations of one model.
struct Run {
    translations: Vec<String>,
    seconds: f64,
}

/// Quantises the model directory `model`, translates `src` with both models, and writes the new model directory `out` with a
/// receipt. The directory appears with all its files or not at all.
///
/// # Errors
/// An `out` that exists; a model that is damaged, quantised already, or does not translate; a limit that is NaN;
/// [`Error::Data`] for a test set that is empty or whose files have different numbers of lines, and if BLEU falls by more than
/// `options.max_drop`.
pub fn quantize(
    model: &Path,
    out: &Path,
    src: &[String],
    references: &[Vec<String>],
    options: &QuantizeOptions,
) -> Result<Receipt> {
    refuse_early(out, options)?;
    check(src, references)?;
    let loaded = checkpoint::load(model)?;
    let LoadedWeights::Dense(weights) = &loaded.weights else {
        return Err(Error::usage(
            format!("`{}` is quantised already", model.display()),
            "quantise the model that it was made from",
        ));
    };
    let before = weights
        .iter()
        .map(|weight| size_of_val(&*weight.values) as u64)
        .sum();
    let provenance = loaded.provenance.clone();
    let original = Pipeline::from_loaded(loaded, None)?;
    original.require(Task::Translate)?;
    let translate = TranslateOptions::from(&original.config().decode);
    let first = run(&original, src, &translate)?;
    let quantised = original.into_precision(options.precision);
    let second = run(&quantised, src, &translate)?;

    let bleu = compare(Bleu::default(), &first, &second, references, options);
    refuse_drop(&bleu, options)?;
    let mut packed = Vec::new();
    checkpoint::write_packed(quantised.engine(), &mut packed).map_err(Error::io("write", out))?;
    let pairs = first.translations.iter().zip(&second.translations);
    let receipt = Receipt {
        program: Provenance::this_program(),
        precision: options.precision,
        original_sha256: provenance.sha256_of(files::WEIGHTS).map(str::to_owned),
        instructions: quantised.engine().instructions(),
        threads: rayon::current_num_threads(),
        lines: src.len(),
        changed_lines: pairs.filter(|(before, after)| before != after).count(),
        bytes: Change {
            before,
            after: packed.len() as u64,
        },
        seconds: Change {
            before: first.seconds,
            after: second.seconds,
        },
        bleu,
        chrf: compare(Chrf::default(), &first, &second, references, options),
    };
    write(out, &quantised, provenance, &receipt, &packed)?;
    Ok(receipt)
}

/// Refuses what can be refused before anything is read.
fn refuse_early(out: &Path, options: &QuantizeOptions) -> Result<()> {
    if out.exists() {
        return Err(Error::usage(
            format!("`{}` exists already", out.display()),
            "choose another directory for the quantised model",
        ));
    }
    if options.max_drop.is_some_and(f64::is_nan) {
        return Err(Error::usage(
            "the largest loss of BLEU is not a number",
            "give a number such as 0.3",
        ));
    }
    if options.precision == Precision::F32 {
        return Err(Error::usage(
            "`f32` is the precision of trained models",
            "quantise to `int8` or `bf16`",
        ));
    }
    Ok(())
}

fn run(pipeline: &Pipeline, src: &[String], options: &TranslateOptions) -> Result<Run> {
    // The first sentences pack the weights and fill the caches.
    pipeline.best_with(&src[..src.len().min(2)], options)?;
    let start = Instant::now();
    let translations = pipeline.best_with(src, options)?;
    Ok(Run {
        seconds: start.elapsed().as_secs_f64(),
        translations,
    })
}

fn compare<M: CorpusMetric>(
    metric: M,
    before: &Run,
    after: &Run,
    references: &[Vec<String>],
    options: &QuantizeOptions,
) -> Comparison {
    let [before, after] =
        [before, after].map(|run| Segments::new(metric.clone(), &run.translations, references));
    let Score { signature, .. } = before.score();
    Comparison {
        signature,
        paired: options.bootstrap.paired(&before, &after),
    }
}

fn refuse_drop(bleu: &Comparison, options: &QuantizeOptions) -> Result<()> {
    let Paired {
        baseline,
        system,
        difference,
    } = bleu.paired;
    let drop = 0.0 - difference.value;
    match options.max_drop {
        Some(most) if drop > most => Err(Error::Data {
            problem: format!(
                "quantising to {} lowers BLEU by {drop:.2}, from {:.2} to {:.2}; at most {most} is accepted",
                options.precision, baseline.value, system.value
            ),
            hint: Some("nothing was written; `bf16` loses less than `int8`".into()),
        }),
        _ => Ok(()),
    }
}

fn write(
    out: &Path,
    quantised: &Pipeline,
    provenance: Provenance,
    receipt: &Receipt,
    packed: &[u8],
) -> Result<()> {
    let sha256 = checkpoint::weights::sha256_of(packed);
    let provenance = Provenance {
        scores: Vec::new(),
        sha256: BTreeMap::from([(files::PACKED.to_owned(), sha256)]),
        ..provenance
    };
    let (provenance, receipt) = (
        checkpoint::to_json(&provenance)?,
        checkpoint::to_json(receipt)?,
    );
    let others: [(&str, &Content<'_>); 3] = [
        (files::PACKED, &|path| fs::write(path, packed)),
        (files::PROVENANCE, &|path| fs::write(path, &provenance)),
        (files::RECEIPT, &|path| fs::write(path, &receipt)),
    ];
    checkpoint::write_model(out, quantised.config(), quantised.tokenizers(), &others)
}
