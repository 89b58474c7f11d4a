//! Answers with everything that is known. As JSON, they are the same objects in the commands' `--json`, from
//! the server and in Python.

use attentive_base::batch::TokenId;
use attentive_decode::Ending;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Alignment, Candidate, Generation, Pipeline, Prompt, Rescored, Translation, Warning};

/// A translation.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CandidateAnswer {
    pub text: String,
    /// The log-probability after the length penalty, plus the coverage penalty.
    pub score: f64,
    /// The natural log-probability, including the one of `</s>`.
    pub log_prob: f64,
    /// Whether the translation ended before the length limit.
    pub finished: bool,
    /// The tokens, spelled as in the vocabulary, without `</s>`.
    pub tokens: Vec<String>,
    /// The natural log-probability of each token; a finished translation has one more, which is that of
    /// `</s>`.
    pub token_log_probs: Vec<f32>,
    /// The required phrases that the translation lacks.
    pub unmet: Vec<String>,
    /// Pairs of a word of the text and a word of the translation, counted from 0, if they were requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alignment: Option<Vec<(usize, usize)>>,
}

/// The translations of a text.
#[derive(Clone, Debug, Serialize)]
pub struct TranslationAnswer {
    /// The best translations first, or samples in the order of their numbers.
    pub translations: Vec<CandidateAnswer>,
    /// Problems with the text.
    pub warnings: Vec<Warning>,
}

/// A continuation.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct GenerationAnswer {
    /// The text that is continued, as the model reads it.
    pub prompt: String,
    /// The text after the prompt.
    pub text: String,
    /// The new tokens, spelled as in the vocabulary; with those of a stop string, if one ended the text.
    pub tokens: Vec<String>,
    /// Why the text ended.
    pub ending: Ending,
    /// Problems with the prompt.
    #[schemars(with = "Vec<String>")]
    pub warnings: Vec<Warning>,
}

/// The probability of a given translation.
#[derive(Clone, Debug, Serialize)]
pub struct RescoredAnswer {
    /// The natural log-probability of all tokens; NaN, in JSON `null`, if the source is blank.
    pub log_prob: f64,
    /// The tokens of the translation, `</s>` included.
    pub tokens: Vec<String>,
    /// The natural log-probability of each token, given the source and the tokens before it.
    pub token_log_probs: Vec<f64>,
    /// Problems with the source or the translation.
    pub warnings: Vec<Warning>,
}

impl CandidateAnswer {
    /// What is known of `candidate`, which `pipeline` found, and of its alignment.
    pub fn new(pipeline: &Pipeline, candidate: Candidate, alignment: Option<Alignment>) -> Self {
        Self {
            finished: !candidate.is_cut_off(),
            text: candidate.text,
            score: candidate.score,
            log_prob: candidate.log_prob,
            tokens: pipeline.spelled(&candidate.tokens),
            token_log_probs: candidate.token_log_probs,
            unmet: candidate.unmet.iter().map(ToString::to_string).collect(),
            alignment: alignment.map(|Alignment(pairs)| pairs),
        }
    }
}

impl TranslationAnswer {
    /// What is known of `translation`, which `pipeline` found, with the next of `alignments` for each of its
    /// hypotheses.
    pub fn new(
        pipeline: &Pipeline,
        translation: Translation,
        mut alignments: impl Iterator<Item = Alignment>,
    ) -> Self {
        let Translation { hypotheses, warnings } = translation;
        let answer = |candidate| CandidateAnswer::new(pipeline, candidate, alignments.next());
        Self { translations: hypotheses.into_iter().map(answer).collect(), warnings }
    }
}

impl GenerationAnswer {
    /// What is known of `generation`, with which `pipeline` continued `prompt`.
    pub fn new(pipeline: &Pipeline, prompt: &Prompt, generation: Generation) -> Self {
        let Generation { text, tokens, ending } = generation;
        Self {
            prompt: prompt.text().to_owned(),
            text,
            tokens: pipeline.spelled(&tokens),
            ending,
            warnings: prompt.warnings().to_vec(),
        }
    }
}

impl RescoredAnswer {
    /// What is known of `rescored`, which `pipeline` computed.
    pub fn new(pipeline: &Pipeline, rescored: Rescored) -> Self {
        let Rescored { log_prob, tokens, token_log_probs, warnings } = rescored;
        Self { log_prob, tokens: pipeline.spelled(&tokens), token_log_probs, warnings }
    }
}

impl Pipeline {
    /// Tokens that the model wrote, spelled as in its vocabulary.
    fn spelled(&self, tokens: &[TokenId]) -> Vec<String> {
        self.tokenizers.tgt().spelled(tokens)
    }
}
