//! Differences between configurations that prevent resuming a run.

use toml::Value;

use super::{Config, ScheduleKind};

/// Keys that may change when a run is resumed: limits, validation, checkpoints, and search.
const FREE: &[&str] = &[
    "data.store",
    "data.store_dir",
    "data.valid",
    "decode",
    "train.average_last",
    "train.best_by",
    "train.keep_last",
    "train.log_every",
    "train.max_epochs",
    "train.max_memory_mb",
    "train.max_steps",
    "train.patience",
    "train.samples",
    "train.save_every",
    "train.tensorboard",
    "train.validate_every",
    "train.validate_sentences",
];

/// A key whose value differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The key with its section.
    pub key: String,
    /// The value here.
    pub ours: String,
    /// The value in the other configuration.
    pub theirs: String,
}

impl Config {
    /// The first difference of `other` that prevents resuming a run started with `self`.
    pub fn difference_that_matters(&self, other: &Config) -> Option<Difference> {
        let bound = bound_by_schedule(self.train.schedule.kind, self.train.schedule.decay_steps);
        let unused = other.unused_keys();
        self.difference_among(other, |key| {
            let is_bound = || bound.iter().any(|bound| key.starts_with(bound));
            !unused.contains(&key) && (!is_free(key) || is_bound())
        })
    }

    /// The first key that has another value in `other`.
    pub fn difference(&self, other: &Config) -> Option<Difference> {
        self.difference_among(other, |_| true)
    }

    /// The first of the keys that matter that has another value in `other`.
    pub(super) fn difference_among(
        &self,
        other: &Config,
        matters: impl Fn(&str) -> bool,
    ) -> Option<Difference> {
        let (ours, theirs) = (flatten(self), flatten(other));
        let value_in = |list: &[(String, String)], key: &str| {
            list.iter()
                .find(|(known, _)| known == key)
                .map_or_else(|| "nothing".to_owned(), |(_, value)| value.clone())
        };
        let keys = ours.iter().chain(&theirs).map(|(key, _)| key.as_str());
        // Another family has other keys.
        let keys = std::iter::once("model.family").chain(keys);
        keys.filter(|key| matters(key)).find_map(|key| {
            let (ours, theirs) = (value_in(&ours, key), value_in(&theirs, key));
            (ours != theirs).then(|| Difference {
                key: key.to_owned(),
                ours,
                theirs,
            })
        })
    }
}

/// Keys that the learning rate depends on under this schedule, though other schedules leave them free.
fn bound_by_schedule(kind: ScheduleKind, decay_steps: u64) -> &'static [&'static str] {
    match kind {
        ScheduleKind::Cosine if decay_steps == 0 => &["train.max_steps"],
        ScheduleKind::Plateau => &["train.validate_every", "data.valid"],
        _ => &[],
    }
}

fn is_free(key: &str) -> bool {
    FREE.iter().any(|free| {
        key.strip_prefix(free)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    })
}

/// Every value with its dotted key.
fn flatten(config: &Config) -> Vec<(String, String)> {
    let mut found = Vec::new();
    if let Ok(value) = Value::try_from(config) {
        descend(String::new(), &value, &mut found);
    }
    found
}

fn descend(key: String, value: &Value, found: &mut Vec<(String, String)>) {
    match value {
        Value::Table(table) => {
            for (name, value) in table {
                let key = if key.is_empty() {
                    name.clone()
                } else {
                    format!("{key}.{name}")
                };
                descend(key, value, found);
            }
        }
        value => found.push((key, value.to_string())),
    }
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
        let difference = config
            .difference_that_matters(&other)
            .expect("a difference");
        assert_eq!(difference.key, "model.d_model");
        // Version 0.1.0 let keys stand that nothing reads.
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
        assert_eq!(
            (difference.ours.as_str(), difference.theirs.as_str()),
            ("256", "64")
        );
    }
}
