//! Translation of documents, and of texts with placeables.

use attentive_base::error::Result;
use attentive_document::{
    DividedText, Document, Segmentation, Sentence, Split, TranslatedSegment, placeholders,
};
use attentive_text::Tokenizer;

use super::requirements::shortened;
use super::{
    Alignment, Candidate, Glossary, Pipeline, Request, SentencePosition, TranslateOptions, Translation,
    Warning,
};

impl Pipeline {
    /// Returns how texts for the model are divided: a text without letters is kept as it is, unless the model
    /// knows no letters.
    pub fn segmentation(&self, split: Split) -> Segmentation {
        Segmentation { keep_numbers: self.reads_letters(), ..Segmentation::from(split) }
    }

    /// True if any token of the source vocabulary has a letter.
    fn reads_letters(&self) -> bool {
        *self.reads_letters.get_or_init(|| self.tokenizers.src().has_letters())
    }

    /// Translates `document` with the terms of `glossary`, if there is one, and returns it with warnings
    /// about its segments, each of which begins with the segment.
    ///
    /// # Errors
    /// Those of [`Pipeline::translate_requests`].
    pub fn translate_document(
        &self,
        document: &Document,
        options: &TranslateOptions,
        glossary: Option<&Glossary>,
    ) -> Result<(String, Vec<Warning>)> {
        /// The number of segments that are translated together.
        const CHUNK: usize = 4096;
        let mut translated: Vec<TranslatedSegment> = Vec::with_capacity(document.segments().len());
        let mut warnings = Vec::new();
        for (chunk, segments) in document.segments().chunks(CHUNK).enumerate() {
            let request = |(number, text): (usize, &String)| Request {
                src: text.clone(),
                position: Some(SentencePosition { line: chunk * CHUNK + number + 1, sentence: 0 }),
                ..Request::default()
            };
            let texts: Vec<&String> = segments.iter().map(|segment| &segment.text).collect();
            let requests: Vec<Request> = texts.iter().copied().enumerate().map(request).collect();
            let mut found = self.translate_requests(1, &requests, options)?;
            if let Some(glossary) = glossary {
                let placed = requests.iter().filter_map(|one| Some((&*one.src, one.position?)));
                self.apply_glossary(glossary, placed, &mut found, options)?;
            }
            let marked = segments.iter().map(|segment| segment.needs_alignment);
            let aligned = self.aligned(marked.zip(texts.iter().copied()).zip(&found))?;
            for ((text, one), alignments) in texts.into_iter().zip(found).zip(aligned) {
                let best = &one.hypotheses[..one.hypotheses.len().min(1)];
                let found = one.warnings.iter().cloned().chain(Warning::of_cut_off(best));
                warnings.extend(found.map(|warning| Warning::about(text, &warning.problem)));
                let alignment = alignments.into_iter().next().unwrap_or_default().0;
                translated.push(TranslatedSegment { text: one.into_best(), alignment });
            }
        }
        Ok((document.render(&translated), warnings))
    }

    /// Puts the placeables of the sentences of `texts` into their translations.
    ///
    /// # Errors
    /// Those of [`Pipeline::align`].
    pub fn restore(&self, texts: &[DividedText], found: &mut [Translation]) -> Result<()> {
        let sentences: Vec<&Sentence> = texts.iter().flat_map(DividedText::sentences).collect();
        if !sentences.iter().any(|sentence| sentence.has_placeables()) {
            return Ok(());
        }
        let marked = sentences.iter().map(|sentence| sentence.needs_alignment());
        let texts = sentences.iter().map(|sentence| &sentence.text);
        let aligned = self.aligned(marked.zip(texts).zip(&*found))?;
        for ((sentence, found), alignments) in sentences.iter().zip(found).zip(aligned) {
            restore(sentence, &mut found.hypotheses, alignments);
        }
        Ok(())
    }

    /// The alignments of the translations of each text that is marked, if the model has any.
    fn aligned<'a>(
        &self,
        texts: impl Iterator<Item = ((bool, &'a String), &'a Translation)>,
    ) -> Result<Vec<Vec<Alignment>>> {
        let (mut pairs, mut counts) = (Vec::new(), Vec::new());
        for ((is_marked, text), found) in texts {
            let marked = found.hypotheses.iter().filter(|_| is_marked);
            let before = pairs.len();
            pairs.extend(marked.map(|one| (text, &one.tokens[..])));
            counts.push(pairs.len() - before);
        }
        // A model without attention has none; placeables then keep their relative places.
        let can_align = !pairs.is_empty() && self.align::<&str>(&[]).is_ok();
        let mut all = if can_align { self.align(&pairs)? } else { Vec::new() }.into_iter();
        Ok(counts.into_iter().map(|count| all.by_ref().take(count).collect()).collect())
    }
}

/// Puts the placeables of `sentence` into its translations `found`, which have these alignments or none.
pub fn restore(sentence: &Sentence, found: &mut [Candidate], alignments: Vec<Alignment>) {
    if !sentence.has_placeables() {
        return;
    }
    let mut alignments = alignments.into_iter();
    for one in found {
        let alignment = alignments.next().unwrap_or_default().0;
        one.text = sentence.restored(&TranslatedSegment { text: std::mem::take(&mut one.text), alignment });
    }
}

/// Returns the warning that `translation` lacks placeables of its `source`, which the model read as other
/// text. Tokens of `tokenizer`, that of the source, mean something to the model.
pub fn lost(tokenizer: &Tokenizer, source: &str, translation: &str) -> Option<Warning> {
    let mut lost: Vec<&str> = placeholders(source);
    lost.retain(|one| !translation.contains(one) && tokenizer.id(one).is_none());
    if lost.is_empty() {
        return None;
    }
    let named: Vec<String> = lost.iter().take(5).map(|one| format!("`{}`", shortened(one))).collect();
    Some(Warning::new(format!("the translation lacks {}, which the model read as text", named.join(", "))))
}
