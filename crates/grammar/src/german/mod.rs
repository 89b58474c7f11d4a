//! Realization of plans in German.

mod endings;
mod phrase;
mod verb;

use super::PartOfSpeech::{self, Adjective, Adposition, Adverb, Conjunction, Subordinator};
use super::features::GrammaticalCase;
use super::plan::{Clause, ClausePosition, Front, Join, Link, PhrasePlan, Quality, SentencePlan};
use super::surface::{Aspect, Surface};
use super::verbs::VerbFrame;
use phrase::{phrase, prepositional};
use verb::GermanVerbGroup;

/// The words of `sentence`; the final punctuation mark is the same as in the English sentence.
pub(super) fn sentence(sentence: &SentencePlan) -> Surface {
    let mut out = Surface::default();
    match sentence {
        SentencePlan::Statement(main) | SentencePlan::WhoDoes(main) => {
            clause(main, ClausePosition::Statement, &mut out);
        }
        SentencePlan::Question(main) => clause(main, ClausePosition::Question, &mut out),
        SentencePlan::Compound(first, join, second) => {
            clause(first, ClausePosition::Statement, &mut out);
            out.of(sentence, Aspect::Conjunction);
            match join {
                Join::And | Join::AndAlso => out.push("und", Conjunction),
                Join::But => out.comma_before(|out| out.push("aber", Conjunction)),
            }
            clause(second, second_order(*join), &mut out);
        }
        SentencePlan::Complex(main, link, dependent) => {
            clause(main, ClausePosition::Statement, &mut out);
            out.comma();
            subordinate(*link, dependent, out.of(sentence, Aspect::Conjunction));
        }
        SentencePlan::Fronted(link, dependent, main) => {
            subordinate(*link, dependent, out.of(sentence, Aspect::Conjunction));
            out.comma();
            clause(main, ClausePosition::AfterClause, &mut out);
        }
    }
    out
}

fn second_order(join: Join) -> ClausePosition {
    match join {
        Join::And | Join::But => ClausePosition::Statement,
        Join::AndAlso => ClausePosition::Shared,
    }
}

fn subordinate(link: Link, dependent: &Clause, out: &mut Surface) {
    out.push(link.words()[1], Subordinator);
    clause(dependent, ClausePosition::Subordinate, out);
}

/// A clause with the verb in second, first or last position, the middle field in between, and relative
/// clauses of objects at the end.
fn clause(plan: &Clause, position: ClausePosition, out: &mut Surface) {
    out.within(plan, |out| realized(plan, position, out));
}

fn realized(plan: &Clause, position: ClausePosition, out: &mut Surface) {
    let group = GermanVerbGroup::new(plan, position);
    match position {
        ClausePosition::Statement | ClausePosition::Question | ClausePosition::AfterClause => {
            let opened = position != ClausePosition::AfterClause && front(plan, position, out);
            group.finite(out.of(plan, Aspect::Verb));
            if !(opened && plan.front == Front::Subject) {
                subject(plan, out);
            }
        }
        ClausePosition::Shared => group.finite(out.of(plan, Aspect::Verb)),
        ClausePosition::Subordinate => {
            if plan.front != Front::Subject {
                front(plan, position, out);
            }
            subject(plan, out);
        }
    }
    middle(plan, out);
    if position == ClausePosition::Subordinate {
        group.final_verbs(out.of(plan, Aspect::Verb));
    } else {
        group.closing(out.of(plan, Aspect::Verb));
    }
    for phrase in [&plan.goal, &plan.object].into_iter().flatten() {
        relative(phrase, out);
    }
}

/// Appends the opening element. Returns whether there is one: yes-no questions have none.
fn front(plan: &Clause, position: ClausePosition, out: &mut Surface) -> bool {
    match plan.front {
        Front::Subject if position == ClausePosition::Question => return false,
        Front::Subject => subject(plan, out),
        Front::Time => time(plan, out),
        Front::Object => object(plan, out),
        Front::Word([_, word]) => out.of(plan, Aspect::Question).push(word, Adverb),
    }
    true
}

fn subject(plan: &Clause, out: &mut Surface) {
    phrase(&plan.subject, GrammaticalCase::Nominative, false, out);
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
        out.of(plan, Aspect::Negation).push("nicht", PartOfSpeech::Particle);
    }
    if let Some([_, manner]) = plan.manner {
        out.of(plan, Aspect::Manner).push(manner, Adverb);
    }
    for adjunct in &plan.adjuncts {
        prepositional(adjunct, out);
    }
    match &plan.quality {
        Some(Quality::Plain(adjective)) => out.of(plan, Aspect::Quality).push(adjective.german, Adjective),
        Some(Quality::More([_, comparative], standard)) => {
            out.of(plan, Aspect::Quality).push(*comparative, Adjective);
            out.of(plan, Aspect::Standard).push("als", Adposition);
            phrase(standard, GrammaticalCase::Nominative, false, out);
        }
        None => {}
    }
}

/// Returns true if the phrase precedes the adverbial of time.
fn is_light(phrase: &Option<PhrasePlan>) -> bool {
    matches!(phrase, Some(PhrasePlan::Pronoun(_) | PhrasePlan::Name(_)))
}

/// Returns true if the object carries the negation: "keinen Hund" rather than "einen Hund nicht".
fn negative_object(plan: &Clause) -> bool {
    plan.negated && plan.object.as_ref().is_some_and(PhrasePlan::is_indefinite)
}

fn time(plan: &Clause, out: &mut Surface) {
    if let Some(time) = plan.time {
        out.of(plan, Aspect::Time).extend(time.german);
    }
}

fn goal(plan: &Clause, out: &mut Surface) {
    if let Some(goal) = &plan.goal {
        phrase(goal, GrammaticalCase::Dative, false, out);
    }
}

fn object(plan: &Clause, out: &mut Surface) {
    let case = match plan.verb.frame {
        VerbFrame::Dative(_) => GrammaticalCase::Dative,
        _ => GrammaticalCase::Accusative,
    };
    if let Some(object) = &plan.object {
        phrase(object, case, negative_object(plan), out);
    }
}

fn relative(phrase: &PhrasePlan, out: &mut Surface) {
    if let Some(plan) = phrase.relative() {
        out.comma();
        clause(plan, ClausePosition::Subordinate, out);
        out.comma();
    }
}
