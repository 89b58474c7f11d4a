//! Estimated text widths; the actual font is the viewer's.

/// Font size of ordinary text, in pixels.
pub(super) const SIZE: f64 = 12.0;

/// The estimated width of `text` at `size`, on the wide side.
pub(super) fn width(text: &str, size: f64) -> f64 {
    text.chars().map(em).sum::<f64>() * size
}

/// The width of a character relative to the font size, for the wider common sans-serif fonts.
fn em(c: char) -> f64 {
    match c {
        'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' => 0.34,
        ' ' | 'f' | 't' | 'r' | '(' | ')' | '[' | ']' | '/' | '-' => 0.42,
        'm' | 'w' | 'M' | 'W' | '@' | '%' => 0.95,
        'A'..='Z' | '−' | '+' | '=' | '<' | '>' => 0.74,
        // East Asian characters and emoji are square.
        '\u{1100}'..='\u{115f}' | '\u{2e80}'..='\u{d7a3}' | '\u{f900}'..='\u{faff}' => 1.0,
        '\u{ff00}'..='\u{ff60}' | '\u{1f000}'.. => 1.0,
        _ => 0.63,
    }
}

/// Shortens `text` with an ellipsis to at most `most` pixels at `size`, if necessary.
pub(super) fn shorten(text: &str, size: f64, most: f64) -> String {
    if width(text, size) <= most {
        return text.to_owned();
    }
    let mut used = em('…') * size;
    let fits = |c: &char| {
        used += em(*c) * size;
        used <= most
    };
    let start: String = text.chars().take_while(fits).collect();
    format!("{}…", start.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longer_text_is_wider() {
        assert!(width("iii", SIZE) < width("mmm", SIZE));
        assert_eq!(width("", SIZE), 0.0);
        assert_eq!(width("中文", 10.0), 20.0);
    }

    #[test]
    fn text_is_shortened_only_if_necessary() {
        assert_eq!(shorten("a run", SIZE, 100.0), "a run");
        let short = shorten("a very long name of a run", SIZE, 100.0);
        assert!(short.ends_with('…') && width(&short, SIZE) <= 100.0, "{short}");
        assert_eq!(shorten("abc", SIZE, 0.0), "…");
    }
}
