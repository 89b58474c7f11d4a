//! The parameters that training leaves unchanged.

use std::collections::BTreeSet;

use attentive_architecture::Architecture;
use attentive_base::error::{Error, Result};
use attentive_config::Config;
use attentive_model::model::Model;
use attentive_model::nn::{Blueprint, ParameterDeclaration};
use glob::Pattern;

const KEY: &str = "model.freeze";

/// The parameters that match a pattern of `model.freeze`: they have no gradient and no optimizer state, and
/// are not part of the gradient norm.
#[derive(Clone, Debug, Default)]
pub(super) struct Frozen {
    names: BTreeSet<String>,
    n_weights: usize,
}

impl Frozen {
    /// The frozen parameters of `architecture`.
    ///
    /// # Errors
    /// [`Error::Config`] for a pattern that matches no parameter, and if no trainable parameter is left.
    pub(super) fn of(config: &Config, architecture: &Architecture) -> Result<Self> {
        let parameters = Blueprint::new(architecture).into_parameters();
        let mut names = BTreeSet::new();
        for pattern in &config.model.freeze {
            let fits = Pattern::new(pattern).map_err(|error| {
                let found = format!("`{pattern}`: {error}");
                refused(found, "`*` stands for any characters, `?` for one".into())
            })?;
            let fitting =
                parameters.iter().map(|parameter| &parameter.name).filter(|name| fits.matches(name));
            let fitting: Vec<String> = fitting.cloned().collect();
            if fitting.is_empty() {
                return Err(fits_nothing(pattern, &parameters));
            }
            names.extend(fitting);
        }
        if !parameters.is_empty() && names.len() == parameters.len() {
            let found = "patterns that match all of them".into();
            return Err(refused(found, "leave out a pattern".into()));
        }
        let frozen = parameters.iter().filter(|parameter| names.contains(&parameter.name));
        Ok(Self { n_weights: frozen.map(ParameterDeclaration::size).sum(), names })
    }

    /// The number of frozen weights.
    pub(super) fn n_weights(&self) -> usize {
        self.n_weights
    }

    /// Their names.
    pub(super) fn names(&self) -> &BTreeSet<String> {
        &self.names
    }

    /// Freezes these parameters of `model`.
    pub(super) fn apply(&self, model: &Model) {
        model.freeze(|name| self.names.contains(name));
    }
}

fn refused(found: String, hint: String) -> Error {
    Error::Config {
        key: KEY.into(),
        expected: "patterns that match some of the parameters, but not all".into(),
        found,
        hint: Some(hint),
    }
}

fn fits_nothing(pattern: &str, parameters: &[ParameterDeclaration]) -> Error {
    const ALIKE: f64 = 0.7;
    let names = parameters.iter().map(|parameter| parameter.name.as_str());
    let sections: BTreeSet<String> = names
        .clone()
        .flat_map(|name| name.match_indices('.').map(|(end, _)| &name[..end]))
        .map(|section| format!("{section}.*"))
        .collect();
    let known = sections.iter().map(String::as_str).chain(names);
    let nearest = known
        .map(|known| (strsim::jaro_winkler(known, pattern), known))
        .filter(|(likeness, _)| *likeness >= ALIKE)
        // The shortest of equally similar names.
        .max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.len().cmp(&a.1.len())));
    let hint = match nearest {
        Some((_, name)) => format!("did you mean `{name}`?"),
        None => "the parts of the model are ".to_owned() + &parts(&sections),
    };
    refused(format!("`{pattern}`, which matches none"), hint)
}

/// Lists the top-level sections.
fn parts(sections: &BTreeSet<String>) -> String {
    let parts: Vec<String> = sections
        .iter()
        .filter(|section| section.matches('.').count() == 1)
        .map(|section| format!("`{section}`"))
        .collect();
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frozen(patterns: &[&str]) -> Result<Frozen> {
        let mut config = Config::default();
        config.model.freeze = patterns.iter().map(|&pattern| pattern.into()).collect();
        Frozen::of(&config, &config.model.architecture(20, 20))
    }

    #[test]
    fn patterns_name_parameters() {
        assert_eq!(frozen(&[]).expect("nothing").n_weights(), 0);
        let encoder = frozen(&["encoder.*"]).expect("the encoder");
        assert!(encoder.names.iter().all(|name| name.starts_with("encoder.")));
        assert!(encoder.n_weights() > 0);
        let keys = frozen(&["*.key.*", "encoder.*"]).expect("keys and the encoder");
        assert!(keys.names.is_superset(&encoder.names) && keys.names.len() > encoder.names.len());
    }

    #[test]
    fn patterns_that_fit_nothing_or_everything_are_refused() {
        let refused = |patterns: &[&str]| {
            let error = frozen(patterns).expect_err("refused");
            format!("{error} {}", error.hint().unwrap_or_default())
        };
        for (pattern, hint) in [
            ("encoder", "did you mean `encoder.*`?"),
            ("endocer.*", "did you mean `encoder.*`?"),
            ("xyz", "`decoder.*`, `encoder.*`"),
        ] {
            let message = refused(&["decoder.*", pattern]);
            assert!(message.contains(&format!("`{pattern}`, which matches none")));
            assert!(message.contains(hint), "{message}");
        }
        assert!(refused(&["*"]).contains("all of them"));
        assert!(refused(&["[a"]).contains("`[a`"));
    }
}
