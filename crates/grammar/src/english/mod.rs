//! Realization of plans in English.

mod phrase;
mod verb;

use super::PartOfSpeech::{self, Adjective, Adposition, Adverb, Conjunction, Subordinator};
use super::plan::{Adjunct, Clause, ClausePosition, Front, Join, Link, PhrasePlan, Quality, SentencePlan};
use super::surface::{Aspect, Surface};
use super::verbs::Particle;
use super::words::AdverbialPosition;
use phrase::{PronounRole, phrase};
use verb::EnglishVerbGroup;

/// The words of `sentence` and its final punctuation mark.
pub(super) fn sentence(sentence: &SentencePlan) -> (Surface, &'static str) {
    let mut out = Surface::default();
    let mark = match sentence {
        SentencePlan::Statement(main) => {
            clause(main, ClausePosition::Statement, &mut out);
            "."
        }
        SentencePlan::Question(main) => {
            clause(main, ClausePosition::Question, &mut out);
            "?"
        }
        SentencePlan::WhoDoes(main) => {
            clause(main, ClausePosition::Statement, &mut out);
            "?"
        }
        SentencePlan::Compound(first, join, second) => {
            clause(first, ClausePosition::Statement, &mut out);
            join_with(*join, out.of(sentence, Aspect::Conjunction));
            let shared = *join == Join::AndAlso;
            clause(second, if shared { ClausePosition::Shared } else { ClausePosition::Statement }, &mut out);
            "."
        }
        SentencePlan::Complex(main, link, dependent) => {
            clause(main, ClausePosition::Statement, &mut out);
            subordinate(*link, dependent, out.of(sentence, Aspect::Conjunction));
            "."
        }
        SentencePlan::Fronted(link, dependent, main) => {
            subordinate(*link, dependent, out.of(sentence, Aspect::Conjunction));
            out.comma();
            clause(main, ClausePosition::AfterClause, &mut out);
            "."
        }
    };
    (out, mark)
}

fn join_with(join: Join, out: &mut Surface) {
    match join {
        Join::And | Join::AndAlso => out.push("and", Conjunction),
        Join::But => {
            out.comma_before(|out| out.push("but", Conjunction));
        }
    }
}

fn subordinate(link: Link, dependent: &Clause, out: &mut Surface) {
    out.push(link.words()[0], Subordinator);
    clause(dependent, ClausePosition::Subordinate, out);
}

fn clause(plan: &Clause, position: ClausePosition, out: &mut Surface) {
    out.within(plan, |out| realized(plan, position, out));
}

fn realized(plan: &Clause, position: ClausePosition, out: &mut Surface) {
    match plan.front {
        Front::Subject => {}
        Front::Time => time(plan, out),
        Front::Object => object(plan, out),
        Front::Word([word, _]) => out.of(plan, Aspect::Question).push(word, Adverb),
    }
    let group = EnglishVerbGroup::new(plan, position);
    if position == ClausePosition::Question {
        group.auxiliary(out.of(plan, Aspect::Verb));
        phrase(&plan.subject, PronounRole::Subject, out);
        if plan.negated {
            out.of(plan, Aspect::Negation).push("not", PartOfSpeech::Particle);
        }
    } else {
        if position != ClausePosition::Shared {
            phrase(&plan.subject, PronounRole::Subject, out);
        }
        group.auxiliary(out.of(plan, Aspect::Verb));
        if plan.negated {
            group.not(out.of(plan, Aspect::Negation));
        }
    }
    let in_front = plan.front == Front::Time;
    let time_position = plan.time.filter(|_| !in_front).map(|time| time.position);
    if time_position == Some(AdverbialPosition::Middle) {
        time(plan, out);
    }
    group.rest(out.of(plan, Aspect::Verb));
    complements(plan, out);
    if time_position == Some(AdverbialPosition::End) {
        time(plan, out);
    }
}

/// Everything between the verbs and the time.
fn complements(plan: &Clause, out: &mut Surface) {
    let object_here = plan.front != Front::Object;
    let by_pronoun = object_here && matches!(plan.object, Some(PhrasePlan::Pronoun(_)));
    match plan.verb.english.particle {
        Particle::Fixed(particle) => out.of(plan, Aspect::Verb).push(particle, Adposition),
        Particle::Movable(particle) if !by_pronoun => out.of(plan, Aspect::Verb).push(particle, Adposition),
        _ => {}
    }
    if let Some(goal) = &plan.goal {
        phrase(goal, PronounRole::Object, out);
    }
    if object_here {
        object(plan, out);
    }
    match plan.verb.english.particle {
        Particle::Movable(particle) if by_pronoun => out.of(plan, Aspect::Verb).push(particle, Adposition),
        _ => {}
    }
    match &plan.quality {
        Some(Quality::Plain(adjective)) => out.of(plan, Aspect::Quality).push(adjective.english, Adjective),
        Some(Quality::More([comparative, _], standard)) => {
            out.of(plan, Aspect::Quality).push(*comparative, Adjective);
            out.of(plan, Aspect::Standard).push("than", Adposition);
            phrase(standard, PronounRole::Object, out);
        }
        None => {}
    }
    if let Some([manner, _]) = plan.manner {
        out.of(plan, Aspect::Manner).push(manner, Adverb);
    }
    for adjunct in &plan.adjuncts {
        prepositional(adjunct, out);
    }
}

fn time(plan: &Clause, out: &mut Surface) {
    if let Some(time) = plan.time {
        out.of(plan, Aspect::Time).extend(time.english);
    }
}

fn object(plan: &Clause, out: &mut Surface) {
    if let Some(object) = &plan.object {
        phrase(object, PronounRole::Object, out);
    }
}

fn prepositional(adjunct: &Adjunct, out: &mut Surface) {
    for word in adjunct.preposition.english {
        out.of(adjunct, Aspect::Preposition).push(*word, Adposition);
    }
    phrase(&adjunct.phrase, PronounRole::Object, out);
}
