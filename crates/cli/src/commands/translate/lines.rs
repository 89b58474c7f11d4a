//! Translation of lines, as a whole or sentence by sentence.

use std::sync::Arc;

use attentive_base::count::count;
use attentive_base::error::{Error, Result};
use attentive_document::{DividedText, Segmentation, Sentence};
use attentive_pipeline::documents::lost;
use attentive_pipeline::{
    Alignment, Glossary, Pipeline, Request, SentencePosition, TranslateOptions, Translation, Warning, joined,
};
use rayon::prelude::*;

use super::constraints::LineConstraints;
use super::format::TranslationWriter;
use super::shared::{LineBatch, SharedStreams};

/// Batches to collect before translating, so that sentences of similar length share a batch.
const BATCHES_PER_CHUNK: usize = 32;

/// The way in which lines are translated.
pub(super) struct TranslationSettings {
    pub(super) options: TranslateOptions,
    pub(super) constraints: Option<LineConstraints>,
    pub(super) glossary: Option<Glossary>,
    /// How lines are divided; `None` if each is translated as it is.
    pub(super) lines: Option<Segmentation>,
}

/// Lines and their translations.
pub(super) struct TranslatedLines {
    pub(super) first_line: usize,
    pub(super) translations: Vec<Translation>,
    /// The alignments of all translations, one after another; empty unless they were requested.
    pub(super) alignments: Vec<Alignment>,
}

impl TranslationSettings {
    /// Translates all lines of the input.
    pub(super) fn translate_lines(
        &self,
        shared: &mut SharedStreams<'_>,
        mut writer: TranslationWriter<'_>,
    ) -> Result<()> {
        let limit = writer.pipeline.batch_size(&self.options).saturating_mul(BATCHES_PER_CHUNK);
        while let Some(share) = shared.next(limit)? {
            let mut translate = || {
                writer.write(self.translated(&writer, &share)?)?;
                writer.out.take()
            };
            let text = translate();
            shared.write(text)?;
        }
        let constraints = self.constraints.as_ref();
        shared.finish(|count| constraints.map_or(Ok(()), |constraints| constraints.check_end(count)))
    }

    fn translated(&self, writer: &TranslationWriter<'_>, share: &LineBatch) -> Result<TranslatedLines> {
        let (pipeline, aligned) = (writer.pipeline, writer.alignments);
        let &LineBatch { first_line, ref lines } = share;
        let (mut translations, alignments) = match (self.lines, &self.constraints) {
            (Some(how), _) => self.by_sentences(pipeline, aligned, share, how)?,
            (None, None) => {
                let mut found = pipeline.translate_lines_from(first_line, lines, &self.options)?;
                let placed = lines.iter().zip(first_line..);
                let placed = placed.map(|(text, line)| (&**text, SentencePosition { line, sentence: 0 }));
                self.apply_glossary(pipeline, placed, &mut found)?;
                let alignments = align(pipeline, aligned, lines, &found)?;
                (found, alignments.concat())
            }
            (None, Some(constraints)) => {
                let requests = constraints.requests(first_line, lines)?;
                let found = pipeline.translate_requests(first_line, &requests, &self.options.guided())?;
                let alignments = align(pipeline, aligned, lines, &found)?;
                (found, alignments.concat())
            }
        };
        for ((line, source), found) in (first_line..).zip(lines).zip(&mut translations) {
            let best = found.hypotheses.first().map_or("", |best| &best.text);
            found.warnings.extend(lost(pipeline.tokenizers().src(), source, best));
            found.add_warnings(&self.options);
            for warning in &mut found.warnings {
                warning.line.get_or_insert(line);
            }
        }
        Ok(TranslatedLines { first_line, translations, alignments })
    }

    fn apply_glossary<'a>(
        &self,
        pipeline: &Pipeline,
        sentences: impl Iterator<Item = (&'a str, SentencePosition)>,
        found: &mut [Translation],
    ) -> Result<()> {
        self.glossary
            .as_ref()
            .map_or(Ok(()), |glossary| pipeline.apply_glossary(glossary, sentences, found, &self.options))
    }

