//! Formulas in TeX as MathML, which browsers show without scripts.

use anyhow::{Result, bail};
use pulldown_latex::config::{DisplayMode, RenderConfig};
use pulldown_latex::{Parser, Storage, push_mathml};

/// Replaces `$…$` in a line by MathML, except in code between backticks.
pub(crate) fn inline(line: &str) -> Result<String> {
    if line.matches('`').count() % 2 == 1 {
        bail!("code between backticks must not go over the end of a line: {}", line.trim());
    }
    let mut out = String::with_capacity(line.len());
    for (number, part) in line.split('`').enumerate() {
        if number > 0 {
            out.push('`');
        }
        let is_code = number % 2 == 1;
        if is_code || !part.contains('$') {
            out.push_str(part);
            continue;
        }
        let pieces: Vec<&str> = part.split('$').collect();
        if pieces.len().is_multiple_of(2) {
            bail!("a formula has no end, or a dollar sign is not written as code: {}", line.trim());
        }
        for (number, piece) in pieces.into_iter().enumerate() {
            if number % 2 == 1 {
                out.push_str(&mathml(piece, DisplayMode::Inline)?)
            } else {
                out.push_str(piece)
            }
        }
    }
    Ok(out)
}

/// A formula of its own.
pub(crate) fn display(tex: &str) -> Result<String> {
    Ok(mathml(tex, DisplayMode::Block)? + "\n")
}

fn mathml(tex: &str, display_mode: DisplayMode) -> Result<String> {
    let storage = Storage::new();
    let events: Vec<_> = Parser::new(tex, &storage).collect();
    if let Some(Err(error)) = events.iter().find(|event| event.is_err()) {
        bail!("the formula {tex} cannot be read: {error}");
    }
    let config = RenderConfig { display_mode, xml: true, ..RenderConfig::default() };
    let mut html = String::new();
    push_mathml(&mut html, events.into_iter(), config)?;
    // Nothing in it is Markdown, and a blank line would end the block of HTML.
    let mut safe = String::with_capacity(html.len());
    for c in html.chars() {
        match c {
            '_' | '*' | '[' | ']' | '~' | '`' | '\\' | '|' => safe.push_str(&format!("&#{};", u32::from(c))),
            '\n' => safe.push(' '),
            c => safe.push(c),
        }
    }
    Ok(safe)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_are_replaced_and_code_is_not() {
        let html = inline("if $a_1$ costs `$5`").unwrap();
        assert!(html.starts_with("if <math") && html.ends_with("</math> costs `$5`"), "{html}");
        assert!(inline("a $ b").is_err());
        assert!(inline("a `b").is_err());
        assert!(inline("$\\nonsense$").is_err());
    }
}
