//! The report of a distillation: teacher and students on a test set.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use attentive_base::error::{Error, Result};
use attentive_checkpoint::{atomic, to_json};
use attentive_evaluate::EvaluateOptions;
use attentive_evaluate::compare::{Comparison, Differences, System, TestSet, compare_ensembles};
use attentive_kernels::threads::Threads;
use attentive_metrics::{Bleu, Score};
use attentive_pipeline::TranslateOptions;
use serde::Serialize;

/// The number of lines on which the systems differ most that are shown.
const EXAMPLES: usize = 5;
/// The number of lengths per bucket.
const BUCKET_WIDTH: usize = 10;

/// `report.json`.
#[derive(Serialize)]
struct Report<'a> {
    /// The size of the files of each system's weights, in bytes.
    weights: Vec<u64>,
    #[serde(flatten)]
    comparison: &'a Comparison,
}

/// Compares the models `systems` on one thread, each with its own search options, and writes `report.json`
/// and `report.md` into `dir`. The first one is the baseline.
///
/// # Errors
/// Those of [`compare_ensembles`]; [`Error::Io`] if a file cannot be read or written.
pub(super) fn write(
    dir: &Path,
    systems: &[(String, Vec<PathBuf>)],
    src: &[String],
    references: &[Vec<String>],
) -> Result<()> {
    let test = TestSet { src, references, bucket_width: BUCKET_WIDTH, examples: EXAMPLES };
    let comparison = Threads::alone(|| {
        compare_ensembles(systems, test, |pipeline| {
            let translate = TranslateOptions::from(&pipeline.config().decode);
            Ok(EvaluateOptions { translate, bleu: Bleu::default() })
        })
    })?;
    let bytes = |(_, models): &(String, Vec<PathBuf>)| models.iter().map(|dir| weight_bytes(dir)).sum();
    let weights = systems.iter().map(bytes).collect::<Result<Vec<u64>>>()?;
    let text = in_words(&comparison, &weights);
    atomic::write_file(&dir.join("report.md"), text.as_bytes())?;
    atomic::write_file(&dir.join("report.json"), &to_json(&Report { weights, comparison: &comparison })?)
}

/// The size of the files of weights in `dir`.
fn weight_bytes(dir: &Path) -> Result<u64> {
    let unreadable = || Error::io("read", dir);
    let mut bytes = 0;
    for entry in fs::read_dir(dir).map_err(unreadable())? {
        let entry = entry.map_err(unreadable())?;
        if entry.path().extension().is_some_and(|extension| extension == "safetensors") {
            bytes += entry.metadata().map_err(unreadable())?.len();
        }
    }
    Ok(bytes)
}

fn in_words(comparison: &Comparison, weights: &[u64]) -> String {
    let mut text = format!(
        "# Teacher and student\n\n{} sentences, one thread. Intervals contain 95 % of the scores of resampled \
         test sets; differences are those from the first system (paired bootstrap).\n\n\
         | system | BLEU | chrF2 | sentences/s | MB | difference in BLEU |\n|---|---|---|---|---|---|\n",
        comparison.systems.first().map_or(0, |system| system.sentences)
    );
    for (system, bytes) in comparison.systems.iter().zip(weights) {
        let System { name, bleu, chrf, sentences_per_second, difference, .. } = system;
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "| {name} | {} | {} | {sentences_per_second:.1} | {:.1} | {} |",
            score(bleu),
            score(chrf),
            *bytes as f64 / 1e6,
            difference.as_ref().map_or_else(String::new, in_bleu)
        );
    }
    if !comparison.examples.is_empty() {
        text.push_str("\n## Where they differ most\n");
    }
    for example in &comparison.examples {
        let _ = write!(
            text,
            "\nLine {}: {}\n\n- reference: {}\n",
            example.line, example.source, example.reference
        );
        for (system, output) in comparison.systems.iter().zip(&example.outputs) {
            let _ = writeln!(text, "- {}: {}", system.name, output.text);
        }
    }
    text
}

fn score(score: &Score) -> String {
    match &score.interval {
        Some(interval) => format!("{:.2} ({:.2} to {:.2})", score.value, interval.lower, interval.upper),
        None => format!("{:.2}", score.value),
    }
}

fn in_bleu(differences: &Differences) -> String {
    format!("{:+.2}, p {:.3}", differences.bleu.value, differences.bleu.p_value)
}
