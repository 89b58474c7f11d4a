//! Declension: the endings of articles and adjectives.

use super::super::features::{GrammaticalCase, GrammaticalNumber};
use super::super::nouns::Gender;

/// The column of a declension table: the gender, or the plural, which does not distinguish gender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DeclensionColumn {
    Masculine,
    Feminine,
    Neuter,
    Plural,
}

impl DeclensionColumn {
    /// The column of a noun.
    pub(super) fn new(gender: Gender, number: GrammaticalNumber) -> Self {
        match (number, gender) {
            (GrammaticalNumber::Plural, _) => DeclensionColumn::Plural,
            (_, Gender::Masculine) => DeclensionColumn::Masculine,
            (_, Gender::Feminine) => DeclensionColumn::Feminine,
            (_, Gender::Neuter) => DeclensionColumn::Neuter,
        }
    }
}

/// The endings of "dieser", "jeder", "welcher".
pub(super) fn strong(case: GrammaticalCase, column: DeclensionColumn) -> &'static str {
    match case {
        GrammaticalCase::Nominative => ["er", "e", "es", "e"][column as usize],
        GrammaticalCase::Accusative => ["en", "e", "es", "e"][column as usize],
        GrammaticalCase::Dative => ["em", "er", "em", "en"][column as usize],
        GrammaticalCase::Genitive => ["es", "er", "es", "er"][column as usize],
    }
}

/// The endings of "mein" and "kein": three forms have none.
pub(super) fn mixed(case: GrammaticalCase, column: DeclensionColumn) -> &'static str {
    match (case, column) {
        (GrammaticalCase::Nominative, DeclensionColumn::Masculine | DeclensionColumn::Neuter)
        | (GrammaticalCase::Accusative, DeclensionColumn::Neuter) => "",
        _ => strong(case, column),
    }
}

/// The definite article.
pub(super) fn definite(case: GrammaticalCase, column: DeclensionColumn) -> &'static str {
    match (case, strong(case, column)) {
        (_, "er") => "der",
        (_, "e") => "die",
        (_, "en") => "den",
        (_, "em") => "dem",
        (GrammaticalCase::Genitive, _) => "des",
        _ => "das",
    }
}

/// The relative pronoun: the article, but "denen" in the dative plural.
pub(super) fn relative(case: GrammaticalCase, column: DeclensionColumn) -> &'static str {
    match (case, column) {
        (GrammaticalCase::Dative, DeclensionColumn::Plural) => "denen",
        _ => definite(case, column),
    }
}

/// The ending of an adjective: weak if the article already shows case and gender.
pub(super) fn adjective(
    case: GrammaticalCase,
    column: DeclensionColumn,
    shown_by_article: bool,
) -> &'static str {
    if shown_by_article {
        match (case, column) {
            (_, DeclensionColumn::Plural) => "en",
            (GrammaticalCase::Nominative, _)
            | (GrammaticalCase::Accusative, DeclensionColumn::Feminine | DeclensionColumn::Neuter) => "e",
            _ => "en",
        }
    } else {
        match (case, column) {
            (GrammaticalCase::Genitive, DeclensionColumn::Masculine | DeclensionColumn::Neuter) => "en",
            _ => strong(case, column),
        }
    }
}
