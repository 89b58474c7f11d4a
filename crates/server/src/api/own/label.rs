//! Filled gaps, tags, labels and vectors of texts, in the format of the commands' `--json`.

use std::iter::zip;
use std::ops::Range;
use std::sync::Arc;

use attentive_pipeline::service::{Admission, Chunk, Client};
use attentive_pipeline::{Pipeline, Tagged, TextAnswer, TextTask};
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use hyper::header::CONTENT_TYPE;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use utoipa::PartialSchema;

use crate::api::OneOrMany;
use crate::http::body::json;
use crate::http::visit::Visit;
use crate::problem::{Problem, ProblemKind};
use crate::state::app::{App, SharedApp};
use crate::state::models::ModelInstance;
use crate::work::answers::{ENOUGH, compute, enough_for, grouped, positions_of};
use crate::work::thread_pool::StopFlag;

/// The default number of guesses for a gap.
const GUESSES: usize = 5;

/// The maximum number of guesses or labels.
const MAX_GUESSES: usize = 1000;

/// The maximum number of guesses or labels of all texts of a request: about 50 MB of JSON.
const MAX_ANSWERS: usize = 500_000;

/// Texts to read.
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Read)]
pub(super) struct TextsRequest {
    /// The model; may be left out if only one here can do it.
    model: Option<String>,
    /// The text, or texts.
    text: OneOrMany,
}

/// Texts to read.
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ReadSome)]
pub(super) struct CountedTextsRequest {
    /// The model; may be left out if only one here can do it.
    model: Option<String>,
    /// The text, or texts.
    text: OneOrMany,
    /// Number of guesses for each gap [default: 5], or of labels for each text [default: all].
    #[schema(minimum = 1, maximum = 1000)]
    count: Option<usize>,
}

impl From<TextsRequest> for CountedTextsRequest {
    fn from(TextsRequest { model, text }: TextsRequest) -> Self {
        Self { model, text, count: None }
    }
}

/// The maximum number of answers about `texts`.
fn most_answers(task: TextTask, pipeline: &Pipeline, texts: &[String]) -> usize {
    match task {
        TextTask::Fill(count) => {
            let gaps: usize = texts.iter().map(|text| pipeline.gaps(text)).sum();
            gaps.saturating_mul(count)
        }
        TextTask::Classify(count) => {
            texts.len().saturating_mul(count.min(pipeline.tokenizers().tgt().vocab_size()))
        }
        TextTask::Tag | TextTask::Embed => texts.len(),
    }
}

/// Predicts the most likely tokens for every `<mask>` of a text.
#[utoipa::path(post, path = "/api/fill", tag = "Attentive", request_body = CountedTextsRequest,
    responses((status = 200, description = "`input`, `text` and `gaps`; for a list of texts `results`, a \
                                            list of such objects")))]
pub(super) async fn post_fill(app: State<SharedApp>, request: Request) -> Result<Response, Problem> {
    answer::<CountedTextsRequest>(app, request, |count| TextTask::Fill(count.unwrap_or(GUESSES))).await
}

/// Predicts a tag for every token of a text.
#[utoipa::path(post, path = "/api/tag", tag = "Attentive", request_body = TextsRequest,
    responses((status = 200, description = "`tokens` and `tags`; for a list of texts `results`, a list of \
                                            such objects")))]
pub(super) async fn post_tag(app: State<SharedApp>, request: Request) -> Result<Response, Problem> {
    answer::<TextsRequest>(app, request, |_| TextTask::Tag).await
}

/// Predicts a label for a text.
#[utoipa::path(post, path = "/api/classify", tag = "Attentive", request_body = CountedTextsRequest,
    responses((status = 200, description = "`text`, `label` and `labels`; for a list of texts `results`, a \
                                            list of such objects")))]
pub(super) async fn post_classify(app: State<SharedApp>, request: Request) -> Result<Response, Problem> {
    answer::<CountedTextsRequest>(app, request, |count| TextTask::Classify(count.unwrap_or(usize::MAX))).await
}

/// Computes the vector of a text.
#[utoipa::path(post, path = "/api/embed", tag = "Attentive", request_body = TextsRequest,
    responses((status = 200, description = "`text` and `vector`; for a list of texts `results`, a list of \
                                            such objects")))]
pub(super) async fn post_embed(app: State<SharedApp>, request: Request) -> Result<Response, Problem> {
    answer::<TextsRequest>(app, request, |_| TextTask::Embed).await
}

