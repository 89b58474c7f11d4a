//! The meaning of a sentence, independent of language.

use super::features::{GrammaticalNumber, Modal, Person, Tense};
use super::nouns::{Class, Noun};
use super::verbs::Verb;
use super::words::{Adjective, Preposition, QuestionWord, Time};

/// Personal pronouns. "It" is excluded: its German gender would depend on the referent.
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
    /// All pronouns.
    pub(super) const ALL: [Pronoun; 6] =
        [Pronoun::I, Pronoun::You, Pronoun::He, Pronoun::She, Pronoun::We, Pronoun::They];

    /// Person and number. "You" is always singular and informal ("du").
    pub(super) fn agreement(self) -> (Person, GrammaticalNumber) {
        match self {
            Pronoun::I => (Person::First, GrammaticalNumber::Singular),
            Pronoun::You => (Person::Second, GrammaticalNumber::Singular),
            Pronoun::He | Pronoun::She => (Person::Third, GrammaticalNumber::Singular),
            Pronoun::We => (Person::First, GrammaticalNumber::Plural),
            Pronoun::They => (Person::Third, GrammaticalNumber::Plural),
        }
    }
}

/// The determiner of a noun phrase.
#[derive(Clone, Debug)]
pub(super) enum Determiner {
    /// No determiner: indefinite plurals and mass nouns.
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
    Of(Box<PhrasePlan>),
}

/// A noun and its modifiers.
#[derive(Clone, Debug)]
pub(super) struct NounPhrase {
    pub(super) determiner: Determiner,
    pub(super) adjective: Option<&'static Adjective>,
    pub(super) noun: &'static Noun,
    pub(super) number: GrammaticalNumber,
    /// A relative clause, whose own subject or object is a [`PhrasePlan::Relative`].
    pub(super) relative: Option<Box<Clause>>,
}

/// A participant in a clause.
#[derive(Clone, Debug)]
pub(super) enum PhrasePlan {
    Pronoun(Pronoun),
    Name(&'static str),
    City([&'static str; 2]),
    Noun(NounPhrase),
    Both(Box<[PhrasePlan; 2]>),
    Who,
    What,
    /// The relative pronoun referring to this noun.
    Relative(&'static Noun, GrammaticalNumber),
}

impl PhrasePlan {
    /// Person and number for verb agreement.
    pub(super) fn agreement(&self) -> (Person, GrammaticalNumber) {
        match self {
            PhrasePlan::Pronoun(pronoun) => pronoun.agreement(),
            PhrasePlan::Noun(phrase) => (Person::Third, phrase.number),
            PhrasePlan::Relative(_, number) => (Person::Third, *number),
            PhrasePlan::Both(_) => (Person::Third, GrammaticalNumber::Plural),
            PhrasePlan::Name(_) | PhrasePlan::City(_) | PhrasePlan::Who | PhrasePlan::What => {
                (Person::Third, GrammaticalNumber::Singular)
            }
        }
    }

    /// Semantic class of the referent.
    pub(super) fn class(&self) -> Class {
        match self {
            PhrasePlan::Noun(phrase) => phrase.noun.class,
            PhrasePlan::Relative(noun, _) => noun.class,
            PhrasePlan::City(_) => Class::Place,
            PhrasePlan::What => Class::Thing,
            PhrasePlan::Pronoun(_) | PhrasePlan::Name(_) | PhrasePlan::Both(_) | PhrasePlan::Who => {
                Class::Person
            }
        }
    }

    /// Returns true if the phrase denotes a living being, whose possession English marks with "'s" rather
    /// than "of".
    pub(super) fn is_alive(&self) -> bool {
        matches!(self.class(), Class::Person | Class::Animal)
    }

    /// Returns true if a negated German clause attaches its negation to this object.
    pub(super) fn is_indefinite(&self) -> bool {
        match self {
            PhrasePlan::Noun(phrase) => matches!(phrase.determiner, Determiner::A | Determiner::Bare),
            _ => false,
        }
    }

    /// Returns true if the phrase itself is negative: "no dogs".
    pub(super) fn is_none(&self) -> bool {
        matches!(self, PhrasePlan::Noun(phrase) if matches!(phrase.determiner, Determiner::No))
    }

    /// The relative clause of a noun phrase.
    pub(super) fn relative(&self) -> Option<&Clause> {
        match self {
            PhrasePlan::Noun(phrase) => phrase.relative.as_deref(),
            _ => None,
        }
    }
}

/// A preposition and its phrase.
#[derive(Clone, Debug)]
pub(super) struct Adjunct {
    pub(super) preposition: &'static Preposition,
    pub(super) phrase: PhrasePlan,
}

/// The predicate of a copula.
#[derive(Clone, Debug)]
pub(super) enum Quality {
    /// "tired"
    Plain(&'static Adjective),
    /// "older than the man": the comparatives of both languages, and the standard of comparison.
    More([&'static str; 2], PhrasePlan),
}

/// The first element of a clause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Front {
    Subject,
    Time,
    Object,
    Word(QuestionWord),
}

/// A verb with its arguments and adverbials.
#[derive(Clone, Debug)]
pub(super) struct Clause {
    pub(super) front: Front,
    pub(super) subject: PhrasePlan,
    pub(super) verb: &'static Verb,
    pub(super) tense: Tense,
    pub(super) modal: Option<Modal>,
    pub(super) negated: bool,
    /// The recipient.
    pub(super) goal: Option<PhrasePlan>,
    pub(super) object: Option<PhrasePlan>,
    pub(super) quality: Option<Quality>,
    /// English, German.
    pub(super) manner: Option<[&'static str; 2]>,
    pub(super) adjuncts: Vec<Adjunct>,
    pub(super) time: Option<&'static Time>,
}

impl Clause {
    /// A clause that consists only of subject and verb.
    pub(super) fn new(
        verb: &'static Verb,
        subject: PhrasePlan,
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

/// The position of a clause in its sentence, which determines its word order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClausePosition {
    /// A declarative main clause, or a question about its subject.
    Statement,
    /// Any other question.
    Question,
    /// A main clause after its subordinate clause.
    AfterClause,
    /// The second of two main clauses that share a subject.
    Shared,
    /// A subordinate clause.
    Subordinate,
}

/// A conjunction of two main clauses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Join {
    And,
    But,
    /// "and", with the subject left out.
    AndAlso,
}

/// A subordinating conjunction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Link {
    Because,
    Although,
    If,
    While,
    /// Only in the past, where German uses "als".
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
pub(super) enum SentencePlan {
    Statement(Clause),
    /// A yes-no question, or a question with a question word.
    Question(Clause),
    /// A question about the subject.
    WhoDoes(Clause),
    Compound(Clause, Join, Clause),
    /// The main clause first.
    Complex(Clause, Link, Clause),
    /// The subordinate clause first.
    Fronted(Link, Clause, Clause),
}
