//! Defaults that depend on limits of training, which may be raised when a run is resumed.

use toml::Table;

use super::{Config, table};

/// Keys whose defaults are computed from others, among them `train.max_steps`, if training starts from a
/// model.
const KEPT: [&str; 2] = ["train.optimizer.learning_rate", "train.schedule.warmup_steps"];

/// Sets those of the keys that are missing in `table` to what they are in `begun`, the configuration with
/// which the run began.
pub(super) fn keep(table: &mut Table, begun: &Config) {
    let stored = Table::try_from(begun).unwrap_or_default();
    let unused = begun.unused_keys();
    for key in KEPT.iter().filter(|key| !unused.contains(key)) {
        if let Some(value) = table::get(&stored, key) {
            table::add(table, key, value.clone());
        }
    }
}
