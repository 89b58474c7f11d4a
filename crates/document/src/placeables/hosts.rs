//! Names and numbers of hosts, with ports and paths.

use std::ops::Range;

use super::end_of_address;

/// The ends of domains that are kept without a path. Few of them are words, which a missing blank would put
/// after a full stop.
const ALONE: [&str; 23] = [
    "com", "org", "net", "edu", "gov", "int", "dev", "app", "ai", "eu", "uk", "de", "fr", "pl", "nl", "ch",
    "ru", "cn", "jp", "kr", "br", "io", "example",
];

/// Further ends of domains, which are kept with a path.
const WITH_PATH: [&str; 24] = [
    "at", "au", "be", "biz", "ca", "cc", "co", "cz", "dk", "es", "gg", "gl", "in", "info", "is", "it", "ly",
    "me", "mil", "se", "so", "to", "tv", "us",
];

/// The hosts in `text`, in order.
///
/// They are found without regular expressions, which would search each run of labels again from each of its
/// hosts.
pub(super) fn hosts(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let is_label = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'-' || *byte == b'.';
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = bytes[at..].iter().position(|byte| byte.is_ascii_alphanumeric()) {
        let start = at + start;
        let len = bytes[start..].iter().take_while(|byte| is_label(byte)).count();
        at = start + len;
        let name = text[start..at].trim_end_matches(['.', '-']);
        let end = start + name.len();
        let begins =
            !text[..start].ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '@' | '/' | ':'));
        if begins && let Some(end) = end_of_host(text, name, end) {
            found.push(start..end);
            at = at.max(end);
        }
    }
    found
}

/// The end of the address of the host `name`, which ends at `end`, if it is one.
fn end_of_host(text: &str, name: &str, end: usize) -> Option<usize> {
    let is_number = is_number(name);
    let last = name.rsplit('.').next().unwrap_or_default();
    let is_domain = name.len() > last.len() + 1 && !name.contains("..");
    let (is_alone, may_have_path) = match name {
        _ if is_number || name == "localhost" => (true, true),
        _ if is_domain && ALONE.contains(&last) => (true, true),
        _ => (false, is_domain && WITH_PATH.contains(&last)),
    };
    let rest = &text[end..];
    let port = rest.strip_prefix(':').map_or(0, |rest| rest.bytes().take_while(u8::is_ascii_digit).count());
    let after_port = if (1..=5).contains(&port) { end + 1 + port } else { end };
    let has_path = text[after_port..].starts_with('/') && may_have_path;
    // `localhost` and numbers are words, too.
    let is_host = is_alone && (is_domain || after_port > end) || is_number;
    let goes_on = |c: char| c.is_alphanumeric() || matches!(c, '_' | '@');
    if has_path && (is_host || is_domain || name == "localhost") {
        let path = &text[after_port..];
        let ends =
            |c: char| c.is_whitespace() || "<>\"“”„«»".contains(c) || matches!(c, '\u{2e80}'..='\u{ffef}');
        let len = path.find(ends).unwrap_or(path.len());
        return Some(end_of_address(text, end..after_port + len).max(after_port));
    }
    (is_host && !text[after_port..].starts_with(goes_on)).then_some(after_port)
}

/// True for four numbers of up to three digits.
fn is_number(name: &str) -> bool {
    let mut parts = name.split('.');
    let is_part =
        |part: &str| (1..=3).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
    let four = parts.by_ref().take(4).filter(|part| is_part(part)).count();
    four == 4 && parts.next().is_none()
}
