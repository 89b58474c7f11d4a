//! German noun phrases, pronouns and prepositional phrases.

use super::super::PartOfSpeech::{
    Adjective, Adposition, Adverb, Conjunction, Determiner as Article, Noun, Numeral, Pronoun as Personal,
    ProperNoun,
};
use super::super::features::{GrammaticalCase, GrammaticalNumber};
use super::super::nouns;
use super::super::number;
use super::super::plan::{Adjunct, Determiner, NounPhrase, PhrasePlan, Pronoun};
use super::super::surface::{Aspect, Surface};
use super::endings::{self, DeclensionColumn};

/// Appends a phrase without its relative clause; a `negated` indefinite phrase gets "kein".
pub(super) fn phrase(plan: &PhrasePlan, case: GrammaticalCase, negated: bool, out: &mut Surface) {
    out.of(plan, Aspect::Referent);
    match plan {
        PhrasePlan::Pronoun(pronoun) => out.push(personal(*pronoun, case), Personal),
        PhrasePlan::Name(name) => out.push(*name, ProperNoun),
        PhrasePlan::City([_, city]) => out.push(*city, ProperNoun),
        PhrasePlan::Noun(plan) => {
            article(plan, case, negated, out);
            after_article(plan, case, negated, out);
        }
        PhrasePlan::Both(both) => {
            phrase(&both[0], case, negated, out);
            out.of(plan, Aspect::Conjunction).push("und", Conjunction);
            phrase(&both[1], case, negated, out);
        }
        PhrasePlan::Who => out.push(["wer", "wen", "wem", "wessen"][case as usize], Personal),
        PhrasePlan::What => out.push("was", Personal),
        PhrasePlan::Relative(noun, number) => {
            let column = DeclensionColumn::new(noun.gender, *number);
            out.push(endings::relative(case, column), Personal);
        }
    }
}

/// Appends a preposition and its phrase, contracted where German requires it.
pub(super) fn prepositional(adjunct: &Adjunct, out: &mut Surface) {
    let preposition = adjunct.preposition;
    if let PhrasePlan::Noun(plan) = &adjunct.phrase
        && has_definite_article(plan)
    {
        let column = DeclensionColumn::new(plan.noun.gender, plan.number);
        let article = endings::definite(preposition.case, column);
        if let Some(contracted) = contraction(preposition.german, article) {
            out.of(adjunct, Aspect::Preposition).push(contracted, Adposition);
            out.also(plan, Aspect::Determiner);
            after_article(plan, preposition.case, false, out);
            return;
        }
    }
    out.of(adjunct, Aspect::Preposition).push(preposition.german, Adposition);
    phrase(&adjunct.phrase, preposition.case, false, out);
}

fn contraction(preposition: &str, article: &str) -> Option<&'static str> {
    match (preposition, article) {
        ("in", "dem") => Some("im"),
        ("in", "das") => Some("ins"),
        ("zu", "dem") => Some("zum"),
        ("zu", "der") => Some("zur"),
        _ => None,
    }
}

fn has_definite_article(plan: &NounPhrase) -> bool {
    match &plan.determiner {
        Determiner::The => true,
        Determiner::Of(owner) => !matches!(**owner, PhrasePlan::Name(_)),
        _ => false,
    }
}

fn article(plan: &NounPhrase, case: GrammaticalCase, negated: bool, out: &mut Surface) {
    let column = DeclensionColumn::new(plan.noun.gender, plan.number);
    let strong = endings::strong(case, column);
    let mixed = endings::mixed(case, column);
    out.of(plan, Aspect::Determiner);
    match &plan.determiner {
        Determiner::Bare if !negated => {}
        Determiner::A if !negated => out.push(format!("ein{mixed}"), Article),
        Determiner::Bare | Determiner::A | Determiner::No => {
            out.push(format!("kein{mixed}"), Article);
            if negated {
                out.also_negation();
            }
        }
        Determiner::This => out.push(format!("dies{strong}"), Article),
        Determiner::Every => out.push(format!("jed{strong}"), Article),
        Determiner::Which => out.push(format!("welch{strong}"), Article),
        Determiner::HowMany => out.extend(&[("wie", Adverb), ("viele", Adjective)]),
        Determiner::My(owner) => out.push(format!("{}{mixed}", possessive(*owner)), Article),
        Determiner::Count(count) => out.push(number::german(*count), Numeral),
        Determiner::Of(owner) if let PhrasePlan::Name(name) = **owner => {
            out.push(format!("{name}s"), ProperNoun);
            out.also(&**owner, Aspect::Referent);
        }
        Determiner::The | Determiner::Of(_) => out.push(endings::definite(case, column), Article),
    }
}

