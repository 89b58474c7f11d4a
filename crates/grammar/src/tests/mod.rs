//! Plans of every construction, with their expected realizations in both languages.

mod clauses;
mod draws;
mod phrases;
mod sentences;

use super::features::*;
use super::nouns::{Class, Noun, nouns_of};
use super::plan::*;
use super::realise;
use super::verbs::{BE, CLAUSE_VERBS, VERBS, Verb};
use super::words::*;
use Determiner::Of;

const CLASSES: &[Class] = &[
    Class::Person,
    Class::Animal,
    Class::Food,
    Class::Drink,
    Class::Text,
    Class::Thing,
    Class::Surface,
    Class::Opening,
    Class::Device,
    Class::Vehicle,
    Class::Place,
];

fn noun(form: &str) -> (&'static Noun, GrammaticalNumber) {
    let noun = nouns_of(CLASSES)
        .into_iter()
        .find(|noun| noun.english.contains(&form))
        .unwrap_or_else(|| panic!("no noun {form:?}"));
    let plural = noun.english[1] == form;
    (noun, if plural { GrammaticalNumber::Plural } else { GrammaticalNumber::Singular })
}

fn quality(english: &str) -> &'static Adjective {
    CLASSES
        .iter()
        .flat_map(|&class| adjectives_of(class))
        .find(|adjective| adjective.english == english)
        .unwrap_or_else(|| panic!("no adjective {english:?}"))
}

/// A noun phrase: "old dogs" with its determiner.
fn np(determiner: Determiner, words: &str) -> PhrasePlan {
    let (adjective, form) = match words.split_once(' ') {
        Some((adjective, form)) => (Some(quality(adjective)), form),
        None => (None, words),
    };
    let (noun, number) = noun(form);
    PhrasePlan::Noun(NounPhrase { determiner, adjective, noun, number, relative: None })
}

fn of(determiner: Determiner, words: &str) -> Determiner {
    Of(Box::new(np(determiner, words)))
}

/// The verb with this German infinitive.
fn verb(infinitive: &str) -> &'static Verb {
    VERBS
        .iter()
        .chain(CLAUSE_VERBS)
        .chain([&BE])
        .find(|verb| format!("{}{}", verb.german.prefix, verb.german.infinitive) == infinitive)
        .unwrap_or_else(|| panic!("no verb {infinitive:?}"))
}

fn clause(subject: PhrasePlan, infinitive: &str, tense: Tense) -> Clause {
    Clause::new(verb(infinitive), subject, tense, None, false)
}

/// A clause with an object.
fn acting(subject: PhrasePlan, infinitive: &str, tense: Tense, object: PhrasePlan) -> Clause {
    Clause { object: Some(object), ..clause(subject, infinitive, tense) }
}

fn with(clause: Clause, preposition: &'static Preposition, phrase: PhrasePlan) -> Clause {
    Clause { adjuncts: vec![Adjunct { preposition, phrase }], ..clause }
}

fn not(clause: Clause) -> Clause {
    Clause { negated: true, ..clause }
}

fn modal(clause: Clause, modal: Modal) -> Clause {
    Clause { modal: Some(modal), ..clause }
}

fn at(clause: Clause, english: &str, front: Front) -> Clause {
    let time = TIMES.iter().find(|time| time.english.iter().any(|(word, _)| *word == english));
    Clause { time, front, ..clause }
}

fn asking(clause: Clause, front: Front) -> Clause {
    Clause { front, ..clause }
}

fn related(phrase: PhrasePlan, relative: impl FnOnce(PhrasePlan) -> Clause) -> PhrasePlan {
    let PhrasePlan::Noun(mut phrase) = phrase else {
        panic!("only nouns have relative clauses");
    };
    let pronoun = PhrasePlan::Relative(phrase.noun, phrase.number);
    phrase.relative = Some(Box::new(relative(pronoun)));
    PhrasePlan::Noun(phrase)
}

fn pronoun(pronoun: Pronoun) -> PhrasePlan {
    PhrasePlan::Pronoun(pronoun)
}

#[track_caller]
fn check(sentence: SentencePlan, english: &str, german: &str) {
    let pair = realise(&sentence);
    assert_eq!(pair.english.text, english);
    assert_eq!(pair.german.text, german);
}

#[track_caller]
fn says(clause: Clause, english: &str, german: &str) {
    check(SentencePlan::Statement(clause), english, german);
}

#[track_caller]
fn asks(clause: Clause, english: &str, german: &str) {
    check(SentencePlan::Question(clause), english, german);
}
