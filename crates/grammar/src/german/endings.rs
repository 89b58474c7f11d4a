//! Declension: the endings of articles and adjectives.

use super::super::features::{Case, Number};
use super::super::nouns::Gender;

/// The column of a declension table: the gender, or the plural, which does not distinguish gender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Column {
    Masculine,
    Feminine,
    Neuter,
    Plural,
}

impl Column {
    /// The column of a noun.
    pub(super) fn new(gender: Gender, number: Number) -> Self {
        match (number, gender) {
            (Number::Plural, _) => Column::Plural,
            (_, Gender::Masculine) => Column::Masculine,
            (_, Gender::Feminine) => Column::Feminine,
            (_, Gender::Neuter) => Column::Neuter,
        }
    }
}

/// The endings of "dieser", "jeder", "welcher".
pub(super) fn strong(case: Case, column: Column) -> &'static str {
    match case {
        Case::Nominative => ["er", "e", "es", "e"][column as usize],
        Case::Accusative => ["en", "e", "es", "e"][column as usize],
        Case::Dative => ["em", "er", "em", "en"][column as usize],
        Case::Genitive => ["es", "er", "es", "er"][column as usize],
    }
}

/// The endings of "mein" and "kein": three forms have none.
pub(super) fn mixed(case: Case, column: Column) -> &'static str {
    match (case, column) {
        (Case::Nominative, Column::Masculine | Column::Neuter) | (Case::Accusative, Column::Neuter) => "",
        _ => strong(case, column),
    }
}

/// The definite article.
pub(super) fn definite(case: Case, column: Column) -> &'static str {
    match (case, strong(case, column)) {
        (_, "er") => "der",
        (_, "e") => "die",
        (_, "en") => "den",
        (_, "em") => "dem",
        (Case::Genitive, _) => "des",
        _ => "das",
    }
}

/// The relative pronoun: the article, but "denen" in the dative plural.
pub(super) fn relative(case: Case, column: Column) -> &'static str {
    match (case, column) {
        (Case::Dative, Column::Plural) => "denen",
        _ => definite(case, column),
    }
}

/// The ending of an adjective: weak if the article already shows case and gender.
pub(super) fn adjective(case: Case, column: Column, shown_by_article: bool) -> &'static str {
    if shown_by_article {
        match (case, column) {
            (_, Column::Plural) => "en",
            (Case::Nominative, _) | (Case::Accusative, Column::Feminine | Column::Neuter) => "e",
            _ => "en",
        }
    } else {
        match (case, column) {
            (Case::Genitive, Column::Masculine | Column::Neuter) => "en",
            _ => strong(case, column),
        }
    }
}
