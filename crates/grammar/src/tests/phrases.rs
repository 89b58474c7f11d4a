//! Noun phrases, possession, negation.

use super::super::features::*;
use super::super::plan::*;
use super::*;
use Determiner::{A, Bare, Every, My, No, Of, The, This};
use Tense::{Past, Perfect, Present};

#[test]
fn noun_phrases_in_four_cases() {
    says(
        not(acting(np(The, "old man"), "sehen", Present, np(The, "small dogs"))),
        "The old man does not see the small dogs.",
        "Der alte Mann sieht die kleinen Hunde nicht.",
    );
    says(
        acting(np(A, "young girl"), "kaufen", Past, np(A, "big apple")),
        "A young girl bought a big apple.",
        "Ein junges Mädchen kaufte einen großen Apfel.",
    );
    says(
        acting(np(This, "doctors"), "helfen", Present, np(My(Pronoun::We), "neighbour")),
        "These doctors help our neighbour.",
        "Diese Ärzte helfen unserem Nachbarn.",
    );
    says(
        acting(np(Every, "child"), "folgen", Present, np(The, "friendly women")),
        "Every child follows the friendly women.",
        "Jedes Kind folgt den freundlichen Frauen.",
    );
    says(
        acting(pronoun(Pronoun::They), "trinken", Present, np(Bare, "cold water")),
        "They drink cold water.",
        "Sie trinken kaltes Wasser.",
    );
    says(
        acting(pronoun(Pronoun::I), "essen", Present, np(Determiner::Count(23), "fresh apples")),
        "I eat twenty-three fresh apples.",
        "Ich esse dreiundzwanzig frische Äpfel.",
    );
}

#[test]
fn possession() {
    says(
        acting(np(of(The, "old man"), "dog"), "finden", Past, np(of(The, "house"), "key")),
        "The old man's dog found the key of the house.",
        "Der Hund des alten Mannes fand den Schlüssel des Hauses.",
    );
    says(
        acting(
            np(Of(Box::new(PhrasePlan::Name("Anna"))), "big cat"),
            "sehen",
            Present,
            np(of(My(Pronoun::She), "student"), "hat"),
        ),
        "Anna's big cat sees her student's hat.",
        "Annas große Katze sieht den Hut ihres Studenten.",
    );
}

#[test]
fn negation() {
    says(
        not(acting(np(The, "woman"), "haben", Present, np(A, "new car"))),
        "The woman does not have a new car.",
        "Die Frau hat kein neues Auto.",
    );
    says(
        not(acting(np(The, "boys"), "kaufen", Perfect, np(Bare, "red flowers"))),
        "The boys have not bought red flowers.",
        "Die Jungen haben keine roten Blumen gekauft.",
    );
    says(
        acting(pronoun(Pronoun::She), "finden", Present, np(No, "key")),
        "She finds no key.",
        "Sie findet keinen Schlüssel.",
    );
    says(
        not(modal(clause(pronoun(Pronoun::You), "schlafen", Present), Modal::Can)),
        "You cannot sleep.",
        "Du kannst nicht schlafen.",
    );
    says(
        not(modal(clause(pronoun(Pronoun::He), "arbeiten", Present), Modal::Must)),
        "He does not have to work.",
        "Er muss nicht arbeiten.",
    );
}
