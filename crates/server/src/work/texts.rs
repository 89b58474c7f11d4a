//! Texts of any length and format, translated segment by segment.

use std::sync::Arc;

use attentive_decode::SearchChanges;
use attentive_document::{Document, FileFormat, Segment, Segmentation, Split, TranslatedSegment, XmlTags};
use attentive_pipeline::service::{Admission, Client, Sentences, Service};
use attentive_pipeline::{Candidate, GlossedText, Pipeline, Request, TranslateOptions, Translation, Warning};

use crate::limits::Limits;
use crate::problem::{Problem, ProblemKind};
use crate::state::app::App;
use crate::state::glossaries::{Terms, placed};
use crate::state::models::ModelInstance;
use crate::work::answers::{Answers, ENOUGH, Merge, compute, grouped};
use crate::work::thread_pool::StopFlag;

/// The format of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TextFormat {
    Plain,
    Html,
    /// XML, with what the client says about its elements.
    Xml(Arc<XmlTags>),
    /// A file.
    File(FileFormat),
}

impl TextFormat {
    /// Divides `text`.
    fn document(
        &self,
        text: &str,
        how: Segmentation,
        fits: impl Fn(&str) -> bool,
    ) -> attentive_base::error::Result<Document> {
        match self {
            Self::Plain => Ok(Document::text(text, how, fits)),
            Self::Html => Document::html(text, how, fits),
            Self::Xml(tags) => Document::xml(text, how, tags, fits),
            Self::File(format) => Document::file(text, *format, how, fits),
        }
    }

    /// The words of `text` by which its language is detected: the beginning of its segments, without markup.
    /// A text that is not of this format is returned whole.
    pub(crate) fn words(&self, text: &str) -> String {
        const ENOUGH: usize = 4096;
        let Ok(document) = self.document(text, Segmentation::default(), |_| true) else {
            return text.to_owned();
        };
        let mut words = String::new();
        for segment in document.segments() {
            words.push_str(&segment.text);
            words.push('\n');
            if words.len() > ENOUGH {
                break;
            }
        }
        words
    }
}

/// Texts to translate.
pub(crate) struct TranslationTexts {
    pub(crate) texts: Vec<String>,
    pub(crate) format: TextFormat,
    /// The places where the texts are divided.
    pub(crate) split: Split,
    /// The terms that the translations must have.
    pub(crate) terms: Option<Terms>,
    /// The number of alternative translations of each text.
    pub(crate) alternatives: usize,
}

impl TranslationTexts {
    /// The content of a file.
    pub(crate) fn of_file(texts: Vec<String>, format: FileFormat, terms: Option<Terms>) -> Self {
        Self { texts, format: TextFormat::File(format), split: Split::Sentences, terms, alternatives: 0 }
    }
}

/// A translated text: the best translation and up to the requested number of others.
#[derive(Debug)]
pub(crate) struct Rendered {
    pub(crate) best: String,
    pub(crate) alternatives: Vec<String>,
}

/// Translated texts, and warnings about input that could not be read or written literally, and translations
/// that were cut off.
#[derive(Debug, Default)]
pub(crate) struct TranslatedTexts {
    pub(crate) texts: Vec<Rendered>,
    pub(crate) warnings: Vec<String>,
}

impl TranslatedTexts {
    /// The best translation of the first text, and the warnings.
    pub(crate) fn into_first(self) -> (String, Vec<String>) {
        let first = self.texts.into_iter().next();
        (first.map(|text| text.best).unwrap_or_default(), self.warnings)
    }
}

/// Translates `texts`, each sentence as `attentive translate` does.
///
/// # Errors
/// A [`Problem`] if there is too much text, or the model has no room for it.
pub(crate) async fn translate(
    app: &App,
    model: &Arc<ModelInstance>,
    client: Client,
    texts: TranslationTexts,
) -> Result<TranslatedTexts, Problem> {
    begin(app, model, client, texts).await?.finish(app).await
}

