//! The corpus that a student learns from: translations, filtered.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use attentive_base::error::{Error, Result};
use attentive_checkpoint::{atomic, to_json};
use attentive_data::cleaning::{Cleaner, CleaningOptions, CleaningReport, ExpectedLanguages};
use serde::Serialize;

use super::plan::{FilterPlan, LanguageCodes};
use crate::pair_file::{PairFile, PairRow, row};
use crate::{PairScorer, ScoreLimit};

/// The number of pairs that are filtered at a time.
const CHUNK: usize = 1 << 14;

/// What became of the translations.
#[derive(Debug, Default, Serialize)]
struct FilterReport {
    /// The pairs that were read.
    pairs: usize,
    /// What the rules dropped.
    #[serde(skip_serializing_if = "Option::is_none")]
    rules: Option<CleaningReport>,
    /// Of the other pairs, those whose scores are among the lowest.
    worst: usize,
    /// The score below which they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    least_score: Option<f64>,
    /// The pairs that are left.
    kept: usize,
}

/// Writes the pairs of `files` that pass the filters to `corpus`, tab-separated, and what became of the
/// others to `report`.
///
/// # Errors
/// [`Error::Io`] if a file cannot be read or written; [`Error::Line`] for a line without two columns, or
/// without a score by which the worst are to be found; [`Error::Data`] if no pair is left.
pub(super) fn write(files: &[PathBuf], filter: &FilterPlan, corpus: &Path, report: &Path) -> Result<()> {
    let passed = corpus.with_extension("passed");
    let mut counts = FilterReport::default();
    let scores = apply_rules(files, filter, &passed, &mut counts)?;
    counts.least_score = ScoreLimit::Worst(filter.drop_worst).least(&scores);
    counts.kept = scores.len();
    match counts.least_score {
        None => fs::rename(&passed, corpus).map_err(Error::io("write", corpus))?,
        Some(least) => {
            counts.kept = scores.iter().filter(|&&score| score >= least).count();
            counts.worst = scores.len() - counts.kept;
            atomic::write_with(corpus, &|to| keep(&passed, &scores, least, to))?;
            fs::remove_file(&passed).map_err(Error::io("remove", &passed))?;
        }
    }
    if counts.kept == 0 {
        return Err(nothing_left(counts.pairs));
    }
    atomic::write_file(report, &to_json(&counts)?)
}

fn nothing_left(n_pairs: usize) -> Error {
    let (problem, hint) = match n_pairs {
        0 => (
            "there are no translations: those of the teacher are all empty, or cut off at the length limit"
                .to_owned(),
            "translate a few lines with the teacher, and see what it does",
        ),
        n => (
            format!("none of the {n} translations passes the filters"),
            "look at what each rule drops with `attentive clean`, and set `filter.without`",
        ),
    };
    Error::data(problem, hint)
}

/// Writes the pairs that break no rule to `passed`, and returns their scores; 0 if none are needed.
fn apply_rules(
    files: &[PathBuf],
    filter: &FilterPlan,
    passed: &Path,
    counts: &mut FilterReport,
) -> Result<Vec<f64>> {
    let scorer = PairScorer::load(None, filter.backward.as_deref())?;
    let languages = filter.languages.as_ref();
    let languages = languages.map(|LanguageCodes([src, tgt])| ExpectedLanguages::new(src, tgt));
    let options = CleaningOptions {
        without: filter.without.clone(),
        limits: filter.limits,
        languages: languages.transpose()?,
        ..CleaningOptions::default()
    };
    let mut cleaner = filter.rules.then(|| Cleaner::new(options));
    let unwritable = || Error::io("write", passed);
    let mut out = BufWriter::new(File::create(passed).map_err(unwritable())?);
    let mut scores = Vec::new();
    for file in files {
        let mut rows_of_file = PairFile::open(file)?;
        loop {
            let rows = rows_of_file.by_ref().take(CHUNK).collect::<Result<Vec<_>>>()?;
            if rows.is_empty() {
                break;
            }
            counts.pairs += rows.len();
            let rows = cleaned(cleaner.as_mut(), rows);
            for PairRow { pair, .. } in &rows {
                writeln!(out, "{}", row(&pair.src, &pair.tgt, None)).map_err(unwritable())?;
            }
            scores.extend(scores_of(&rows, filter, scorer.as_ref(), file)?);
        }
    }
    out.flush().map_err(unwritable())?;
    counts.rules = cleaner.map(|cleaner| cleaner.report().clone());
    Ok(scores)
}

/// The rows that break no rule, mended.
fn cleaned(cleaner: Option<&mut Cleaner>, rows: Vec<PairRow>) -> Vec<PairRow> {
    let Some(cleaner) = cleaner else { return rows };
    let pairs = rows.iter().map(|row| Some(row.pair.clone())).collect();
    let cleaned = cleaner.clean(pairs).into_iter().zip(rows);
    let kept = cleaned.filter(|(one, _)| one.dropped.is_none());
    kept.map(|(one, row)| PairRow { pair: one.pair, ..row }).collect()
}

fn scores_of(
    rows: &[PairRow],
    filter: &FilterPlan,
    scorer: Option<&PairScorer>,
    file: &Path,
) -> Result<Vec<f64>> {
    if filter.drop_worst == 0.0 {
        return Ok(vec![0.0; rows.len()]);
    }
    if let Some(scorer) = scorer {
        return scorer.scores(&rows.iter().map(|row| row.pair.clone()).collect::<Vec<_>>());
    }
    let missing = |line| {
        let problem = format!(
            "there is no score, by which `filter.drop_worst` = {} finds the worst pairs; add a third column, or \
             name a model that scores them (`filter.backward`)",
            filter.drop_worst
        );
        Error::line(file, line, problem)
    };
    rows.iter().map(|row| row.score.ok_or_else(|| missing(row.line))).collect()
}

/// Writes the lines of `passed` with a score of at least `least`.
fn keep(passed: &Path, scores: &[f64], least: f64, to: &Path) -> io::Result<()> {
    let mut out = BufWriter::new(File::create(to)?);
    for (line, &score) in BufReader::new(File::open(passed)?).lines().zip(scores) {
        let line = line?;
        if score >= least {
            writeln!(out, "{line}")?;
        }
    }
    out.flush()
}
