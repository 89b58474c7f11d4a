//! Adjectives, adverbs, prepositions, conjunctions, modals and question words.

use super::PartOfSpeech::{self, *};
use super::features::{GrammaticalCase, Tense};
use super::nouns::Class::{self, *};

/// Words with their tags.
pub(super) type TaggedWords = &'static [(&'static str, PartOfSpeech)];

/// An adjective in both languages.
#[derive(Debug)]
pub(super) struct Adjective {
    pub(super) english: &'static str,
    pub(super) german: &'static str,
    /// The English and German comparatives of gradable adjectives.
    pub(super) comparative: Option<[&'static str; 2]>,
    /// Classes of nouns that it applies to.
    pub(super) classes: &'static [Class],
}

const fn adjective(
    [english, german]: [&'static str; 2],
    comparative: Option<[&'static str; 2]>,
    classes: &'static [Class],
) -> Adjective {
    Adjective { english, german, comparative, classes }
}

const LIVING: &[Class] = &[Person, Animal];
const SIZED: &[Class] = &[Person, Animal, Food, Thing, Surface, Opening, Device, Vehicle, Place];
const MADE: &[Class] = &[Text, Thing, Surface, Opening, Device, Vehicle, Place];
const GOODS: &[Class] = &[Food, Drink, Text, Thing, Surface, Device, Vehicle];
const COLOURED: &[Class] = &[Thing, Surface, Opening, Device, Vehicle];

/// The adjectives.
#[rustfmt::skip]
static ADJECTIVES: &[Adjective] = &[
    adjective(["big", "groß"], Some(["bigger", "größer"]), SIZED),
    adjective(["small", "klein"], Some(["smaller", "kleiner"]), SIZED),
    adjective(["old", "alt"], Some(["older", "älter"]), &[Person, Animal, Text, Thing, Surface, Opening, Device, Vehicle, Place]),
    adjective(["young", "jung"], Some(["younger", "jünger"]), LIVING),
    adjective(["strong", "stark"], Some(["stronger", "stärker"]), LIVING),
    adjective(["friendly", "freundlich"], None, LIVING),
    adjective(["tired", "müde"], None, LIVING),
    adjective(["ill", "krank"], None, LIVING),
    adjective(["rich", "reich"], Some(["richer", "reicher"]), &[Person]),
    adjective(["happy", "glücklich"], Some(["happier", "glücklicher"]), &[Person]),
    adjective(["new", "neu"], None, MADE),
    adjective(["beautiful", "schön"], None, MADE),
    adjective(["red", "rot"], None, COLOURED),
    adjective(["white", "weiß"], None, COLOURED),
    adjective(["green", "grün"], None, COLOURED),
    adjective(["cheap", "billig"], Some(["cheaper", "billiger"]), GOODS),
    adjective(["good", "gut"], None, &[Person, Food, Drink, Text, Device]),
    adjective(["fresh", "frisch"], None, &[Food, Drink]),
    adjective(["cold", "kalt"], None, &[Drink]),
    adjective(["warm", "warm"], None, &[Drink]),
];

/// The adjectives that apply to a class.
pub(super) fn adjectives_of(class: Class) -> Vec<&'static Adjective> {
    ADJECTIVES.iter().filter(|adjective| adjective.classes.contains(&class)).collect()
}

/// Adverbs of manner: English, German.
pub(super) const MANNERS: &[[&str; 2]] =
    &[["quickly", "schnell"], ["slowly", "langsam"], ["quietly", "leise"], ["alone", "allein"]];

/// Tenses and contexts that an adverbial of time allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimeReference {
    Past,
    Now,
    Future,
    /// A part of the day or week: any tense except the perfect.
    Dated,
    /// A frequency.
    Habit,
}

impl TimeReference {
    /// Returns true if the adverbial is compatible with this tense, with or without a modal or a negation.
    pub(super) fn fits(self, tense: Tense, modal: bool, negated: bool) -> bool {
        match self {
            TimeReference::Past => tense == Tense::Past,
            TimeReference::Now => tense != Tense::Past,
            TimeReference::Future => tense == Tense::Present && modal,
            TimeReference::Dated => tense != Tense::Perfect,
            TimeReference::Habit => tense != Tense::Perfect && !modal && !negated,
        }
    }
}

/// The position of an adverbial of time in English, unless it opens the sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AdverbialPosition {
    /// Before the main verb: "often".
    Middle,
    /// At the end: "today".
    End,
}

/// An adverbial of time.
#[derive(Debug)]
pub(super) struct Time {
    pub(super) english: TaggedWords,
    pub(super) german: TaggedWords,
    pub(super) reference: TimeReference,
    pub(super) position: AdverbialPosition,
}

const fn time(
    reference: TimeReference,
    position: AdverbialPosition,
    english: TaggedWords,
    german: TaggedWords,
) -> Time {
    Time { english, german, reference, position }
}

