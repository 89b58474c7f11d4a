//! Adjectives, adverbs, prepositions, conjunctions, modals and question words.

use super::PartOfSpeech::{self, *};
use super::features::{Case, Tense};
use super::nouns::Class::{self, *};

/// Words with their tags.
pub(super) type Tagged = &'static [(&'static str, PartOfSpeech)];

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
pub(super) enum Span {
    Past,
    Now,
    Future,
    /// A part of the day or week: any tense except the perfect.
    Dated,
    /// A frequency.
    Habit,
}

impl Span {
    /// Returns true if the adverbial is compatible with this tense, with or without a modal or a negation.
    pub(super) fn fits(self, tense: Tense, modal: bool, negated: bool) -> bool {
        match self {
            Span::Past => tense == Tense::Past,
            Span::Now => tense != Tense::Past,
            Span::Future => tense == Tense::Present && modal,
            Span::Dated => tense != Tense::Perfect,
            Span::Habit => tense != Tense::Perfect && !modal && !negated,
        }
    }
}

/// The position of an adverbial of time in English, unless it opens the sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    /// Before the main verb: "often".
    Middle,
    /// At the end: "today".
    End,
}

/// An adverbial of time.
#[derive(Debug)]
pub(super) struct Time {
    pub(super) english: Tagged,
    pub(super) german: Tagged,
    pub(super) span: Span,
    pub(super) slot: Slot,
}

const fn time(span: Span, slot: Slot, english: Tagged, german: Tagged) -> Time {
    Time { english, german, span, slot }
}

/// The adverbials of time.
#[rustfmt::skip]
pub(super) static TIMES: &[Time] = &[
    time(Span::Past, Slot::End, &[("yesterday", Adverb)], &[("gestern", Adverb)]),
    time(Span::Past, Slot::End, &[("last", Adjective), ("week", Noun)], &[("letzte", Adjective), ("Woche", Noun)]),
    time(Span::Now, Slot::End, &[("today", Adverb)], &[("heute", Adverb)]),
    time(Span::Future, Slot::End, &[("tomorrow", Adverb)], &[("morgen", Adverb)]),
    time(Span::Future, Slot::End, &[("next", Adjective), ("week", Noun)], &[("nächste", Adjective), ("Woche", Noun)]),
    time(Span::Dated, Slot::End, &[("on", Adposition), ("Monday", ProperNoun)], &[("am", Adposition), ("Montag", Noun)]),
    time(Span::Dated, Slot::End, &[("in", Adposition), ("the", Determiner), ("morning", Noun)], &[("am", Adposition), ("Morgen", Noun)]),
    time(Span::Dated, Slot::End, &[("in", Adposition), ("the", Determiner), ("evening", Noun)], &[("am", Adposition), ("Abend", Noun)]),
    time(Span::Habit, Slot::End, &[("every", Determiner), ("day", Noun)], &[("jeden", Determiner), ("Tag", Noun)]),
    time(Span::Habit, Slot::Middle, &[("often", Adverb)], &[("oft", Adverb)]),
    time(Span::Habit, Slot::Middle, &[("always", Adverb)], &[("immer", Adverb)]),
    time(Span::Habit, Slot::Middle, &[("sometimes", Adverb)], &[("manchmal", Adverb)]),
];

/// A preposition and the case that it governs in the given sense.
#[derive(Debug)]
pub(super) struct Preposition {
    pub(super) english: &'static [&'static str],
    pub(super) german: &'static str,
    pub(super) case: Case,
}

const fn preposition(english: &'static [&'static str], german: &'static str, case: Case) -> Preposition {
    Preposition { english, german, case }
}

/// Location at a place.
pub(super) static AT_PLACES: &[Preposition] = &[
    IN,
    IN,
    preposition(&["behind"], "hinter", Case::Dative),
    preposition(&["in", "front", "of"], "vor", Case::Dative),
];
/// Location at a piece of furniture.
pub(super) static AT_SURFACES: &[Preposition] = &[
    preposition(&["on"], "auf", Case::Dative),
    preposition(&["under"], "unter", Case::Dative),
    preposition(&["next", "to"], "neben", Case::Dative),
];
/// Direction onto a piece of furniture.
pub(super) static ONTO_SURFACES: &[Preposition] = &[
    preposition(&["on"], "auf", Case::Accusative),
    preposition(&["under"], "unter", Case::Accusative),
    preposition(&["next", "to"], "neben", Case::Accusative),
];
/// Direction to a place.
pub(super) static TO_PLACES: &[Preposition] = &[
    preposition(&["into"], "in", Case::Accusative),
    preposition(&["to"], "zu", Case::Dative),
    preposition(&["through"], "durch", Case::Accusative),
    preposition(&["out", "of"], "aus", Case::Dative),
];
/// Accompaniment, or the lack of it.
pub(super) static COMPANY: &[Preposition] = &[
    preposition(&["with"], "mit", Case::Dative),
    preposition(&["with"], "mit", Case::Dative),
    preposition(&["without"], "ohne", Case::Accusative),
];
/// At a place or a city.
pub(super) const IN: Preposition = preposition(&["in"], "in", Case::Dative);
/// To a city.
pub(super) static TO_CITY: Preposition = preposition(&["to"], "nach", Case::Dative);
/// In a city.
pub(super) static IN_CITY: Preposition = IN;
/// For whose benefit.
pub(super) static FOR: Preposition = preposition(&["for"], "für", Case::Accusative);
/// The complement of "wait".
pub(super) static WAIT_FOR: Preposition = preposition(&["for"], "auf", Case::Accusative);

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
