//! Differences between configurations that prevent resuming a run.

use toml::{Table, Value};

use super::schema::{KEYS, Key, fact};
use super::{Config, ScheduleKind, table};

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
        ScheduleKind::Cosine | ScheduleKind::Linear if decay_steps == 0 => &["train.max_steps"],
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
