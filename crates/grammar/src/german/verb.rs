//! German verb groups: tense, modals, separable prefixes, agreement.

use super::super::PartOfSpeech::{self, Adposition, Auxiliary as Helper, Verb as Main};
use super::super::features::{GrammaticalNumber, Modal, Person, Tense};
use super::super::plan::{Clause, ClausePosition};
use super::super::surface::Surface;
use super::super::verbs::{Auxiliary, GermanVerb, HABEN, SEIN, VerbFrame};

/// The verbs of a clause: the finite verb, its prefix, and the verbs at the end.
pub(super) struct GermanVerbGroup {
    finite: (String, PartOfSpeech),
    prefix: &'static str,
    tail: Option<(String, PartOfSpeech)>,
}

impl GermanVerbGroup {
    /// The verbs of `plan`.
    pub(super) fn new(plan: &Clause, position: ClausePosition) -> Self {
        let verb = &plan.verb.german;
        let agreement = plan.subject.agreement();
        let is_copula = matches!(plan.verb.frame, VerbFrame::Copula);
        let tag = if is_copula { Helper } else { Main };
        if let Some(modal) = plan.modal {
            return Self {
                finite: (modal_form(modal, plan.tense, agreement), Helper),
                prefix: "",
                tail: Some((format!("{}{}", verb.prefix, verb.infinitive), tag)),
            };
        }
        match tense(plan, position) {
            Tense::Perfect => {
                let helper = match verb.auxiliary {
                    Auxiliary::Haben => &HABEN,
                    Auxiliary::Sein => &SEIN,
                };
                Self {
                    finite: (present(helper, agreement).to_owned(), Helper),
                    prefix: "",
                    tail: Some((verb.participle.to_owned(), tag)),
                }
            }
            Tense::Past => {
                Self { finite: (past(verb.past, agreement), tag), prefix: verb.prefix, tail: None }
            }
            Tense::Present => {
                Self { finite: (present(verb, agreement).to_owned(), tag), prefix: verb.prefix, tail: None }
            }
        }
    }

    /// Appends the finite verb of a main clause.
    pub(super) fn finite(&self, out: &mut Surface) {
        out.push(self.finite.0.clone(), self.finite.1);
    }

    /// Appends the end of a main clause: the prefix, the infinitive or the participle.
    pub(super) fn closing(&self, out: &mut Surface) {
        if !self.prefix.is_empty() {
            out.push(self.prefix, Adposition);
        }
        self.tail(out);
    }

    /// Appends all verbs in the order of a subordinate clause.
    pub(super) fn final_verbs(&self, out: &mut Surface) {
        self.tail(out);
        out.push(format!("{}{}", self.prefix, self.finite.0), self.finite.1);
    }

    fn tail(&self, out: &mut Surface) {
        if let Some((word, tag)) = &self.tail {
            out.push(word.clone(), *tag);
        }
    }
}

/// The German tense. The English simple past becomes the German perfect in questions and with "du", except
/// for the most frequent verbs, which keep the simple past.
fn tense(plan: &Clause, position: ClausePosition) -> Tense {
    let spoken = position == ClausePosition::Question || plan.subject.agreement().0 == Person::Second;
    let keeps_past = matches!(plan.verb.german.infinitive, "sein" | "haben" | "wissen");
    if plan.tense == Tense::Past && spoken && !keeps_past { Tense::Perfect } else { plan.tense }
}

fn present(verb: &GermanVerb, (person, number): (Person, GrammaticalNumber)) -> &'static str {
    match number {
        GrammaticalNumber::Singular => verb.singular[person as usize],
        GrammaticalNumber::Plural => verb.plural,
    }
}

/// Adds personal endings to the first person of the simple past.
fn past(first: &str, (person, number): (Person, GrammaticalNumber)) -> String {
    let ending = match (person, number) {
        (Person::Second, GrammaticalNumber::Singular) => "st",
        (_, GrammaticalNumber::Singular) => "",
        (_, GrammaticalNumber::Plural) if first.ends_with('e') => "n",
        (_, GrammaticalNumber::Plural) => "en",
    };
    format!("{first}{ending}")
}

fn modal_form(modal: Modal, tense: Tense, agreement: (Person, GrammaticalNumber)) -> String {
    let (singular, plural, past_form) = match modal {
        Modal::Can => (["kann", "kannst"], "können", "konnte"),
        Modal::Must => (["muss", "musst"], "müssen", "musste"),
        Modal::Want => (["will", "willst"], "wollen", "wollte"),
        Modal::May => (["darf", "darfst"], "dürfen", "durfte"),
        // Neither "should" nor "sollte" is a past tense here.
        Modal::Should => return past("sollte", agreement),
        Modal::Will => {
            return match agreement {
                (Person::First, GrammaticalNumber::Singular) => "werde",
                (Person::Second, GrammaticalNumber::Singular) => "wirst",
                (Person::Third, GrammaticalNumber::Singular) => "wird",
                (_, GrammaticalNumber::Plural) => "werden",
            }
            .to_owned();
        }
    };
    match (tense, agreement) {
        (Tense::Past, _) => past(past_form, agreement),
        (_, (Person::Second, GrammaticalNumber::Singular)) => singular[1].to_owned(),
        (_, (_, GrammaticalNumber::Singular)) => singular[0].to_owned(),
        (_, (_, GrammaticalNumber::Plural)) => plural.to_owned(),
    }
}
