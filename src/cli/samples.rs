//! A translation beside its reference, as people read it.

use attentive::train::report::Sample;

/// The source with ✓ or ✗; below it the translation and, where that differs, the reference.
pub(super) fn lines(sample: &Sample) -> Vec<String> {
    let Sample {
        src,
        translation,
        reference,
    } = sample;
    if translation == reference {
        vec![format!("✓ {src}"), format!("  → {translation}")]
    } else {
        vec![
            format!("✗ {src}"),
            format!("  → {translation}"),
            format!("  = {reference}"),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_that_was_met_is_not_repeated() {
        let sample = Sample {
            src: "a".into(),
            translation: "b".into(),
            reference: "b".into(),
        };
        assert_eq!(lines(&sample), ["✓ a", "  → b"]);
    }
}
