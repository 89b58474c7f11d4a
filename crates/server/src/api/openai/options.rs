//! The generation options of a request.

use attentive_decode::{SampleOptions, Sampling, SamplingChanges};
use attentive_pipeline::GenerateOptions;
use serde::Deserialize;

use super::metadata::random;
use crate::http::objects::only_as_object;
use crate::limits::Limits;
use crate::problem::{Problem, ProblemKind};
use crate::state::app::{SharedApp, Strings};

/// The maximum number of stop strings, unless the server allows fewer.
const MAX_STOPS: usize = 4;

/// The stop strings, for the limits of the server.
pub(super) fn stops<'a>(stop: &'a [String], limits: &Limits) -> Strings<'a> {
    Strings { field: "stop", strings: stop, most: MAX_STOPS.min(limits.stop) }
}

/// Options of a stream.
#[derive(Clone, Copy, Deserialize, utoipa::ToSchema)]
#[serde(remote = "Self")]
#[serde(deny_unknown_fields)]
pub(super) struct StreamOptions {
    /// Whether the last event counts tokens.
    include_usage: Option<bool>,
    /// Ignored.
    #[allow(dead_code, reason = "clients send it")]
    include_obfuscation: Option<bool>,
}

only_as_object!(StreamOptions);

/// Returns true if a stream ends with token counts.
///
/// # Errors
/// A [`Problem`] for stream options without a stream.
pub(super) fn with_usage(stream: Option<bool>, options: Option<StreamOptions>) -> Result<bool, Problem> {
    match options {
        Some(_) if stream != Some(true) => {
            let problem = "`stream_options` needs `stream`";
            Err(Problem::field("stream_options", problem))
        }
        Some(options) => Ok(options.include_usage == Some(true)),
        None => Ok(false),
    }
}

/// The generation options of a request.
pub(super) struct CompletionOptions {
    pub(super) copies: Option<usize>,
    pub(super) new_tokens: usize,
    /// The name of the field with the maximum number of tokens.
    pub(super) tokens_field: &'static str,
    pub(super) temperature: Option<f64>,
    pub(super) top_p: Option<f64>,
    pub(super) seed: Option<i64>,
}

/// The problem with a request for no tokens.
pub(super) fn no_tokens(field: &str) -> Problem {
    Problem::field(field, format!("`{field}` is at least 1"))
}

impl CompletionOptions {
    /// The options for continuing each of `texts` texts, without the number of the sample.
    ///
    /// # Errors
    /// A [`Problem`] for invalid values, and for values above the limits of the server.
    pub(super) fn generate_options(
        &self,
        app: &SharedApp,
        texts: usize,
        stop: Vec<String>,
    ) -> Result<GenerateOptions, Problem> {
        let limits = app.config.limits;
        let copies = self.copies.unwrap_or(1);
        if !(1..=limits.alternatives).contains(&copies) {
            let problem = format!("`n` is between 1 and {}", limits.alternatives);
            return Err(Problem::field("n", problem));
        }
        let (jobs, most) = (copies.saturating_mul(texts), limits.most_texts());
        if jobs > most {
            let problem = format!("{jobs} continuations requested; a request may have at most {most}");
            return Err(Problem {
                field: Some("n".to_owned()),
                ..Problem::new(ProblemKind::TooLarge, problem)
            });
        }
        let new_tokens = self.new_tokens;
        if new_tokens == 0 {
            return Err(no_tokens(self.tokens_field));
        }
        let all = new_tokens.saturating_mul(jobs);
        if all > limits.new_tokens {
            let most = limits.new_tokens;
            let problem = format!(
                "{all} new tokens requested in total; the server generates at most {most} for a request"
            );
            return Err(Problem::field(self.tokens_field, problem));
        }
        let sampling = self.sampling().apply(Sampling::default());
        let options = GenerateOptions {
            sample: SampleOptions { sampling, number: 0, max_new_tokens: new_tokens },
            stop: stop.into(),
        };
        options.check().map_err(|error| Problem::invalid(&error))?;
        Ok(options)
    }

    /// The sampling options.
    pub(super) fn sampling(&self) -> SamplingChanges {
        let seed = self.seed.map_or_else(random, i64::cast_unsigned);
        SamplingChanges {
            temperature: self.temperature,
            top_p: self.top_p,
            seed: Some(seed),
            ..SamplingChanges::default()
        }
    }
}
