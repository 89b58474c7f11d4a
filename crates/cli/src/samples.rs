//! A translation and its reference as human-readable lines.

use attentive_train::report::SampleTranslation;

/// The source marked ✓ or ✗, followed by the translation and, if different, the reference.
pub(super) fn lines(sample: &SampleTranslation) -> Vec<String> {
    let SampleTranslation { src, translation, reference } = sample;
    if translation == reference {
        vec![format!("✓ {src}"), format!("  → {translation}")]
    } else {
        vec![format!("✗ {src}"), format!("  → {translation}"), format!("  = {reference}")]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matched_reference_is_not_repeated() {
        let sample = SampleTranslation { src: "a".into(), translation: "b".into(), reference: "b".into() };
        assert_eq!(lines(&sample), ["✓ a", "  → b"]);
    }
}
