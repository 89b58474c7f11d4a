//! Defaults that depend on limits of training, which may be raised when a run is resumed.

use toml::{Table, Value};

use super::schema::{KEYS, Key, fact};
use super::{Config, table};

const BATCH: &str = "train.batch_tokens";

/// Sets the keys that are missing in `table`, and whose defaults are computed from others, among them
/// `train.max_steps`, to what they are in `begun`, the configuration with which the run began.
pub(super) fn keep(table: &mut Table, begun: &Config) {
    let stored = Table::try_from(begun).unwrap_or_default();
    let unused = begun.unused_keys();
    let is_kept = |key: &&Key| fact(key.schema, "x-resume") == "kept" && !unused.contains(&&*key.path);
    // The size that was found to fit when the run began.
    if table::get(table, BATCH).and_then(Value::as_integer) == Some(0) {
        table::remove(table, BATCH);
        table::add(table, BATCH, begun.train.batch_tokens as i64);
    }
    for key in KEYS.iter().filter(is_kept) {
        if let Some(value) = table::get(&stored, &key.path) {
            table::add(table, &key.path, value.clone());
        }
    }
}
