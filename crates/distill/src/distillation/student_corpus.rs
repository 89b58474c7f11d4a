//! The corpus that a student learns from: translations, filtered.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use attentive_base::error::{Error, Result};
use attentive_checkpoint::{atomic, to_json};
use attentive_data::cleaning::{Cleaner, CleaningOptions, CleaningReport, ExpectedLanguages, SentencePair};
use attentive_data::{Line, Lines, MAX_RECORD_BYTES};
use serde::Serialize;

use super::plan::FilterPlan;
use crate::{PairScorer, ScoreLimit};

/// The number of pairs that are filtered at a time.
const CHUNK: usize = 1 << 14;

/// What became of the translations.
#[derive(Debug, Serialize)]
pub(super) struct FilterReport {
    /// The pairs that were read.
    pub(super) pairs: usize,
    /// The pairs whose scores are among the lowest.
    pub(super) worst: usize,
    /// The score below which they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) least_score: Option<f64>,
    /// The pairs that are left.
    pub(super) kept: usize,
    /// What the rules dropped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) rules: Option<CleaningReport>,
}

/// A translation with its score.
struct Row {
    pair: SentencePair,
    score: Option<f64>,
}

/// Writes the pairs of `files` that pass the filters to `corpus`, tab-separated, and what became of the
/// others to `report`.
///
/// # Errors
/// [`Error::Io`] if a file cannot be read or written; [`Error::Line`] for a line without two columns;
/// [`Error::Data`] if no pair is left.
pub(super) fn write(files: &[PathBuf], filter: &FilterPlan, corpus: &Path, report: &Path) -> Result<()> {
    let scorer = PairScorer::load(None, filter.backward.as_deref())?;
    let scorer = scorer.as_ref();
    let least_score = least_score(files, filter.drop_worst, scorer)?;
    let languages = filter.languages.as_ref().map(|[src, tgt]| ExpectedLanguages::new(src, tgt));
    let options = CleaningOptions {
        without: filter.without.clone(),
        languages: languages.transpose()?,
        ..CleaningOptions::default()
    };
    let mut cleaner = filter.rules.then(|| Cleaner::new(options));
    let mut counts = FilterReport { pairs: 0, worst: 0, least_score, kept: 0, rules: None };
    let temporary = corpus.with_extension("unfinished");
    let unwritable = || Error::io("write", &temporary);
    let mut out = BufWriter::new(File::create(&temporary).map_err(unwritable())?);
    for file in files {
        let mut lines = Lines::open(file, MAX_RECORD_BYTES)?;
        loop {
            let rows = rows(&mut lines, scorer)?;
            if rows.is_empty() {
                break;
            }
            counts.pairs += rows.len();
            let n = rows.len();
            let is_good = |row: &Row| row.score.zip(least_score).is_none_or(|(score, least)| score >= least);
            let pairs: Vec<SentencePair> = rows.into_iter().filter(is_good).map(|row| row.pair).collect();
            counts.worst += n - pairs.len();
            for pair in cleaned(cleaner.as_mut(), pairs) {
                counts.kept += 1;
                let [src, tgt] = [pair.src, pair.tgt].map(|text| text.replace('\t', " "));
                writeln!(out, "{src}\t{tgt}").map_err(unwritable())?;
            }
        }
    }
    out.flush().map_err(unwritable())?;
    counts.rules = cleaner.map(|cleaner| cleaner.report().clone());
    if counts.kept == 0 {
        return Err(Error::Data {
            problem: format!("none of the {} translations passes the filters", counts.pairs),
            hint: Some(
                "look at what each rule drops with `attentive clean`, and set `filter.without`".into(),
            ),
        });
    }
    atomic::write_file(report, &to_json(&counts)?)?;
    std::fs::rename(&temporary, corpus).map_err(Error::io("write", corpus))
}

fn cleaned(cleaner: Option<&mut Cleaner>, pairs: Vec<SentencePair>) -> Vec<SentencePair> {
    let Some(cleaner) = cleaner else { return pairs };
    let cleaned = cleaner.clean(pairs.into_iter().map(Some).collect()).into_iter();
    cleaned.filter(|one| one.dropped.is_none()).map(|one| one.pair).collect()
}

/// The score that all but this share of the pairs have at least; `None` if nothing is dropped by its score.
fn least_score(files: &[PathBuf], share: f64, scorer: Option<&PairScorer>) -> Result<Option<f64>> {
    if share == 0.0 {
        return Ok(None);
    }
    let mut scores = Vec::new();
    for file in files {
        let mut lines = Lines::open(file, MAX_RECORD_BYTES)?;
        loop {
            let rows = rows(&mut lines, scorer)?;
            if rows.is_empty() {
                break;
            }
            scores.extend(rows.into_iter().filter_map(|row| row.score));
        }
    }
    Ok(ScoreLimit::Worst(share).least(&scores))
}

/// The next rows, none at the end; with the scores of `scorer` in place of their own, if there is one.
fn rows(lines: &mut Lines<impl io::Read>, scorer: Option<&PairScorer>) -> Result<Vec<Row>> {
    let mut rows = unscored_rows(lines)?;
    if let Some(scorer) = scorer {
        let pairs: Vec<SentencePair> = rows.iter().map(|row| row.pair.clone()).collect();
        for (row, score) in rows.iter_mut().zip(scorer.scores(&pairs)?) {
            row.score = Some(if score.is_nan() { f64::NEG_INFINITY } else { score });
        }
    }
    Ok(rows)
}

/// The next rows with their own scores.
fn unscored_rows(lines: &mut Lines<impl io::Read>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    while rows.len() < CHUNK {
        let problem = match lines.next_line()? {
            None => break,
            Some(Line::TooLong) => "a line that is too long".to_owned(),
            Some(Line::Text(text)) => {
                let mut columns = text.split('\t');
                match (columns.next(), columns.next(), columns.next()) {
                    (Some(src), Some(tgt), score) => {
                        let score = score.map(|score| score.trim().parse::<f64>());
                        match score {
                            Some(Err(_)) => "a third column that is no number, its score".to_owned(),
                            Some(Ok(score)) if score.is_nan() => "a score that is no number".to_owned(),
                            score => {
                                let pair = SentencePair { src: src.into(), tgt: tgt.into() };
                                rows.push(Row { pair, score: score.and_then(Result::ok) });
                                continue;
                            }
                        }
                    }
                    _ => "one column".to_owned(),
                }
            }
        };
        let problem = format!(
            "expected a source, a tab, its translation and, behind another tab, its score; found {problem}"
        );
        return Err(Error::line(lines.path(), lines.count(), problem));
    }
    Ok(rows)
}
