//! Translations as text, columns or JSON.

use attentive_base::batch::TokenId;
use attentive_base::error::{Error, Result};
use attentive_pipeline::{Alignment, Candidate, Pipeline, Warning};
use serde::Serialize;

use super::division::Translated;
use crate::message;
use crate::output::Output;
use crate::table::blank_separated;

/// The contents of an output line.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    Text,
    LineScoreText,
    Json,
}

/// Writes translations.
pub(super) struct Writer<'a> {
    pub(super) pipeline: &'a Pipeline,
    pub(super) style: Style,
    pub(super) token_scores: bool,
    pub(super) alignments: bool,
    /// True if translations must contain phrases.
    pub(super) constrained: bool,
    /// True if a warning is an error.
    pub(super) strict: bool,
    pub(super) out: Output,
}

/// The translations of a line as JSON.
#[derive(Serialize)]
struct Answer<'a> {
    line: usize,
    translations: Vec<Found<'a>>,
    warnings: Vec<&'a str>,
}

/// A translation as JSON.
#[derive(Serialize)]
struct Found<'a> {
    text: &'a str,
    score: f64,
    log_prob: f64,
    finished: bool,
    tokens: Vec<String>,
    token_log_probs: &'a [f32],
    #[serde(skip_serializing_if = "Option::is_none")]
    alignment: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unmet: Option<Vec<&'a str>>,
}

impl Writer<'_> {
    /// Writes the translations of lines.
    ///
    /// # Errors
    /// The errors of the output; the first warning about a line, if none is allowed.
    pub(super) fn write(&mut self, translated: &Translated) -> Result<()> {
        let Translated { first_line, translations, alignments } = translated;
        let mut alignments = alignments.iter();
        for (line, translation) in (*first_line..).zip(translations) {
            let mut warnings = translation.warnings.clone();
            warnings.extend(cut_off(line, &translation.hypotheses));
            match warnings.first() {
                Some(warning) if self.strict => return Err(refused(warning)),
                _ => message::warnings(&warnings),
            }
            let found = &translation.hypotheses[..];
            let aligned: Vec<_> = alignments.by_ref().take(found.len()).collect();
            self.write_line(line, found, &aligned, &warnings)?;
        }
        self.out.flush()
    }

    fn write_line(
        &mut self,
        line: usize,
        found: &[Candidate],
        alignments: &[&Alignment],
        warnings: &[Warning],
    ) -> Result<()> {
        let numbered = found.iter().enumerate();
        let numbered = numbered.map(|(number, found)| (found, alignments.get(number).copied()));
        if self.style == Style::Json {
            let translations = numbered.map(|(found, alignment)| self.json(found, alignment));
            let translations = translations.collect();
            let warnings = warnings.iter().map(|warning| warning.problem.as_str());
            return self.out.json_line(&Answer { line, translations, warnings: warnings.collect() });
        }
        for (found, alignment) in numbered {
            let mut columns = match self.style {
                Style::LineScoreText => vec![line.to_string(), format!("{:.4}", found.score)],
                _ => Vec::new(),
            };
            // A tab between sentences would start a new column.
            columns.push(match self.style {
                Style::LineScoreText => found.text.replace('\t', " "),
                _ => found.text.clone(),
            });
            if self.token_scores {
                columns.push(self.spelled(&found.tokens).join(" "));
                columns.push(blank_separated(&found.token_log_probs));
            }
            columns.extend(alignment.map(Alignment::to_string));
            self.out.line(columns.join("\t"))?;
        }
        Ok(())
    }

    fn json<'a>(&self, found: &'a Candidate, alignment: Option<&Alignment>) -> Found<'a> {
        Found {
            text: &found.text,
            score: found.score,
            log_prob: found.log_prob,
            finished: !found.is_cut_off(),
            tokens: self.spelled(&found.tokens),
            token_log_probs: &found.token_log_probs,
            alignment: alignment.map(Alignment::to_string),
            unmet: self.constrained.then(|| found.unmet.iter().map(|phrase| &**phrase).collect()),
        }
    }

    fn spelled(&self, tokens: &[TokenId]) -> Vec<String> {
        self.pipeline.tokenizers().tgt().spelled(tokens)
    }
}

/// The error that replaces a warning.
pub(super) fn refused(warning: &Warning) -> Error {
    Error::Data {
        problem: warning.to_string(),
        hint: Some("change the line, or leave out `--strict` to translate it with a warning".into()),
    }
}

/// A warning if any translations of line number `line` were cut off. A blank line has none.
fn cut_off(line: usize, found: &[Candidate]) -> Option<Warning> {
    let cut_off = found.iter().filter(|found| found.is_cut_off());
    let problem = match (cut_off.count(), found.len()) {
        (0, _) => return None,
        (1, 1) => "the translation was cut off at the length limit".to_owned(),
        (n, all) if n == all => format!("all {all} translations were cut off at the length limit"),
        (n, all) if found.iter().rev().take(n).all(|found| !found.finished) => format!(
            "the last {n} of {all} translations were cut off at the length limit, and come after the others \
             whatever their score"
        ),
        (n, all) => format!("{n} of {all} translations were cut off at the length limit"),
    };
    Some(Warning { line: Some(line), problem })
}
