//! How wide text will be, without asking a font: it is the reader's.

/// Size of ordinary text, in pixels.
pub(super) const SIZE: f64 = 12.0;

/// The estimated width of `text` at `size`: rather too wide than too narrow.
pub(super) fn width(text: &str, size: f64) -> f64 {
    text.chars().map(em).sum::<f64>() * size
}

/// A character's width as a share of the font's size, for the wider ones of the usual sans-serif fonts.
fn em(c: char) -> f64 {
    match c {
        'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' => 0.34,
        ' ' | 'f' | 't' | 'r' | '(' | ')' | '[' | ']' | '/' | '-' => 0.42,
        'm' | 'w' | 'M' | 'W' | '@' | '%' => 0.95,
        'A'..='Z' | '−' | '+' | '=' | '<' | '>' => 0.74,
        // East Asian scripts and emoji fill a square.
        '\u{1100}'..='\u{115f}' | '\u{2e80}'..='\u{d7a3}' | '\u{f900}'..='\u{faff}' => 1.0,
        '\u{ff00}'..='\u{ff60}' | '\u{1f000}'.. => 1.0,
        _ => 0.63,
    }
}

/// The beginning of `text`, with an ellipsis if that is not all, no wider than `most` at `size`.
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
    fn text_is_shortened_only_where_it_must_be() {
        assert_eq!(shorten("a run", SIZE, 100.0), "a run");
        let short = shorten("a very long name of a run", SIZE, 100.0);
        assert!(
            short.ends_with('…') && width(&short, SIZE) <= 100.0,
            "{short}"
        );
        assert_eq!(shorten("abc", SIZE, 0.0), "…");
    }
}
