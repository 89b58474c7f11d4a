//! Conversations with translation models: the last message is translated.

use std::num::NonZeroUsize;
use std::sync::Arc;

use attentive_decode::{SearchChanges, SearchOptions};
use attentive_document::{self as document, Split};
use attentive_pipeline::service::{Client, Service};
use attentive_pipeline::{Translation, TranslationConstraints, joined};
use axum::body::Bytes;
use axum::response::Response;
use serde_json::{Value, json};

use super::super::metadata::{ResponseMetadata, Usage};
use super::{Role, Turn, Wanted, choice, piece};
use crate::api::openai::failed;
use crate::api::openai::options::no_tokens;
use crate::api::{reply, warned};
use crate::http::sse::{self, EventEncoder};
use crate::http::visit::Visit;
use crate::language::Language;
use crate::problem::Problem;
use crate::state::app::SharedApp;
use crate::state::models::ModelInstance;
use crate::work::answers::{Answers, Merge};
use crate::work::divided_request::{DividedRequest, restored, sentences as sentences_of};
use crate::work::thread_pool::StopFlag;

/// The only instruction that translation models support.
const INSTRUCTION: &str = "Translate from English to German.";

/// The languages in the system message, as in [`INSTRUCTION`].
pub(super) fn direction(turns: &[Turn]) -> Option<(Language, Language)> {
    let first = turns.first().filter(|turn| is_instruction(turn))?;
    let text = first.text.trim().trim_end_matches('.');
    let words: Vec<&str> = text.split_whitespace().collect();
    let is = |word: &str, one: &str| word.eq_ignore_ascii_case(one);
    let [translate, from, source, to, target] = words[..] else {
        return None;
    };
    let said = is(translate, "translate") && is(from, "from") && (is(to, "to") || is(to, "into"));
    let named = || Some((Language::named(source)?, Language::named(target)?));
    said.then(named).flatten()
}

fn is_instruction(turn: &Turn) -> bool {
    matches!(turn.role, Role::System | Role::Developer)
}

/// The text to translate.
///
/// # Errors
/// A [`Problem`] for instructions that the model cannot follow, and if the last message is not the user's.
fn text_of(model: &ModelInstance, turns: Vec<Turn>) -> Result<String, Problem> {
    let wanted = direction(&turns);
    let wrong = |problem: String| {
        let hint = format!(
            "a translation model follows no other instruction than its languages, as in `{INSTRUCTION}`; you \
             can leave it out if you name the model"
        );
        Problem::field("messages", problem).hint(hint)
    };
    let instructions = turns.iter().filter(|turn| is_instruction(turn)).count();
    if instructions != usize::from(wanted.is_some()) {
        return Err(wrong("a translation model cannot follow the system message".into()));
    }
    if let (Some((source, target)), Some(known)) = (wanted, model.direction())
        && (source.base() != known.source.base() || target.base() != known.target.base())
    {
        let (name, from, to) = (model.name(), known.source.name(), known.target.name());
        return Err(wrong(format!("the model `{name}` translates from {from} to {to}")));
    }
    match turns.into_iter().next_back() {
        Some(Turn { role: Role::User, text }) => Ok(text),
        _ => Err(Problem::field("messages", "the last message, which is translated, must be the user's")),
    }
}

fn options(app: &SharedApp, model: &ModelInstance, wanted: &Wanted) -> Result<SearchOptions, Problem> {
    let limits = app.config.limits;
    let copies = wanted.options.copies.unwrap_or(1);
    if !(1..=limits.alternatives).contains(&copies) {
        let problem = format!("`n` is between 1 and {}", limits.alternatives);
        return Err(Problem::field("n", problem));
    }
    if wanted.stream && copies > 1 {
        return Err(Problem::field("n", "a stream has a single translation"));
    }
    if !wanted.stop.is_empty() {
        let problem = "translations have no stop strings";
        return Err(Problem::field("stop", problem));
    }
    let max_new_tokens = wanted
        .new_tokens
        .map(|most| NonZeroUsize::new(most).ok_or_else(|| no_tokens(wanted.options.tokens_field)));
    let decode = &model.pipeline().config().decode;
    let search = SearchChanges { max_new_tokens: max_new_tokens.transpose()?, ..SearchChanges::default() };
    let is_drawn = wanted.options.temperature.is_some_and(|t| t != 0.0);
    let sampling = is_drawn.then(|| wanted.options.sampling());
    let search = if is_drawn { search } else { search.widened(decode, copies) };
    let options = search.apply(decode, copies, sampling);
    Ok(options.map_err(|error| Problem::invalid(&error))?.unscored())
}

