//! Grammatical features shared by words and plans.

/// Grammatical number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GrammaticalNumber {
    Singular,
    Plural,
}

/// Grammatical person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Person {
    First,
    Second,
    Third,
}

/// German case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GrammaticalCase {
    Nominative,
    Accusative,
    Dative,
    Genitive,
}

/// Tense, as English marks it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tense {
    Present,
    Past,
    Perfect,
}

/// Modal verbs, and the future.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Modal {
    Can,
    Must,
    Want,
    Should,
    May,
    Will,
}
