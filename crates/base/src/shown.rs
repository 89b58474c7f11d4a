//! Texts of users in messages.

use std::borrow::Cow;

/// The maximum number of characters of a text that a message shows.
const MAX_CHARS: usize = 100;

/// Returns the beginning of `text`, and `…` if there is more.
///
/// ```
/// use attentive_base::shown::shown;
///
/// assert_eq!(shown("short"), "short");
/// assert!(shown(&"long".repeat(1000)).ends_with("long…"));
/// ```
pub fn shown(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(MAX_CHARS) {
        None => text.into(),
        Some((end, _)) => format!("{}…", &text[..end]).into(),
    }
}
