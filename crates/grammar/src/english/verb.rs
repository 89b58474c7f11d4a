//! English verb groups: tense, modals, "do", agreement.

use super::super::PartOfSpeech::{self, Auxiliary, Particle as Small, Verb};
use super::super::features::{GrammaticalNumber, Modal, Person, Tense};
use super::super::plan::{Clause, ClausePosition};
use super::super::surface::Surface;
use super::super::verbs::{EnglishVerb, Particle, VerbFrame};

const HAVE: EnglishVerb = auxiliary_verb(["have", "has", "had", "had"]);
const DO: EnglishVerb = auxiliary_verb(["do", "does", "did", "done"]);
const WANT: EnglishVerb = auxiliary_verb(["want", "wants", "wanted", "wanted"]);

const fn auxiliary_verb([base, third, past, participle]: [&'static str; 4]) -> EnglishVerb {
    EnglishVerb { base, third, past, participle, particle: Particle::None }
}

/// The verbs of a clause: the auxiliary, which takes the negation and precedes the subject of a question, and
/// the rest.
pub(super) struct EnglishVerbGroup {
    auxiliary: Option<&'static str>,
    rest: Vec<(&'static str, PartOfSpeech)>,
}

impl EnglishVerbGroup {
    /// The verbs of `plan`.
    pub(super) fn new(plan: &Clause, position: ClausePosition) -> Self {
        let verb = &plan.verb.english;
        let is_copula = matches!(plan.verb.frame, VerbFrame::Copula);
        let tag = if is_copula { Auxiliary } else { Verb };
        if let Some(modal) = plan.modal {
            let mut group = match modal_word(modal, plan.tense, plan.negated) {
                ModalWord::Auxiliary(word) => Self { auxiliary: Some(word), rest: Vec::new() },
                ModalWord::Full(full) => {
                    let mut group = Self::full(full, plan, position);
                    group.rest.push(("to", Small));
                    group
                }
            };
            group.rest.push((verb.base, tag));
            group
        } else if plan.tense == Tense::Perfect {
            Self { auxiliary: Some(finite(&HAVE, plan)), rest: vec![(verb.participle, tag)] }
        } else if is_copula {
            Self { auxiliary: Some(be(plan)), rest: Vec::new() }
        } else {
            Self::full(verb, plan, position)
        }
    }

    /// A full verb, with "do" where required.
    fn full(verb: &EnglishVerb, plan: &Clause, position: ClausePosition) -> Self {
        if plan.negated || position == ClausePosition::Question {
            Self { auxiliary: Some(finite(&DO, plan)), rest: vec![(verb.base, Verb)] }
        } else {
            Self { auxiliary: None, rest: vec![(finite(verb, plan), Verb)] }
        }
    }

    /// Appends the auxiliary, if any.
    pub(super) fn auxiliary(&self, out: &mut Surface) {
        if let Some(word) = self.auxiliary {
            out.push(word, Auxiliary);
        }
    }

    /// Appends the negation after the auxiliary.
    pub(super) fn not(&self, out: &mut Surface) {
        if self.auxiliary == Some("can") {
            out.glue("not", Small);
        } else {
            out.push("not", Small);
        }
    }

    /// Appends the other verbs.
    pub(super) fn rest(&self, out: &mut Surface) {
        out.extend(&self.rest);
    }
}

/// A modal: an auxiliary, or a full verb followed by "to".
enum ModalWord {
    Auxiliary(&'static str),
    Full(&'static EnglishVerb),
}

fn modal_word(modal: Modal, tense: Tense, negated: bool) -> ModalWord {
    match (modal, tense) {
        (Modal::Can, Tense::Past) => ModalWord::Auxiliary("could"),
        (Modal::Can, _) => ModalWord::Auxiliary("can"),
        (Modal::Must, Tense::Present) if !negated => ModalWord::Auxiliary("must"),
        // "must not" forbids; German "muss nicht" is "does not have to".
        (Modal::Must, _) => ModalWord::Full(&HAVE),
        (Modal::Want, _) => ModalWord::Full(&WANT),
        (Modal::Should, _) => ModalWord::Auxiliary("should"),
        (Modal::May, _) => ModalWord::Auxiliary("may"),
        (Modal::Will, _) => ModalWord::Auxiliary("will"),
    }
}

/// The form that agrees with the subject; for the perfect, the present of "have".
fn finite(verb: &EnglishVerb, plan: &Clause) -> &'static str {
    match (plan.tense, plan.subject.agreement()) {
        (Tense::Past, _) => verb.past,
        (_, (Person::Third, GrammaticalNumber::Singular)) => verb.third,
        _ => verb.base,
    }
}

fn be(plan: &Clause) -> &'static str {
    let past = plan.tense == Tense::Past;
    match plan.subject.agreement() {
        (Person::First, GrammaticalNumber::Singular) if !past => "am",
        (Person::First | Person::Third, GrammaticalNumber::Singular) if past => "was",
        (Person::Third, GrammaticalNumber::Singular) => "is",
        _ if past => "were",
        _ => "are",
    }
}