/// Returns the translation of the last message.
pub(super) async fn answer(
    app: SharedApp,
    visit: Visit,
    client: Client,
    model: Arc<ModelInstance>,
    turns: Vec<Turn>,
    wanted: Wanted,
) -> Result<Response, Problem> {
    let options = options(&app, &model, &wanted)?;
    let (reader, limits) = (Arc::clone(&model), app.config.limits);
    let how = model.pipeline().segmentation(Split::Sentences);
    let read = move |stop: &StopFlag| {
        let most = limits.most_texts();
        let texts = vec![text_of(&reader, turns)?];
        let divided =
            DividedRequest::read(&reader, texts, Some(how), TranslationConstraints::default(), most, stop)?;
        let sentences = reader.read(&divided.requests, &options, &limits)?;
        Ok((divided.texts, sentences))
    };
    let (texts, sentences) = app.pool.run(client, read).await?;
    let usage = Usage { prompt: sentences.tokens(), completion: 0 };
    let warnings: Vec<String> = sentences.warnings().map(|warning| warning.problem.clone()).collect();
    let count = sentences.len();
    let mut answers = Answers::new(&model, Merge::Replace);
    let send = |service: &Service, reply| service.translate(client, sentences, false, reply);
    answers.send(send)?;
    if wanted.stream {
        let pieces = Pieces {
            model: Arc::clone(&model),
            client,
            metadata: ResponseMetadata::of(&model, "chatcmpl", "chat.completion.chunk"),
            text: texts.into_iter().next().map(|text| text.divided).unwrap_or_default(),
            done: vec![None; count],
            told: 0,
            written: String::new(),
            finished: true,
            usage,
            with_usage: wanted.with_usage,
        };
        return Ok(warned(sse::response(app, visit, answers, count, pieces), &warnings));
    }
    let found = restored(&model, client, &sentences_of(&texts), answers.all(count).await?).await?;
    let write = move |_: &StopFlag| {
        let text = texts.into_iter().next().map(|text| text.divided).unwrap_or_default();
        let whole = joined::join(&text, &found);
        let warnings: Vec<String> = whole.warnings.iter().map(|warning| warning.problem.clone()).collect();
        let metadata = ResponseMetadata::of(&model, "chatcmpl", "chat.completion");
        let choices = whole.hypotheses.iter().enumerate();
        let choices = choices.map(|(index, one)| choice(index, &one.text, reason(one.finished)));
        let tokens = whole.hypotheses.iter().map(|one| one.tokens.len());
        let usage = Usage { completion: tokens.sum(), ..usage };
        Ok(warned(reply(&metadata.answer(choices.collect(), usage)), &warnings))
    };
    app.pool.run(client, write).await
}

fn reason(finished: bool) -> &'static str {
    if finished { "stop" } else { "length" }
}

/// The events of a stream: sentence by sentence, since text that was sent cannot be changed.
struct Pieces {
    model: Arc<ModelInstance>,
    client: Client,
    metadata: ResponseMetadata,
    text: document::DividedText,
    /// The translations of the sentences.
    done: Vec<Option<String>>,
    /// The number of sentences that were sent.
    told: usize,
    /// The text that was sent.
    written: String,
    finished: bool,
    usage: Usage,
    with_usage: bool,
}

impl Pieces {
    fn event(&self, piece: Value) -> Bytes {
        self.metadata.chunk(piece, self.with_usage)
    }

    fn content(&self, text: &str) -> Bytes {
        self.event(piece(0, json!({"content": text}), None))
    }
}

impl EventEncoder<Translation> for Pieces {
    fn begin(&mut self) -> Vec<Bytes> {
        let role = json!({"role": "assistant", "content": ""});
        vec![self.event(piece(0, role, None))]
    }

    fn text(&mut self, _: usize, _: String) -> Vec<Bytes> {
        Vec::new()
    }

    async fn result(&mut self, number: usize, result: Translation) -> Result<Vec<Bytes>, Problem> {
        let sentence = &self.text.sentences()[number];
        let restored = restored(&self.model, self.client, &[sentence], vec![result]).await?;
        let Some(best) = restored.into_iter().flat_map(|one| one.hypotheses).next() else {
            return Ok(Vec::new());
        };
        self.usage.completion += best.tokens.len();
        self.finished &= best.finished || best.tokens.is_empty();
        self.done[number] = Some(best.text);
        let from = self.written.len();
        while let Some(Some(translation)) = self.done.get(self.told) {
            self.text.sentences()[self.told].write(translation, &mut self.written);
            self.told += 1;
        }
        let new = &self.written[from..];
        Ok(if new.is_empty() { Vec::new() } else { vec![self.content(new)] })
    }

    fn end(&mut self) -> Vec<Bytes> {
        let mut events = Vec::new();
        if !self.text.after().is_empty() {
            events.push(self.content(self.text.after()));
        }
        let last = piece(0, json!({}), Some(reason(self.finished)));
        events.push(self.event(last));
        events.extend(self.metadata.end(self.with_usage.then_some(self.usage)));
        events
    }

    fn problem(&mut self, problem: &Problem) -> Vec<Bytes> {
        failed(problem)
    }
}
