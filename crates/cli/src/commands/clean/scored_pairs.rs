//! Pairs with scores.

use std::collections::HashMap;
use std::env;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Seek, SeekFrom, Write};
use std::iter;
use std::path::{Path, PathBuf};

use attentive_base::count::count;
use attentive_base::error::{Error, Result};
use attentive_base::folder_of;
use attentive_data::cleaning::{CleanedPair, CleaningRule, SentencePair};
use attentive_distill::{PairScorer, ScoreLimit};
use serde::Serialize;

use super::sink::{Sink, shown};
use crate::message;

/// What `--dropped` and `--explain` call a pair of a low score.
pub(super) const LOW_SCORE: &str = "score";

/// Pairs with scores, which wait in a file until all scores are known.
pub(super) struct ScoredPairs {
    scorer: PairScorer,
    /// Where they wait.
    folder: PathBuf,
    waiting: BufWriter<File>,
    scores: Vec<f64>,
    /// The place of the best pair of each target, if the others are dropped.
    best: Option<HashMap<u64, usize>>,
}

/// How scores are distributed, of the pairs that no rule drops.
#[derive(Serialize)]
pub(super) struct ScoreReport {
    /// The pairs that were scored.
    pairs: usize,
    /// Those that were dropped for their scores.
    dropped: usize,
    /// Those that were dropped since a better pair has the same target.
    #[serde(skip)]
    pub(super) same_target: Option<usize>,
    /// The least score that was kept, if there was a limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    least: Option<f64>,
    /// Scores below which these percentages of the pairs are.
    percentiles: Vec<(u32, f64)>,
}

impl ScoredPairs {
    /// Creates a file in the folder of `output`, or in that of temporary files.
    pub(super) fn new(scorer: PairScorer, one_per_target: bool, output: Option<&Path>) -> Result<Self> {
        let folder = output.map_or_else(env::temp_dir, |output| folder_of(output).to_owned());
        let file = tempfile::tempfile_in(&folder).map_err(Error::io("create a file in", &folder))?;
        let best = one_per_target.then(HashMap::new);
        Ok(Self { scorer, folder, waiting: BufWriter::new(file), scores: Vec::new(), best })
    }

    pub(super) fn add(&mut self, lines: Vec<usize>, pairs: Vec<SentencePair>) -> Result<()> {
        /// So many pairs show in which direction models translate.
        const TRIED: usize = 50;
        if self.scores.is_empty() && self.scorer.expects_exchanged(&pairs[..pairs.len().min(TRIED)])? {
            message::warning(
                "the models find the pairs far likelier with their sides exchanged: do they translate in the other \
                 direction?",
            );
        }
        let scores = self.scorer.scores(&pairs)?;
        for ((line, pair), score) in lines.into_iter().zip(pairs).zip(&scores) {
            if let Some(best) = &mut self.best {
                let place = best.entry(pair.target_hash()).or_insert(self.scores.len());
                if self.scores.get(*place).is_some_and(|other| score > other) {
                    *place = self.scores.len();
                }
            }
            let row = serde_json::to_string(&(line, pair.src, pair.tgt)).expect("text and a number");
            writeln!(self.waiting, "{row}").map_err(Error::io("write a file in", &self.folder))?;
            self.scores.push(*score);
        }
        Ok(())
    }

    /// Passes on all pairs, and says how they were scored.
    pub(super) fn finish(self, limit: Option<ScoreLimit>, sink: &mut Sink) -> Result<ScoreReport> {
        let least = limit.and_then(|limit| limit.least(&self.scores));
        let best = self.scores.iter().copied().max_by(f64::total_cmp);
        if let (Some(least), Some(best)) = (least, best)
            && best < least
        {
            return Err(Error::usage(
                format!("`--min-score {least}` drops all pairs: the best score is {}", shown(best)),
                format!(
                    "give a lower one, or the share of the worst pairs, such as `--min-score {}%`",
                    least.abs()
                ),
            ));
        }
        let unwritable = |error: io::Error| Error::io("write a file in", &self.folder)(error);
        let mut file = self.waiting.into_inner().map_err(|error| unwritable(error.into_error()))?;
        file.seek(SeekFrom::Start(0)).map_err(unwritable)?;
        let (mut dropped, mut same_target) = (0, 0);
        for (place, (row, &score)) in BufReader::new(file).lines().zip(&self.scores).enumerate() {
            let row = row.map_err(unwritable)?;
            let (line, src, tgt): (usize, String, String) =
                serde_json::from_str(&row).map_err(|error| unwritable(error.into()))?;
            let pair = SentencePair { src, tgt };
            let rule = if least.is_some_and(|least| score < least) {
                dropped += 1;
                LOW_SCORE
            } else if self.best.as_ref().is_some_and(|best| best[&pair.target_hash()] != place) {
                same_target += 1;
                CleaningRule::SameTarget.name()
            } else {
                sink.keep(&pair, Some(score))?;
                continue;
            };
            sink.drop(rule, line, CleanedPair { pair, mended: Vec::new(), dropped: None })?;
        }
        let mut scores = self.scores;
        scores.sort_unstable_by(f64::total_cmp);
        let of = |percent: u32| Some((percent, *scores.get(scores.len() * percent as usize / 100)?));
        let percentiles = [1, 5, 10, 25, 50, 75].into_iter().filter_map(of).collect();
        let same_target = self.best.map(|_| same_target);
        Ok(ScoreReport { pairs: scores.len(), dropped, same_target, least, percentiles })
    }
}

impl ScoreReport {
    /// The number of pairs that were dropped.
    pub(super) fn worse(&self) -> u64 {
        (self.dropped + self.same_target.unwrap_or(0)) as u64
    }

    /// What is dropped by scores, with its number and its meaning.
    pub(super) fn rows(&self) -> impl Iterator<Item = (&'static str, usize, &'static str)> {
        let rule = CleaningRule::SameTarget;
        let same_target = self.same_target.map(|pairs| (rule.name(), pairs, rule.meaning()));
        iter::once((LOW_SCORE, self.dropped, "a low score by the models")).chain(same_target)
    }

    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!("scored: {}", count(self.pairs, "pair"))];
        let below =
            self.percentiles.iter().map(|(percent, score)| format!("{percent} % below {}", shown(*score)));
        lines.extend(Some(below.collect::<Vec<_>>().join(", ")).filter(|line| !line.is_empty()));
        lines.extend(self.least.map(|least| format!("the limit is {}", shown(least))));
        lines
    }
}
