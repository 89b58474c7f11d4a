//! Realization of plans in German.

mod endings;
mod phrase;
mod verb;

use super::PartOfSpeech::{self, Adjective, Adposition, Adverb, Conjunction, Subordinator};
use super::features::Case;
use super::plan::{Clause, Front, Join, Link, Order, Phrase, Quality, Sentence};
use super::surface::Surface;
use super::verbs::Frame;
use phrase::{phrase, prepositional};
use verb::VerbGroup;

/// The words of `sentence`; the final punctuation mark is the same as in the English sentence.
pub(super) fn sentence(sentence: &Sentence) -> Surface {
    let mut out = Surface::default();
    match sentence {
        Sentence::Statement(main) | Sentence::WhoDoes(main) => {
            clause(main, Order::Statement, &mut out);
        }
        Sentence::Question(main) => clause(main, Order::Question, &mut out),
        Sentence::Compound(first, join, second) => {
            clause(first, Order::Statement, &mut out);
            match join {
                Join::And | Join::AndAlso => out.push("und", Conjunction),
                Join::But => {
                    out.comma();
                    out.push("aber", Conjunction);
                }
            }
            clause(second, second_order(*join), &mut out);
        }
        Sentence::Complex(main, link, dependent) => {
            clause(main, Order::Statement, &mut out);
            out.comma();
            subordinate(*link, dependent, &mut out);
        }
        Sentence::Fronted(link, dependent, main) => {
            subordinate(*link, dependent, &mut out);
            out.comma();
            clause(main, Order::AfterClause, &mut out);
        }
    }
    out
}

fn second_order(join: Join) -> Order {
    match join {
        Join::And | Join::But => Order::Statement,
        Join::AndAlso => Order::Shared,
    }
}

fn subordinate(link: Link, dependent: &Clause, out: &mut Surface) {
    out.push(link.words()[1], Subordinator);
    clause(dependent, Order::Subordinate, out);
}

/// A clause with the verb in second, first or last position, the middle field in between, and relative
/// clauses of objects at the end.
fn clause(plan: &Clause, order: Order, out: &mut Surface) {
    let group = VerbGroup::new(plan, order);
    match order {
        Order::Statement | Order::Question | Order::AfterClause => {
            let opened = order != Order::AfterClause && front(plan, order, out);
            group.finite(out);
            if !(opened && plan.front == Front::Subject) {
                subject(plan, out);
            }
        }
        Order::Shared => group.finite(out),
        Order::Subordinate => {
            if plan.front != Front::Subject {
                front(plan, order, out);
            }
            subject(plan, out);
        }
    }
    middle(plan, out);
    if order == Order::Subordinate {
        group.final_verbs(out);
    } else {
        group.closing(out);
    }
    for phrase in [&plan.goal, &plan.object].into_iter().flatten() {
        relative(phrase, out);
    }
}

/// Appends the opening element. Returns whether there is one: yes-no questions have none.
fn front(plan: &Clause, order: Order, out: &mut Surface) -> bool {
    match plan.front {
        Front::Subject if order == Order::Question => return false,
        Front::Subject => subject(plan, out),
        Front::Time => time(plan, out),
        Front::Object => object(plan, out),
        Front::Word([_, word]) => out.push(word, Adverb),
    }
    true
}

fn subject(plan: &Clause, out: &mut Surface) {
    phrase(&plan.subject, Case::Nominative, false, out);
    relative(&plan.subject, out);
}

/// The middle field: pronouns and names, time, noun phrases, negation, manner, adjuncts, quality.
fn middle(plan: &Clause, out: &mut Surface) {
    let object_here = plan.front != Front::Object;
    let light_goal = is_light(&plan.goal);
    let light_object = object_here && is_light(&plan.object);
    if light_goal {
        goal(plan, out);
    }
    if light_object {
        object(plan, out);
    }
    if plan.front != Front::Time {
        time(plan, out);
    }
    if !light_goal {
        goal(plan, out);
    }
    if object_here && !light_object {
        object(plan, out);
    }
    if plan.negated && !negative_object(plan) {
        out.push("nicht", PartOfSpeech::Particle);
    }
    if let Some([_, manner]) = plan.manner {
        out.push(manner, Adverb);
    }
    for adjunct in &plan.adjuncts {
        prepositional(adjunct, out);
    }
    match &plan.quality {
        Some(Quality::Plain(adjective)) => out.push(adjective.german, Adjective),
        Some(Quality::More([_, comparative], standard)) => {
            out.push(*comparative, Adjective);
            out.push("als", Adposition);
            phrase(standard, Case::Nominative, false, out);
        }
        None => {}
    }
}

/// Returns true if the phrase precedes the adverbial of time.
fn is_light(phrase: &Option<Phrase>) -> bool {
    matches!(phrase, Some(Phrase::Pronoun(_) | Phrase::Name(_)))
}

/// Returns true if the object carries the negation: "keinen Hund" rather than "einen Hund nicht".
fn negative_object(plan: &Clause) -> bool {
    plan.negated && plan.object.as_ref().is_some_and(Phrase::is_indefinite)
}

fn time(plan: &Clause, out: &mut Surface) {
    if let Some(time) = plan.time {
        out.extend(time.german);
    }
}

fn goal(plan: &Clause, out: &mut Surface) {
    if let Some(goal) = &plan.goal {
        phrase(goal, Case::Dative, false, out);
    }
}

fn object(plan: &Clause, out: &mut Surface) {
    let case = match plan.verb.frame {
        Frame::Dative(_) => Case::Dative,
        _ => Case::Accusative,
    };
    if let Some(object) = &plan.object {
        phrase(object, case, negative_object(plan), out);
    }
}

fn relative(phrase: &Phrase, out: &mut Surface) {
    if let Some(plan) = phrase.relative() {
        out.comma();
        clause(plan, Order::Subordinate, out);
        out.comma();
    }
}
