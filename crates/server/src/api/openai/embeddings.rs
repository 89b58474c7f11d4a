//! Vectors of texts.

use attentive_pipeline::service::Admission;
use attentive_pipeline::{Embedded, Pipeline};
use axum::extract::{Request, State};
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Value, json};

use super::texts::texts;
use crate::api::{OneOrMany, reply, warned};
use crate::http::body::json;
use crate::http::visit::Visit;
use crate::problem::Problem;
use crate::state::app::SharedApp;
use crate::state::models::ModelInstance;
use crate::work::answers::{ENOUGH, compute, grouped, positions_of};
use crate::work::thread_pool::StopFlag;

/// Texts to embed.
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Embed {
    /// The model; may be left out if only one here has a text encoder.
    model: Option<String>,
    /// The text, or texts.
    #[serde(deserialize_with = "texts")]
    input: OneOrMany,
    /// The encoding of the vectors.
    #[serde(default)]
    encoding_format: Encoding,
    /// Not supported.
    dimensions: Option<usize>,
    /// Ignored.
    #[allow(dead_code, reason = "clients send it")]
    user: Option<String>,
}

/// The encoding of vectors.
#[derive(Clone, Copy, Default, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
enum Encoding {
    /// A list of numbers.
    #[default]
    Float,
    /// The bytes of the `f32` values in little-endian order, in Base64.
    Base64,
}

/// Computes the vector of each text.
#[utoipa::path(post, path = "/v1/embeddings", tag = "OpenAI", request_body = Embed,
    responses((status = 200, description = "`data`, a list of objects with `embedding`")))]
pub(super) async fn embed(State(app): State<SharedApp>, request: Request) -> Result<Response, Problem> {
    let visit = Visit::of(&request)?;
    let client = app.client(request.headers(), None, &visit)?;
    let asked: Embed = json(request, &app).await?;
    if asked.dimensions.is_some() {
        return Err(Problem::field("dimensions", "`dimensions` is not supported"));
    }
    let encodes = |model: &ModelInstance| model.pipeline().require_encoder().is_ok();
    let model = (app.models).choose(asked.model.as_deref(), "embed texts", encodes)?;
    let (texts, _) = asked.input.into_texts();
    if texts.is_empty() || texts.iter().any(|text| text.trim().is_empty()) {
        return Err(Problem::field("input", "`input` must not be empty or blank"));
    }
    app.admit(&visit, "input", &texts)?;
    let chunks = grouped(
        ENOUGH,
        texts,
        |text: &String| positions_of(text.len()),
        |texts| {
            move |pipeline: &Pipeline| {
                let embedded = pipeline.embed(1, &texts)?;
                let tokenizer = pipeline.tokenizers().src();
                let lens = texts.iter().map(|text| Ok(tokenizer.encode(text)?.len()));
                let tokens = lens.sum::<attentive_base::error::Result<usize>>()?;
                Ok((embedded, tokens))
            }
        },
    );
    let found = compute(&model, client, Admission::New, chunks).await?;
    let encoding = asked.encoding_format;
    let warnings = found.iter().flat_map(|(embedded, _)| embedded).flat_map(|one| &one.warnings);
    let warnings: Vec<String> = warnings.map(|warning| warning.problem.clone()).collect();
    let write = move |_: &StopFlag| Ok(warned(reply(&list(model.name(), found, encoding)), &warnings));
    app.pool.run(client, write).await
}

/// The response with the vectors of all chunks and the numbers of their tokens.
fn list(model: &str, found: Vec<(Vec<Embedded>, usize)>, encoding: Encoding) -> Value {
    let tokens: usize = found.iter().map(|(_, tokens)| tokens).sum();
    let embedded = found.into_iter().flat_map(|(embedded, _)| embedded);
    let data = embedded.enumerate().map(|(index, one)| {
        let vector = one.vector.unwrap_or_default();
        json!({"object": "embedding", "index": index, "embedding": written(&vector, encoding)})
    });
    json!({
        "object": "list",
        "data": data.collect::<Vec<_>>(),
        "model": model,
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    })
}

fn written(vector: &[f32], encoding: Encoding) -> Value {
    match encoding {
        Encoding::Float => vector.into(),
        Encoding::Base64 => {
            let bytes: Vec<u8> = vector.iter().flat_map(|value| value.to_le_bytes()).collect();
            STANDARD.encode(bytes).into()
        }
    }
}
