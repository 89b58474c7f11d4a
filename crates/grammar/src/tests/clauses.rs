//! Verbs and their arguments.

use super::super::features::*;
use super::super::nouns::CITIES;
use super::super::plan::*;
use super::super::words::*;
use super::*;
use Determiner::{A, The, This};
use Tense::{Past, Perfect, Present};

#[test]
fn separable_verbs() {
    says(
        acting(pronoun(Pronoun::He), "aufmachen", Present, np(The, "door")),
        "He opens the door.",
        "Er macht die Tür auf.",
    );
    says(
        modal(acting(pronoun(Pronoun::I), "abholen", Present, pronoun(Pronoun::They)), Modal::Want),
        "I want to pick them up.",
        "Ich will sie abholen.",
    );
    says(
        acting(np(The, "aunt"), "einschalten", Perfect, np(The, "lamp")),
        "The aunt has turned on the lamp.",
        "Die Tante hat die Lampe eingeschaltet.",
    );
    check(
        SentencePlan::Complex(
            clause(np(The, "child"), "aufstehen", Present),
            Link::Because,
            acting(pronoun(Pronoun::She), "zumachen", Present, np(The, "windows")),
        ),
        "The child gets up because she closes the windows.",
        "Das Kind steht auf, weil sie die Fenster zumacht.",
    );
}

#[test]
fn places_directions_and_contractions() {
    says(
        with(clause(np(The, "horse"), "laufen", Past), &TO_PLACES[0], np(The, "big house")),
        "The horse ran into the big house.",
        "Das Pferd lief ins große Haus.",
    );
    says(
        with(clause(pronoun(Pronoun::We), "gehen", Present), &TO_PLACES[1], np(The, "school")),
        "We go to the school.",
        "Wir gehen zur Schule.",
    );
    says(
        with(clause(pronoun(Pronoun::I), "wohnen", Present), &AT_PLACES[0], np(of(The, "aunt"), "house")),
        "I live in the aunt's house.",
        "Ich wohne im Haus der Tante.",
    );
    says(
        with(
            acting(np(The, "woman"), "legen", Present, np(The, "book")),
            &ONTO_SURFACES[0],
            np(The, "table"),
        ),
        "The woman lays the book on the table.",
        "Die Frau legt das Buch auf den Tisch.",
    );
    says(
        with(clause(np(The, "cats"), "sitzen", Present), &AT_SURFACES[1], np(A, "bed")),
        "The cats sit under a bed.",
        "Die Katzen sitzen unter einem Bett.",
    );
    says(
        with(clause(PhrasePlan::Name("Paul"), "reisen", Perfect), &TO_CITY, PhrasePlan::City(CITIES[3])),
        "Paul has travelled to Munich.",
        "Paul ist nach München gereist.",
    );
}

#[test]
fn giving_waiting_comparing() {
    says(
        Clause {
            goal: Some(np(The, "friendly children")),
            ..acting(np(The, "man"), "geben", Present, np(A, "white glass"))
        },
        "The man gives the friendly children a white glass.",
        "Der Mann gibt den freundlichen Kindern ein weißes Glas.",
    );
    says(
        with(not(clause(pronoun(Pronoun::We), "warten", Present)), &WAIT_FOR, np(The, "bus")),
        "We do not wait for the bus.",
        "Wir warten nicht auf den Bus.",
    );
    says(
        Clause {
            quality: Some(Quality::More(["bigger", "größer"], np(This, "cow"))),
            ..clause(np(The, "horses"), "sein", Past)
        },
        "The horses were bigger than this cow.",
        "Die Pferde waren größer als diese Kuh.",
    );
    says(
        Clause {
            manner: Some(["slowly", "langsam"]),
            ..with(clause(np(The, "girl"), "schwimmen", Perfect), &COMPANY[2], np(The, "dog"))
        },
        "The girl has swum slowly without the dog.",
        "Das Mädchen ist langsam ohne den Hund geschwommen.",
    );
}
