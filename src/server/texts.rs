//! Texts of any length and form, translated segment by segment.

use std::sync::Arc;

use super::answers::{Answers, Merge, compute};
use super::app::{App, aside};
use super::models::Model;
use super::problem::{Kind, Problem};
use crate::decode::SearchOptions;
use crate::document::{Document, Split, Translated};
use crate::pipeline::service::{Client, Service};
use crate::pipeline::{Candidate, Pipeline, Request, Translation};

/// The form of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Plain,
    /// HTML or XML: only the text between tags is translated.
    Markup,
}

/// Texts to translate.
pub(super) struct Texts {
    pub(super) texts: Vec<String>,
    pub(super) form: Form,
    /// Where they are divided.
    pub(super) split: Split,
    /// Number of further translations of each.
    pub(super) alternatives: usize,
}

/// A translated text: the best translation and up to as many others as were asked for.
#[derive(Debug)]
pub(super) struct Rendered {
    pub(super) best: String,
    pub(super) alternatives: Vec<String>,
}

/// Translates `texts`, each line as `attentive translate` does.
///
/// # Errors
/// A [`Problem`] if there is too much text, or the model has no room for it.
pub(super) async fn translate(
    app: &App,
    model: &Arc<Model>,
    client: Client,
    texts: Texts,
) -> Result<Vec<Rendered>, Problem> {
    let Texts {
        texts,
        form,
        split,
        alternatives,
    } = texts;
    let limits = app.config.limits;
    let reader = Arc::clone(model);
    let documents = aside(move || {
        let fits = |text: &str| fits(reader.pipeline(), text);
        let read = |text: &String| match form {
            Form::Plain => Ok(Document::text(text, split, fits)),
            Form::Markup => {
                Document::html(text, split, fits).map_err(|error| Problem::invalid(&error))
            }
        };
        let documents = texts.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        check_tokens(reader.pipeline(), &documents, limits.tokens)?;
        Ok(documents)
    })
    .await?;
    let segments: Vec<_> = documents.iter().flat_map(Document::segments).collect();
    let (found, most) = (segments.len(), limits.most_texts());
    if found > most {
        let problem = format!("{found} lines or sentences; a request has at most {most}");
        return Err(Problem::new(Kind::TooLarge, problem));
    }
    let request = |text: &str| Request {
        src: text.to_owned(),
        ..Request::default()
    };
    let requests: Vec<_> = segments
        .iter()
        .map(|segment| request(&segment.text))
        .collect();
    let options = options(model.pipeline(), alternatives);
    let mut answers = Answers::new(model, Merge::Replace);
    let send =
        |service: &Service, reply| service.translate(client, &requests, &options, false, reply);
    answers.send(0, send)?;
    let found = answers.all(requests.len()).await?;
    let asked: Vec<_> = segments
        .iter()
        .map(|segment| segment.needs_alignment)
        .collect();
    let sources: Vec<String> = requests.into_iter().map(|request| request.src).collect();
    let translated = align(model, client, sources, found, asked).await?;
    Ok(render(&documents, &translated, alternatives))
}

/// Whether the model reads all of `text`.
fn fits(pipeline: &Pipeline, text: &str) -> bool {
    tokens(pipeline, text) < pipeline.architecture().max_len
}

fn tokens(pipeline: &Pipeline, text: &str) -> usize {
    let read = pipeline.tokenizers().src().encode(text);
    read.map_or(0, |ids| ids.len())
}

fn check_tokens(pipeline: &Pipeline, documents: &[Document], most: usize) -> Result<(), Problem> {
    let segments = documents.iter().flat_map(Document::segments);
    let found: usize = segments
        .map(|segment| tokens(pipeline, &segment.text))
        .sum();
    if found <= most {
        return Ok(());
    }
    let problem = format!("{found} tokens; a request has at most {most}");
    Err(Problem::new(Kind::TooLarge, problem))
}

/// The model's own search; a wider one where more translations are asked for than it finds.
fn options(pipeline: &Pipeline, alternatives: usize) -> SearchOptions {
    let options = SearchOptions::from(&pipeline.config().decode);
    let n_best = 1 + alternatives;
    SearchOptions {
        scored: false,
        n_best,
        beam_width: options.beam_width.max(n_best),
        ..options
    }
}

/// The translations of each segment, aligned with it where markup `needs` that and the model can.
async fn align(
    model: &Arc<Model>,
    client: Client,
    sources: Vec<String>,
    found: Vec<Translation>,
    needs: Vec<bool>,
) -> Result<Vec<Vec<Translated>>, Problem> {
    let plain = |candidate: Candidate| Translated {
        text: candidate.text,
        ..Translated::default()
    };
    if !needs.contains(&true) || model.pipeline().align::<&str>(&[]).is_err() {
        let texts = found.into_iter();
        let texts = texts.map(|one| one.hypotheses.into_iter().map(plain).collect());
        return Ok(texts.collect());
    }
    let work = move |pipeline: &Pipeline| {
        let segments = sources.iter().zip(found).zip(needs);
        let aligned = segments.map(|((source, found), needed)| {
            let pairs: Vec<_> = match needed {
                true => found
                    .hypotheses
                    .iter()
                    .map(|one| (source, &one.tokens[..]))
                    .collect(),
                false => Vec::new(),
            };
            let mut alignments = pipeline.align(&pairs)?.into_iter();
            let candidates = found.hypotheses.into_iter();
            let translated = candidates.map(|candidate| Translated {
                text: candidate.text,
                alignment: alignments.next().unwrap_or_default().0,
            });
            Ok(translated.collect())
        });
        aligned.collect()
    };
    compute(model, client, work).await
}

/// Puts documents together again: the best translation of every segment, then the second best, and so on. A segment with too
/// few translations has its last one in the others.
fn render(
    documents: &[Document],
    translated: &[Vec<Translated>],
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
        Rendered {
            best: rank(0),
            alternatives: (1..deepest.min(1 + alternatives)).map(rank).collect(),
        }
    });
    rendered.collect()
}
