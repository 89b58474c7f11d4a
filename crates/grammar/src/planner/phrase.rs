//! Draws noun phrases.

use super::super::features::{GrammaticalNumber, Person};
use super::super::nouns::{Class, NAMES, Noun, nouns_of};
use super::super::plan::{Determiner, NounPhrase, PhrasePlan, Pronoun};
use super::super::words::adjectives_of;
use super::Planner;
use crate::random::RandomChoices;

const PLURAL: f64 = 0.3;
const ADJECTIVE: f64 = 0.25;
/// Probability that a phrase after a preposition gets "the" regardless of the drawn determiner, which
/// triggers German contractions.
const PLAIN_AFTER_PREPOSITION: f64 = 0.55;

/// Grammatical slot of a phrase in its clause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClauseSlot {
    Subject,
    /// An accusative object.
    Object,
    /// A dative object.
    Dative,
    /// An accusative object next to a dative or a place.
    Theme,
    /// After a preposition, or in a comparison.
    Other,
}

/// A slot in an affirmative or negated clause.
#[derive(Clone, Copy, Debug)]
pub(super) struct Use {
    slot: ClauseSlot,
    negated: bool,
}

impl Use {
    pub(super) fn new(slot: ClauseSlot, negated: bool) -> Self {
        Self { slot, negated }
    }

    /// Returns true if a phrase with this determiner can appear here.
    fn allows(self, determiner: &Determiner) -> bool {
        match determiner {
            // "gives her dogs …" is ambiguous.
            Determiner::Bare => self.slot == ClauseSlot::Object,
            Determiner::No => !self.negated && matches!(self.slot, ClauseSlot::Object | ClauseSlot::Theme),
            // Their scope relative to "not" would be ambiguous.
            Determiner::Every | Determiner::Count(_) => !self.negated,
            Determiner::A => !(self.negated && matches!(self.slot, ClauseSlot::Subject | ClauseSlot::Other)),
            _ => true,
        }
    }
}

impl NounPhrase {
    /// Returns true if a relative clause after the phrase can refer only to its noun.
    pub(super) fn can_have_relative(&self) -> bool {
        matches!(self.determiner, Determiner::The | Determiner::A | Determiner::This | Determiner::Count(_))
    }
}

