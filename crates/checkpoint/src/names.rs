//! Parameter names in files of version 0.1.0.

/// Current and previous prefixes of names. A model with one stack had no `src` or `tgt` in its names.
const RENAMED: [(&str, &[&str]); 6] = [
    ("src.embedding.", &["src_embedding.", "embedding."]),
    ("tgt.embedding.", &["tgt_embedding.", "embedding."]),
    ("src.positions.", &["src_positions.", "positions."]),
    ("tgt.positions.", &["tgt_positions.", "positions."]),
    ("head.weight", &["output.projection", "output.weight"]),
    ("head.bias", &["output.bias"]),
];

/// The names under which version 0.1.0 may have stored the parameter `name`. An optimizer slot precedes the
/// name, as in `mean.head.weight`.
pub(super) fn old_names(name: &str) -> Vec<String> {
    let crossed = name.replace(".cross_attention", ".memory_attention");
    let slot_end = ["mean.", "square.", "velocity."]
        .iter()
        .find(|slot| name.starts_with(**slot))
        .map_or(0, |slot| slot.len());
    let (slot, parameter) = crossed.split_at(slot_end);
    let renamed = RENAMED.iter().filter_map(|(now, before)| {
        let rest = parameter.strip_prefix(now)?;
        Some(before.iter().map(move |before| format!("{slot}{before}{rest}")))
    });
    let mut names: Vec<String> = renamed.flatten().collect();
    if crossed != name {
        names.push(crossed.clone());
    }
    names
}

#[cfg(test)]
mod tests {
    use super::old_names;

    #[test]
    fn names_of_the_first_version() {
        assert_eq!(old_names("src.embedding.weight"), ["src_embedding.weight", "embedding.weight"]);
        assert_eq!(old_names("mean.head.weight"), ["mean.output.projection", "mean.output.weight"]);
        assert_eq!(
            old_names("square.decoder.layers.0.cross_attention.key.bias"),
            ["square.decoder.layers.0.memory_attention.key.bias"]
        );
        assert!(old_names("encoder.norm.gain").is_empty());
    }
}