/// Adjective, noun and possessor.
fn after_article(plan: &NounPhrase, case: GrammaticalCase, negated: bool, out: &mut Surface) {
    let column = DeclensionColumn::new(plan.noun.gender, plan.number);
    if let Some(adjective) = plan.adjective {
        let stem = adjective.german.trim_end_matches('e');
        let shown = article_shows(plan, case, column, negated);
        let ending = endings::adjective(case, column, shown);
        out.of(plan, Aspect::Adjective).push(format!("{stem}{ending}"), Adjective);
    }
    out.of(plan, Aspect::Noun).push(noun(plan.noun, plan.number, case), Noun);
    if let Determiner::Of(owner) = &plan.determiner
        && !matches!(**owner, PhrasePlan::Name(_))
    {
        phrase(owner, GrammaticalCase::Genitive, false, out);
    }
}

/// Returns true if the article has an ending, so that the adjective's ending is weak.
fn article_shows(plan: &NounPhrase, case: GrammaticalCase, column: DeclensionColumn, negated: bool) -> bool {
    let has_ending = !endings::mixed(case, column).is_empty();
    match &plan.determiner {
        Determiner::Bare => negated && has_ending,
        Determiner::A | Determiner::No | Determiner::My(_) => has_ending,
        Determiner::Count(_) | Determiner::HowMany => false,
        Determiner::Of(owner) => !matches!(**owner, PhrasePlan::Name(_)),
        Determiner::The | Determiner::This | Determiner::Every | Determiner::Which => true,
    }
}

fn noun(noun: &nouns::Noun, number: GrammaticalNumber, case: GrammaticalCase) -> String {
    match (number, case) {
        (GrammaticalNumber::Singular, GrammaticalCase::Genitive) => noun.german_genitive.to_owned(),
        (GrammaticalNumber::Singular, GrammaticalCase::Accusative | GrammaticalCase::Dative)
            if noun.is_weak() =>
        {
            noun.german_genitive.to_owned()
        }
        (GrammaticalNumber::Singular, _) => noun.german.to_owned(),
        (GrammaticalNumber::Plural, GrammaticalCase::Dative) if !noun.german_plural.ends_with(['n', 's']) => {
            format!("{}n", noun.german_plural)
        }
        (GrammaticalNumber::Plural, _) => noun.german_plural.to_owned(),
    }
}

fn personal(pronoun: Pronoun, case: GrammaticalCase) -> &'static str {
    let [nominative, accusative, dative] = match pronoun {
        Pronoun::I => ["ich", "mich", "mir"],
        Pronoun::You => ["du", "dich", "dir"],
        Pronoun::He => ["er", "ihn", "ihm"],
        Pronoun::She => ["sie", "sie", "ihr"],
        Pronoun::We => ["wir", "uns", "uns"],
        Pronoun::They => ["sie", "sie", "ihnen"],
    };
    match case {
        GrammaticalCase::Nominative => nominative,
        GrammaticalCase::Accusative => accusative,
        GrammaticalCase::Dative => dative,
        GrammaticalCase::Genitive => unreachable!("pronoun possessors are determiners"),
    }
}

fn possessive(owner: Pronoun) -> &'static str {
    match owner {
        Pronoun::I => "mein",
        Pronoun::You => "dein",
        Pronoun::He => "sein",
        Pronoun::She | Pronoun::They => "ihr",
        Pronoun::We => "unser",
    }
}
