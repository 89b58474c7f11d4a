//! Filled gaps, tags, labels and vectors of texts, in the format of the commands' `--json`.

use std::iter::zip;
use std::ops::Range;
use std::sync::Arc;

use attentive_config::Task;
use attentive_pipeline::service::{Admission, Chunk, Client};
use attentive_pipeline::{Classified, Embedded, Filled, Guess, Pipeline, Tagged};
use attentive_text::Joint;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use hyper::header::CONTENT_TYPE;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::told;
use crate::answers::{ENOUGH, compute, enough_for, grouped, positions_of};
use crate::api::OneOrMany;
use crate::app::{App, Shared};
use crate::body::json;
use crate::desk::Stop;
use crate::models::Model;
use crate::problem::{Kind, Problem};
use crate::visit::Visit;

/// The default number of guesses for a gap.
const GUESSES: usize = 5;

/// The maximum number of guesses or labels.
const MOST: usize = 1000;

/// The maximum number of guesses or labels of all texts of a request: about 50 MB of JSON.
const MOST_ANSWERS: usize = 500_000;

/// Texts to read.
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Read {
    /// The model; may be left out if only one here can do it.
    model: Option<String>,
    /// The text, or texts.
    text: OneOrMany,
}

/// Texts to read.
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReadSome {
    /// The model; may be left out if only one here can do it.
    model: Option<String>,
    /// The text, or texts.
    text: OneOrMany,
    /// Number of guesses for each gap [default: 5], or of labels for each text [default: all].
    count: Option<usize>,
}

impl From<Read> for ReadSome {
    fn from(Read { model, text }: Read) -> Self {
        Self { model, text, count: None }
    }
}

/// The kind of prediction.
#[derive(Clone, Copy)]
enum Wanted {
    Gaps,
    Tags,
    Labels,
    Vectors,
}

impl Wanted {
    /// The capability that a model needs, for messages.
    fn what(self) -> &'static str {
        match self {
            Self::Gaps => "fill gaps",
            Self::Tags => "tag tokens",
            Self::Labels => "classify texts",
            Self::Vectors => "embed texts",
        }
    }

    /// Returns true if `model` has this capability.
    fn fits(self, model: &Model) -> bool {
        match self {
            Self::Gaps => model.task() == Task::Fill,
            Self::Tags => model.task() == Task::Tag,
            Self::Labels => model.task() == Task::Classify,
            Self::Vectors => model.pipeline().require_encoder().is_ok(),
        }
    }

    /// The maximum number of answers about `texts`, if `count` are requested for each gap or text.
    fn most_answers(self, pipeline: &Pipeline, texts: &[String], count: Option<usize>) -> usize {
        let labels = pipeline.tokenizers().tgt().vocab_size();
        match self {
            Self::Gaps => {
                let gaps: usize = texts.iter().map(|text| pipeline.gaps(text)).sum();
                gaps.saturating_mul(count.unwrap_or(GUESSES))
            }
            Self::Labels => texts.len().saturating_mul(count.unwrap_or(labels).min(labels)),
            Self::Tags | Self::Vectors => texts.len(),
        }
    }

    /// Computes an object for each text.
    fn find(
        self,
        pipeline: &Pipeline,
        texts: &[String],
        count: Option<usize>,
    ) -> attentive_base::Result<Vec<Value>> {
        match self {
            Self::Gaps => {
                let count = count.unwrap_or(GUESSES);
                let fill = |text: &String| Ok(filled(text, &pipeline.fill(text, count)?));
                texts.iter().map(fill).collect()
            }
            Self::Tags => Ok(pipeline.tag(1, texts)?.iter().map(tagged).collect()),
            Self::Labels => {
                let found = pipeline.classify(1, texts, count.unwrap_or(usize::MAX))?;
                Ok(zip(texts, &found).map(|(text, found)| classified(text, found)).collect())
            }
            Self::Vectors => {
                let found = pipeline.embed(1, texts)?;
                Ok(zip(texts, &found).map(|(text, found)| embedded(text, found)).collect())
            }
        }
    }
}

/// Predicts the most likely tokens for every `<mask>` of a text.
#[utoipa::path(post, path = "/api/fill", tag = "Attentive", request_body = ReadSome,
    responses((status = 200, description = "`input`, `text` and `gaps`; for a list of texts `results`, a \
                                            list of such objects")))]
pub(super) async fn post_fill(app: State<Shared>, request: Request) -> Result<Response, Problem> {
    answer::<ReadSome>(app, request, Wanted::Gaps).await
}

/// Predicts a tag for every token of a text.
#[utoipa::path(post, path = "/api/tag", tag = "Attentive", request_body = Read,
    responses((status = 200, description = "`tokens` and `tags`; for a list of texts `results`, a list of \
                                            such objects")))]
pub(super) async fn post_tag(app: State<Shared>, request: Request) -> Result<Response, Problem> {
    answer::<Read>(app, request, Wanted::Tags).await
}

/// Predicts a label for a text.
#[utoipa::path(post, path = "/api/classify", tag = "Attentive", request_body = ReadSome,
    responses((status = 200, description = "`text`, `label` and `labels`; for a list of texts `results`, a \
                                            list of such objects")))]
pub(super) async fn post_classify(app: State<Shared>, request: Request) -> Result<Response, Problem> {
    answer::<ReadSome>(app, request, Wanted::Labels).await
}

