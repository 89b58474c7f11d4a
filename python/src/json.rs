//! Reports as JSON.

use serde::Serialize;

/// `value` as JSON, which cannot fail for reports.
pub(crate) fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
