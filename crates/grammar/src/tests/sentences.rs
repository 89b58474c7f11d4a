//! Word order, subordinate and relative clauses, coordination, questions.

use super::super::features::*;
use super::super::nouns::CITIES;
use super::super::plan::*;
use super::super::words::*;
use super::*;
use Determiner::{HowMany, My, The, Which};
use Tense::{Past, Perfect, Present};

#[test]
fn the_verb_is_second_in_main_clauses() {
    let buys = || acting(np(The, "man"), "kaufen", Present, np(The, "bread"));
    says(at(buys(), "today", Front::Time), "Today the man buys the bread.", "Heute kauft der Mann das Brot.");
    says(
        at(buys(), "often", Front::Subject),
        "The man often buys the bread.",
        "Der Mann kauft oft das Brot.",
    );
    let invites = acting(pronoun(Pronoun::I), "einladen", Present, pronoun(Pronoun::You));
    says(
        at(modal(invites, Modal::Will), "next", Front::Time),
        "Next week I will invite you.",
        "Nächste Woche werde ich dich einladen.",
    );
    check(
        SentencePlan::Fronted(
            Link::Although,
            Clause {
                quality: Some(Quality::Plain(quality("tired"))),
                ..clause(np(The, "teacher"), "sein", Present)
            },
            modal(clause(pronoun(Pronoun::He), "tanzen", Present), Modal::Should),
        ),
        "Although the teacher is tired, he should dance.",
        "Obwohl der Lehrer müde ist, sollte er tanzen.",
    );
}

#[test]
fn the_verb_is_last_in_subordinate_clauses() {
    check(
        SentencePlan::Complex(
            clause(np(The, "woman"), "wissen", Present),
            Link::That,
            acting(np(The, "student"), "lesen", Perfect, np(The, "letter")),
        ),
        "The woman knows that the student has read the letter.",
        "Die Frau weiß, dass der Student den Brief gelesen hat.",
    );
    check(
        SentencePlan::Complex(
            clause(PhrasePlan::Name("Tom"), "fragen", Past),
            Link::Whether,
            modal(clause(pronoun(Pronoun::We), "singen", Past), Modal::Can),
        ),
        "Tom asked whether we could sing.",
        "Tom fragte, ob wir singen konnten.",
    );
    check(
        SentencePlan::Fronted(
            Link::When,
            clause(pronoun(Pronoun::I), "ankommen", Past),
            clause(np(The, "birds"), "schlafen", Past),
        ),
        "When I arrived, the birds slept.",
        "Als ich ankam, schliefen die Vögel.",
    );
}

#[test]
fn relative_clauses() {
    says(
        acting(
            related(np(The, "woman"), |who| {
                with(clause(who, "wohnen", Present), &IN_CITY, PhrasePlan::City(CITIES[2]))
            }),
            "lieben",
            Present,
            np(My(Pronoun::I), "brother"),
        ),
        "The woman who lives in Vienna loves my brother.",
        "Die Frau, die in Wien wohnt, liebt meinen Bruder.",
    );
    says(
        acting(
            pronoun(Pronoun::They),
            "anrufen",
            Past,
            related(np(The, "girls"), |that| Clause {
                front: Front::Object,
                ..acting(PhrasePlan::Name("Jan"), "danken", Present, that)
            }),
        ),
        "They called the girls that Jan thanks.",
        "Sie riefen die Mädchen an, denen Jan dankt.",
    );
}

#[test]
fn coordination() {
    let opens = || acting(np(The, "boy"), "aufmachen", Present, np(The, "window"));
    check(
        SentencePlan::Compound(opens(), Join::But, clause(pronoun(Pronoun::I), "schlafen", Present)),
        "The boy opens the window, but I sleep.",
        "Der Junge macht das Fenster auf, aber ich schlafe.",
    );
    check(
        SentencePlan::Compound(
            opens(),
            Join::AndAlso,
            with(clause(np(The, "boy"), "gehen", Present), &TO_PLACES[3], np(The, "house")),
        ),
        "The boy opens the window and goes out of the house.",
        "Der Junge macht das Fenster auf und geht aus dem Haus.",
    );
    let both = PhrasePlan::Both(Box::new([PhrasePlan::Name("Lena"), np(The, "dog")]));
    says(clause(both, "spielen", Past), "Lena and the dog played.", "Lena und der Hund spielten.");
}

#[test]
fn questions() {
    let buys = |object| acting(np(The, "man"), "kaufen", Past, object);
    asks(buys(np(The, "car")), "Did the man buy the car?", "Hat der Mann das Auto gekauft?");
    asks(
        asking(buys(np(Which, "hat")), Front::Object),
        "Which hat did the man buy?",
        "Welchen Hut hat der Mann gekauft?",
    );
    asks(
        asking(buys(np(HowMany, "eggs")), Front::Object),
        "How many eggs did the man buy?",
        "Wie viele Eier hat der Mann gekauft?",
    );
    asks(
        asking(acting(pronoun(Pronoun::You), "helfen", Present, PhrasePlan::Who), Front::Object),
        "Whom do you help?",
        "Wem hilfst du?",
    );
    asks(
        asking(clause(np(The, "children"), "laufen", Present), Front::Word(WHERE_TO)),
        "Where do the children run?",
        "Wohin laufen die Kinder?",
    );
    check(
        SentencePlan::WhoDoes(acting(PhrasePlan::Who, "einladen", Present, pronoun(Pronoun::We))),
        "Who invites us?",
        "Wer lädt uns ein?",
    );
}
