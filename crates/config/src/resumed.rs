//! Defaults that depend on limits of training, which may be raised when a run is resumed.

use toml::Table;

use super::schema::{KEYS, Key, fact};
use super::{Config, table};

/// Sets the keys that are missing in `table`, and whose defaults are computed from others, among them
/// `train.max_steps`, to what they are in `begun`, the configuration with which the run began.
pub(super) fn keep(table: &mut Table, begun: &Config) {
    let stored = Table::try_from(begun).unwrap_or_default();
    let unused = begun.unused_keys();
    let is_kept = |key: &&Key| fact(key.schema, "x-resume") == "kept" && !unused.contains(&&*key.path);
    for key in KEYS.iter().filter(is_kept) {
        if let Some(value) = table::get(&stored, &key.path) {
            table::add(table, &key.path, value.clone());
        }
    }
}