/// Computes the vector of a text.
#[utoipa::path(post, path = "/api/embed", tag = "Attentive", request_body = Read,
    responses((status = 200, description = "`text` and `vector`; for a list of texts `results`, a list of \
                                            such objects")))]
pub(super) async fn post_embed(app: State<Shared>, request: Request) -> Result<Response, Problem> {
    answer::<Read>(app, request, Wanted::Vectors).await
}

/// The response with the predictions for each text.
async fn answer<R: DeserializeOwned + Into<ReadSome> + Send + 'static>(
    State(app): State<Shared>,
    request: Request,
    wanted: Wanted,
) -> Result<Response, Problem> {
    let visit = Visit::of(&request)?;
    let client = app.client(request.headers(), None, &visit)?;
    let asked: ReadSome = json::<R>(request, &app).await?.into();
    let fits = |model: &Model| wanted.fits(model);
    let model = (app.models).choose(asked.model.as_deref(), wanted.what(), fits)?;
    let (texts, is_list) = asked.text.into_texts();
    app.admit(&visit, "text", &texts)?;
    if (asked.count).is_some_and(|count| !(1..=MOST).contains(&count)) {
        let problem = format!("`count` is between 1 and {MOST}");
        return Err(Problem::field("count", problem));
    }
    let (reader, count) = (Arc::clone(&model), asked.count);
    let check = move |_: &Stop| {
        let found = wanted.most_answers(reader.pipeline(), &texts, count);
        if found > MOST_ANSWERS { Err(too_many(found)) } else { Ok(texts) }
    };
    let texts = app.desk.ask(client, check).await?;
    let found = match wanted {
        Wanted::Tags => tags(&app, &model, client, texts).await?,
        _ => {
            let chunks = grouped(
                ENOUGH,
                texts,
                |text: &String| positions_of(text.len()),
                |texts| move |pipeline: &Pipeline| Ok(written(wanted.find(pipeline, &texts, count)?)),
            );
            compute(&model, client, Admission::New, chunks).await?.concat()
        }
    };
    let write = move |_: &Stop| Ok(body(model.name(), &found, is_list));
    let body = app.desk.ask(client, write).await?;
    Ok(([(CONTENT_TYPE, "application/json")], body).into_response())
}

/// The tags of `texts`; long ones are read in several chunks.
async fn tags(
    app: &App,
    model: &Arc<Model>,
    client: Client,
    texts: Vec<String>,
) -> Result<Vec<String>, Problem> {
    let texts: Arc<[String]> = texts.into();
    let (reader, read) = (Arc::clone(model), Arc::clone(&texts));
    // A long text may have as many chunks as a request may have texts.
    let most = app.config.limits.most_texts();
    let chunks = move |_: &Stop| Ok(chunks_to_tag(reader.pipeline(), &read, most));
    let chunks = app.desk.ask(client, chunks).await?;
    let found = compute(model, client, Admission::New, chunks).await?;
    let reader = Arc::clone(model);
    let join = move |_: &Stop| {
        let mut of_texts: Vec<Vec<Tagged>> = texts.iter().map(|_| Vec::new()).collect();
        for (number, piece) in found.into_iter().flatten() {
            of_texts[number].push(piece);
        }
        let whole = zip(texts.iter(), of_texts);
        let join = |(text, pieces): (&String, _)| reader.pipeline().join_tagged(text, pieces);
        let whole = whole.map(|one| tagged(&join(one)));
        Ok(written(whole.collect()))
    };
    app.desk.ask(client, join).await
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
        format!("the request asks for {found} guesses or labels; at most {MOST_ANSWERS} are allowed");
    let problem = Problem::new(Kind::TooLarge, problem);
    problem.hint("ask for fewer guesses or labels with `count`, or send fewer texts")
}

/// Serializes the objects as JSON, which takes less memory.
fn written(objects: Vec<Value>) -> Vec<String> {
    objects.iter().map(Value::to_string).collect()
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

fn filled(input: &str, filled: &Filled) -> Value {
    let token = |guess: &Guess| {
        json!({
            "token": guess.text,
            "joined": guess.joint == Joint::None,
            "probability": guess.probability,
        })
    };
    let gap = |gap: &Vec<Guess>| gap.iter().map(token).collect();
    let gaps: Vec<Value> = filled.gaps.iter().map(gap).collect();
    let warnings = told(&filled.warnings);
    json!({"input": input, "text": filled.text, "gaps": gaps, "warnings": warnings})
}

fn tagged(tagged: &Tagged) -> Value {
    let warnings = told(&tagged.warnings);
    json!({"tokens": tagged.tokens, "tags": tagged.tags, "warnings": warnings})
}

fn classified(text: &str, found: &Classified) -> Value {
    let label =
        |one: &attentive_pipeline::LabelScore| json!({"label": one.label, "probability": one.probability});
    let labels: Vec<Value> = found.labels.iter().map(label).collect();
    let best = found.labels.first().map(|best| best.label.as_str());
    json!({"text": text, "label": best, "labels": labels, "warnings": told(&found.warnings)})
}

fn embedded(text: &str, found: &Embedded) -> Value {
    json!({"text": text, "vector": found.vector, "warnings": told(&found.warnings)})
}
