//! Lines of a test set with translations, as text.

use attentive_evaluate::examples::TranslationExample;

/// `text` with blanks in place of control characters, which a terminal would obey.
pub(super) fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// The lines of `examples`, whose translations are by systems of these `names`.
pub(super) fn lines(examples: &[TranslationExample], names: &[&str]) -> Vec<String> {
    let rows = ["source", "reference"].into_iter().chain(names.iter().copied());
    let width = rows.map(|name| name.chars().count()).max().unwrap_or(0);
    let row = |name: &str, text: &str| format!("{name:width$}  {}", printable(text));
    let mut lines = Vec::new();
    for TranslationExample { line, source, reference, outputs } in examples {
        let scores: Vec<String> = outputs.iter().map(|output| format!("{:.1}", output.chrf)).collect();
        lines.extend([String::new(), format!("line {line}, chrF2 {}", scores.join(", "))]);
        lines.extend([row("source", source), row("reference", reference)]);
        lines.extend(names.iter().zip(outputs).map(|(name, output)| row(name, &output.marked)));
    }
    lines
}
