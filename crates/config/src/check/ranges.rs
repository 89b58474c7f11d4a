//! Ranges of numbers, as the schema declares them.

use attentive_base::error::{Error, Result};
use toml::{Table, Value};

use super::require;
use crate::Config;
use crate::range::Range;
use crate::schema::{KEYS, KeyType};
use crate::table;

/// Refuses numbers of the section `section` ("" for all) that are out of range, unless they have no effect.
pub(super) fn check(config: &Config, section: &str) -> Result<()> {
    let table = Table::try_from(config).map_err(|error| {
        Error::config("model", format!("whole numbers up to {}", i64::MAX), error.to_string())
    })?;
    let exempt = config.unused_keys();
    let keys = KEYS.iter().map(|key| (key.path.as_str(), key.kind));
    let keys = keys.filter(|(key, _)| key.starts_with(section) && !exempt.contains(key));
    for (key, kind) in keys {
        match (kind, table::get(&table, key)) {
            (KeyType::Whole, Some(Value::Integer(value))) => whole(key, *value as u64)?,
            (KeyType::Number, Some(Value::Float(value))) => number(key, *value)?,
            _ => {}
        }
    }
    Ok(())
}

/// Checks a whole number.
pub(super) fn whole(key: &str, value: u64) -> Result<()> {
    let range = Range::of(key);
    let (least, most) = (range.least.unwrap_or(0.0), range.most.unwrap_or(f64::MAX));
    let is = value as f64;
    require(is >= least, key, format!("a whole number, {least} or more"), value)?;
    // Larger sizes are typing errors, and their allocation would fail.
    require(is <= most, key, format!("at most {most}"), value)?;
    require(range.contains(is), key, format!("a whole number{range}"), value)
}

/// Checks any number.
pub(super) fn number(key: &str, value: f64) -> Result<()> {
    let range = Range::of(key);
    require(range.contains(value), key, format!("a number{range}"), value)
}