impl Planner<'_> {
    /// Draws a subject from the given classes.
    pub(super) fn subject(&mut self, classes: &[Class], negated: bool) -> PhrasePlan {
        let place = Use::new(ClauseSlot::Subject, negated);
        if classes.contains(&Class::Person) && self.random.chance(0.75) {
            self.living(&[Class::Person], place, Person::Third)
        } else {
            self.noun_of(classes, place)
        }
    }

    /// Draws a person as a pronoun, a name or a noun. Avoids a pronoun of the person `other` unless that is
    /// the third person: "I see me" would require a reflexive.
    pub(super) fn living(&mut self, classes: &[Class], place: Use, other: Person) -> PhrasePlan {
        match self.random.below(100) {
            0..35 => {
                let pronoun = *self.random.choose(&Pronoun::ALL);
                let person = pronoun.agreement().0;
                if person == other && person != Person::Third {
                    PhrasePlan::Pronoun(Pronoun::They)
                } else {
                    PhrasePlan::Pronoun(pronoun)
                }
            }
            35..50 => self.name(),
            50..57 if place.slot == ClauseSlot::Subject => PhrasePlan::Both(Box::new(self.pair(classes))),
            _ => self.noun_of(classes, place),
        }
    }

    /// Draws two different phrases.
    fn pair(&mut self, classes: &[Class]) -> [PhrasePlan; 2] {
        loop {
            match [self.simple(classes), self.simple(classes)] {
                [PhrasePlan::Name(one), PhrasePlan::Name(other)] if one == other => {}
                [PhrasePlan::Noun(one), PhrasePlan::Noun(other)] if std::ptr::eq(one.noun, other.noun) => {}
                pair => return pair,
            }
        }
    }

    fn name(&mut self) -> PhrasePlan {
        PhrasePlan::Name(NAMES[self.random.below(NAMES.len())])
    }

    /// Draws a name, or a noun with an article.
    fn simple(&mut self, classes: &[Class]) -> PhrasePlan {
        if self.random.chance(0.4) {
            return self.name();
        }
        let determiner = self.owned();
        let noun = *self.random.choose(&nouns_of(classes));
        PhrasePlan::Noun(NounPhrase {
            determiner,
            adjective: None,
            noun,
            number: GrammaticalNumber::Singular,
            relative: None,
        })
    }

    /// Draws a noun phrase whose noun has one of the classes.
    pub(super) fn noun_of(&mut self, classes: &[Class], place: Use) -> PhrasePlan {
        let noun = *self.random.choose(&nouns_of(classes));
        let plural = !noun.is_mass() && self.random.chance(PLURAL);
        let number = if plural { GrammaticalNumber::Plural } else { GrammaticalNumber::Singular };
        let mut determiner = self.determiner(noun, number);
        let plain = place.slot == ClauseSlot::Other && self.random.chance(PLAIN_AFTER_PREPOSITION);
        if plain || !place.allows(&determiner) {
            determiner = Determiner::The;
        }
        let mut adjective = None;
        if self.random.chance(ADJECTIVE) {
            adjective = Some(*self.random.choose(&adjectives_of(noun.class)));
        }
        PhrasePlan::Noun(NounPhrase { determiner, adjective, noun, number, relative: None })
    }

    fn determiner(&mut self, noun: &Noun, number: GrammaticalNumber) -> Determiner {
        let share = self.random.below(100);
        match (number, noun.is_mass()) {
            (GrammaticalNumber::Singular, true) => match share {
                0..45 => Determiner::Bare,
                45..75 => Determiner::The,
                75..85 => Determiner::This,
                _ => self.possessive(),
            },
            (GrammaticalNumber::Singular, false) => match share {
                0..36 => Determiner::The,
                36..57 => Determiner::A,
                57..71 => self.possessive(),
                71..79 => Determiner::This,
                79..84 => Determiner::Every,
                84..88 => Determiner::No,
                _ => self.possessor(noun.class),
            },
            (GrammaticalNumber::Plural, _) => match share {
                0..36 => Determiner::The,
                36..56 => Determiner::Bare,
                56..69 => self.possessive(),
                69..78 => Determiner::This,
                78..83 => Determiner::No,
                _ => Determiner::Count(self.count()),
            },
        }
    }

    fn possessive(&mut self) -> Determiner {
        Determiner::My(*self.random.choose(&Pronoun::ALL))
    }

    /// Draws "the", "this" or a possessive.
    fn owned(&mut self) -> Determiner {
        match self.random.below(10) {
            0..6 => Determiner::The,
            6 => Determiner::This,
            _ => self.possessive(),
        }
    }

    /// Draws a possessor: doors and windows belong to places; people have none, and everything else belongs
    /// to people.
    fn possessor(&mut self, class: Class) -> Determiner {
        let owner = match class {
            Class::Person => return Determiner::The,
            Class::Opening => Class::Place,
            _ if self.random.chance(0.35) => {
                return Determiner::Of(Box::new(self.name()));
            }
            _ => Class::Person,
        };
        let determiner = self.owned();
        let noun = *self.random.choose(&nouns_of(&[owner]));
        let mut adjective = None;
        if self.random.chance(ADJECTIVE / 2.0) {
            adjective = Some(*self.random.choose(&adjectives_of(owner)));
        }
        Determiner::Of(Box::new(PhrasePlan::Noun(NounPhrase {
            determiner,
            adjective,
            noun,
            number: GrammaticalNumber::Singular,
            relative: None,
        })))
    }

    /// Draws a count: mostly small, rarely tens or multiples of a hundred, which German writes as one word.
    fn count(&mut self) -> u16 {
        let below = |random: &mut RandomChoices<'_>, bound| random.below(bound) as u16;
        let number = match self.random.below(20) {
            0..17 => 2 + below(&mut self.random, 19),
            17 | 18 => 21 + below(&mut self.random, 79),
            _ => 100 * (1 + below(&mut self.random, 9)),
        };
        if number % 100 == 1 { number + 1 } else { number }
    }
}
