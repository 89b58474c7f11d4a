//! Attention and predictions for a text.

use std::sync::Arc;

use attentive_base::batch::TokenId;
use attentive_config::Task;
use attentive_decode::SearchOptions;
use attentive_page as page;
use attentive_pipeline::service::{Admission, Chunk, Client, Service};
use attentive_pipeline::{self as pipeline, InspectionInput, InspectionTarget, Pipeline};
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use hyper::header::CONTENT_TYPE;
use serde::Deserialize;

use crate::http::body::json;
use crate::http::visit::Visit;
use crate::problem::{Problem, ProblemKind};
use crate::state::app::{App, SharedApp, Strings};
use crate::state::models::ModelInstance;
use crate::state::shares::ClientShare;
use crate::work::answers::{Answers, Merge, compute};
use crate::work::thread_pool::StopFlag;

/// A text to explain.
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Explain {
    /// The model; may be left out if there is only one.
    model: Option<String>,
    /// The text.
    text: String,
    /// A translation of it [default: the model's own].
    target: Option<String>,
    /// The exact tokens of a translation, or of the continuation for a language model, spelled as in the
    /// vocabulary.
    target_tokens: Option<Vec<String>>,
}

/// Returns the attention and the predictions of a model for a text.
#[utoipa::path(post, path = "/api/explain", tag = "Attentive", request_body = Explain,
    responses((status = 200, description = "Tokens, their probabilities, and the weights of every attention \
                                            head in thousandths")))]
pub(super) async fn post_explain(
    State(app): State<SharedApp>,
    request: Request,
) -> Result<Response, Problem> {
    let visit = Visit::of(&request)?;
    let client = app.client(request.headers(), None, &visit)?;
    let share = request.extensions().get::<Arc<ClientShare>>().cloned();
    let asked: Explain = json(request, &app).await?;
    let model = app.models.choose(asked.model.as_deref(), "explain", |_| true)?;
    let tokens = Strings {
        field: "target_tokens",
        strings: asked.target_tokens.as_deref().unwrap_or_default(),
        most: app.config.limits.tokens,
    };
    let texts = [Some(&asked.text), asked.target.as_ref()];
    app.admit_with(&visit, "text", &texts.into_iter().flatten().collect::<Vec<_>>(), &[tokens])?;
    let (checker, asked) = (Arc::clone(&model), Arc::new(asked));
    let checked = Arc::clone(&asked);
    let check = move |_: &StopFlag| checked.check(checker.pipeline());
    app.pool.run(client, check).await?;
    let found = if asked.wants_translation() && model.task() == Task::Translate {
        Some(best(&app, &model, client, &asked).await?)
    } else {
        None
    };
    // The translation exists already, so it is explained however many jobs are waiting.
    let admission = match found {
        Some(_) => Admission::Further,
        None => Admission::New,
    };
    let (reader, read) = (Arc::clone(&model), Arc::clone(&asked));
    let prepare = move |_: &StopFlag| read.shown(reader.pipeline(), found.as_deref());
    let shown = app.pool.run(client, prepare).await?;
    let body = explained(&app, &model, client, admission, shown, share).await?;
    Ok(([(CONTENT_TYPE, "application/json")], body).into_response())
}

/// The explanation of `shown`. Only a few are computed at once, and each is counted in `share` before.
async fn explained(
    app: &App,
    model: &Arc<ModelInstance>,
    client: Client,
    admission: Admission,
    shown: InspectionInput,
    share: Option<Arc<ClientShare>>,
) -> Result<Vec<u8>, Problem> {
    let place = app.explanations.enter(client).await?;
    let expected = page::bytes_of(shown.weights(model.pipeline()));
    if let Some(share) = &share {
        // Counted until the client has read it.
        count(share, expected)?;
    }
    let (name, counted) = (model.name().to_owned(), share.clone());
    let positions = shown.tokens();
    let work = move |pipeline: &Pipeline| {
        // Kept until the work is done, even if the client leaves.
        let _held = (place, counted);
        let inspection = shown.inspect(pipeline)?;
        let explanation = serde_json::to_vec(&page::explanation(&name, &inspection));
        Ok(explanation.unwrap_or_default())
    };
    let chunks = vec![Chunk::new(positions, work)];
    let mut bodies = compute(model, client, admission, chunks).await?;
    let body = bodies.pop().unwrap_or_default();
    if let Some(share) = &share {
        count(share, body.len().saturating_sub(expected))?;
    }
    Ok(body)
}

/// Counts the bytes of an explanation in `share`.
///
/// # Errors
/// A [`Problem`] if there is no room for them, now or at any time.
fn count(share: &ClientShare, bytes: usize) -> Result<(), Problem> {
    if !share.may_grow(bytes) {
        let problem = "the explanation needs more RAM than a client may use";
        let problem = Problem::new(ProblemKind::TooLarge, problem);
        return Err(problem.hint("ask for a shorter text, or raise `limits.bodies`"));
    }
    Ok(share.grow(bytes)?)
}

/// The tokens of the model's own translation, which is searched for like any other.
async fn best(
    app: &App,
    model: &Arc<ModelInstance>,
    client: Client,
    asked: &Arc<Explain>,
) -> Result<Vec<TokenId>, Problem> {
    let (reader, asked) = (Arc::clone(model), Arc::clone(asked));
    let limits = app.config.limits;
    let read = move |_: &StopFlag| {
        let requests = [pipeline::Request::from(asked.text.clone())];
        let options = SearchOptions::from(&reader.pipeline().config().decode);
        reader.read(&requests, &options, &limits)
    };
    let sentences = app.pool.run(client, read).await?;
    let mut answers = Answers::new(model, Merge::Replace);
    let send = |service: &Service, reply| service.translate(client, sentences, false, reply);
    answers.send(send)?;
    let found = answers.all(1).await?.into_iter();
    let mut best = found.flat_map(|found| found.hypotheses);
    Ok(best.next().map(|best| best.tokens).unwrap_or_default())
}

impl Explain {
    /// Refuses tokens that `pipeline` does not know, and a target given as both text and tokens.
    fn check(&self, pipeline: &Pipeline) -> Result<(), Problem> {
        let Some(tokens) = &self.target_tokens else {
            return Ok(());
        };
        if self.target.is_some() {
            let problem = "give either `target` or `target_tokens`, not both";
            return Err(Problem::field("target_tokens", problem));
        }
        let known = pipeline.continuable(tokens);
        known.map_err(|error| Problem::invalid(&error))?;
        Ok(())
    }

    /// The sentence to explain, if a page can show it. `found` is the model's own translation, if it was
    /// requested.
    fn shown(&self, pipeline: &Pipeline, found: Option<&[TokenId]>) -> Result<InspectionInput, Problem> {
        let shown = pipeline.show(&self.text, self.target(found));
        let checked = shown.and_then(|shown| {
            page::check_size(shown.weights(pipeline))?;
            Ok(shown)
        });
        checked.map_err(|error| Problem::failed(&error))
    }

    /// Returns true if the target is the model's own translation.
    fn wants_translation(&self) -> bool {
        self.target.is_none() && self.target_tokens.is_none()
    }

    /// The target; `found` is the model's own translation, if it was requested.
    fn target<'a>(&'a self, found: Option<&'a [TokenId]>) -> InspectionTarget<'a> {
        match (&self.target_tokens, &self.target, found) {
            (Some(tokens), ..) => InspectionTarget::Tokens(tokens),
            (None, Some(text), _) => InspectionTarget::Text(text),
            (None, None, Some(found)) => InspectionTarget::Found(found),
            (None, None, None) => InspectionTarget::Own,
        }
    }
}
