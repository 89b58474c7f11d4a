//! Differences between configurations that prevent resuming a run.

use toml::{Table, Value};

use super::schema::{KEYS, Key, fact};
use super::{BestBy, Config, ScheduleKind, table};

const MAX_STEPS: &str = "train.max_steps";

/// A key whose value differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyDifference {
    /// The key with its section.
    pub key: String,
    /// The value here.
    pub ours: String,
    /// The value in the other configuration.
    pub theirs: String,
}

impl Config {
    /// The first difference of `other` that prevents resuming a run started with `self`.
    pub fn difference_that_matters(&self, other: &Config) -> Option<KeyDifference> {
        let bound = bound_by_schedule(self.train.schedule.kind, self.train.schedule.decay_steps);
        let unused = other.unused_keys();
        self.difference_among(other, |key| {
            let is_bound = || bound.iter().any(|bound| key.starts_with(bound));
            !unused.contains(&key) && (!is_free(key) || is_bound())
        })
    }

    /// The keys on which the weights of a finished training depend, in TOML. `train.max_steps` is among them
    /// only if the learning rate depends on it; otherwise more updates go on from fewer.
    pub fn recipe(&self) -> String {
        let mut table = Table::try_from(self).unwrap_or_default();
        let weightless = KEYS.iter().filter(|key| fact(key.schema, "x-weights") == "none");
        weightless.for_each(|key| table::remove(&mut table, &key.path));
        if !self.train.criteria().any(BestBy::needs_translations) {
            // Validation translates, but what it finds decides nothing.
            table.remove("decode");
            table::remove(&mut table, "train.validate_sentences");
        }
        let schedule = &self.train.schedule;
        let bound = bound_by_schedule(schedule.kind, schedule.decay_steps);
        if !bound.contains(&MAX_STEPS) && schedule.kind != ScheduleKind::Wsd {
            table::remove(&mut table, MAX_STEPS);
        }
        table.to_string()
    }

    /// The first key that has another value in `other`.
    pub fn difference(&self, other: &Config) -> Option<KeyDifference> {
        self.difference_among(other, |_| true)
    }

    /// The first of the keys that matter that has another value in `other`.
    pub(super) fn difference_among(
        &self,
        other: &Config,
        matters: impl Fn(&str) -> bool,
    ) -> Option<KeyDifference> {
        let [ours, theirs] = [self, other].map(|config| Table::try_from(config).unwrap_or_default());
        let shown = |table: &Table, key: &str| {
            table::get(table, key).map_or_else(|| "nothing".to_owned(), Value::to_string)
        };
        // Another family has other keys.
        let keys = std::iter::once("model.family".to_owned());
        let others = [&ours, &theirs].map(table::leaves).into_iter().flatten();
        let mut keys = keys.chain(others.map(|(key, _)| key));
        let key = keys.find(|key| matters(key) && table::get(&ours, key) != table::get(&theirs, key))?;
        Some(KeyDifference { ours: shown(&ours, &key), theirs: shown(&theirs, &key), key })
    }
}

/// Keys that the learning rate depends on under this schedule, though other schedules leave them free.
fn bound_by_schedule(kind: ScheduleKind, decay_steps: u64) -> &'static [&'static str] {
    match kind {
        ScheduleKind::Cosine | ScheduleKind::Linear if decay_steps == 0 => &[MAX_STEPS],
        ScheduleKind::Plateau => &["train.validate_every", "data.valid"],
        _ => &[],
    }
}

/// Whether a key may change when a run is resumed, or a section in which it is: limits, validation,
/// checkpoints, and search.
fn is_free(key: &str) -> bool {
    let is_free = |known: &&Key| fact(known.schema, "x-resume") == "free";
    KEYS.iter().filter(is_free).any(|free| {
        let rest = key.strip_prefix(free.path.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OptimizerKind;

    #[test]
    fn a_recipe_has_what_weights_depend_on() {
        let config = Config::default();
        let same = |change: fn(&mut Config)| {
            let mut other = config.clone();
            change(&mut other);
            other.recipe() == config.recipe()
        };
        assert!(same(|c| c.decode.beam_width += 1));
        assert!(same(|c| c.train.log_every += 1));
        assert!(same(|c| c.train.max_steps += 1), "{}", config.recipe());
        assert!(same(|c| c.decode.min_length += 1));
        let by_bleu = |min_length| {
            let mut config = config.clone();
            config.train.best_by = BestBy::Bleu;
            config.decode.min_length = min_length;
            config.recipe()
        };
        assert_ne!(by_bleu(0), by_bleu(1), "validation depends on it");
        assert!(!same(|c| c.train.validate_every += 1));
        assert!(!same(|c| c.seed += 1));
        assert!(!same(|c| c.train.schedule.kind = ScheduleKind::Cosine));
        let cosine = |steps| {
            let mut config = config.clone();
            config.train.schedule.kind = ScheduleKind::Cosine;
            config.train.max_steps = steps;
            config.recipe()
        };
        assert_ne!(cosine(10), cosine(20));
    }

    #[test]
    fn limits_may_change_and_the_model_may_not() {
        let config = Config::default();
        let mut other = config.clone();
        other.train.max_steps += 1;
        other.decode.beam_width += 1;
        assert_eq!(config.difference_that_matters(&other), None);
        other.model.d_model = 64;
        let difference = config.difference_that_matters(&other).expect("a difference");
        assert_eq!(difference.key, "model.d_model");
        // Keys that nothing reads say nothing.
        let mut stored = config.clone();
        stored.model.recurrent.d_hidden += 1;
        assert_eq!(stored.difference_that_matters(&config), None);
        let mut sgd = config.clone();
        sgd.train.optimizer.kind = OptimizerKind::Sgd;
        let mut stored = sgd.clone();
        stored.train.optimizer.beta1 = 0.5;
        assert_eq!(stored.difference_that_matters(&sgd), None);
        let mut adam = config.clone();
        adam.train.optimizer.beta1 = 0.5;
        assert!(config.difference_that_matters(&adam).is_some());
        assert_eq!((difference.ours.as_str(), difference.theirs.as_str()), ("256", "64"));
    }
}
