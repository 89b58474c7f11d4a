//! English noun phrases and pronouns.

use super::super::PartOfSpeech::{
    Adjective, Adposition, Adverb, Conjunction, Determiner as Article, Noun, Numeral, Particle,
    Pronoun as Personal, ProperNoun,
};
use super::super::features::Number;
use super::super::nouns::Class;
use super::super::number;
use super::super::plan::{Determiner, NounPhrase, Order, Phrase, Pronoun};
use super::super::surface::Surface;
use super::clause;

/// Grammatical role of a phrase, as far as English pronouns distinguish it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Subject,
    Object,
}

/// Appends a phrase.
pub(super) fn phrase(plan: &Phrase, role: Role, out: &mut Surface) {
    match plan {
        Phrase::Pronoun(pronoun) => out.push(personal(*pronoun, role), Personal),
        Phrase::Name(name) => out.push(*name, ProperNoun),
        Phrase::City([city, _]) => out.push(*city, ProperNoun),
        Phrase::Noun(plan) => noun_phrase(plan, out),
        Phrase::Both(both) => {
            phrase(&both[0], role, out);
            out.push("and", Conjunction);
            phrase(&both[1], role, out);
        }
        Phrase::Who if role == Role::Subject => out.push("who", Personal),
        Phrase::Who => out.push("whom", Personal),
        Phrase::What => out.push("what", Personal),
        Phrase::Relative(noun, _) if role == Role::Subject && noun.class == Class::Person => {
            out.push("who", Personal);
        }
        Phrase::Relative(..) => out.push("that", Personal),
    }
}

fn noun_phrase(plan: &NounPhrase, out: &mut Surface) {
    let noun = plan.noun.english(plan.number);
    let next = plan.adjective.map_or(noun, |adjective| adjective.english);
    match &plan.determiner {
        Determiner::Bare => {}
        Determiner::The => out.push("the", Article),
        Determiner::A if next.starts_with(['a', 'e', 'i', 'o', 'u']) => out.push("an", Article),
        Determiner::A => out.push("a", Article),
        Determiner::No => out.push("no", Article),
        Determiner::This if plan.number == Number::Plural => out.push("these", Article),
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
            phrase(owner, Role::Object, out);
            out.glue("'s", Particle);
        }
        Determiner::Of(_) => out.push("the", Article),
    }
    if let Some(adjective) = plan.adjective {
        out.push(adjective.english, Adjective);
    }
    out.push(noun, Noun);
    if let Determiner::Of(owner) = &plan.determiner
        && !owner.is_alive()
    {
        out.push("of", Adposition);
        phrase(owner, Role::Object, out);
    }
    if let Some(relative) = &plan.relative {
        clause(relative, Order::Subordinate, out);
    }
}

fn personal(pronoun: Pronoun, role: Role) -> &'static str {
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
