//! The details of translations.

use std::sync::Arc;
use std::time::{Duration, Instant};

use attentive_pipeline::documents::lost;
use attentive_pipeline::service::{Admission, Client};
use attentive_pipeline::{
    Alignment, Candidate, CandidateAnswer, GlossedText, Pipeline, TranslateOptions, Translation, joined,
};
use axum::body::Bytes;
use serde::Serialize;
use serde_json::json;

use super::{error, warning_texts};
use crate::http::fields::CandidateObject;
use crate::http::sse::{EventEncoder, named};
use crate::problem::Problem;
use crate::state::app::SharedApp;
use crate::state::glossaries::placed;
use crate::state::models::ModelInstance;
use crate::work::answers::{ENOUGH, compute, grouped};
use crate::work::divided_request::{Text, restored, sentences};
use crate::work::thread_pool::StopFlag;

/// The translations of a text.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = Found)]
pub(super) struct TranslationDetails {
    /// The translations, best first, or samples in the order of their numbers. The n-th translation of a text
    /// of several sentences consists of their n-th translations: scores and log-probabilities are summed, and
    /// tokens are concatenated.
    #[schema(value_type = Vec<CandidateObject>)]
    translations: Vec<CandidateAnswer>,
    /// Warnings about input that could not be read literally, constraints that could not be met, and
    /// translations that were cut off or are missing.
    warnings: Vec<String>,
    /// The sentences of the text. The concatenation of all `before` and `source`, and `after`, is the text;
    /// the concatenation of all `before` and `translation`, and `after`, is its best translation.
    sentences: Vec<OneSentence>,
    /// The text after the last sentence.
    after: String,
}

/// A sentence of a text.
#[derive(Serialize, utoipa::ToSchema)]
struct OneSentence {
    /// The blanks before the sentence, and other text that is not translated, such as emoji.
    before: String,
    source: String,
    /// The best translation of the sentence.
    translation: String,
    /// The geometric mean of the probabilities of the translation's tokens: the lower it is, the less the
    /// model is sure. 1 for an empty translation.
    probability: f64,
}

/// The client and its requested details.
pub(super) struct AnswerContext {
    pub(super) app: SharedApp,
    pub(super) model: Arc<ModelInstance>,
    pub(super) client: Client,
    pub(super) alignments: bool,
    pub(super) options: TranslateOptions,
}

/// The translations of a sentence, and an alignment for each of them if alignments are requested.
type Aligned = (Translation, Vec<Alignment>);

impl AnswerContext {
    /// Calls `write` with the details of `texts`, whose sentences have the translations `found`, and returns
    /// its results.
    pub(super) async fn describe<T: Send + 'static>(
        &self,
        mut texts: Vec<Text>,
        mut found: Vec<Translation>,
        write: impl FnOnce(Vec<TranslationDetails>) -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let glossed = texts.iter_mut().flat_map(|text| std::mem::take(&mut text.glossed));
        let glossed: Vec<GlossedText> = glossed.collect();
        if !glossed.is_empty() {
            found = placed(&self.model, self.client, glossed, found, self.options).await?;
        }
        let (texts, aligned) = self.aligned(texts, found).await?;
        let (model, options, alignments) = (Arc::clone(&self.model), self.options, self.alignments);
        let describe = move |stop: &StopFlag| {
            let mut aligned = aligned.into_iter();
            let describe = |text: &Text| {
                stop.check()?;
                let own = aligned.by_ref().take(text.divided.sentences().len());
                Ok(describe(model.pipeline(), &options, alignments, text, own))
            };
            let found = texts.iter().map(describe).collect::<Result<_, Problem>>()?;
            Ok(write(found))
        };
        self.app.pool.run(self.client, describe).await
    }

    /// The texts, and the translations of their sentences, with alignments if the client requests them.
    async fn aligned(
        &self,
        texts: Vec<Text>,
        found: Vec<Translation>,
    ) -> Result<(Vec<Text>, Vec<Aligned>), Problem> {
        if !self.alignments {
            let found = restored(&self.model, self.client, &sentences(&texts), found).await?;
            let found = found.into_iter().map(|one| (one, Vec::new()));
            return Ok((texts, found.collect()));
        }
        let positions = |(_, found): &(String, Translation)| {
            let lens = found.hypotheses.iter().map(|one| one.tokens.len());
            2 * lens.sum::<usize>()
        };
        let align = |pipeline: &Pipeline, (text, found): (String, Translation)| {
            let tokens = found.hypotheses.iter().map(|one| &one.tokens[..]);
            let pairs: Vec<_> = tokens.map(|tokens| (&text, tokens)).collect();
            let alignments = pipeline.align(&pairs)?;
            Ok((found, alignments))
        };
        let sentences = texts.iter().flat_map(|text| text.divided.sentences());
        let pairs = sentences.map(|one| one.text.clone()).zip(found);
        let chunks = grouped(ENOUGH, pairs, positions, |group| {
            move |pipeline: &Pipeline| group.into_iter().map(|one| align(pipeline, one)).collect()
        });
        let aligned = compute(&self.model, self.client, Admission::Further, chunks);
        let aligned: Vec<Vec<_>> = aligned.await?;
        Ok((texts, aligned.into_iter().flatten().collect()))
    }
}

