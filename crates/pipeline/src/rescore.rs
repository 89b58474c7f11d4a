//! Probabilities of given translations.

use attentive_base::batch::{Batch, TokenId};
use attentive_base::error::{Error, Result};
use attentive_base::interrupt::Interrupt;
use attentive_config::Task;
use attentive_data::Example;
use attentive_model::model::Model;
use attentive_model::nn::Pass;

use super::batches::batches;
use super::tokenized_line::TokenizedLine;
use super::{Pipeline, Warning};

/// The probability of a given translation.
#[derive(Clone, Debug, PartialEq)]
pub struct Rescored {
    /// The natural log-probability of all `tokens`; NaN if the source is blank.
    pub log_prob: f64,
    /// The tokens of the translation, `</s>` included.
    pub tokens: Vec<TokenId>,
    /// The natural log-probability of each token, given the source and the tokens before it.
    pub token_log_probs: Vec<f64>,
    /// Problems with the source or the translation.
    pub warnings: Vec<Warning>,
}

impl Pipeline {
    /// Returns the probabilities of the translations `tgt` of the lines `src`, the first of which has the
    /// number `first_line`. A blank translation consists of `</s>`.
    ///
    /// If a translation is too long for the model, only its beginning is scored, without `</s>`; a
    /// translation of a blank line is not scored. Both cause warnings.
    ///
    /// # Errors
    /// [`Error::Usage`] for a model that does not translate; [`Error::Data`] for different numbers of lines,
    /// and if the model's outputs are NaN or infinite.
    pub fn rescore<L: AsRef<str> + Sync>(
        &self,
        first_line: usize,
        src: &[L],
        tgt: &[L],
    ) -> Result<Vec<Rescored>> {
        self.require(Task::Translate)?;
        if src.len() != tgt.len() {
            return Err(Error::Data {
                problem: format!("{} sources, but {} translations", src.len(), tgt.len()),
                hint: None,
            });
        }
        let first = self.contract()?.forced_first;
        let (mut results, examples) = self.pairs(first_line, src, tgt, first)?;
        for (number, log_probs) in self.log_probs(examples)? {
            results[number].log_prob = log_probs.iter().sum();
            results[number].token_log_probs = log_probs;
        }
        Ok(results)
    }

    /// The log-probabilities of the targets of each of `examples`, with its number, in some order. The token
    /// that the model writes first in any case has the probability 1.
    pub(super) fn log_probs(&self, examples: Vec<Example>) -> Result<Vec<(usize, Vec<f64>)>> {
        let forces = self.contract()?.forced_first.is_some();
        let mut all = Vec::with_capacity(examples.len());
        for batch in batches(examples, self.tokenizers.sides(), None)? {
            Interrupt::check()?;
            for (&number, mut log_probs) in batch.lines.iter().zip(self.forced(&batch)?) {
                if let Some(first) = log_probs.first_mut().filter(|_| forces) {
                    *first = 0.0;
                }
                all.push((number, log_probs));
            }
        }
        Ok(all)
    }

    /// Results without scores, and the examples that give the scores, numbered like the results. The model
    /// generates `first` in any case.
    fn pairs<L: AsRef<str> + Sync>(
        &self,
        first_line: usize,
        src: &[L],
        tgt: &[L],
        first: Option<TokenId>,
    ) -> Result<(Vec<Rescored>, Vec<Example>)> {
        let src = TokenizedLine::read_all(first_line, src, |line| TokenizedLine::read(line, self))?;
        let tokenizer = self.tokenizers.tgt();
        let tgt = TokenizedLine::read_all(first_line, tgt, |line| {
            TokenizedLine::text(line, tokenizer, usize::MAX)
        })?;
        let mut results: Vec<Rescored> = Vec::with_capacity(src.len());
        let mut examples = Vec::new();
        for (number, (src, tgt)) in src.into_iter().zip(tgt).enumerate() {
            let mut result = Rescored {
                log_prob: f64::NAN,
                tokens: Vec::new(),
                token_log_probs: Vec::new(),
                warnings: [src.warnings, tgt.warnings].concat(),
            };
            let mut warn = |problem: String| {
                let warning = Warning::new(problem).on_line(first_line + number);
                result.warnings.push(warning);
            };
            if src.ids.is_empty() {
                warn("the source is blank: its translation was not scored".to_owned());
                results.push(result);
                continue;
            }
            let tgt: Vec<TokenId> = first.into_iter().chain(tgt.ids).collect();
            let mut example = Example::pair(src.ids, &tgt, tokenizer.special(), number);
            let (all, room) = (example.tgt_len(), self.max_len());
            if all > room {
                warn(format!("too long for the model, only the first {room} of {all} tokens were scored"));
            }
            example.truncate_target(room);
            result.tokens.clone_from(&example.tgt_out);
            results.push(result);
            examples.push(example);
        }
        Ok((results, examples))
    }

    /// The log-probabilities of the targets of `batch`; with several models, the logarithms of the averaged
    /// probabilities, or the weighted sums.
    fn forced(&self, batch: &Batch) -> Result<Vec<Vec<f64>>> {
        let log_probs = |model: &Model| Ok(model.log_probs(batch, &Pass::inference()));
        let each: Vec<_> =
            (self.members()).map(|member| member.with_model(log_probs)).collect::<Result<_>>()?;
        let n_models = each.len() as f64;
        let mut mean = each[0].clone();
        if each.len() > 1 {
            for (row, targets) in mean.iter_mut().enumerate() {
                for (place, target) in targets.iter_mut().enumerate() {
                    let log_probs = each.iter().map(|rows| rows[row][place]);
                    *target = match &self.log_weights {
                        Some(weights) => {
                            log_probs.zip(weights).map(|(log_prob, weight)| weight * log_prob).sum()
                        }
                        None => (log_probs.map(f64::exp).sum::<f64>() / n_models).ln(),
                    };
                }
            }
        }
        if mean.iter().flatten().any(|log_prob| log_prob.is_nan()) {
            let effect = "the model gives no probability to the target tokens";
            return Err(Error::damaged_model(effect));
        }
        Ok(mean)
    }
}
