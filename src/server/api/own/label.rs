//! Gaps, tags, labels and vectors of texts, as the commands of the program give them with `--json`.

use std::iter::zip;

use axum::extract::{Request, State};
use axum::response::Response;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::told;
use crate::config::Task;
use crate::pipeline::{Classified, Embedded, Filled, Guess, Pipeline, Tagged};
use crate::server::answers::compute;
use crate::server::api::{OneOrMany, reply};
use crate::server::app::Shared;
use crate::server::body::json;
use crate::server::models::Model;
use crate::server::problem::Problem;
use crate::server::visit::Visit;
use crate::text::Joint;

/// Number of guesses for a gap, unless asked otherwise.
const GUESSES: usize = 5;

/// The most guesses or labels.
const MOST: usize = 1000;

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
        Self {
            model,
            text,
            count: None,
        }
    }
}

/// What is to be found out about texts.
#[derive(Clone, Copy)]
enum Wanted {
    Gaps,
    Tags,
    Labels,
    Vectors,
}

impl Wanted {
    /// What a model does that finds it out.
    fn what(self) -> &'static str {
        match self {
            Self::Gaps => "fill gaps",
            Self::Tags => "tag tokens",
            Self::Labels => "classify texts",
            Self::Vectors => "embed texts",
        }
    }

    /// Whether the model finds it out.
    fn fits(self, model: &Model) -> bool {
        match self {
            Self::Gaps => model.task() == Task::Fill,
            Self::Tags => model.task() == Task::Tag,
            Self::Labels => model.task() == Task::Classify,
            Self::Vectors => model.pipeline().require_encoder().is_ok(),
        }
    }

    /// An object for each text.
    fn find(
        self,
        pipeline: &Pipeline,
        texts: &[String],
        count: Option<usize>,
    ) -> crate::Result<Vec<Value>> {
        match self {
            Self::Gaps => {
                let count = count.unwrap_or(GUESSES);
                let fill = |text: &String| Ok(filled(text, &pipeline.fill(text, count)?));
                texts.iter().map(fill).collect()
            }
            Self::Tags => Ok(pipeline.tag(1, texts)?.iter().map(tagged).collect()),
            Self::Labels => {
                let found = pipeline.classify(1, texts, count.unwrap_or(usize::MAX))?;
                Ok(zip(texts, &found)
                    .map(|(text, found)| classified(text, found))
                    .collect())
            }
            Self::Vectors => {
                let found = pipeline.embed(1, texts)?;
                Ok(zip(texts, &found)
                    .map(|(text, found)| embedded(text, found))
                    .collect())
            }
        }
    }
}

/// Predicts the most likely tokens for every `<mask>` of a text.
#[utoipa::path(post, path = "/api/fill", tag = "Attentive", request_body = ReadSome,
    responses((status = 200, description = "`input`, `text` and `gaps`; for a list of texts `results`, a list of such objects")))]
pub(super) async fn post_fill(app: State<Shared>, request: Request) -> Result<Response, Problem> {
    answer::<ReadSome>(app, request, Wanted::Gaps).await
}

/// Predicts a tag for every token of a text.
#[utoipa::path(post, path = "/api/tag", tag = "Attentive", request_body = Read,
    responses((status = 200, description = "`tokens` and `tags`; for a list of texts `results`, a list of such objects")))]
pub(super) async fn post_tag(app: State<Shared>, request: Request) -> Result<Response, Problem> {
    answer::<Read>(app, request, Wanted::Tags).await
}

/// Predicts a label for a text.
#[utoipa::path(post, path = "/api/classify", tag = "Attentive", request_body = ReadSome,
    responses((status = 200, description = "`text`, `label` and `labels`; for a list of texts `results`, a list of such objects")))]
pub(super) async fn post_classify(
    app: State<Shared>,
    request: Request,
) -> Result<Response, Problem> {
    answer::<ReadSome>(app, request, Wanted::Labels).await
}

/// Computes the vector of a text.
#[utoipa::path(post, path = "/api/embed", tag = "Attentive", request_body = Read,
    responses((status = 200, description = "`text` and `vector`; for a list of texts `results`, a list of such objects")))]
pub(super) async fn post_embed(app: State<Shared>, request: Request) -> Result<Response, Problem> {
    answer::<Read>(app, request, Wanted::Vectors).await
}

/// The response with what is wanted of each text.
async fn answer<R: DeserializeOwned + Into<ReadSome>>(
    State(app): State<Shared>,
    request: Request,
    wanted: Wanted,
) -> Result<Response, Problem> {
    let visit = Visit::of(&request)?;
    let client = app.client(request.headers(), None, &visit)?;
    let asked: ReadSome = json::<R>(request, &app.config.limits).await?.into();
    let fits = |model: &Model| wanted.fits(model);
    let model = (app.models).choose(asked.model.as_deref(), wanted.what(), fits)?;
    let (texts, is_list) = asked.text.into_texts();
    app.admit("text", &texts)?;
    if (asked.count).is_some_and(|count| !(1..=MOST).contains(&count)) {
        let problem = format!("`count` is between 1 and {MOST}");
        return Err(Problem::field("count", problem));
    }
    let work = move |pipeline: &Pipeline| wanted.find(pipeline, &texts, asked.count);
    let mut found = compute(&model, client, work).await?;
    let body = match found.pop() {
        Some(Value::Object(mut only)) if !is_list => {
            only.insert("model".to_owned(), model.name().into());
            Value::Object(only)
        }
        last => {
            found.extend(last);
            json!({"model": model.name(), "results": found})
        }
    };
    Ok(reply(&body))
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
    let label = |one: &crate::pipeline::LabelScore| json!({"label": one.label, "probability": one.probability});
    let labels: Vec<Value> = found.labels.iter().map(label).collect();
    let best = found.labels.first().map(|best| best.label.as_str());
    json!({"text": text, "label": best, "labels": labels, "warnings": told(&found.warnings)})
}

fn embedded(text: &str, found: &Embedded) -> Value {
    json!({"text": text, "vector": found.vector, "warnings": told(&found.warnings)})
}
