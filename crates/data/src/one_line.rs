//! Texts as lines and columns of a file.

/// Returns the text with blanks in place of line breaks.
pub fn one_line(text: &str) -> String {
    text.replace(['\r', '\n'], " ")
}

/// Returns the text with blanks in place of line breaks and tabs, for a file of tab-separated columns.
pub fn one_column(text: &str) -> String {
    text.replace(['\t', '\r', '\n'], " ")
}
