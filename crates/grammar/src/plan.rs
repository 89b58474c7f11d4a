//! What a sentence means, before either language says it.

use super::features::{Modal, Number, Person, Tense};
use super::nouns::{Class, Noun};
use super::verbs::Verb;
use super::words::{Adjective, Preposition, QuestionWord, Time};

/// Personal pronouns. There is no "it": its German gender would depend on what it stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pronoun {
    I,
    You,
    He,
    She,
    We,
    They,
}

impl Pronoun {
    /// All of them.
    pub(super) const ALL: [Pronoun; 6] = [
        Pronoun::I,
        Pronoun::You,
        Pronoun::He,
        Pronoun::She,
        Pronoun::We,
        Pronoun::They,
    ];

    /// Person and number. "You" is always one person, spoken to as "du".
    pub(super) fn agreement(self) -> (Person, Number) {
        match self {
            Pronoun::I => (Person::First, Number::Singular),
            Pronoun::You => (Person::Second, Number::Singular),
            Pronoun::He | Pronoun::She => (Person::Third, Number::Singular),
            Pronoun::We => (Person::First, Number::Plural),
            Pronoun::They => (Person::Third, Number::Plural),
        }
    }
}

/// What opens a noun phrase.
#[derive(Clone, Debug)]
pub(super) enum Determiner {
    /// Nothing: plurals and mass nouns, indefinite.
    Bare,
    The,
    A,
    No,
    This,
    Every,
    Which,
    HowMany,
    My(Pronoun),
    Count(u16),
    /// A possessor: "the man's", "Anna's", "… of the house".
    Of(Box<Phrase>),
}

/// A noun with what belongs to it.
#[derive(Clone, Debug)]
pub(super) struct NounPhrase {
    pub(super) determiner: Determiner,
    pub(super) adjective: Option<&'static Adjective>,
    pub(super) noun: &'static Noun,
    pub(super) number: Number,
    /// A relative clause; its own subject or object is a [`Phrase::Relative`].
    pub(super) relative: Option<Box<Clause>>,
}

/// Whoever takes part in what a clause says.
#[derive(Clone, Debug)]
pub(super) enum Phrase {
    Pronoun(Pronoun),
    Name(&'static str),
    City([&'static str; 2]),
    Noun(NounPhrase),
    Both(Box<[Phrase; 2]>),
    Who,
    What,
    /// The relative pronoun for this noun.
    Relative(&'static Noun, Number),
}

impl Phrase {
    /// Person and number that a verb agrees with.
    pub(super) fn agreement(&self) -> (Person, Number) {
        match self {
            Phrase::Pronoun(pronoun) => pronoun.agreement(),
            Phrase::Noun(phrase) => (Person::Third, phrase.number),
            Phrase::Relative(_, number) => (Person::Third, *number),
            Phrase::Both(_) => (Person::Third, Number::Plural),
            Phrase::Name(_) | Phrase::City(_) | Phrase::Who | Phrase::What => {
                (Person::Third, Number::Singular)
            }
        }
    }

    /// What the phrase stands for.
    pub(super) fn class(&self) -> Class {
        match self {
            Phrase::Noun(phrase) => phrase.noun.class,
            Phrase::Relative(noun, _) => noun.class,
            Phrase::City(_) => Class::Place,
            Phrase::What => Class::Thing,
            Phrase::Pronoun(_) | Phrase::Name(_) | Phrase::Both(_) | Phrase::Who => Class::Person,
        }
    }

    /// Whether the phrase is for a living being, whose possession English marks with "'s" and not with "of".
    pub(super) fn is_alive(&self) -> bool {
        matches!(self.class(), Class::Person | Class::Animal)
    }

    /// Whether a negated clause puts its negation on this object in German.
    pub(super) fn is_indefinite(&self) -> bool {
        match self {
            Phrase::Noun(phrase) => matches!(phrase.determiner, Determiner::A | Determiner::Bare),
            _ => false,
        }
    }

    /// Whether the phrase denies that there is anything: "no dogs".
    pub(super) fn is_none(&self) -> bool {
        matches!(self, Phrase::Noun(phrase) if matches!(phrase.determiner, Determiner::No))
    }

    /// The relative clause of a noun phrase.
    pub(super) fn relative(&self) -> Option<&Clause> {
        match self {
            Phrase::Noun(phrase) => phrase.relative.as_deref(),
            _ => None,
        }
    }
}

/// A preposition and its phrase.
#[derive(Clone, Debug)]
pub(super) struct Adjunct {
    pub(super) preposition: &'static Preposition,
    pub(super) phrase: Phrase,
}

/// What a copula says of its subject.
#[derive(Clone, Debug)]
pub(super) enum Quality {
    /// "tired"
    Plain(&'static Adjective),
    /// "older than the man": the comparatives of both languages, and whom with.
    More([&'static str; 2], Phrase),
}

/// What comes first in a clause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Front {
    Subject,
    Time,
    Object,
    Word(QuestionWord),
}

/// One verb with its company.
#[derive(Clone, Debug)]
pub(super) struct Clause {
    pub(super) front: Front,
    pub(super) subject: Phrase,
    pub(super) verb: &'static Verb,
    pub(super) tense: Tense,
    pub(super) modal: Option<Modal>,
    pub(super) negated: bool,
    /// Who is given something.
    pub(super) goal: Option<Phrase>,
    pub(super) object: Option<Phrase>,
    pub(super) quality: Option<Quality>,
    /// English, German.
    pub(super) manner: Option<[&'static str; 2]>,
    pub(super) adjuncts: Vec<Adjunct>,
    pub(super) time: Option<&'static Time>,
}

impl Clause {
    /// A clause of nothing but subject and verb.
    pub(super) fn new(
        verb: &'static Verb,
        subject: Phrase,
        tense: Tense,
        modal: Option<Modal>,
        negated: bool,
    ) -> Self {
        Self {
            front: Front::Subject,
            subject,
            verb,
            tense,
            modal,
            negated,
            goal: None,
            object: None,
            quality: None,
            manner: None,
            adjuncts: Vec::new(),
            time: None,
        }
    }
}

/// The place of a clause in its sentence, which decides the order of its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// A main clause that states something, or asks for its subject.
    Statement,
    /// A main clause that asks for something else.
    Question,
    /// A main clause behind its subordinate clause.
    AfterClause,
    /// The second of two main clauses that share a subject.
    Shared,
    /// A subordinate clause.
    Subordinate,
}

/// Joins two main clauses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Join {
    And,
    But,
    /// "and", with the subject left out.
    AndAlso,
}

/// Joins a subordinate clause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Link {
    Because,
    Although,
    If,
    While,
    /// In the past alone, where German says "als".
    When,
    That,
    Whether,
}

impl Link {
    /// English, German.
    pub(super) fn words(self) -> [&'static str; 2] {
        match self {
            Link::Because => ["because", "weil"],
            Link::Although => ["although", "obwohl"],
            Link::If => ["if", "wenn"],
            Link::While => ["while", "während"],
            Link::When => ["when", "als"],
            Link::That => ["that", "dass"],
            Link::Whether => ["whether", "ob"],
        }
    }
}

/// A whole sentence.
#[derive(Debug)]
pub(super) enum Sentence {
    Statement(Clause),
    /// A yes-no question, or one with a question word.
    Question(Clause),
    /// A question for the subject.
    WhoDoes(Clause),
    Compound(Clause, Join, Clause),
    /// The main clause first.
    Complex(Clause, Link, Clause),
    /// The subordinate clause first.
    Fronted(Link, Clause, Clause),
}