/// The adverbials of time.
#[rustfmt::skip]
pub(super) static TIMES: &[Time] = &[
    time(TimeReference::Past, AdverbialPosition::End, &[("yesterday", Adverb)], &[("gestern", Adverb)]),
    time(TimeReference::Past, AdverbialPosition::End, &[("last", Adjective), ("week", Noun)], &[("letzte", Adjective), ("Woche", Noun)]),
    time(TimeReference::Now, AdverbialPosition::End, &[("today", Adverb)], &[("heute", Adverb)]),
    time(TimeReference::Future, AdverbialPosition::End, &[("tomorrow", Adverb)], &[("morgen", Adverb)]),
    time(TimeReference::Future, AdverbialPosition::End, &[("next", Adjective), ("week", Noun)], &[("nächste", Adjective), ("Woche", Noun)]),
    time(TimeReference::Dated, AdverbialPosition::End, &[("on", Adposition), ("Monday", ProperNoun)], &[("am", Adposition), ("Montag", Noun)]),
    time(TimeReference::Dated, AdverbialPosition::End, &[("in", Adposition), ("the", Determiner), ("morning", Noun)], &[("am", Adposition), ("Morgen", Noun)]),
    time(TimeReference::Dated, AdverbialPosition::End, &[("in", Adposition), ("the", Determiner), ("evening", Noun)], &[("am", Adposition), ("Abend", Noun)]),
    time(TimeReference::Habit, AdverbialPosition::End, &[("every", Determiner), ("day", Noun)], &[("jeden", Determiner), ("Tag", Noun)]),
    time(TimeReference::Habit, AdverbialPosition::Middle, &[("often", Adverb)], &[("oft", Adverb)]),
    time(TimeReference::Habit, AdverbialPosition::Middle, &[("always", Adverb)], &[("immer", Adverb)]),
    time(TimeReference::Habit, AdverbialPosition::Middle, &[("sometimes", Adverb)], &[("manchmal", Adverb)]),
];

/// A preposition and the case that it governs in the given sense.
#[derive(Debug)]
pub(super) struct Preposition {
    pub(super) english: &'static [&'static str],
    pub(super) german: &'static str,
    pub(super) case: GrammaticalCase,
}

const fn preposition(
    english: &'static [&'static str],
    german: &'static str,
    case: GrammaticalCase,
) -> Preposition {
    Preposition { english, german, case }
}

/// Location at a place.
pub(super) static AT_PLACES: &[Preposition] = &[
    IN,
    IN,
    preposition(&["behind"], "hinter", GrammaticalCase::Dative),
    preposition(&["in", "front", "of"], "vor", GrammaticalCase::Dative),
];
/// Location at a piece of furniture.
pub(super) static AT_SURFACES: &[Preposition] = &[
    preposition(&["on"], "auf", GrammaticalCase::Dative),
    preposition(&["under"], "unter", GrammaticalCase::Dative),
    preposition(&["next", "to"], "neben", GrammaticalCase::Dative),
];
/// Direction onto a piece of furniture.
pub(super) static ONTO_SURFACES: &[Preposition] = &[
    preposition(&["on"], "auf", GrammaticalCase::Accusative),
    preposition(&["under"], "unter", GrammaticalCase::Accusative),
    preposition(&["next", "to"], "neben", GrammaticalCase::Accusative),
];
/// Direction to a place.
pub(super) static TO_PLACES: &[Preposition] = &[
    preposition(&["into"], "in", GrammaticalCase::Accusative),
    preposition(&["to"], "zu", GrammaticalCase::Dative),
    preposition(&["through"], "durch", GrammaticalCase::Accusative),
    preposition(&["out", "of"], "aus", GrammaticalCase::Dative),
];
/// Accompaniment, or the lack of it.
pub(super) static COMPANY: &[Preposition] = &[
    preposition(&["with"], "mit", GrammaticalCase::Dative),
    preposition(&["with"], "mit", GrammaticalCase::Dative),
    preposition(&["without"], "ohne", GrammaticalCase::Accusative),
];
/// At a place or a city.
pub(super) const IN: Preposition = preposition(&["in"], "in", GrammaticalCase::Dative);
/// To a city.
pub(super) static TO_CITY: Preposition = preposition(&["to"], "nach", GrammaticalCase::Dative);
/// In a city.
pub(super) static IN_CITY: Preposition = IN;
/// For whose benefit.
pub(super) static FOR: Preposition = preposition(&["for"], "für", GrammaticalCase::Accusative);
/// The complement of "wait".
pub(super) static WAIT_FOR: Preposition = preposition(&["for"], "auf", GrammaticalCase::Accusative);

/// A question word that replaces an adverbial: English, German.
pub(super) type QuestionWord = [&'static str; 2];
/// Asks for a place.
pub(super) const WHERE: QuestionWord = ["where", "wo"];
/// Asks for a direction, for which English uses the same word.
pub(super) const WHERE_TO: QuestionWord = ["where", "wohin"];
/// Asks for a time.
pub(super) const WHEN: QuestionWord = ["when", "wann"];
/// Asks for a reason.
pub(super) const WHY: QuestionWord = ["why", "warum"];
