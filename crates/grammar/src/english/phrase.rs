//! English noun phrases and pronouns.

use super::super::PartOfSpeech::{
    Adjective, Adposition, Adverb, Conjunction, Determiner as Article, Noun, Numeral, Particle,
    Pronoun as Personal, ProperNoun,
};
use super::super::features::GrammaticalNumber;
use super::super::nouns::Class;
use super::super::number;
use super::super::plan::{ClausePosition, Determiner, NounPhrase, PhrasePlan, Pronoun};
use super::super::surface::{Aspect, Surface};
use super::clause;

/// Grammatical role of a phrase, as far as English pronouns distinguish it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PronounRole {
    Subject,
    Object,
}

/// Appends a phrase.
pub(super) fn phrase(plan: &PhrasePlan, role: PronounRole, out: &mut Surface) {
    out.of(plan, Aspect::Referent);
    match plan {
        PhrasePlan::Pronoun(pronoun) => out.push(personal(*pronoun, role), Personal),
        PhrasePlan::Name(name) => out.push(*name, ProperNoun),
        PhrasePlan::City([city, _]) => out.push(*city, ProperNoun),
        PhrasePlan::Noun(plan) => noun_phrase(plan, out),
        PhrasePlan::Both(both) => {
            phrase(&both[0], role, out);
            out.of(plan, Aspect::Conjunction).push("and", Conjunction);
            phrase(&both[1], role, out);
        }
        PhrasePlan::Who if role == PronounRole::Subject => out.push("who", Personal),
        PhrasePlan::Who => out.push("whom", Personal),
        PhrasePlan::What => out.push("what", Personal),
        PhrasePlan::Relative(noun, _) if role == PronounRole::Subject && noun.class == Class::Person => {
            out.push("who", Personal);
        }
        PhrasePlan::Relative(..) => out.push("that", Personal),
    }
}

fn noun_phrase(plan: &NounPhrase, out: &mut Surface) {
    let noun = plan.noun.english(plan.number);
    let next = plan.adjective.map_or(noun, |adjective| adjective.english);
    out.of(plan, Aspect::Determiner);
    match &plan.determiner {
        Determiner::Bare => {}
        Determiner::The => out.push("the", Article),
        Determiner::A if next.starts_with(['a', 'e', 'i', 'o', 'u']) => out.push("an", Article),
        Determiner::A => out.push("a", Article),
        Determiner::No => out.push("no", Article),
        Determiner::This if plan.number == GrammaticalNumber::Plural => out.push("these", Article),
        Determiner::This => out.push("this", Article),
        Determiner::Every => out.push("every", Article),
        Determiner::Which => out.push("which", Article),
        Determiner::HowMany => out.extend(&[("how", Adverb), ("many", Adjective)]),
        Determiner::My(owner) => out.push(possessive(*owner), Article),
        Determiner::Count(count) => {
            for word in number::english(*count) {
                out.push(word, Numeral);
            }
        }
        Determiner::Of(owner) if owner.is_alive() => {
            phrase(owner, PronounRole::Object, out);
            out.of(plan, Aspect::Determiner).glue("'s", Particle);
        }
        Determiner::Of(_) => out.push("the", Article),
    }
    if let Some(adjective) = plan.adjective {
        out.of(plan, Aspect::Adjective).push(adjective.english, Adjective);
    }
    out.of(plan, Aspect::Noun).push(noun, Noun);
    if let Determiner::Of(owner) = &plan.determiner
        && !owner.is_alive()
    {
        // German has the genitive, which the article shows.
        if let PhrasePlan::Noun(owner) = &**owner {
            out.of(owner, Aspect::Determiner);
        }
        out.push("of", Adposition);
        phrase(owner, PronounRole::Object, out);
    }
    if let Some(relative) = &plan.relative {
        clause(relative, ClausePosition::Subordinate, out);
    }
}

fn personal(pronoun: Pronoun, role: PronounRole) -> &'static str {
    let forms = match pronoun {
        Pronoun::I => ["I", "me"],
        Pronoun::You => ["you", "you"],
        Pronoun::He => ["he", "him"],
        Pronoun::She => ["she", "her"],
        Pronoun::We => ["we", "us"],
        Pronoun::They => ["they", "them"],
    };
    forms[role as usize]
}

fn possessive(owner: Pronoun) -> &'static str {
    match owner {
        Pronoun::I => "my",
        Pronoun::You => "your",
        Pronoun::He => "his",
        Pronoun::She => "her",
        Pronoun::We => "our",
        Pronoun::They => "their",
    }
}