/// The details of a text whose sentences have these translations.
fn describe(
    pipeline: &Pipeline,
    options: &TranslateOptions,
    alignments: bool,
    text: &Text,
    found: impl Iterator<Item = Aligned>,
) -> TranslationDetails {
    let divided = &text.divided;
    let (found, aligned): (Vec<_>, Vec<_>) = found.unzip();
    let mut alignments =
        if alignments { joined::join_alignments(divided, &found, &aligned) } else { Vec::new() }.into_iter();
    let mut whole = joined::join(divided, &found);
    whole.add_warnings(options);
    let best = |found: &Translation| found.hypotheses.first().map(|best| best.text.clone());
    let best: Vec<String> = found.iter().map(|one| best(one).unwrap_or_default()).collect();
    let translations = divided.spaced(best.iter().map(String::as_str));
    let probabilities = found.iter().map(|one| one.hypotheses.first().map_or(1.0, probability));
    let sentences = divided.sentences().iter().zip(translations).zip(probabilities);
    let tokenizer = pipeline.tokenizers().src();
    let pairs = divided.sentences().iter().zip(&best);
    let lost = pairs.filter_map(|(one, best)| lost(tokenizer, &one.source, best));
    let warnings = text.warning.iter().cloned().chain(lost).map(|warning| warning.problem);
    TranslationDetails {
        warnings: warnings.chain(warning_texts(&whole.warnings)).collect(),
        translations: (whole.hypotheses.into_iter())
            .map(|candidate| CandidateAnswer::new(pipeline, candidate, alignments.next()))
            .collect(),
        sentences: sentences
            .map(|((sentence, translation), probability)| OneSentence {
                before: sentence.before.clone(),
                source: sentence.source.clone(),
                translation,
                probability,
            })
            .collect(),
        after: divided.after().to_owned(),
    }
}

/// The geometric mean of the probabilities of the tokens.
fn probability(candidate: &Candidate) -> f64 {
    let log_probs = &candidate.token_log_probs;
    let sum: f64 = log_probs.iter().map(|&log_prob| f64::from(log_prob)).sum();
    if log_probs.is_empty() { 1.0 } else { (sum / log_probs.len() as f64).exp() }
}

/// The events of a stream.
pub(super) struct Events {
    context: AnswerContext,
    /// The texts that are not done.
    texts: Vec<Option<IncompleteText>>,
    /// For each sentence, the index of its text and its index in the text.
    places: Vec<(usize, usize)>,
    /// The results of texts without sentences.
    first: Vec<Bytes>,
}

/// A text whose translation is incomplete.
struct IncompleteText {
    text: Text,
    /// The translation of each sentence so far.
    written: Vec<String>,
    done: Vec<Option<Translation>>,
    missing: usize,
    /// The time of the next event.
    due: Instant,
}