    /// Translates the sentences of the lines, and joins the translations.
    fn by_sentences(
        &self,
        pipeline: &Pipeline,
        aligned: bool,
        share: &LineBatch,
        how: Segmentation,
    ) -> Result<(Vec<Translation>, Vec<Alignment>)> {
        let divide = |line: &String| DividedText::new(line, how, |text| pipeline.fits(text));
        let texts: Vec<DividedText> = share.lines.par_iter().map(divide).collect();
        let Requests { requests, unmet } = self.requests(share, &texts)?;
        let first_line = share.first_line;
        let mut found = match &self.constraints {
            None => pipeline.translate_requests(first_line, &requests, &self.options)?,
            Some(_) => pipeline.translate_requests(first_line, &requests, &self.options.guided())?,
        };
        let placed = requests.iter().filter_map(|one| Some((&*one.src, one.position?)));
        self.apply_glossary(pipeline, placed, &mut found)?;
        let sources: Vec<&String> = requests.iter().map(|request| &request.src).collect();
        let alignments = align(pipeline, aligned, &sources, &found)?;
        pipeline.restore(&texts, &mut found)?;
        let (mut translations, mut joined) = (Vec::with_capacity(texts.len()), Vec::new());
        let (mut found, mut alignments) = (&found[..], &alignments[..]);
        for (text, unmet) in texts.iter().zip(unmet) {
            let (own, others) = found.split_at(text.sentences().len());
            let mut whole = joined::join(text, own);
            whole.warnings.extend(unmet);
            translations.push(whole);
            found = others;
            if aligned {
                let (own_alignments, others) = alignments.split_at(own.len());
                joined.extend(joined::join_alignments(text, own, own_alignments));
                alignments = others;
            }
        }
        Ok((translations, joined))
    }

    /// The sentences of `texts` with the constraints on their translations.
    fn requests(&self, share: &LineBatch, texts: &[DividedText]) -> Result<Requests> {
        let constraints = self.constraints.as_ref();
        let constraints = constraints.map(|constraints| constraints.requests(share.first_line, &share.lines));
        let mut constraints = constraints.transpose()?.unwrap_or_default().into_iter();
        let (mut requests, mut unmet) = (Vec::new(), Vec::with_capacity(texts.len()));
        for (line, text) in (share.first_line..).zip(texts) {
            let sentences = text.sentences();
            let mut wanted = constraints.next().map(|request| request.constraints);
            let phrases = wanted.as_ref().map_or(0, |constraints| constraints.phrases.len());
            if phrases > 0 && sentences.len() > 1 {
                return Err(ambiguous(line, sentences.len()));
            }
            let has_constraints = wanted.as_ref().is_some_and(|one| !one.is_blank());
            let ignored = has_constraints.then(|| joined::ignored_constraints(text)).flatten();
            unmet.push(ignored.map(|warning| warning.on_line(line)));
            let request = |(sentence, Sentence { text, .. }): (usize, &Sentence)| Request {
                src: text.clone(),
                // The prefix applies to the first sentence.
                constraints: wanted.take().unwrap_or_else(Arc::default),
                position: Some(SentencePosition { line, sentence }),
            };
            requests.extend(sentences.iter().enumerate().map(request));
        }
        Ok(Requests { requests, unmet })
    }
}

/// The sentences of lines.
struct Requests {
    requests: Vec<Request>,
    /// For each line, the message about its constraints if it has no sentence that could meet them.
    unmet: Vec<Option<Warning>>,
}

/// The alignments of the translations of each of `lines`; empty unless they are `wanted`.
fn align(
    pipeline: &Pipeline,
    wanted: bool,
    lines: &[impl AsRef<str>],
    found: &[Translation],
) -> Result<Vec<Vec<Alignment>>> {
    if !wanted {
        return Ok(Vec::new());
    }
    let pairs = lines.iter().zip(found).flat_map(|(line, found)| {
        let tokens = found.hypotheses.iter().map(|found| &found.tokens[..]);
        tokens.map(move |tokens| (line.as_ref(), tokens))
    });
    let mut all = pipeline.align(&pairs.collect::<Vec<_>>())?.into_iter();
    let of_line = |found: &Translation| all.by_ref().take(found.hypotheses.len()).collect();
    Ok(found.iter().map(of_line).collect())
}

fn ambiguous(line: usize, sentences: usize) -> Error {
    let found = count(sentences, "sentence");
    Error::data(
        format!("line {line} has {found}, so it is not clear which of them its phrases belong to"),
        "write one sentence on each line that has phrases",
    )
}
