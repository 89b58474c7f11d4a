//! Ensembles: several models that translate together.

use std::path::PathBuf;

use attentive_base::count::{count, number};
use attentive_base::error::{Error, Result};
use attentive_config::Task;
use attentive_decode::Ensemble;
use attentive_model::any_engine::AnyEngine;
use attentive_text::Tokenizer;

use super::Pipeline;

/// The largest weight of a model.
const MOST_WEIGHT: f64 = 1e6;

impl Pipeline {
    /// Loads the models in these directories, one or more, as an ensemble that translates.
    ///
    /// # Errors
    /// Those of [`Pipeline::load`]; those of [`Pipeline::with`], with the directory.
    ///
    /// # Panics
    /// If there are none.
    pub fn load_ensemble(dirs: &[PathBuf]) -> Result<Self> {
        let (first, others) = dirs.split_first().expect("an ensemble has a model");
        let about = |dir: &PathBuf, found: Result<Self>| {
            found.map_err(|error| error.about(format_args!("`{}`", dir.display())))
        };
        let all = Self::load(first)?;
        about(first, all.require(Task::Translate).map(|()| all))
            .and_then(|all| others.iter().try_fold(all, |all, dir| about(dir, all.with(Self::load(dir)?))))
    }

    /// Combines this model and `other` into an ensemble, to which more models can be added. Translation,
    /// rescoring and alignment average the probabilities of all models; everything else uses this model
    /// alone.
    ///
    /// # Errors
    /// [`Error::Usage`] for models that do not translate, whose vocabularies differ, or that start or end
    /// their outputs with different tokens.
    pub fn with(mut self, other: Self) -> Result<Self> {
        self.require(Task::Translate)?;
        other.require(Task::Translate)?;
        let (ours, theirs) = (&self.tokenizers, &other.tokenizers);
        let sides = [("source", ours.src(), theirs.src()), ("target", ours.tgt(), theirs.tgt())];
        for (side, ours, theirs) in sides {
            if let Some(difference) = difference(ours, theirs) {
                return Err(Error::usage(
                    format!("its {side} vocabulary differs from the first model's: {difference}"),
                    "models of an ensemble need the same tokenizer",
                ));
            }
        }
        if self.contract()? != other.contract()? {
            return Err(Error::usage(
                "the tokens with which it starts or ends translations, or that it never generates, differ \
                 from the first model's",
                "give all models of an ensemble the same `model.decoder_start_token`, \
                 `model.forced_bos_token`, `model.forced_eos_token` and `model.suppress_tokens`",
            ));
        }
        self.partners.push(other);
        Ok(self)
    }

    /// Weights the log-probabilities of the models of this ensemble, the first one's first, in place of
    /// averaging probabilities, as Marian does: the score of a token is the sum of its log-probabilities,
    /// each times the weight of its model.
    ///
    /// # Errors
    /// [`Error::Usage`] if there are not as many weights as models, one is not a finite number of 0 or more,
    /// or all are 0.
    pub fn with_log_weights(mut self, weights: Vec<f64>) -> Result<Self> {
        let n_models = 1 + self.partners.len();
        if weights.len() != n_models {
            return Err(Error::usage(
                format!("{} for {}", count(weights.len(), "weight"), count(n_models, "model")),
                "give a number for each model of the ensemble, the first one included",
            ));
        }
        let is_weight = |weight: &f64| (0.0..=MOST_WEIGHT).contains(weight);
        if let Some(wrong) = weights.iter().find(|weight| !is_weight(weight)) {
            return Err(Error::usage(
                format!("the weight {wrong} of a model"),
                format!("give numbers from 0 to {MOST_WEIGHT}, such as 0.6 and 0.4"),
            ));
        }
        if weights.iter().all(|&weight| weight == 0.0) {
            return Err(Error::usage("no model has a weight", "give at least one model a weight above 0"));
        }
        self.log_weights = Some(weights);
        Ok(self)
    }

    /// The ensemble as one model, for search; `None` for a single model.
    pub(super) fn ensemble(&self) -> Option<Ensemble<'_, AnyEngine>> {
        let partners = || self.partners.iter().map(Self::stepper);
        let members = || [self.stepper()].into_iter().chain(partners()).collect();
        let together = || Ensemble::new(members()).weighted(self.log_weights.as_deref());
        (!self.partners.is_empty()).then(together)
    }

    /// The models of the ensemble, each in its pipeline.
    pub(super) fn members(&self) -> impl Iterator<Item = &Self> {
        [self].into_iter().chain(&self.partners)
    }

    /// The maximum number of tokens that all models can read or write, including `<s>` or `</s>`.
    pub(super) fn max_len(&self) -> usize {
        let lens = self.members().map(|member| member.architecture.max_len);
        lens.min().unwrap_or(0)
    }

    /// Refuses models without attention to the source.
    pub(super) fn require_cross_attention(&self, purpose: &str) -> Result<()> {
        let mut members = self.members();
        if members.all(|member| member.architecture.has_cross_attention()) {
            return Ok(());
        }
        Err(Error::usage(
            format!("{purpose} needs attention to the source, which this model does not have"),
            "use a Transformer, or a recurrent model with attention",
        ))
    }
}

/// Describes a difference between two tokenizers; `None` if there is none.
fn difference(ours: &Tokenizer, theirs: &Tokenizer) -> Option<String> {
    if ours.to_json() == theirs.to_json() {
        return None;
    }
    let sizes = [ours, theirs].map(Tokenizer::vocab_size);
    if sizes[0] != sizes[1] {
        let [ours, theirs] = sizes.map(|size| number(size as u64));
        return Some(format!("{theirs} tokens, not {ours}"));
    }
    for id in 0..sizes[0] as u32 {
        let [our, their] = [ours, theirs].map(|tokenizer| tokenizer.token(id).unwrap_or_default());
        if our != their {
            return Some(format!("token {id} is `{their}`, not `{our}`"));
        }
    }
    let [ours, theirs] = [ours, theirs].map(|tokenizer| {
        serde_json::from_slice::<serde_json::Value>(tokenizer.to_json()).unwrap_or_default()
    });
    (ours != theirs).then(|| "the tokens are the same, but text is split into them differently".to_owned())
}
