//! A part of a synthetic corpus.

use std::path::Path;

use attentive_base::error::{Error, Result};
use attentive_checkpoint::read_json_if_there;
use attentive_pipeline::{Candidate, Pipeline, Translation};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{SynthesisChoice, SynthesisCounts, SynthesisOptions};
use crate::pair_file::row;

/// A part of a synthetic corpus.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Part {
    pub(super) counts: SynthesisCounts,
    /// Tab-separated source, target and score.
    pub(super) rows: Vec<String>,
}

impl Part {
    /// Translates `sources`, the first of which is line `first_line`.
    pub(super) fn make(
        pipeline: &Pipeline,
        first_line: usize,
        sources: &[Option<String>],
        references: Option<&[Option<String>]>,
        options: SynthesisOptions,
    ) -> Result<Self> {
        let lines: Vec<&str> = sources.iter().map(|line| line.as_deref().unwrap_or_default()).collect();
        let found = pipeline.translate_lines_from(first_line, &lines, &options.translate)?;
        let translated = |(number, (line, found)): (usize, (&&str, _))| {
            let reference = references.map(|lines| lines[number].as_deref().unwrap_or_default());
            let Translation { hypotheses, .. } = found;
            match sources[number] {
                // It is longer than any line may be.
                None => Self::without_pairs(|counts| counts.too_long = 1),
                _ if line.trim().is_empty() => Self::without_pairs(|counts| counts.blank = 1),
                _ if !pipeline.fits(line) => Self::without_pairs(|counts| counts.too_long = 1),
                _ => Self::of_line(line, hypotheses, reference, options),
            }
        };
        let parts: Vec<Self> = lines.par_iter().zip(found).enumerate().map(translated).collect();
        let mut all = Self::default();
        for part in parts {
            all.counts += part.counts;
            all.rows.extend(part.rows);
        }
        Ok(all)
    }

    /// A line that gives no pairs, for the reason that `count` counts.
    fn without_pairs(count: impl Fn(&mut SynthesisCounts)) -> Self {
        let mut counts = SynthesisCounts { lines: 1, ..Default::default() };
        count(&mut counts);
        Self { counts, rows: Vec::new() }
    }

    /// The pairs of a line and its translations.
    pub(super) fn of_line(
        line: &str,
        mut found: Vec<Candidate>,
        reference: Option<&str>,
        options: SynthesisOptions,
    ) -> Self {
        let mut part = Self::without_pairs(|_| ());
        let n = found.len();
        found.retain(|one| !one.is_cut_off());
        part.counts.cut_off = n - found.len();
        let n = found.len();
        found.retain(|one| !one.text.trim().is_empty());
        part.counts.empty = n - found.len();
        if let (SynthesisChoice::ClosestTo(utility), Some(reference)) = (options.choice, reference) {
            let closeness = |one: &Candidate| utility.against(&one.text, reference);
            // Of equals, the first, which is the likeliest.
            let best =
                (0..found.len()).rev().max_by(|&a, &b| closeness(&found[a]).total_cmp(&closeness(&found[b])));
            found = best.map(|best| vec![found.swap_remove(best)]).unwrap_or_default();
        }
        part.counts.pairs = found.len();
        part.rows = found
            .iter()
            .map(|one| {
                let (src, tgt) = if options.backward { (&*one.text, line) } else { (line, &*one.text) };
                row(src.trim(), tgt.trim(), Some(one.score))
            })
            .collect();
        part
    }

    /// Reads a part that was made before.
    ///
    /// # Errors
    /// Those of [`read_json_if_there`]; [`Error::Data`] if it is missing.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let hint = "delete it, and repeat the command: it is then made again";
        read_json_if_there(path, hint)?.ok_or_else(|| {
            Error::data(
                format!("`{}` was removed while the text was translated", path.display()),
                "repeat the command",
            )
        })
    }
}