/// The response with the predictions for each text.
async fn answer<R: DeserializeOwned + PartialSchema + Into<CountedTextsRequest> + Send + 'static>(
    State(app): State<SharedApp>,
    request: Request,
    task: fn(Option<usize>) -> TextTask,
) -> Result<Response, Problem> {
    let visit = Visit::of(&request)?;
    let client = app.client(request.headers(), None, &visit)?;
    let asked: CountedTextsRequest = json::<R>(request, &app).await?.into();
    let task = task(asked.count);
    let fits = |model: &ModelInstance| task.fits(model.pipeline());
    let model = (app.models).choose(asked.model.as_deref(), task.what(), fits)?;
    let (texts, is_list) = asked.text.into_texts();
    app.admit(&visit, "text", &texts)?;
    if (asked.count).is_some_and(|count| !(1..=MAX_GUESSES).contains(&count)) {
        let problem = format!("`count` is between 1 and {MAX_GUESSES}");
        return Err(Problem::field("count", problem));
    }
    let reader = Arc::clone(&model);
    let check = move |_: &StopFlag| {
        let found = most_answers(task, reader.pipeline(), &texts);
        if found > MAX_ANSWERS { Err(too_many(found)) } else { Ok(texts) }
    };
    let texts = app.pool.run(client, check).await?;
    let found = match task {
        TextTask::Tag => tags(&app, &model, client, texts).await?,
        _ => {
            let texts = (1..).zip(texts);
            let positions = |(_, text): &(usize, String)| positions_of(text.len());
            let chunks = grouped(ENOUGH, texts, positions, |group| {
                move |pipeline: &Pipeline| {
                    let first = group.first().map_or(1, |(number, _)| *number);
                    let texts: Vec<&String> = group.iter().map(|(_, text)| text).collect();
                    Ok(written(&task.answers(pipeline, first, &texts)?))
                }
            });
            compute(&model, client, Admission::New, chunks).await?.concat()
        }
    };
    let write = move |_: &StopFlag| Ok(body(model.name(), &found, is_list));
    let body = app.pool.run(client, write).await?;
    Ok(([(CONTENT_TYPE, "application/json")], body).into_response())
}

/// The tags of `texts`; long ones are read in several chunks.
async fn tags(
    app: &App,
    model: &Arc<ModelInstance>,
    client: Client,
    texts: Vec<String>,
) -> Result<Vec<String>, Problem> {
    let texts: Arc<[String]> = texts.into();
    let (reader, read) = (Arc::clone(model), Arc::clone(&texts));
    // A long text may have as many chunks as a request may have texts.
    let most = app.config.limits.most_texts();
    let chunks = move |_: &StopFlag| Ok(chunks_to_tag(reader.pipeline(), &read, most));
    let chunks = app.pool.run(client, chunks).await?;
    let found = compute(model, client, Admission::New, chunks).await?;
    let reader = Arc::clone(model);
    let join = move |_: &StopFlag| {
        let mut of_texts: Vec<Vec<Tagged>> = texts.iter().map(|_| Vec::new()).collect();
        for (number, piece) in found.into_iter().flatten() {
            of_texts[number].push(piece);
        }
        let whole = zip(texts.iter(), of_texts);
        let join = |(text, pieces): (&String, _)| reader.pipeline().join_tagged(text, pieces);
        Ok(written(&whole.map(|one| TextAnswer::Tag(join(one))).collect::<Vec<_>>()))
    };
    app.pool.run(client, join).await
}

/// The pieces of `texts`, each with the number of its text, in at most `most` chunks.
fn chunks_to_tag(
    pipeline: &Pipeline,
    texts: &Arc<[String]>,
    most: usize,
) -> Vec<Chunk<Vec<(usize, Tagged)>>> {
    let pieces = texts.iter().enumerate().flat_map(|(number, text)| {
        let pieces = pipeline.pieces_to_tag(text);
        pieces.into_iter().map(move |piece| (number, piece))
    });
    let positions = |(_, piece): &(usize, Range<usize>)| positions_of(piece.len());
    let pieces: Vec<_> = pieces.collect();
    let all = pieces.iter().map(|piece| positions(piece).max(1)).sum();
    grouped(enough_for(most, all), pieces, positions, |group| {
        let texts = Arc::clone(texts);
        move |pipeline: &Pipeline| {
            let pieces = group.iter();
            let pieces = pieces.map(|(number, piece)| &texts[*number][piece.clone()]);
            let tagged = pipeline.tag(1, &pieces.collect::<Vec<_>>())?;
            let numbers = group.iter().map(|(number, _)| *number);
            Ok(numbers.zip(tagged).collect())
        }
    })
}

fn too_many(found: usize) -> Problem {
    let problem =
        format!("the request asks for {found} guesses or labels; at most {MAX_ANSWERS} are allowed");
    let problem = Problem::new(ProblemKind::TooLarge, problem);
    problem.hint("ask for fewer guesses or labels with `count`, or send fewer texts")
}

/// The answers as JSON, which takes less memory.
fn written(answers: &[TextAnswer<'_>]) -> Vec<String> {
    let written = answers.iter().map(serde_json::to_string);
    written.map(Result::unwrap_or_default).collect()
}

/// The response with the `objects` of all texts, or with the only one.
fn body(model: &str, objects: &[String], is_list: bool) -> String {
    let model = Value::from(model);
    match objects {
        [only] if !is_list => {
            let fields = only.strip_suffix('}').unwrap_or(only);
            format!("{fields},\"model\":{model}}}")
        }
        _ => {
            let objects = objects.join(",");
            format!("{{\"model\":{model},\"results\":[{objects}]}}")
        }
    }
}