impl Events {
    /// The events of translations of `texts`.
    ///
    /// # Errors
    /// A [`Problem`] with texts without sentences, which are described at once.
    pub(super) async fn new(context: AnswerContext, texts: Vec<Text>) -> Result<Self, Problem> {
        let mut places = Vec::new();
        for (number, text) in texts.iter().enumerate() {
            let sentences = text.divided.sentences().len();
            places.extend((0..sentences).map(|sentence| (number, sentence)));
        }
        let incomplete = |text: Text| {
            let sentences = text.divided.sentences().len();
            Some(IncompleteText {
                text,
                written: vec![String::new(); sentences],
                done: vec![None; sentences],
                missing: sentences,
                due: Instant::now(),
            })
        };
        let mut texts: Vec<_> = texts.into_iter().map(incomplete).collect();
        let blank = texts.iter_mut().enumerate().filter_map(|(number, text)| {
            let blank = text.take_if(|incomplete| incomplete.missing == 0)?;
            Some((number, blank.text))
        });
        let (numbers, blank): (Vec<_>, Vec<_>) = blank.unzip();
        let write = move |found: Vec<TranslationDetails>| {
            let numbered = numbers.iter().zip(&found);
            numbered.map(|(&number, found)| result_event(number, found)).collect()
        };
        let first =
            if blank.is_empty() { Vec::new() } else { context.describe(blank, Vec::new(), write).await? };
        Ok(Self { context, texts, places, first })
    }
}

impl IncompleteText {
    /// The translation so far, if the next event is due. Long texts get fewer events than tokens, since each
    /// event contains the whole translation.
    fn text_event(&mut self, number: usize) -> Option<Bytes> {
        /// The time for each byte, which limits the rate to one megabyte per second.
        const PACE: Duration = Duration::from_micros(1);
        let now = Instant::now();
        if self.written.len() > 1 && now < self.due {
            return None;
        }
        let text = self.text.divided.text_of(self.written.iter().map(String::as_str));
        self.due = now + PACE * u32::try_from(text.len()).unwrap_or(u32::MAX);
        Some(named("text", &json!({"index": number, "text": text})))
    }
}

/// The event of a result.
fn result_event(index: usize, found: &TranslationDetails) -> Bytes {
    #[derive(Serialize)]
    struct Event<'a> {
        index: usize,
        #[serde(flatten)]
        found: &'a TranslationDetails,
    }
    named("result", &Event { index, found })
}

impl EventEncoder<Translation> for Events {
    fn begin(&mut self) -> Vec<Bytes> {
        std::mem::take(&mut self.first)
    }

    fn text(&mut self, number: usize, text: String) -> Vec<Bytes> {
        let Some(&(number, sentence)) = self.places.get(number) else {
            return Vec::new();
        };
        let Some(incomplete) = &mut self.texts[number] else {
            return Vec::new();
        };
        incomplete.written[sentence] = text;
        incomplete.text_event(number).into_iter().collect()
    }

    async fn result(&mut self, number: usize, result: Translation) -> Result<Vec<Bytes>, Problem> {
        let Some(&(number, sentence)) = self.places.get(number) else {
            return Ok(Vec::new());
        };
        let Some(incomplete) = &mut self.texts[number] else {
            return Ok(Vec::new());
        };
        incomplete.written[sentence] =
            (result.hypotheses.first()).map_or(String::new(), |best| best.text.clone());
        incomplete.done[sentence] = Some(result);
        incomplete.missing -= 1;
        if incomplete.missing > 0 {
            return Ok(incomplete.text_event(number).into_iter().collect());
        }
        let Some(IncompleteText { text, done, .. }) = self.texts[number].take() else {
            return Ok(Vec::new());
        };
        let found = done.into_iter().flatten().collect();
        let write = move |found: Vec<TranslationDetails>| {
            let events = found.iter().map(|found| result_event(number, found));
            events.collect()
        };
        self.context.describe(vec![text], found, write).await
    }

    fn end(&mut self) -> Vec<Bytes> {
        vec![named("done", &json!({}))]
    }

    fn problem(&mut self, problem: &Problem) -> Vec<Bytes> {
        vec![named("error", &error(problem))]
    }
}