/// Texts that a model has accepted.
pub(crate) struct AcceptedTexts {
    model: Arc<ModelInstance>,
    client: Client,
    documents: Vec<Document>,
    /// The segments with their terms, if there are any.
    glossed: Vec<GlossedText>,
    options: TranslateOptions,
    alternatives: usize,
    answers: Answers<Translation>,
    /// The number of segments.
    count: usize,
}

/// Starts translating `texts`.
///
/// # Errors
/// The errors of [`translate`], except for failures of the model.
pub(crate) async fn begin(
    app: &App,
    model: &Arc<ModelInstance>,
    client: Client,
    texts: TranslationTexts,
) -> Result<AcceptedTexts, Problem> {
    let alternatives = texts.alternatives;
    let (reader, limits) = (Arc::clone(model), app.config.limits);
    let read = move |stop: &StopFlag| read(&reader, &texts, &limits, stop);
    let EncodedTexts { documents, sentences, glossed, options } = app.pool.run(client, read).await?;
    let count = sentences.len();
    let mut answers = Answers::new(model, Merge::Replace);
    let send = |service: &Service, reply| service.translate(client, sentences, false, reply);
    answers.send(send)?;
    let model = Arc::clone(model);
    Ok(AcceptedTexts { model, client, documents, glossed, options, alternatives, answers, count })
}

impl AcceptedTexts {
    /// The number of segments that are translated.
    pub(crate) fn segments(&self) -> usize {
        self.count
    }

    /// Waits for the translations.
    ///
    /// # Errors
    /// A [`Problem`] if the model fails.
    pub(crate) async fn finish(self, app: &App) -> Result<TranslatedTexts, Problem> {
        let Self { model, client, documents, glossed, options, alternatives, answers, count } = self;
        let mut found = answers.all(count).await?;
        if !glossed.is_empty() {
            found = placed(&model, client, glossed, found, options).await?;
        }
        let warnings = found.iter().flat_map(|one| {
            let used = &one.hypotheses[..one.hypotheses.len().min(1 + alternatives)];
            one.warnings.iter().cloned().chain(Warning::of_cut_off(used))
        });
        let warnings = warnings.map(|warning| warning.problem).collect();
        let translated = align(&model, client, &documents, found).await?;
        let render = move |_: &StopFlag| {
            let texts = render(&documents, &translated, alternatives);
            Ok(TranslatedTexts { texts, warnings })
        };
        app.pool.run(client, render).await
    }
}

/// Refuses too many segments.
///
/// # Errors
/// A [`Problem`] with the number.
pub(crate) fn check_segments(found: usize, limits: &Limits) -> Result<(), Problem> {
    let most = limits.most_texts();
    if found > most {
        let problem = format!("the texts have {found} lines or sentences; a request may have at most {most}");
        let hint = "send them in several parts; of a file, `attentive translate` takes any number";
        return Err(Problem::new(ProblemKind::TooLarge, problem).hint(hint));
    }
    Ok(())
}

/// Texts as documents and as sentences for a model.
struct EncodedTexts {
    documents: Vec<Document>,
    sentences: Sentences,
    glossed: Vec<GlossedText>,
    options: TranslateOptions,
}

/// Reads the segments of `texts` for `model`.
fn read(
    model: &ModelInstance,
    texts: &TranslationTexts,
    limits: &Limits,
    stop: &StopFlag,
) -> Result<EncodedTexts, Problem> {
    // A part that fits need not be divided further, so this ends the work.
    let fits = |text: &str| stop.is_set() || model.pipeline().fits(text);
    let how = model.pipeline().segmentation(texts.split);
    let document = |text: &String| {
        stop.check()?;
        texts.format.document(text, how, fits).map_err(|error| Problem::invalid(&error))
    };
    let documents = texts.texts.iter().map(document);
    let documents = documents.collect::<Result<Vec<_>, _>>()?;
    stop.check()?;
    let segments = || documents.iter().flat_map(Document::segments);
    check_segments(segments().count(), limits)?;
    let of_segments = |terms: &Terms| terms.of(segments().map(|segment| &*segment.text), stop);
    let glossed = texts.terms.as_ref().map_or(Ok(Vec::new()), of_segments)?;
    let request = |segment: &Segment| Request::from(segment.text.clone());
    let requests: Vec<Request> = segments().map(request).collect();
    let (decode, n_best) = (&model.pipeline().config().decode, 1 + texts.alternatives);
    // The model's own search, with a wider beam if more translations are requested than it finds.
    let options = SearchChanges::default().widened(decode, n_best).apply(decode, n_best, None);
    let search = options.map_err(|error| Problem::invalid(&error))?.unscored();
    let sentences = model.read(&requests, &search, limits)?;
    let options = TranslateOptions { search, ..TranslateOptions::from(decode) };
    Ok(EncodedTexts { documents, sentences, glossed, options })
}

