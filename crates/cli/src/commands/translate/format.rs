//! Translations as text, columns or JSON.

use attentive_base::error::{Error, Result};
use attentive_pipeline::{Alignment, Candidate, Pipeline, TranslationAnswer, Warning};
use serde::Serialize;

use super::lines::TranslatedLines;
use crate::message;
use crate::output::OutputWriter;
use crate::table::blank_separated;

/// The contents of an output line.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    Text,
    LineScoreText,
    Json,
}

/// Writes translations.
pub(super) struct TranslationWriter<'a> {
    pub(super) pipeline: &'a Pipeline,
    pub(super) style: Style,
    pub(super) token_scores: bool,
    pub(super) alignments: bool,
    /// True if a warning is an error.
    pub(super) strict: bool,
    pub(super) out: OutputWriter,
}

/// The translations of a line as JSON.
#[derive(Serialize)]
struct Line {
    line: usize,
    #[serde(flatten)]
    answer: TranslationAnswer,
}

impl TranslationWriter<'_> {
    /// Writes the translations of lines.
    ///
    /// # Errors
    /// The errors of the output; the first warning about a line, if none is allowed.
    pub(super) fn write(&mut self, translated: TranslatedLines) -> Result<()> {
        let TranslatedLines { first_line, translations, alignments } = translated;
        let mut alignments = alignments.into_iter();
        for (line, translation) in (first_line..).zip(translations) {
            match translation.warnings.first() {
                Some(warning) if self.strict => return Err(refused(warning)),
                _ => message::warnings(&translation.warnings),
            }
            let mut aligned = alignments.by_ref().take(translation.hypotheses.len());
            if self.style == Style::Json {
                let answer = TranslationAnswer::new(self.pipeline, translation, &mut aligned);
                self.out.json_line(&Line { line, answer })?;
                continue;
            }
            for found in &translation.hypotheses {
                self.write_columns(line, found, aligned.next())?;
            }
        }
        self.out.flush()
    }

    fn write_columns(&mut self, line: usize, found: &Candidate, alignment: Option<Alignment>) -> Result<()> {
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
            columns.push(self.pipeline.tokenizers().tgt().spelled(&found.tokens).join(" "));
            columns.push(blank_separated(&found.token_log_probs));
        }
        columns.extend(alignment.map(|alignment| alignment.to_string()));
        self.out.line(columns.join("\t"))
    }
}

/// The error that replaces a warning.
pub(super) fn refused(warning: &Warning) -> Error {
    Error::data(
        warning.to_string(),
        "change the line, or leave out `--strict` to translate it with a warning",
    )
}
