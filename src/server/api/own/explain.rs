//! Attention and predictions for a text.

use axum::extract::{Request, State};
use axum::response::Response;
use serde::Deserialize;

use crate::page;
use crate::pipeline::Pipeline;
use crate::server::answers::compute;
use crate::server::api::reply;
use crate::server::app::Shared;
use crate::server::body::json;
use crate::server::problem::Problem;
use crate::server::visit::Visit;

/// A text to look into.
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Explain {
    /// The model; may be left out if there is only one.
    model: Option<String>,
    /// The text.
    text: String,
    /// A translation of it [default: the model's own].
    target: Option<String>,
    /// The exact tokens of a translation, or of what follows the text of a language model, as the vocabulary spells them.
    target_tokens: Option<Vec<String>>,
}

/// Tells what a model attends to, and how likely it finds what it writes.
#[utoipa::path(post, path = "/api/explain", tag = "Attentive", request_body = Explain,
    responses((status = 200, description = "Tokens, their probabilities and the weights of every attention, in thousandths")))]
pub(super) async fn post_explain(
    State(app): State<Shared>,
    request: Request,
) -> Result<Response, Problem> {
    let visit = Visit::of(&request)?;
    let client = app.client(request.headers(), None, &visit)?;
    let asked: Explain = json(request, &app.config.limits).await?;
    let model = app
        .models
        .choose(asked.model.as_deref(), "explain", |_| true)?;
    let spelled = asked.tokens(model.pipeline())?;
    let texts = [Some(&asked.text), asked.target.as_ref(), spelled.as_ref()];
    app.admit("text", &texts.into_iter().flatten().collect::<Vec<_>>())?;
    let name = model.name().to_owned();
    let work = move |pipeline: &Pipeline| {
        let inspection = match &asked.target_tokens {
            Some(tokens) => pipeline.inspect_tokens(&asked.text, tokens)?,
            None => pipeline.inspect(&asked.text, asked.target.as_deref())?,
        };
        page::check_size(&inspection)?;
        Ok(page::explanation(&name, &inspection))
    };
    let explanation = compute(&model, client, work).await?;
    Ok(reply(&explanation))
}

impl Explain {
    /// The exact tokens, if there are any, as one text.
    ///
    /// # Errors
    /// A [`Problem`] for tokens that `pipeline` does not know, and for a target in two forms.
    fn tokens(&self, pipeline: &Pipeline) -> Result<Option<String>, Problem> {
        let Some(tokens) = &self.target_tokens else {
            return Ok(None);
        };
        if self.target.is_some() {
            let problem = "give either `target` or `target_tokens`, not both";
            return Err(Problem::field("target_tokens", problem));
        }
        let known = pipeline.continuable(tokens);
        known.map_err(|error| Problem::invalid(&error))?;
        Ok(Some(tokens.concat()))
    }
}