/// The translations of each segment, with an alignment where the markup of the segment needs one and the
/// model can provide it.
async fn align(
    model: &Arc<ModelInstance>,
    client: Client,
    documents: &[Document],
    found: Vec<Translation>,
) -> Result<Vec<Vec<TranslatedSegment>>, Problem> {
    let segments = || documents.iter().flat_map(Document::segments);
    let needs_alignment = segments().any(|segment| segment.needs_alignment);
    if !needs_alignment || model.pipeline().align::<&str>(&[]).is_err() {
        let texts = found.into_iter();
        let texts = texts.map(|one| one.hypotheses.into_iter().map(plain).collect());
        return Ok(texts.collect());
    }
    let unaligned = segments().zip(found).map(|(segment, found)| Unaligned {
        source: segment.needs_alignment.then(|| segment.text.clone()),
        found,
    });
    let chunks = grouped(ENOUGH, unaligned, Unaligned::positions, |group| {
        move |pipeline: &Pipeline| group.into_iter().map(|one| one.align(pipeline)).collect()
    });
    let aligned: Vec<Vec<_>> = compute(model, client, Admission::Further, chunks).await?;
    Ok(aligned.into_iter().flatten().collect())
}

fn plain(candidate: Candidate) -> TranslatedSegment {
    TranslatedSegment { text: candidate.text, ..TranslatedSegment::default() }
}

/// The translations of a segment; `source` is present if they are to be aligned with it.
struct Unaligned {
    source: Option<String>,
    found: Translation,
}

impl Unaligned {
    /// The approximate number of tokens that are read.
    fn positions(&self) -> usize {
        let lens = self.found.hypotheses.iter().map(|one| one.tokens.len());
        match self.source {
            Some(_) => 2 * lens.sum::<usize>(),
            None => 0,
        }
    }

    fn align(self, pipeline: &Pipeline) -> attentive_base::error::Result<Vec<TranslatedSegment>> {
        let Self { source, found } = self;
        let pairs: Vec<_> = match &source {
            Some(source) => found.hypotheses.iter().map(|one| (source, &one.tokens[..])).collect(),
            None => Vec::new(),
        };
        let mut alignments = pipeline.align(&pairs)?.into_iter();
        let candidates = found.hypotheses.into_iter();
        let translated = candidates.map(|candidate| TranslatedSegment {
            text: candidate.text,
            alignment: alignments.next().unwrap_or_default().0,
        });
        Ok(translated.collect())
    }
}

/// Reassembles the documents: the best translation of every segment, then the second best, and so on. A
/// segment with too few translations repeats its last one.
fn render(
    documents: &[Document],
    translated: &[Vec<TranslatedSegment>],
    alternatives: usize,
) -> Vec<Rendered> {
    let mut rest = translated;
    let rendered = documents.iter().map(|document| {
        let (own, others) = rest.split_at(document.segments().len());
        rest = others;
        let deepest = own.iter().map(Vec::len).max().unwrap_or(1);
        let rank = |rank: usize| {
            let chosen = own.iter().map(|ranked| ranked.get(rank).or(ranked.last()));
            let chosen: Vec<_> = chosen.map(|one| one.cloned().unwrap_or_default()).collect();
            document.render(&chosen)
        };
        Rendered { best: rank(0), alternatives: (1..deepest.min(1 + alternatives)).map(rank).collect() }
    });
    rendered.collect()
}
